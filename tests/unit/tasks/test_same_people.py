"""A series that only grows, or shrinks, and does not say so is told by the sizes of equal cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from release_store.records import GateResult, Verdict
from tasks.history.same_people import close_sizes
from tasks.risk.registry import GATES, assess
from tests.support.small import Published, prepared, published, small_policy

K = 4
BEFORE = np.array([40, 44, 50, 31, 38, 60, 45, 41, 39, 52] * 2)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ([1, 0, 2, 0, 0, 3, 0, 1, 0, 0] * 2, (20, 8, True)),
        ([-1, 0, -2, 0, 0, -3, 0, -1, 0, 0] * 2, (20, 8, False)),
        ([1, 0, 2, 0, 0, 3, 0, 1, 0, 0] + [0] * 10, None),  # four cells that grew are no rule
        ([0] * 20, None),  # the same table
        ([1, -1, 2, -2, 0, 3, -1, 1, -2, 0] * 2, None),  # some came and as many left
        ([4, 0, 5, 0, 0, 4, 0, 6, 0, 0] * 2, None),  # k or more came wherever somebody came
        ([30, -9, 25, 40, -3, 12, 33, 2, 28, -1] * 2, None),  # other people
    ],
)
def test_sizes_of_twenty_cells(change: list[int], expected: tuple[int, int, bool] | None) -> None:
    found = close_sizes(BEFORE, BEFORE + np.array(change), K)
    assert (None if found is None else (found.cells, found.few, found.growing)) == expected


def test_people_who_come_and_go_are_no_other_people() -> None:
    both_ways = np.array([1, -1, 2, -2, 0, 3, -1, 1, -2, 0] * 2)
    found = close_sizes(BEFORE, BEFORE + both_ways, K, one_way=False)
    assert found is not None
    assert (found.few, found.both_ways) == (16, True)
    assert "16 of 20 equal cells changed by under" in found.said(K)
    assert "cumulative" not in found.said(K)


def test_nine_cells_tell_nothing() -> None:
    assert close_sizes(BEFORE[:9], BEFORE[:9] + 1, K) is None


@pytest.mark.parametrize("growth", [0.8, 1.0, 1.1, 2.0])
def test_tables_of_other_people_are_not_taken_for_the_same(growth: float) -> None:
    draw = np.random.default_rng(7)
    for _ in range(200):
        cells = draw.integers(10, 200)
        mean = draw.exponential(60, cells)
        before, now = draw.poisson(mean), draw.poisson(growth * mean)
        both = (before > 0) & (now > 0)
        for one_way in (True, False):
            assert close_sizes(before[both], now[both], 8, one_way=one_way) is None


QIS = {"age": {"type": "integer", "bounds": [0, 99]}}
VALUES = ("flu", "hiv", "cough")


def table(policy: Any, sizes: list[int]) -> tuple[Any, list[int]]:
    """Cells of one age each, with so many records."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    rows = [(int(age), VALUES[i % 3]) for i, age in enumerate(labels)]
    return prepared(policy, rows), labels.tolist()


def result(folder: Path, sizes: tuple[list[int], list[int]], **sections: Any) -> GateResult:
    policy = small_policy(QIS, {"illness": {"stability": "stable"}}, privacy={"k": K, "l": 2}, **sections)
    before, now = (published(policy, *table(policy, each), folder / str(i)) for i, each in enumerate(sizes))
    return pairwise(now, before)


def pairwise(now: Published, before: Published) -> GateResult:
    (found,) = assess(now.evidence(before), {"pairwise": GATES["pairwise"]}).results
    return found


GROWN = [size + (i % 3) for i, size in enumerate(BEFORE.tolist())]


@pytest.mark.parametrize("population", ["overlapping", "independent"])
@pytest.mark.enemy("reader", "learns a value")
def test_a_series_that_only_grows_cannot_pass_as_another(tmp_path: Path, population: str) -> None:
    found = result(tmp_path, (BEFORE.tolist(), GROWN), population=population)
    assert found.verdict is Verdict.UNKNOWN
    assert "beside release-1, 13 of 20 equal cells grew by under 4 records" in found.detail
    assert "set `population: cumulative`" in found.detail


def test_where_the_policy_says_so_other_gates_look(tmp_path: Path) -> None:
    assert result(tmp_path, (BEFORE.tolist(), GROWN), population="cumulative").verdict is Verdict.PASS


def test_people_who_came_and_left_pass(tmp_path: Path) -> None:
    mixed = [size + 2 * (i % 2) - 1 for i, size in enumerate(BEFORE.tolist())]
    assert result(tmp_path, (BEFORE.tolist(), mixed)).verdict is Verdict.PASS
