"""With `ends: rounded` intervals end on a grid that no record moves; without it nothing changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.errors import PolicyError
from policy.load import parse_policy
from policy.roles import NumericQuasiIdentifier
from release_store.records import Verdict
from tasks.geometry.space import boxes_of, space_of
from tasks.recoding.generalize import generalized
from tasks.recoding.intervals import grid_step, rounded_intervals
from tasks.repair.closing import closing_of
from tasks.repair.groups import groups_of
from tasks.risk.registry import assess
from tests.support.small import (
    AGE_AND_CITY,
    MIXED,
    TWO_SENSITIVE,
    anonymized,
    mixed_rows,
    policy_text,
    prepared,
    published,
    small_policy,
)

ROUNDED = {"name": "mondrian", "ends": "rounded"}


def age(**fields: Any) -> NumericQuasiIdentifier:
    return NumericQuasiIdentifier(type="integer", bounds=(0, 105), **fields)


@pytest.mark.parametrize(
    ("qi", "step"),
    [
        (age(), 5),  # 105 / 20 is 5.25
        (age(widths=(10, 30)), 10),
        (age(widths=(1, 5)), 5),  # a grid of 1 would round nothing
        (NumericQuasiIdentifier(type="integer", bounds=(17, 90)), 2),
        (NumericQuasiIdentifier(type="integer", bounds=(0, 9)), 2),
        (NumericQuasiIdentifier(type="numeric", bounds=(0, 1_000_000)), 50_000),
        (NumericQuasiIdentifier(type="numeric", bounds=(-1, 1)), 0.1),
        (NumericQuasiIdentifier(type="numeric", bounds=(0, 30), widths=(0.5,)), 0.5),
    ],
)
def test_the_grid_is_the_first_width_or_one_that_the_bounds_hold_twenty_times(
    qi: NumericQuasiIdentifier, step: float
) -> None:
    assert grid_step(qi) == pytest.approx(step)


@pytest.mark.parametrize(
    ("interval", "cell"),
    [((23, 31), (20, 34)), ((20, 20), (20, 24)), ((24, 25), (20, 29)), ((104, 105), (100, 105))],
)
def test_an_integer_ends_on_the_grid_or_at_the_upper_bound(interval: Any, cell: Any) -> None:
    assert rounded_intervals(np.array([interval], dtype=float), age()).tolist() == [list(cell)]


def test_other_numbers_end_on_the_grid(tmp_path: Path) -> None:
    wage = NumericQuasiIdentifier(type="numeric", bounds=(0, 8), widths=(2.5,))
    found = rounded_intervals(np.array([[0.1, 2.4], [2.4, 2.6], [2.5, 5.0], [7.6, 8.0]]), wage)
    assert found.tolist() == [[0, 2.5], [0, 5], [2.5, 5], [7.5, 8]]


NUMBERS = st.sampled_from([age(), age(widths=(10,)), NumericQuasiIdentifier(type="numeric", bounds=(0, 2))])
PAIRS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=9)


@given(NUMBERS, PAIRS)
def test_rounding_covers_and_a_union_of_rounded_cells_is_the_rounded_union(
    qi: NumericQuasiIdentifier, pairs: list[tuple[int, int]]
) -> None:
    scale = 1 if qi.type == "integer" else 20
    intervals = np.array([sorted(pair) for pair in pairs], dtype=float) / scale
    found = rounded_intervals(intervals, qi)
    assert (found[:, 0] <= intervals[:, 0]).all()
    assert (found[:, 1] >= intervals[:, 1]).all()
    assert (found[:, 0] >= qi.bounds[0]).all()
    assert (found[:, 1] <= qi.bounds[1]).all()
    whole, rounded = (np.array([[each[:, 0].min(), each[:, 1].max()]]) for each in (intervals, found))
    assert np.allclose(rounded_intervals(rounded, qi), rounded_intervals(whole, qi), atol=1e-9)
    if qi.type == "integer":
        assert (found[:, 1] - found[:, 0] >= 1).all()


@given(mixed_rows(4))
def test_a_rounded_release_is_true_and_its_merged_cells_are_those_that_are_published(
    rows: list[Any],
) -> None:
    import tempfile

    policy = small_policy(MIXED, TWO_SENSITIVE, method=ROUNDED)
    table = prepared(policy, rows)
    labels = anonymized(table, policy).labels
    with tempfile.TemporaryDirectory() as name:
        evidence = published(policy, table, labels, Path(name) / "c").evidence()
        verdicts = {result.gate: result.verdict for result in assess(evidence).results}
    assert verdicts["truth"] is Verdict.PASS
    assert verdicts["files"] is Verdict.PASS
    classes = generalized(table, labels, policy)
    if classes.n_classes < 2:
        return
    space = space_of([classes], table)
    merged = groups_of(labels, classes, space, closing_of(policy, table, space)).merged(0, np.array([1]))
    together = np.where((labels == 0) | (labels == 1), 0, -1)
    expected = boxes_of(generalized(table, together, policy), space)
    # A class in which no number is known has the bounds, so that a merged one may be wider, never narrower.
    assert (merged.low <= expected.low).all()
    assert (merged.high >= expected.high).all()
    if not np.isnan(table.numeric).any():
        assert np.allclose(merged.low, expected.low)
        assert np.allclose(merged.high, expected.high)


def test_without_the_option_every_byte_is_what_it_was(tmp_path: Path) -> None:
    rows = [(23, "Oslo", "a"), (25, "Cork", "b"), (60, "Bari", "a"), (61, "Nice", "b")]
    digests = []
    for number, method in enumerate(({}, {"ends": "attained"}, {"ends": "rounded"})):
        policy = small_policy(AGE_AND_CITY, method={"name": "mondrian", **method})
        made = published(policy, prepared(policy, rows), [0, 0, 1, 1], tmp_path / str(number))
        digests.append(made.candidate.files["data.parquet"])
    assert digests[0] == digests[1] != digests[2]


def test_a_single_number_goes_up_to_the_first_width(tmp_path: Path) -> None:
    columns = {"age": {"type": "integer", "bounds": [0, 99], "widths": [5, 20]}}
    rows = [(23, "a"), (23, "b"), (38, "a"), (41, "b")]
    for ends, cells in (("attained", [[0, 99], [23, 23]]), ("rounded", [[0, 99], [20, 24]])):
        policy = small_policy(columns, method={"name": "mondrian", "recoding": "hierarchy", "ends": ends})
        made = published(policy, prepared(policy, rows), [0, 0, 1, 1], tmp_path / ends)
        assert sorted(made.classes.intervals["age"].tolist()) == cells


def test_rounded_ends_are_refused_where_no_intervals_are_written() -> None:
    text = policy_text(method={"name": "mondrian", "recoding": "median", "ends": "rounded"})
    with pytest.raises(PolicyError, match="ends: rounded is for intervals, and recoding: median writes none"):
        parse_policy(text, Path("policy.yaml"))
