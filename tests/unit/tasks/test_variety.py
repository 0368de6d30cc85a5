"""Rows of a signature that tell enough values of what may change: people change places, then groups merge."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tasks.history.attribute import Attribute
from tasks.history.variety import Records, merge_groups, swap_people
from tasks.types import IntArray

TWO = Attribute(np.arange(2))


def case(rows: list[tuple[int, int, int]]) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return labels, seats, tuples and what may change, of (group, position, told) of one signature."""
    labels, position, told = np.array(rows).T
    return labels, np.column_stack([np.zeros_like(position), position]), position, told


def n_alike(labels: IntArray, seat: IntArray, value: IntArray, told: IntArray, enough: int = 2) -> int:
    """Count the groups in which the tuples of some signature tell too few values."""
    found = set()
    for group, signature in set(zip(labels.tolist(), seat[:, 0].tolist(), strict=True)):
        tuples = set(value[seat[:, 0] == signature].tolist())
        values = {
            one
            for place, each, one in zip(labels.tolist(), value.tolist(), told.tolist(), strict=True)
            if place == group and each in tuples and one >= 0
        }
        if group >= 0 and signature >= 0 and 0 < len(values) < enough:
            found.add(group)
    return len(found)


def test_the_nearest_of_the_same_position_changes_places() -> None:
    rows = [(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 0), (2, 0, 1), (2, 1, 0), (2, 0, 0), (2, 1, 1)]
    labels, seat, value, told = case(rows)
    points = np.array([0.0, 0.0, 9.0, 9.0, 1.0, 1.0, 1.0, 1.0])[:, None]
    found = swap_people(Records(seat, value, told, TWO, 2, points), labels)
    assert found.tolist() == [2, 0, 1, 1, 0, 2, 2, 2]  # the group at 9 is further, and would tell too little


def test_who_finds_nobody_is_merged_with_the_nearest_group() -> None:
    rows = [(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1), (2, 0, 0), (2, 1, 1)]
    labels, seat, value, told = case([*rows[:2], *rows[4:]])
    points = np.array([0.0, 0.0, 5.0, 5.0])[:, None]
    assert swap_people(Records(seat, value, told, TWO, 2, points), labels).tolist() == labels.tolist()
    assert len(set(merge_groups(Records(seat, value, told, TWO, 2, points), labels).tolist())) == 1


def test_signatures_that_tell_too_little_everywhere_leave_and_merge_nobody() -> None:
    # The second signature tells one value in the whole table.
    labels = np.repeat(np.arange(10), 4)
    signature, position = np.tile([0, 0, 0, 0], 10), np.tile([0, 1, 0, 1], 10)
    signature[2:4] = 1
    told = np.tile([0, 1, 1, 0], 10)
    told[2:4] = 0
    seat = np.column_stack([signature, position])
    found = merge_groups(
        Records(seat, 2 * signature + position, told, TWO, 2, np.arange(40.0)[:, None]), labels
    )
    assert np.flatnonzero(found < 0).tolist() == [2, 3]
    assert len(set(found.tolist())) == 11


def test_numbers_within_the_width_are_one_value() -> None:
    labels, seat, value, told = case([(0, 0, 0), (0, 1, 1), (1, 0, 2), (1, 1, 0)])
    near = Attribute(np.arange(3), np.array([10.0, 11.0, 30.0]), 5.0)
    found = merge_groups(Records(seat, value, told, near, 2, np.zeros((4, 1))), labels)
    assert len(set(found.tolist())) == 1


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(0, 1), st.integers(-1, 2)),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 3),
)
def test_every_position_stays_as_often_in_every_group(
    buckets: list[tuple[int, int, int, int]], enough: int
) -> None:
    """A bucket is (group, signature, told by its first, told by its second)."""
    rows = [(g, s, p, t) for g, s, *both in buckets for p, t in enumerate(both)]
    labels, signature, position, told = np.array(rows).T
    seat, value = np.column_stack([signature, position]), 2 * signature + position
    points = np.arange(float(len(rows)))[:, None]
    attribute = Attribute(np.arange(3))

    def held(found: IntArray) -> Counter[tuple[int, ...]]:
        return Counter(zip(found.tolist(), signature.tolist(), position.tolist(), strict=True))

    found = swap_people(Records(seat, value, told, attribute, enough, points), labels)
    assert held(found) == held(labels)
    assert n_alike(found, seat, value, told, enough) <= n_alike(labels, seat, value, told, enough)
    whole = merge_groups(Records(seat, value, told, attribute, enough, points), found)
    assert not n_alike(whole, seat, value, told, enough)
    for group in set(found.tolist()):  # groups are merged whole, and signatures leave whole
        assert len(set(whole[found == group].tolist()) - {-1}) <= 1
        for one in set(signature.tolist()):
            assert len(set(whole[(found == group) & (signature == one)].tolist())) <= 1
