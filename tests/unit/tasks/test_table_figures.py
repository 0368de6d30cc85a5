"""What a report tells of every attribute before and after: by hand, and for any table."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.model import ReleasePolicy
from tasks.methods.registry import bound_method
from tasks.recoding.cells import read_set
from tasks.reporting.latent import latent_figures
from tasks.reporting.number_bins import number_bins
from tasks.reporting.table import table_figures
from tasks.reporting.value_bins import OTHERS, cells_of, value_bins
from tasks.types import IntArray, PreparedTable, Recoded, Representation, no_progress
from tests.support.small import MIXED, TWO_SENSITIVE, mixed_rows, prepared, small_policy

QIS = {"age": {"type": "integer", "bounds": [0, 120]}, "city": {"type": "categorical"}}
ROLES = {"kept": ["ward"]}
SETS = small_policy(QIS, roles=ROLES)
ROWS: list[Any] = [
    (20, "Hull", "flu", "a"),
    (24, "Hull", "hiv", "a"),
    (31, "York", "flu", "a"),
    (33, "York", "flu", "b"),
    (38, "Hull", "hiv", "b"),
    (72, "York", "flu", "b"),
    (77, "York", "hiv", "own words"),
    (119, "Ely", "flu", "never published"),
]
LABELS = [0, 0, 1, 1, 1, 2, 2, -1]


def figures(policy: ReleasePolicy, rows: list[Any], labels: list[int]) -> dict[str, Any]:
    table, made, representation = published(policy, rows, labels)
    return table_figures(table, made, representation, np.array(labels), policy)


def published(
    policy: ReleasePolicy, rows: list[Any], labels: list[int]
) -> tuple[PreparedTable, Recoded, Representation]:
    table, method = prepared(policy, rows), bound_method(policy)
    representation = method.represent(table, no_progress)
    return table, method.recode(table, representation, np.array(labels), policy, method.seed), representation


def bins_of(found: dict[str, Any], name: str) -> list[tuple[str, int | None, float]]:
    (one,) = [each for each in found["attributes"] if each["name"] == name]
    return [(each["label"], each["before"], each["after"]) for each in one["bins"]]


def test_every_attribute_of_a_small_release() -> None:
    found = figures(SETS, ROWS, LABELS)
    assert [(each["name"], each["role"]) for each in found["attributes"]] == [
        ("age", "numeric"),
        ("city", "categorical"),
        ("illness", "sensitive"),
        ("ward", "kept"),
    ]
    # 20 to 24, 31 to 38 and 72 to 77: five, eight and six years.
    by_age = {label: (before, after) for label, before, after in bins_of(found, "age")}
    assert list(by_age)[:4] == ["20 to 24", "25 to 29", "30 to 34", "35 to 39"]
    assert list(by_age)[-2:] == ["70 to 74", "75 to 79"]
    assert by_age["20 to 24"] == (2, 2.0)  # all of the class, as the cell tells
    assert by_age["25 to 29"] == (None, 0.0)  # nobody, as all cells tell
    assert by_age["30 to 34"] == (None, 1.5)  # two, beside one
    assert by_age["35 to 39"] == (None, 1.5)
    assert by_age["70 to 74"] == (None, 1.0)
    assert by_age["75 to 79"] == (None, 1.0)
    # Hull, Hull|York, York: the one of Hull in the second class, and two of York, must not be told.
    assert bins_of(found, "city") == [("Hull", None, 3.5), ("York", None, 3.5)]
    assert bins_of(found, "illness") == [("flu", None, 4.0), ("hiv", None, 3.0)]
    assert bins_of(found, "ward") == [("a", None, 3.0), ("b", None, 3.0), (OTHERS, None, 1.0)]
    assert [each.get("before_not_told", "not there") for each in found["attributes"]] == [
        6,
        8,
        "not there",
        "not there",
    ]
    assert found["latent"] is None


def test_counts_of_k_and_more_are_told() -> None:
    found = figures(SETS, *hundred())
    assert bins_of(found, "city") == [("Hull", 40, 50.0), ("York", 60, 50.0)]
    assert [before for _, before, _ in bins_of(found, "age") if before] == [6] * 20  # 5 each, k = 2


def hundred() -> tuple[list[Any], list[int]]:
    """Classes of Hull and York, and two people left out, who are from Bath."""
    rows: list[Any] = [(30 + i % 20, "Hull" if i < 40 else "York", "flu", "a") for i in range(100)]
    return [*rows, (30, "Bath", "flu", "a"), (31, "Bath", "flu", "a")], [*(i % 5 for i in range(100)), -1, -1]


def test_who_is_left_out_does_not_enter() -> None:
    rows, labels = hundred()
    among = [*rows, (119, "cnrycity", "cnryill", "cnryward"), (0, "Hull", "flu", "a")]
    beside = figures(SETS, among, [*labels, -1, -1])
    assert beside == figures(SETS, rows, labels)
    assert "cnry" not in json.dumps(beside)


def test_a_value_under_the_star_alone_has_no_name() -> None:
    text = pd.Series(["*", "*", "Hull", "Hull"])
    cells = cells_of(text)
    assert (cells.names, cells.weight.tolist()) == (("Hull",), [4.0])
    rows: list[Any] = [(20, "Hull", "flu", "a")] * 6 + [(20, "cnrycity", "flu", "a")] * 4
    table, _, representation = published(SETS, rows, [0] * 10)
    frame = pd.DataFrame({"age_min": [20] * 10, "age_max": [20] * 10, "city": ["Hull"] * 5 + ["*"] * 5})
    frame = frame.assign(illness="flu", ward="a")
    rows_of_it = Recoded(np.arange(10), frame)
    found = table_figures(table, rows_of_it, representation, np.zeros(10, dtype=np.int64), SETS)
    # Of the star's five, one is of Hull.
    assert bins_of(found, "city") == [("Hull", None, 10.0), (OTHERS, None, 0.0)]
    assert "cnry" not in json.dumps(found)


def test_beyond_twenty_values_the_rest_is_together_and_missing_ones_apart() -> None:
    names = [f"v{i:02}" for i in range(25)]
    bins = value_bins([*names, "missing"], np.arange(26, 0, -1.0), missing="missing")
    assert bins.labels == (*names[:20], OTHERS, "missing")
    assert bins.place(["v00", "v24", "unheard of", "missing"]).tolist() == [0, 20, 20, 21]
    named = value_bins([OTHERS, *names], np.arange(26, 0, -1.0), missing="missing")
    assert named.labels[0] == OTHERS
    assert named.labels[20] == f"all {OTHERS}"


@pytest.mark.parametrize(
    ("low", "high", "whole", "labels"),
    [
        (18, 97, True, ["15 to 19", "20 to 24", *["..."] * 14, "95 to 99"]),
        (3, 7, True, ["3", "4", "5", "6", "7"]),
        (-7, 88, True, ["-10 to -6", "-5 to -1", *["..."] * 17, "85 to 89"]),
        (5, 5, True, ["5"]),
        (0, 120_000, True, ["0 to 9999", *["..."] * 11, "120000 to 129999"]),
        (0.0, 1.0, False, ["0 to under 0.1", *["..."] * 9, "1 to under 1.1"]),
        (0.25, 0.25, False, ["0.2 to under 0.3"]),
        (0.0, 0.0, False, ["0 to under 1"]),
    ],
)
def test_edges_are_round(low: float, high: float, whole: bool, labels: list[str]) -> None:
    found = number_bins(low, high, whole=whole).labels
    assert len(found) == len(labels)
    assert [a for a, b in zip(found, labels, strict=True) if b != "..."] == [b for b in labels if b != "..."]


def test_outer_bins_are_open_where_cells_need_not_hold_their_people() -> None:
    found = number_bins(20, 89, whole=True, is_open=True)
    assert (found.labels[0], found.labels[-1]) == ("under 25", "85 and more")
    assert found.place(np.array([-3.0, 24, 25, 200])).tolist() == [0, 0, 1, len(found) - 1]
    assert number_bins(30, 30, whole=True, is_open=True).labels == ["all values"]


@given(
    st.floats(-1e12, 1e12, allow_nan=False).map(lambda x: round(x, 3)),
    st.floats(0, 1e9).map(lambda x: round(x, 3)),
    st.booleans(),
)
def test_bins_hold_the_range_and_are_no_more_than_twenty(low: float, width: float, whole: bool) -> None:
    low, high = (float(round(low)), float(round(low) + round(width))) if whole else (low, low + width)
    bins = number_bins(low, high, whole=whole)
    assert 1 <= len(bins) <= 20
    assert bins.bounds[0] <= low < bins.bounds[1]
    assert bins.bounds[-2] <= high < bins.bounds[-1]
    assert (np.diff(bins.bounds) > 0).all()
    assert len(set(bins.labels)) == len(bins)


def test_rows_are_spread_evenly_over_their_interval() -> None:
    ages = number_bins(20, 39, whole=True)
    assert ages.labels[0] == "20"
    decades = number_bins(0, 199, whole=True)
    ends = np.array([5.0, 10, 0]), np.array([14.0, 10, 199]), np.array([10, 3, 200])
    found = decades.spread(*ends)
    assert found.tolist() == pytest.approx([5 + 10, 5 + 3 + 10, *[10] * 18])
    parts = number_bins(0.0, 1.9, whole=False)
    assert parts.labels[1] == "0.1 to under 0.2"
    found = parts.spread(np.array([0.05, 0.1]), np.array([0.15, 0.1]), np.array([4, 3]))
    assert found[:3].tolist() == pytest.approx([2, 2 + 3, 0])


POLICIES = {
    recoding: small_policy(
        MIXED, TWO_SENSITIVE, method={"name": "mondrian", "recoding": recoding}, roles={"kept": ["note"]}
    )
    for recoding in ("sets", "centroid", "adaptive", "quantized")
}
EDGE = re.compile(r"-?\d+(\.\d+)?")


@st.composite
def releases(draw: st.DrawFn) -> tuple[ReleasePolicy, list[Any], list[int]]:
    rows = [(*row, draw(st.sampled_from(["x", "y", None]))) for row in draw(mixed_rows(4, 24))]
    groups = max(1, len(rows) // 4)
    labels = [draw(st.integers(-1, groups - 1)) for _ in rows]
    labels[:groups] = range(groups)
    return POLICIES[draw(st.sampled_from(sorted(POLICIES)))], rows, labels


@given(releases(), st.randoms())
def test_of_any_release(drawn: tuple[ReleasePolicy, list[Any], list[int]], source: random.Random) -> None:
    policy, rows, labels = drawn
    table, made, representation = published(policy, rows, labels)
    found = table_figures(table, made, representation, np.array(labels), policy)
    for each in found["attributes"]:
        bins = each["bins"]
        assert sum(one["after"] for one in bins) == pytest.approx(len(made.frame), abs=0.02)
        before = [one["before"] for one in bins]
        assert all(count is None or count >= policy.privacy.k for count in before)
        if each["role"] in ("sensitive", "kept"):
            assert "before_not_told" not in each
            assert set(before) <= {None}
            continue
        told = [count for count in (*before, each["before_not_told"]) if count is not None]
        assert all(count % policy.privacy.k == 0 for count in told)
        assert abs(sum(told) - len(made.frame)) <= policy.privacy.k / 2 * len(told)
        nothing_told = set(before) == {None}
        assert each["before_not_told"] in (0, *range(2 * policy.privacy.k, 1000)) or nothing_told
        assert set(_unheard_of(each, made.frame, policy)) <= {OTHERS, "missing"}
    order = list(range(len(made.frame)))
    source.shuffle(order)
    frame = made.frame.iloc[order].reset_index(drop=True)
    again = table_figures(
        table, Recoded(made.records[order], frame), representation, np.array(labels), policy
    )
    assert json.dumps(again) == json.dumps(found)


def _unheard_of(attribute: dict[str, Any], frame: pd.DataFrame, policy: ReleasePolicy) -> list[str]:
    """The labels that are neither named by a published cell nor made of round edges."""
    labels = [one["label"] for one in attribute["bins"]]
    if attribute["role"] == "categorical":
        named = {value for cell in frame[attribute["name"]] for value in read_set(cell) or ()}
        return [label for label in labels if label not in named]
    return [
        label
        for label in labels
        if label != "all values"
        and not (EDGE.search(label) and all(_is_round(text[0]) for text in EDGE.finditer(label)))
    ]


def _is_round(text: str) -> bool:
    """One or two digits and zeros, or the last whole number before such an edge."""
    digits = text.lstrip("-").replace(".", "").strip("0")
    after = str(abs(int(text)) + (1 if not text.startswith("-") else -1)) if "." not in text else "1"
    return len(digits) <= 2 or len(after.strip("0")) <= 2


# The latent space.


def _learned() -> ReleasePolicy:
    return small_policy(QIS, method={"name": "ae-lrhma"}, privacy={"k": 5})


def _rows(records: IntArray) -> Recoded:
    return Recoded(records, pd.DataFrame(index=range(len(records))))


def test_the_latent_space_of_a_learned_representation() -> None:
    draw = np.random.default_rng(5)
    latent = np.vstack([draw.normal(0, 1, (400, 3)), [[40.0, 40.0, 0.0]], [[-90.0, 3.0, 0.0]]])
    labels = np.append(np.repeat(np.arange(50), 8), [50, -1])
    records = np.flatnonzero(labels >= 0)
    found = latent_figures(Representation(latent), _rows(records), labels, _learned())
    assert found is not None
    told = [*(count for *_, count in found["before"]), found["before_not_told"]]
    assert all(count % 5 == 0 for count in told)
    assert abs(sum(told) - 401) <= 2.5 * len(told)
    assert min(count for *_, count in found["before"]) >= 5
    assert max(x for x, *_ in found["before"]) < 20  # not the one far out, and the one left out not at all
    assert min(x for x, *_ in found["before"]) > -20
    assert (len(found["after"]), found["after_not_told"], found["after_of"]) == (50, 1, "classes")
    centres = latent[:400, :2].reshape(50, 8, 2).mean(axis=1)
    assert sorted(found["after"]) == [
        [float(f"{x:.4g}"), float(f"{y:.4g}"), 8] for x, y in sorted(centres.tolist())
    ]
    draw.shuffle(records)
    assert latent_figures(Representation(latent), _rows(records), labels, _learned()) == found
    assert found["before_not_told"] >= 10


def test_many_classes_are_told_in_hexagons() -> None:
    latent = np.random.default_rng(6).normal(0, 1, (16_000, 2))
    labels = np.arange(16_000) // 8
    found = latent_figures(Representation(latent), _rows(np.arange(16_000)), labels, _learned())
    assert found is not None
    assert found["after_of"] == "hexagons"
    assert len(found["after"]) <= 1_500
    assert sum(rows for *_, rows in found["after"]) == 16_000


def test_nothing_is_shown_of_what_was_not_learned() -> None:
    latent, labels = np.random.default_rng(7).normal(0, 1, (40, 2)), np.zeros(40, dtype=np.int64)
    representation = Representation(latent)
    assert latent_figures(representation, _rows(np.arange(40)), labels, small_policy(QIS)) is None
    assert latent_figures(Representation(latent[:, :1]), _rows(np.arange(40)), labels, _learned()) is None
    assert latent_figures(representation, _rows(np.zeros(0, dtype=np.int64)), labels, _learned()) is None
    isomap = small_policy(QIS, method={"name": "mondrian", "representation": "isomap"})
    assert latent_figures(representation, _rows(np.arange(40)), labels, isomap) is not None
