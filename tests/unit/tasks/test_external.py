"""Linkage by tables with errors, and by tables of people who are not in the source."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from release_store.records import GateResult, Verdict
from tasks.risk.attacks import external
from tasks.risk.evidence import Evidence
from tasks.risk.registry import GATES, assess
from tests.support.small import prepared, published, small_policy

AGE = {"age": {"type": "integer", "bounds": [0, 100]}}
EVERYBODY = {"ext_frac": [1.0], "seeds": 1}
# Three classes: ages 10 to 12, 20 to 23 and 30 to 31.
ROWS = [
    *[(age, "flu") for age in (10, 11, 12)],
    *[(age, "hiv") for age in (20, 21, 22, 23)],
    *[(age, "flu") for age in (30, 31)],
]
LABELS = [0, 0, 0, 1, 1, 1, 1, 2, 2]


def made(folder: Path, *, control: Any = None, linkage: Any = None, **gates: float) -> Evidence:
    policy = small_policy(
        AGE,
        linkage={**EVERYBODY, "errors": 0, **(linkage or {})},
        gates={gate: {"max": limit} for gate, limit in gates.items()},
    )
    evidence = published(policy, prepared(policy, ROWS), LABELS, folder / "c").evidence()
    return evidence if control is None else replace(evidence, control=prepared(policy, control))


def asked(gate: str, evidence: Evidence) -> GateResult:
    (result,) = assess(evidence, {gate: GATES[gate]}).results
    return result


def test_no_errors_and_no_control_leave_the_source_alone(tmp_path: Path) -> None:
    (only,) = made(tmp_path).external
    assert only.kind == "of the source"
    assert [rows.tolist() for rows in only.draws[1.0]] == [
        rows.tolist() for rows in made(tmp_path / "again").tables(1.0)
    ]


def test_people_outside_match_by_mistake_and_the_worst_table_is_held_to_the_limit(tmp_path: Path) -> None:
    # 11 and 13 lie beside the first class; 30 and 31 of the control group match the class of two.
    outside = [(11, "hiv"), (13, "hiv"), (30, "hiv"), (31, "hiv")]
    evidence = made(tmp_path, control=outside, err=0.34, umr=0.99)
    source, control = evidence.external
    assert (source.kind, control.kind, control.right) == ("of the source", "of people outside", 0.0)
    assert control.links.smallest.tolist() == [3, 0, 2, 2]
    err, umr = asked("err", evidence), asked("umr", evidence)
    # (1/3 + 0 + 1/2 + 1/2) / 4, less in the source: three classes over nine people.
    assert err.value == pytest.approx(3 / 9)
    assert (umr.value, umr.verdict) == (1.0, Verdict.FAIL)
    assert "tables of people outside 1: 0.3333 ± 0.0000" in err.detail
    assert "tables of people outside 1: 0.7500 ± 0.0000 (of those who match one class 0.0% may be in it)" in (
        umr.detail
    )
    twins = made(tmp_path / "t", control=[(30, "x"), (31, "x")], err=0.34)
    assert (asked("err", twins).value, asked("err", twins).verdict) == (0.5, Verdict.FAIL)


def test_of_large_tables_with_errors_some_people_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linkage = {"errors": 0.5, "ext_frac": [0.4, 1.0], "seeds": 3}
    _, whole = made(tmp_path / "whole", linkage=linkage).external
    assert [len(rows) for drawn in whole.draws.values() for rows in drawn] == [4] * 3 + [9] * 3
    monkeypatch.setattr(external, "MOST_WITH_ERRORS", 5)
    evidence = made(tmp_path / "few", linkage=linkage, umr=1)
    of_source, few = evidence.external
    assert [len(rows) for drawn in few.draws.values() for rows in drawn] == [4] * 3 + [5] * 3
    assert [len(rows) for rows in of_source.draws[1.0]] == [9] * 3
    places = np.concatenate([rows for drawn in few.draws.values() for rows in drawn])
    assert places.tolist() == list(range(len(few.links.only)))
    assert "with errors in 50% of the cells, of at most 5 people 0.4:" in asked("umr", evidence).detail


def test_a_wrong_age_is_matched_wrongly(tmp_path: Path) -> None:
    """All cells are replaced: a match is right where the age drawn is of the same class and value."""
    linkage = {"errors": 1.0, "seeds": 40}
    evidence = made(tmp_path, linkage=linkage, umr=1)
    _, wrong = evidence.external
    assert (wrong.links.candidates == 1).all()  # each of the ages drawn is of somebody
    expected = (3 * 3 + 4 * 4 + 2 * 2) / 81
    assert wrong.right == pytest.approx(expected, abs=0.06)
    assert f"(of those who match one class {wrong.right:.1%} may be in it)" in asked("umr", evidence).detail
    assert "with errors in 100% of the cells" in asked("umr", evidence).detail


def test_a_match_in_a_class_without_the_persons_value_is_wrong(tmp_path: Path) -> None:
    evidence = made(tmp_path, linkage={"errors": 1e-9})
    assert evidence.external[1].right == 1.0
    flu = made(tmp_path / "f", linkage={"errors": 1e-9})
    table = prepared(flu.policy, [(age, "hiv") for age, _ in ROWS])
    assert replace(flu, table=table).external[1].right == pytest.approx(4 / 9)


def test_ages_outside_every_class_and_infinite_ones_link_to_nobody_and_unknown_ones_to_all(
    tmp_path: Path,
) -> None:
    outside = [(15, "flu"), (float("inf"), "flu"), (-float("inf"), "flu"), (None, "flu")]
    _, control = made(tmp_path, control=outside).external
    assert control.links.candidates.tolist() == [0, 0, 0, 3]
    assert control.links.smallest.tolist() == [0, 0, 0, 2]


def test_each_draw_has_errors_of_its_own(tmp_path: Path) -> None:
    evidence = made(tmp_path, linkage={"ext_frac": [0.5, 1.0], "seeds": 3, "errors": 0.5})
    _, wrong = evidence.external
    places = np.concatenate([rows for draws in wrong.draws.values() for rows in draws])
    assert np.array_equal(places, np.arange(3 * 4 + 3 * 9))
    assert len(wrong.links.smallest) == len(places)
