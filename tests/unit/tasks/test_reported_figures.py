"""The whole document of figures: what stands in it, and what never does."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, Verdict
from tasks.methods.registry import bound_method
from tasks.preprocessing.prepare import prepare
from tasks.reporting import placing
from tasks.reporting.classes import class_figures
from tasks.reporting.figures import figures_of
from tasks.reporting.table import table_figures
from tasks.risk.evidence import Evidence
from tasks.risk.registry import GATES, GateReport, assess, unmeasured
from tasks.types import Recoded, no_progress
from tests.support.small import Published, prepared, published, small_policy, source_of

QIS = {"age": {"type": "integer", "bounds": [0, 120], "weight": 3}, "city": {"type": "categorical"}}
ROLES = {"key": "person", "identifiers": ["name"], "kept": ["ward"]}
POLICY = small_policy(QIS, roles=ROLES)
FORCED = small_policy(QIS, roles=ROLES, gates={"forced": {"max": 1}})
LABELS = [0] * 6 + [1] * 6 + [-1]


def rows_of(shift: int = 0) -> list[tuple[Any, ...]]:
    ages = [20, 21, 22, 23, 24, 30, 50, 51, 52, 53, 54, 60]
    made = [
        (
            f"cnrykey{i}",
            f"cnryname{i}",
            age + shift,
            "Hull" if age < 40 else "York",
            ("flu", "hiv", "cold")[i % 3],
            "w",
        )
        for i, age in enumerate(ages)
    ]
    return [*made, ("cnrykey99", "cnryname99", 119, "cnrycity", "cnryillness", "cnryward")]


def released(folder: Path, shift: int = 0, policy: ReleasePolicy = POLICY) -> Published:
    return published(policy, prepare(source_of(policy, rows_of(shift)), policy), LABELS, folder)


def document(made: Published, *earlier: Published) -> tuple[Evidence, GateReport, dict[str, Any]]:
    evidence = made.evidence(*earlier)
    report = assess(evidence)
    where = bound_method(made.policy).represent(made.table, no_progress)
    of_table = table_figures(made.table, made.rows, where, np.array(LABELS), made.policy)
    return evidence, report, figures_of(evidence, report, of_table)


def test_the_document_of_a_second_release(tmp_path: Path) -> None:
    first, second = released(tmp_path / "one"), released(tmp_path / "two", 1)
    _, _, found = document(second, first)
    assert list(found) == [
        "format",
        "least",
        "classes",
        "ncp",
        "groupable",
        "narrowing",
        "placing",
        "attributes",
        "latent",
    ]
    assert (found["format"], found["least"]) == ("releasegate/figures/1", 2)
    assert found["classes"]["n"] == 2
    assert [(one["attribute"], one["basis"], one["releases"]) for one in found["narrowing"]] == [
        ("illness", "alone", 0),
        ("illness", "cells", 1),
    ]
    # Two classes of six rows: 21..31 Hull and 51..61 York.
    age = {"labels": 2, "exact": 0.0, "median": 10.0, "contiguous": 1.0, "ordered": True}
    city = {"labels": 2, "exact": 1.0, "median": 1.0, "contiguous": 1.0, "ordered": False}
    assert found["groupable"] == {"age": age, "city": city}
    assert found["narrowing"][0]["counts"] == [[1, 0], [2, 0], [3, 12]]
    assert [one["name"] for one in found["attributes"]] == ["age", "city", "illness", "ward"]
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_placing_everybody_at_once_is_told_without_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the gate `forced` measures it, which this policy does not ask for."""
    made = released(tmp_path / "one")
    _, report, found = document(made)
    assert "forced" not in [one.gate for one in report.results]
    asking = replace(made.evidence(), policy=FORCED)
    (gate,) = assess(asking, {"forced": GATES["forced"]}).results
    told = found["placing"]
    monkeypatch.setattr(placing, "MOST_PEOPLE", made.evidence().n_published - 1)
    assert document(made)[2]["placing"] is None
    assert told["classes"] == pytest.approx(gate.witness["forced_classes"], abs=1e-4)
    assert told["values"] == pytest.approx(gate.witness["certain_values"], abs=1e-4)
    assert (told["people"], told["effective_k"]) == (gate.witness["people"], gate.witness["effective_k"])


def test_the_gate_s_ncp_is_the_weighted_mean_of_those_told(tmp_path: Path) -> None:
    _, report, found = document(released(tmp_path / "one"))
    (gate,) = [each for each in report.results if each.gate == "ncp"]
    # Ages 20 to 30 and 50 to 60 of a span of 99; each city alone.
    assert found["ncp"] == {"age": 0.1, "city": 0.0}
    assert gate.value == pytest.approx((3 * 10 / 99 + 0.0) / 4)


def test_no_value_of_who_is_left_out_no_key_and_no_identifier_stands_in_it(tmp_path: Path) -> None:
    first = released(tmp_path / "one")
    _, _, found = document(released(tmp_path / "two", 1), first)
    text = json.dumps(found)
    assert "cnry" not in text
    assert "119" not in text
    assert "120" not in text
    assert "York" in text


def test_rows_in_another_order_make_the_same_bytes(tmp_path: Path) -> None:
    made = released(tmp_path / "one")
    _, _, found = document(made)
    again, _, _ = document(released(tmp_path / "again"))
    order = np.random.default_rng(3).permutation(len(made.rows.frame))
    where = bound_method(POLICY).represent(made.table, no_progress)
    frame = made.rows.frame.iloc[order].reset_index(drop=True)
    mixed = Recoded(made.rows.records[order], frame)
    of_table = table_figures(made.table, mixed, where, np.array(LABELS), POLICY)
    assert json.dumps(figures_of(again, assess(again), of_table)) == json.dumps(found)


def test_without_the_source_nothing_of_it_is_told(tmp_path: Path) -> None:
    first, second = released(tmp_path / "one"), released(tmp_path / "two", 1)
    evidence = replace(second.evidence(first), table=None, recorded_rows=13)
    found = figures_of(evidence, assess(evidence), {})
    assert (found["ncp"], found["attributes"], found["latent"]) == ({}, [], None)
    assert [one["basis"] for one in found["narrowing"]] == ["alone"]
    assert found["classes"]["records"] == 12


def test_what_a_gate_could_not_measure_is_left_out(tmp_path: Path) -> None:
    first, second = released(tmp_path / "one"), released(tmp_path / "two", 1)
    evidence, report, _ = document(second, first)
    broken = GateReport(
        tuple(
            unmeasured(each.gate, Verdict.ERROR, "the gate failed")
            if each.gate in ("ncp", "whole_history")
            else each
            for each in report.results
        )
    )
    found = figures_of(evidence, broken, {})
    assert found["ncp"] == {}
    assert [one["basis"] for one in found["narrowing"]] == ["alone"]


def test_an_empty_release_has_figures(tmp_path: Path) -> None:
    table = prepared(POLICY, rows_of())
    made = published(POLICY, table, [-1] * 13, tmp_path / "none")
    evidence = made.evidence()
    where = bound_method(POLICY).represent(table, no_progress)
    of_table = table_figures(table, made.rows, where, np.full(13, -1), POLICY)
    found = figures_of(evidence, assess(evidence), of_table)
    assert found["classes"] == {
        "n": 0,
        "records": 0,
        "least": None,
        "median": None,
        "greatest": None,
        "sizes": [],
    }
    assert found["ncp"] == {}
    assert all(not one["before"] and not one["after"] for each in found["attributes"] for one in each["bins"])


def classes_of(*sizes: int) -> EquivalenceClasses:
    return EquivalenceClasses(np.array(sizes, dtype=np.int64), {}, {}, {}, {})


def test_class_sizes_by_hand() -> None:
    assert class_figures(classes_of(5, 5, 7, 8)) == {
        "n": 4,
        "records": 25,
        "least": 5,
        "median": 6.0,
        "greatest": 8,
        "sizes": [
            {"low": 5, "high": 5, "classes": 2, "records": 10},
            {"low": 6, "high": 6, "classes": 0, "records": 0},
            {"low": 7, "high": 7, "classes": 1, "records": 7},
            {"low": 8, "high": 8, "classes": 1, "records": 8},
        ],
    }
    wide = class_figures(classes_of(5, 6, 50, 3000))["sizes"]
    assert wide[0] == {"low": 5, "high": 7, "classes": 2, "records": 11}
    assert wide[-1]["high"] == 3000


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=30))
def test_every_class_is_in_one_of_at_most_24_bins(sizes: list[int]) -> None:
    found = class_figures(classes_of(*sizes))
    bins = found["sizes"]
    assert len(bins) <= 24
    assert (bins[0]["low"], bins[-1]["high"]) == (min(sizes), max(sizes))
    assert all(one["high"] + 1 == other["low"] for one, other in pairwise(bins))
    for one in bins:
        inside = [size for size in sizes if one["low"] <= size <= one["high"]]
        assert (one["classes"], one["records"]) == (len(inside), sum(inside))
