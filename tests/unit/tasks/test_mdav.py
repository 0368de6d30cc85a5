"""MDAV, worked by hand and held against a literal reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.aggregation.mdav import aggregate, leaves_of
from tasks.types import FloatArray
from tests.support.small import groups_of

TWELVE = np.array(
    [(0, 0), (1, 0), (0, 2), (9, 9), (10, 9), (9, 7), (0, 10), (1, 9), (10, 0), (9, 1), (5, 5), (4, 6)],
    dtype=np.float64,
)

# left               | centre         | seed                                    | its nearest two
# all twelve         | (4.83, 4.83)   | 6 (0,10): 50.06, as has 8: least number | 7: 2, 11: 32 (10: 50)
# all but 6, 7, 11   | -              | 8 (10,0): 200 from 6                    | 9: 2, 5: 50, as has 10
# 0, 1, 2, 3, 4, 10  | (4.17, 4.17)   | 4 (10,9): 57.4 (0: 34.7)                | 3: 1, 10: 41 (2: 149)
# 0, 1, 2            | fewer than 2k: one group
BY_HAND = [[0, 1, 2], [3, 4, 10], [5, 8, 9], [6, 7, 11]]

# k = 4: 6 takes 7, 11 and 10 (50; 2 has 64), 8 of the eight left takes 9, 5 (50) and 1 (81, as has 3);
# 0, 2, 3 and 4 are left.
BY_HAND_4 = [[0, 2, 3, 4], [1, 5, 8, 9], [6, 7, 10, 11]]

# k = 5: twelve are under 3k. 6 takes 7, 11, 10 and 2 (64); the other seven are under 2k.
BY_HAND_5 = [[0, 1, 3, 4, 5, 8, 9], [2, 6, 7, 10, 11]]


@pytest.mark.parametrize(("k", "expected"), [(3, BY_HAND), (4, BY_HAND_4), (5, BY_HAND_5)])
def test_mdav_on_twelve_points(k: int, expected: list[list[int]]) -> None:
    assert grouped(TWELVE, k) == expected


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_fewer_than_2k_records_stay_whole(n: int) -> None:
    assert grouped(TWELVE[:n], 3) == [[*range(n)]]


def test_equal_records_are_grouped_by_their_number() -> None:
    # 0 takes 1 and 2; of what is left 3 is the farthest from 0, as are all.
    assert grouped(np.zeros((11, 2)), 3) == [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9, 10]]


def test_leaves_are_grouped_one_by_one_and_records_left_out_stay_out() -> None:
    leaves = np.array([5, 5, -1, 2, 2, 2, 2, 5, 5, 5, 2, 5])
    labels = aggregate(TWELVE, leaves, 2)
    assert labels[2] == -1
    assert sorted(np.unique(labels[leaves >= 0])) == list(range(labels.max() + 1))
    for leaf in (2, 5):
        records = np.flatnonzero(leaves == leaf)
        inside = groups_of(labels[records])
        assert inside == slow_mdav(TWELVE[records], 2)


def test_no_record_gives_no_group() -> None:
    assert leaves_of(np.array([-1, -1])) == []
    assert aggregate(np.zeros((2, 1)), np.array([-1, -1]), 2).tolist() == [-1, -1]


@st.composite
def tables(draw: st.DrawFn) -> FloatArray:
    """Few different whole numbers, so that there are ties, constants and duplicates."""
    n = draw(st.integers(1, 40))
    greatest = draw(st.sampled_from([0, 2, 9, 60]))
    column = st.lists(st.integers(-greatest, greatest), min_size=n, max_size=n)
    return np.array([draw(column) for _ in range(draw(st.integers(1, 3)))], dtype=np.float64).T


@given(tables(), st.integers(1, 7))
def test_mdav_is_the_literal_one(points: FloatArray, k: int) -> None:
    found = grouped(points, k)
    assert found == slow_mdav(points, k)
    sizes = sorted(len(group) for group in found)
    assert len(points) < 2 * k or (sizes[0] >= k and sizes[-1] < 2 * k and all(s == k for s in sizes[:-1]))


def grouped(points: FloatArray, k: int) -> list[list[int]]:
    return groups_of(aggregate(points, np.zeros(len(points), dtype=np.int64), k))


def slow_mdav(points: FloatArray, k: int) -> list[list[int]]:
    """Domingo-Ferrer and Mateo-Sanz's steps, one record at a time."""
    rows = points.tolist()
    left = list(range(len(rows)))
    groups = []

    def distance(one: list[float], other: list[float]) -> float:
        total = 0.0
        for a, b in zip(one, other, strict=True):
            total += (a - b) ** 2
        return total

    def farthest(place: list[float]) -> int:
        return max(left, key=lambda i: (distance(rows[i], place), -i))

    def centre() -> list[float]:
        return [sum(rows[i][c] for i in left) / len(left) for c in range(len(rows[0]))]

    def take(seed: int) -> None:
        near = sorted(left, key=lambda i: (i != seed, distance(rows[i], rows[seed]), i))[:k]
        groups.append(sorted(near))
        left[:] = [i for i in left if i not in near]

    while len(left) >= 3 * k:
        first = farthest(centre())
        take(first)
        take(farthest(rows[first]))
    if len(left) >= 2 * k:
        take(farthest(centre()))
    if left:
        groups.append(left)
    return sorted(groups)
