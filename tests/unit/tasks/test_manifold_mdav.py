"""M-MDAV, centres and their objective: by hand and against literal references."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tasks.aggregation import mdav
from tasks.aggregation.centres import centroids, geodesic_medoids, medoids, squared_error
from tasks.aggregation.manifold_mdav import aggregate
from tasks.representation.manifold import distinct, geodesics
from tasks.types import FloatArray, IntArray
from tests.support.small import groups_of

# A horseshoe: each record's two nearest are its neighbours along it, so that the geodesic distance of two is
# the difference of their numbers.
#   0         9
#   1         8
#   2         7
#   3  4   5  6
HORSESHOE = np.array(
    [(0, 3), (0, 2), (0, 1), (0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (3, 2), (3, 3)], dtype=np.float64
)

# left  | median: least summed distance            | seed          | its nearest
# all   | 4 and 5: 4+3+2+1+0+1+2+3+4+5 = 25; 4     | 9: 5 from 4   | 8: 1
# 0-7   | -                                        | 0: 9 from 9   | 1: 1
# 2-7   | 4 and 5: 2+1+0+1+2+3 = 9; 4              | 7: 3 from 4   | 6: 1
# 2-5   | -                                        | 2: 5 from 7   | 3: 1
# 4, 5  | fewer than 2k: one group
BY_HAND = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]


def test_m_mdav_on_a_horseshoe() -> None:
    number = np.arange(10)
    assert np.array_equal(geodesics(HORSESHOE, neighbours=2), np.abs(number[:, None] - number))
    assert grouped(HORSESHOE, 2, neighbours=2) == BY_HAND


def test_tips_that_are_near_but_far_along_the_data_are_not_grouped() -> None:
    # A ring of 24 with a gap of three steps between the first and the last.
    turn = np.linspace(0, 2 * np.pi, 27)[:24]
    ring = np.column_stack([np.cos(turn), np.sin(turn)])
    along = grouped(ring, 6, neighbours=2)
    assert along == [[*range(first, first + 6)] for first in (0, 6, 12, 18)]
    straight = groups_of(mdav.aggregate(ring, np.zeros(24, dtype=np.int64), 6))
    assert any({0, 23} <= set(group) for group in straight)


def test_records_at_one_place_count_as_many() -> None:
    # Five at 10 make 10 the median, from which 24 is the farthest; from the mean, 12.4, it would be 0.
    points = np.array([0, 10, 10, 22, 10, 10, 10, 24, 14, 14], dtype=float)[:, None]
    # 24 takes 22 and 14 (record 8), 0 takes 10 twice (1 and 2), and four are under 2k.
    assert grouped(points, 3) == [[0, 1, 2], [3, 7, 8], [4, 5, 6, 9]]


def test_leaves_are_grouped_one_by_one_and_records_left_out_stay_out() -> None:
    leaves = np.array([1, 1, 1, -1, 0, 0, 1, 0, 1, 0])
    labels = aggregate(HORSESHOE, leaves, 2)
    assert labels[3] == -1
    assert {frozenset(leaves[labels == label]) for label in range(labels.max() + 1)} == {
        frozenset({0}),
        frozenset({1}),
    }
    assert grouped(HORSESHOE[:3], 2) == [[0, 1, 2]]


@st.composite
def lines(draw: st.DrawFn) -> FloatArray:
    n = draw(st.integers(1, 35))
    greatest = draw(st.sampled_from([0, 3, 50]))
    return np.array(draw(st.lists(st.integers(0, greatest), min_size=n, max_size=n)), dtype=float)[:, None]


@given(lines(), st.integers(1, 6), st.integers(1, 40))
def test_m_mdav_is_the_literal_one(points: FloatArray, k: int, neighbours: int) -> None:
    # On a line of whole numbers every geodesic distance is a whole number.
    found = distinct(points)
    away = geodesics(found.points, neighbours=neighbours)[np.ix_(found.place, found.place)]
    assert grouped(points, k, neighbours=neighbours) == slow_m_mdav(away.tolist(), k)


@given(st.integers(0, 40), st.integers(1, 5), st.integers(0, 9))
@example(34, 4, 3)  # two medians with equal sums, which rounding would tell apart
def test_m_mdav_of_a_plane_is_the_literal_one(n: int, k: int, seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(n, 2))
    found = distinct(points)
    away = geodesics(found.points, neighbours=4)[np.ix_(found.place, found.place)]
    assert np.allclose(geodesics(points, neighbours=4), away)
    assert grouped(points, k, neighbours=4) == slow_m_mdav(away.tolist(), k)


def test_centres_and_their_objective() -> None:
    points = np.array([(0, 0), (3, 0), (1, 0), (10, 10), (10, 14), (10, 11), (50, 50)], dtype=float)
    labels = np.array([0, 0, 0, 1, 1, 1, -1])
    # 0 + 3 + 1 = 4, 3 + 2 = 5, 1 + 2 = 3; 4 + 1 = 5, 4 + 3 = 7, 1 + 3 = 4.
    assert medoids(points, labels).tolist() == [2, 5]
    assert centroids(points, labels).tolist() == [[4 / 3, 0], [10, 35 / 3]]
    assert squared_error(points, labels, points[medoids(points, labels)]) == 1 + 4 + 1 + 9
    # 16/9 + 25/9 + 1/9, and 25/9 + 49/9 + 4/9.
    assert squared_error(points, labels, centroids(points, labels)) == pytest.approx(120 / 9)


def test_of_equal_sums_the_least_record_is_the_medoid() -> None:
    assert medoids(np.zeros((5, 2)), np.array([1, 0, 1, 0, 1])).tolist() == [1, 0]


def test_a_geodesic_medoid_lies_along_the_data() -> None:
    # Along the first seven, 3 is the middle. Straight, 4 is nearer to the others in sum.
    seven, whole = HORSESHOE[:7], np.zeros(7, dtype=np.int64)
    assert geodesic_medoids(seven, whole, whole, neighbours=2).tolist() == [3]
    sums = np.sqrt(((seven[:, None] - seven) ** 2).sum(axis=2)).sum(axis=1)
    assert medoids(seven, whole).tolist() == [sums.argmin()]
    assert sums.argmin() != 3
    # A group over two leaves has its straight medoid.
    assert geodesic_medoids(seven, whole, np.arange(7) % 2, neighbours=2).tolist() == [sums.argmin()]


@given(st.integers(1, 90), st.integers(1, 4), st.integers(0, 20))
def test_medoids_are_those_of_every_group_by_itself(n: int, groups: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    points = draw.normal(size=(n, 2))
    labels = np.unique(draw.integers(0, groups, n), return_inverse=True)[1]
    found = medoids(points, labels)
    for label, record in enumerate(found.tolist()):
        members = np.flatnonzero(labels == label)
        sums = [np.linalg.norm(points[members] - points[i], axis=1).sum() for i in members]
        assert labels[record] == label
        assert sums[members.tolist().index(record)] == pytest.approx(min(sums))
    mean = centroids(points, labels)
    least = squared_error(points, labels, mean)
    assert least <= squared_error(points, labels, points[found]) + 1e-9
    assert all(np.allclose(mean[label], points[labels == label].mean(axis=0)) for label in set(labels))


def test_objective_of_mdav_is_less_than_that_of_groups_by_number() -> None:
    points = np.random.default_rng(2).normal(size=(60, 2))
    by_number: IntArray = np.arange(60) // 5
    made = mdav.aggregate(points, np.zeros(60, dtype=np.int64), 5)
    assert squared_error(points, made, centroids(points, made)) < 0.3 * squared_error(
        points, by_number, centroids(points, by_number)
    )


def grouped(points: FloatArray, k: int, neighbours: int = 10) -> list[list[int]]:
    return groups_of(aggregate(points, np.zeros(len(points), dtype=np.int64), k, neighbours=neighbours))


def slow_m_mdav(away: list[list[float]], k: int) -> list[list[int]]:
    """Garg and Torra's steps, one record at a time, on distances between all records."""
    left = list(range(len(away)))
    groups = []

    def farthest(place: int) -> int:
        return max(left, key=lambda i: (away[place][i], -i))

    def median() -> int:
        return min(left, key=lambda i: (sum(away[i][j] for j in left), i))

    def take(seed: int) -> None:
        near = sorted(left, key=lambda i: (i != seed, away[seed][i], i))[:k]
        groups.append(sorted(near))
        left[:] = [i for i in left if i not in near]

    while len(left) >= 3 * k:
        first = farthest(median())
        take(first)
        take(farthest(first))
    if len(left) >= 2 * k:
        take(farthest(median()))
    if left:
        groups.append(left)
    return sorted(groups)
