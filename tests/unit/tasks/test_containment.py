"""Blocks of points and classes, held against a double loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from release_store.records import EquivalenceClasses
from tasks.geometry import containment
from tasks.geometry.containment import blocks
from tasks.geometry.space import Boxes, Points, boxes_of, distinct_rows, points_of, space_of
from tasks.recoding.generalize import generalized
from tasks.types import BoolArray, PreparedTable
from tests.support.small import MIXED, TWO_SENSITIVE, anonymized, mixed_rows, prepared, small_policy

POLICY = small_policy(MIXED, TWO_SENSITIVE)


def looped(table: PreparedTable, classes: EquivalenceClasses) -> BoolArray:
    """Which class contains which record, (n_records, n_classes), from the definition."""
    inside = np.ones((table.n_records, classes.n_classes), dtype=bool)
    for i in range(table.n_records):
        for c in range(classes.n_classes):
            for column, name in enumerate(table.numeric_names):
                value = table.numeric[i, column]
                low, high = classes.intervals[name][c]
                inside[i, c] &= bool(np.isnan(value) or low <= value <= high)
            for column, name in enumerate(table.categorical_names):
                cells = classes.sets[name]
                value = table.domains[name][table.codes[i, column]]
                covered = [v for v, member in zip(cells.values, cells.member[c], strict=True) if member]
                inside[i, c] &= bool(cells.whole[c]) or value in covered
    return inside


def gathered(points: Points, boxes: Boxes) -> BoolArray:
    inside = np.zeros((len(points), len(boxes)), dtype=bool)
    times = np.zeros(len(points), dtype=int)
    for block in blocks(points, boxes):
        assert (np.diff(block.points) > 0).all()
        assert (np.diff(block.classes) > 0).all()
        times[block.points] += 1
        inside[np.ix_(block.points, block.classes)] = block.inside
    assert (times == 1).all()
    return inside


@pytest.mark.parametrize("size", [containment.BLOCK, 20, 1])
def test_blocks_are_a_double_loop(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containment, "BLOCK", size)

    @given(mixed_rows(1, 16), mixed_rows(1, 16))
    def holds(source: list[Any], published: list[Any]) -> None:
        table, other = prepared(POLICY, source), prepared(POLICY, published)
        classes = generalized(other, anonymized(other, POLICY).labels, POLICY)
        space = space_of([classes], table)
        points = points_of(table, space)
        inside = gathered(points, boxes_of(classes, space))
        assert np.array_equal(inside[points.place], looped(table, classes))

    holds()


def test_no_classes_contain_nobody() -> None:
    table = prepared(POLICY, [(1, 1.0, "a", "a", "flu", 1.0), (2, 1.0, "a", "a", "flu", 1.0)])
    classes = generalized(table, np.array([-1, -1]), POLICY)
    space = space_of([classes], table)
    points = points_of(table, space)
    assert gathered(points, boxes_of(classes, space)).shape == (2, 0)


def test_an_attribute_that_the_source_does_not_have_may_have_any_value() -> None:
    table = prepared(small_policy({"city": {"type": "categorical"}}), [("Hull", "flu"), ("York", "flu")])
    earlier_policy = small_policy(
        {
            "city": {"type": "categorical"},
            "job": {"type": "categorical"},
            "age": {"type": "integer", "bounds": [0, 99]},
        }
    )
    earlier = prepared(earlier_policy, [("Hull", "nurse", 20, "flu"), ("York", "cook", 30, "hiv")])
    classes = generalized(earlier, np.array([0, 1]), earlier_policy)
    space = space_of([classes], table)
    inside = gathered(points_of(table, space), boxes_of(classes, space))
    assert inside.tolist() == [[True, False], [False, True]]


def test_equal_records_are_one_point() -> None:
    rows = [(1, 1.0, "a", "a", "flu", 1.0), (None, 1.0, "a", "a", "hiv", 2.0)] * 2
    table = prepared(POLICY, rows)
    points = points_of(table, space_of([], table))
    assert len(points) == 2
    assert points.place.tolist() == [0, 1, 0, 1]


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0, np.nan]), st.integers(0, 2)), min_size=1, max_size=12))
def test_distinct_rows_are_told_by_their_first(rows: list[tuple[float, int]]) -> None:
    first, place = distinct_rows([np.array([row[0] for row in rows]), np.array([row[1] for row in rows])])
    seen: dict[str, int] = {}
    for i, row in enumerate(rows):
        number = seen.setdefault(repr(row), len(seen))
        assert place[i] == number
        assert repr(rows[first[number]]) == repr(row)
    assert len(first) == len(seen)
