"""The benchmark of Adult's complete rows: what reaches its goal, and a run on few rows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_benchmarks_run import cells

from benchmarks import adult_complete
from benchmarks.adult_complete import METHODS, Line


def test_a_goal_is_reached_only_if_every_gate_passes_in_time() -> None:
    line = Line(9, 0.030, 0.1, 0.2, (), method_cpu=3.75, gates_cpu=0.25)
    assert line.reached
    assert line.cells("mdav")[-3:] == ["4.00", "0.25", "met"]
    assert not replace(line, ncp=0.031).reached
    assert not replace(line, gates_cpu=0.26).reached
    assert replace(line, failing=("umr",)).cells("mdav")[5:] == ["umr", "4.00", "0.25", "not met"]


@pytest.mark.data
def test_no_value_is_missing_in_the_complete_rows() -> None:
    policy, source = adult_complete.complete_rows(None)
    assert len(source.frame) == 30_162
    assert not source.frame.isna().any(axis=None)
    assert len(policy.roles.quasi_identifiers) == 7


@pytest.mark.data
@pytest.mark.nightly
def test_every_method_has_a_row() -> None:
    text = adult_complete.main(["--rows", "400"])
    (rows,) = (cells(part) for part in text.split("\n\n") if part.startswith("|"))
    assert rows[0] == adult_complete.HEADER
    assert [row[0] for row in rows[1:]] == list(METHODS)
    assert all(0 < float(row[2]) < 1 for row in rows[1:])
