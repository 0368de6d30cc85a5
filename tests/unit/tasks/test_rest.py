"""The records of a leaf that are in no group yet, held against a list of all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.aggregation import ke_mdav, mdav, rest
from tasks.aggregation.rest import Straight
from tasks.partitioning.constraints import Constraints, SensitiveColumn
from tasks.representation.manifold import distinct
from tasks.types import FloatArray

# Records 0, 2 and 3 at one point, 1 and 4 at another, 5 alone.
SIX = np.array([0, 3, 0, 0, 3, 9], dtype=np.float64)[:, None]


def together(points: FloatArray) -> Straight:
    found = distinct(points)
    return Straight(found.points, found.place)


def test_six_records_at_three_points() -> None:
    left = together(SIX)
    # Their centre is 15 / 6 = 2.5: 9 is farther from it than 0.
    assert left.farthest_from_centre() == 5
    assert left.farthest_from(5) == 0
    assert left.nearest(5, 3).tolist() == [5, 1, 4]
    assert left.all_nearest(5, 2).tolist() == [5, 1, 4, 0, 2]
    left.take(np.array([1, 0]))
    assert left.records().tolist() == [2, 3, 4, 5]
    # The centre is 12 / 4 = 3 now.
    assert left.farthest_from_centre() == 5
    left.take(np.array([5]))
    assert left.farthest_from_centre() == 4
    assert left.farthest_from(5) == 2
    assert left.nearest(4, 2).tolist() == [4, 2]


@st.composite
def leaves(draw: st.DrawFn) -> FloatArray:
    n = draw(st.integers(1, 40))
    column = st.lists(st.integers(0, draw(st.sampled_from([0, 2, 30]))), min_size=n, max_size=n)
    return np.array([draw(column) for _ in range(draw(st.integers(1, 3)))], dtype=np.float64).T


@given(leaves(), st.booleans(), st.data())
def test_who_is_left_and_near_is_what_a_list_says(
    points: FloatArray, apart: bool, data: st.DataObject
) -> None:
    left = Straight(points, np.arange(len(points))) if apart else together(points)
    listed = list(range(len(points)))

    def away(one: FloatArray, record: int) -> float:
        return float(((points[record] - one) ** 2).sum())

    gone = 0
    while listed:
        assert left.records().tolist() == listed
        assert left.n_records == len(listed)
        assert left.farthest_from(gone) == max(listed, key=lambda i: (away(points[gone], i), -i))
        seed = left.farthest_from_centre()
        centre = points[listed].sum(axis=0) / len(listed)
        assert seed == max(listed, key=lambda i: (away(centre, i), -i))
        order = sorted(listed, key=lambda i: (i != seed, away(points[seed], i), i))
        n = data.draw(st.integers(1, len(listed)))
        assert left.nearest(seed, n).tolist() == order[:n]
        most = data.draw(st.integers(1, 4))
        few = [i for place, i in enumerate(order) if apart or _equal_before(points, order, place) < most]
        assert left.all_nearest(seed, most).tolist() == few
        left.take(np.array(order[:n]))
        listed = sorted(order[n:])
        gone = seed


def _equal_before(points: FloatArray, order: list[int], place: int) -> int:
    return sum(np.array_equal(points[i], points[order[place]]) for i in order[:place])


@st.composite
def constrained(draw: st.DrawFn) -> tuple[FloatArray, Constraints, ke_mdav.LocalRule]:
    points = draw(leaves())
    n = len(points)
    codes = [np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))) for _ in range(2)]
    numbers = np.where(codes[1] == 3, np.nan, codes[1] * 1.5) if draw(st.booleans()) else None
    person = np.array(draw(st.lists(st.integers(0, n), min_size=n, max_size=n)))
    k = draw(st.integers(2, 4))
    limits = Constraints(
        k,
        draw(st.sampled_from([0.4, 0.8, 1.0])),
        draw(st.sampled_from([0.0, 0.6])),
        draw(st.sampled_from([1, 2, 3])),
        (SensitiveColumn(codes[0], 4), SensitiveColumn(codes[1], 4, numbers)),
        person=person if draw(st.booleans()) else None,
    )
    planned = draw(st.sampled_from([None, k, k + 2]))
    spread = draw(st.sampled_from([None, 3]))
    return points, limits, ke_mdav.LocalRule(3 * k, 0.5, spread, planned)


@given(constrained())
def test_groups_are_those_of_the_records_one_by_one(
    case: tuple[FloatArray, Constraints, ke_mdav.LocalRule],
) -> None:
    points, limits, rule = case
    whole = np.zeros(len(points), dtype=np.int64)
    found = []
    for one_by_one in (len(points), 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rest, "ONE_BY_ONE", one_by_one)
            found.append(
                (mdav.aggregate(points, whole, limits.k), ke_mdav.aggregate(points, whole, limits, rule))
            )
    (fixed, local), (fixed_too, local_too) = found
    assert fixed.tolist() == fixed_too.tolist()
    assert local.tolist() == local_too.tolist()
