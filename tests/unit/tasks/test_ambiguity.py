"""Swaps for people whom one class alone contains: by hand, and on a table too large for that."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_polish import grouped, slowly_contained, total
from test_split_scores import attributes

from tasks.aggregation.ambiguity import BEST, swaps_around
from tasks.aggregation.boxes import GroupCells
from tasks.aggregation.polish import PolishRule, _Block, polish
from tasks.partitioning.attributes import Attributes
from tasks.partitioning.constraints import Constraints
from tasks.types import IntArray
from tests.support.small import limits_of

EIGHT = attributes([[float(x) for x in range(8)]], [])
HALVES = np.array([0] * 4 + [1] * 4)


def swaps(
    cells: GroupCells, single: list[int], valid: list[bool], n: int, most: float
) -> list[tuple[int, ...]]:
    found = swaps_around(cells, np.array(single, dtype=np.int64), np.array(valid), n, most)
    return list(zip(*(each.tolist() for each in found), strict=True))


def n_single(made: Attributes, labels: IntArray) -> int:
    groups = [np.flatnonzero(labels == group) for group in np.unique(labels)]
    return int((slowly_contained(made, groups).sum(axis=0) == 1).sum())


def test_the_cheapest_swaps_that_put_a_person_into_two_classes() -> None:
    # Ages 0 1 2 3 | 4 5 6 7. With 3 and 4 swapped, both classes contain 3, and each is 1 of 7 wider: 8/7 for
    # eight records. With 2 and 4, or 3 and 5, one is 1 wider and the other 2: 12/7.
    cells = GroupCells(EIGHT, HALVES)
    found = swaps(cells, [3], [True, True], 1, 10.0)
    assert found[0] == (3, 4)
    assert sorted(found) == [(2, 4), (3, 4), (3, 5)]
    assert swaps(cells, [3], [True, True], 1, 8 / 7 + 1e-9) == [(3, 4)]
    assert swaps(cells, [3], [True, True], 1, 8 / 7 - 1e-9) == []


def test_nobody_is_swapped_with_a_group_that_breaks_the_model_or_for_nobody() -> None:
    cells = GroupCells(EIGHT, HALVES)
    assert swaps(cells, [3], [True, False], 1, 10.0) == []
    assert swaps(cells, [3], [False, True], 1, 10.0) == []
    assert swaps(cells, [], [True, True], 1, 10.0) == []


@given(grouped(), st.integers(1, 3))
def test_after_each_swap_two_classes_contain_the_person(
    case: tuple[Attributes, IntArray, Constraints], n_classes: int
) -> None:
    made, labels, _ = case
    cells = GroupCells(made, labels)
    inside = cells.now_contained()
    valid = np.ones(len(cells), dtype=bool)
    for person in np.flatnonzero(inside.sum(axis=0) == 1).tolist():
        own = labels[person]
        found = swaps(cells, [person], valid.tolist(), n_classes, 2.0)
        assert len(found) <= BEST
        for one, other in found:
            assert labels[one] == own != labels[other]
            changed = labels.copy()
            changed[[one, other]] = labels[[other, one]]
            groups = [np.flatnonzero(changed == group) for group in (own, labels[other])]
            assert slowly_contained(made, groups)[:, person].all()
            assert total(made, changed) - total(made, labels) < 2.0 + 1e-9


def test_a_block_counts_people_outside_whom_it_would_leave_in_one_class() -> None:
    # Ages 0 1 7 | 2 8 9: swapping 7 and 2 saves 5 of 9 for six records, and leaves 2 and 7 in one class only.
    # Two people of 5, of another group, are in both classes before, and in neither after.
    made = attributes([[0.0, 1, 7, 2, 8, 9, 5, 5]], [])
    labels = np.array([0, 0, 0, 1, 1, 1])
    n_classes = np.array([1, 1, 2, 2, 1, 1, 3, 3])

    def gain(outside: list[int]) -> float:
        people = np.array(outside, dtype=np.int64)
        limits, rule, draw = limits_of([0] * 8, k=3), PolishRule(overlap_weight=1.0), np.random.default_rng(0)
        block = _Block(made, limits, rule, np.arange(6), people, labels, n_classes, draw)
        return float(block._gains(np.array([2]), np.array([3]))[0])

    assert gain([]) == pytest.approx(6 * 5 / 9 - 2)
    assert gain([6]) == pytest.approx(6 * 5 / 9 - 3)
    assert gain([6, 7]) == pytest.approx(6 * 5 / 9 - 4)


def test_fewer_people_are_in_one_class_and_the_sizes_stay() -> None:
    draw = np.random.default_rng(1)
    made = attributes(
        [draw.integers(0, 50, 120).astype(float).tolist(), draw.normal(size=120).tolist()],
        [draw.integers(0, 4, 120).tolist()],
    )
    labels = np.argsort(np.argsort(made.numeric[:, 0], kind="stable")) // 10
    limits = limits_of(draw.integers(0, 5, 120).tolist(), k=5, e=2)
    before = polish(labels, made, limits, PolishRule(overlap_weight=2.0, block_size=40, sweeps=2))
    rule = PolishRule(overlap_weight=2.0, widened_classes=4, block_size=40, sweeps=2)
    found = polish(labels, made, limits, rule)
    assert (np.bincount(found) == 10).all()
    assert n_single(made, found) < n_single(made, before) / 2
    assert (found == polish(labels, made, limits, rule)).all()
