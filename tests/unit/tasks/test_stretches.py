"""Who is in a unit from when to when, and whom one known value unlocks there."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tasks.history.attribute import Attribute
from tasks.history.known import unlocked_by_one
from tasks.history.stretches import stretches
from tests.unit.reference.test_one_known_person import by_trying_all
from tests.unit.reference.test_possible_values import Series


def test_who_is_there_without_a_gap_and_in_the_class_of_most_is_in_a_stretch() -> None:
    classes = np.array(
        [
            [3, -1, 0, 0],  # nobody of the unit is in the second release
            [3, -1, 0, -1],
            [-1, -1, 0, 0],
            [3, -1, -1, 0],  # a gap
            [3, -1, 1, 0],  # elsewhere
            [-1, -1, -1, -1],
            [3, 2, 0, 0],  # another unit
            [3, 2, 0, 0],  # none
        ]
    )
    found = stretches(classes, np.array([5, 5, 5, 5, 5, 5, 2, -1]))
    assert found.subject.tolist() == [6, 0, 1, 2]
    assert found.unit.tolist() == [0, 1, 1, 1]
    assert found.start.tolist() == [0, 0, 0, 1]
    assert found.end.tolist() == [4, 3, 2, 3]


def test_nobody_is_in_a_stretch_of_no_unit() -> None:
    assert not len(stretches(np.zeros((3, 2), dtype=np.int64), np.full(3, -1)).subject)


def test_one_for_two_times_changes_places_with_two_who_follow_each_other() -> None:
    classes = np.array(
        [
            [0, 0, 0],
            [-1, 0, 0],  # knows nothing of anybody: all others may change places beside them
            [-1, -1, 0],
            [-1, 0, -1],
            [-1, -1, 0],
            [0, -1, -1],
        ]
    )
    value, everybody = np.array([0, 0, 1, 1, 0, 1]), np.arange(6)
    attributes = (Attribute(np.arange(2)),)
    alone = unlocked_by_one(classes, value, attributes, 2, everybody)
    told = unlocked_by_one(classes, value, attributes, 2, everybody, unit=np.zeros(6, dtype=np.int64))
    assert alone.people.tolist() == [1, 3, 5, 3, 2, 1]
    assert told.people.tolist() == [1, 0, 5, 3, 0, 1]
    assert by_trying_all(Series(classes, value, attributes, 2), everybody) == [1, 0, 5, 3, 0, 1]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5), st.integers(0, 1)), min_size=2, max_size=7))
def test_of_two_values_in_one_unit_everything_is_found(people: list[tuple[int, int, int]]) -> None:
    start, length, value = np.array(people).T
    release = np.arange(5)
    classes = np.where((release >= start[:, None]) & (release < (start + length)[:, None]), 0, -1)
    series = Series(classes, value, (Attribute(np.arange(2)),), 2)
    everybody = np.arange(len(people))
    told = unlocked_by_one(
        classes, value, series.attributes, 2, everybody, unit=np.zeros(len(people), dtype=np.int64)
    )
    assert told.people.tolist() == by_trying_all(series, everybody)
