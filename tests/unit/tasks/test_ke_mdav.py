"""(k,e)-MDAV, worked by hand and on random leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.aggregation.ke_mdav import LocalRule, aggregate
from tasks.partitioning.constraints import Constraints, SensitiveColumn
from tasks.types import FloatArray
from tests.support.small import groups_of, limits_of

ONE_LEAF = np.zeros(12, dtype=np.int64)
TWELVE = np.array([0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 33], dtype=float)[:, None]


def grouped(points: FloatArray, limits: Constraints, **rule: Any) -> list[list[int]]:
    labels = np.zeros(len(points), dtype=np.int64)
    return groups_of(aggregate(points, labels, limits, LocalRule(**{"max_group_size": 9, **rule})))


def test_mdav_on_twelve_points() -> None:
    # The centroid is 16.1; 33 is the farthest, then 0 from 33; what is left halves in the same way.
    found = grouped(TWELVE, limits_of([0] * 12, k=3))
    assert found == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]


def test_mdav_keeps_the_last_2k_minus_1_together() -> None:
    # k = 4: 33 takes 31, 30, 22; eight are left: 0 takes 1, 2, 10; then 11, 12, 20, 21 are a group.
    assert grouped(TWELVE, limits_of([0] * 12, k=4)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    # k = 5: 33 takes 31, 30, 22, 21; the seven left are under 2k.
    assert grouped(TWELVE, limits_of([0] * 12, k=5)) == [[0, 1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11]]


def test_a_nearer_record_is_passed_over_for_another_illness() -> None:
    # 33, 31 and 30 have one illness: with e = 2, 33 takes 31 and passes over 30 for 22, which has another.
    illness = [0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 0]
    found = grouped(TWELVE, limits_of(illness, k=3, e=2))
    assert [8, 10, 11] in found
    # 0 takes 1 and 2, which have both; the six left are 10, 11, 12, 20, 21, 30 (centroid 17.3): 30 is the
    # farthest, takes 21 of the same illness, then 20 of the other.
    assert found == [[0, 1, 2], [3, 4, 5], [6, 7, 9], [8, 10, 11]]


def test_a_nearer_record_is_passed_over_for_p_max() -> None:
    # No more than half of four alike: 33 and 31 are the two, 30 and 21 are passed over for 22 and 20.
    illness = [1, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 0]
    found = grouped(TWELVE, limits_of(illness, k=4, p_max=0.5))
    assert [6, 8, 10, 11] in found


def test_a_group_is_not_grown_over_the_largest_spread() -> None:
    illness = [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]
    loose = grouped(TWELVE, limits_of(illness, k=3))
    tight = grouped(TWELVE, limits_of(illness, k=3), max_sensitive_spread=2)
    values = [{illness[i] for i in group} for group in tight]
    assert max(len({illness[i] for i in group}) for group in loose) == 3
    # 33 (2) takes 31 (1), passes over 30 (0) and takes 22 (2).
    assert [8, 10, 11] in tight
    assert sum(len(each) <= 2 for each in values) >= 2


def test_records_left_over_go_to_the_nearest_group_that_they_do_not_break() -> None:
    # Three at either end and a sixth illness in the middle: seven records, k = 3, e = 2.
    points = np.array([0, 1, 2, 4, 8, 9, 10], dtype=float)[:, None]
    # 10 (centroid 4.9) takes 9 and 8; 0, 1, 2 and 4 are a group of their own if they hold the model ...
    assert grouped(points, limits_of([0, 1, 0, 0, 1, 0, 1], k=3, e=2)) == [[0, 1, 2, 3], [4, 5, 6]]
    # ... else each goes to the group nearest to it, as long as that stays under the largest size.
    found = grouped(points, limits_of([0, 0, 0, 0, 1, 0, 1], k=3, e=2))
    assert found == [[*range(7)]]
    # and otherwise all are joined with the nearest groups, since the model comes before the size.
    assert grouped(points, limits_of([0, 0, 0, 0, 1, 0, 1], k=3, e=2), max_group_size=5) == [[*range(7)]]


def test_labels_of_leaves_are_only_made_finer() -> None:
    leaves = np.array([0] * 5 + [1] * 7)
    labels = aggregate(TWELVE, leaves, limits_of([0, 1] * 6, k=2), LocalRule(6))
    for label in np.unique(labels):
        assert len(set(leaves[labels == label])) == 1
    assert len(np.unique(labels)) > 2


@pytest.mark.parametrize(
    ("points", "limits"),
    [
        (np.zeros((12, 2)), limits_of([0, 1] * 6, k=2)),
        (TWELVE, limits_of([0] * 12, k=2, e=2)),
        (TWELVE, limits_of([0, 1] * 6, k=7)),
        (TWELVE, limits_of([0, 1] * 6, k=20)),
    ],
    ids=["points all alike", "a leaf that breaks the model", "fewer than 2k records", "fewer than k"],
)
def test_a_leaf_stays_whole(points: FloatArray, limits: Constraints) -> None:
    assert grouped(points, limits) == [[*range(12)]]


@st.composite
def leaves(draw: st.DrawFn) -> tuple[FloatArray, Constraints, LocalRule]:
    n = draw(st.integers(2, 45))
    column = st.lists(st.integers(0, 12).map(float), min_size=n, max_size=n)
    points = np.column_stack([draw(column) for _ in range(draw(st.integers(1, 2)))])
    codes = [np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))) for _ in range(2)]
    numbers = np.where(codes[1] == 4, np.nan, codes[1] * 1.5)
    k = draw(st.integers(2, 5))
    limits = Constraints(
        k,
        draw(st.sampled_from([0.4, 0.5, 0.8, 1.0])),
        draw(st.sampled_from([0.0, 0.3, 0.6])),
        draw(st.sampled_from([1, 2, 3])),
        (
            SensitiveColumn(codes[0], 5),
            SensitiveColumn(codes[1], 5, numbers if draw(st.booleans()) else None),
        ),
    )
    spread = draw(st.sampled_from([None, None, 3]))
    return points, limits, LocalRule(draw(st.integers(k, 3 * k)), draw(st.sampled_from([0.0, 0.5])), spread)


@given(leaves())
def test_every_group_satisfies_the_model_if_the_leaf_does(
    case: tuple[FloatArray, Constraints, LocalRule],
) -> None:
    points, limits, rule = case
    labels = aggregate(points, np.zeros(len(points), dtype=np.int64), limits, rule)
    groups = groups_of(labels)
    assert sorted(np.unique(labels)) == list(range(len(groups)))
    if limits.group_holds(np.arange(len(points))):
        assert all(limits.group_holds(np.array(group)) for group in groups)
    else:
        assert len(groups) == 1


@given(st.integers(4, 60), st.integers(2, 6))
def test_without_a_sensitive_condition_groups_have_k_to_2k_minus_1_records(n: int, k: int) -> None:
    points = np.random.default_rng(n).normal(size=(n, 2))
    sizes = [len(group) for group in grouped(points, limits_of([0] * n, k=k), max_group_size=2 * k - 1)]
    assert n < 2 * k or all(k <= size < 2 * k for size in sizes)
    assert n < 2 * k or sum(size > k for size in sizes) <= 1


def test_groups_are_grown_in_turn_from_both_ends() -> None:
    # 101 is the farthest from the centroid and takes 100. Of the five left 45 is the farthest from their
    # centroid (17.4), but the second group starts from the record farthest from 101: 0, which takes 10.
    points = np.array([0, 10, 12, 20, 45, 100, 101], dtype=float)[:, None]
    assert grouped(points, limits_of([0] * 7, k=2)) == [[0, 1], [2, 3, 4], [5, 6]]
