"""Swaps that mend a group, planned sizes and the room that they need: by hand and on random leaves."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.aggregation.ke_mdav import LocalRule, aggregate, planned_sizes, room_for_groups
from tasks.aggregation.swaps import repair_groups, shortfall
from tasks.partitioning.constraints import Constraints, SensitiveColumn
from tasks.types import FloatArray
from tests.support.small import groups_of, limits_of


def group_of(*records: int) -> np.ndarray:
    return np.array(records)


def test_the_value_in_excess_is_swapped_for_the_nearest_record_that_mends() -> None:
    # Flu (0) four times of five, p_max 0.6: one flu too many. Of those outside, 5 has flu too; 6 has a cold
    # (1) and is the nearest that mends. Out goes the farthest with flu, 4; not 3, which has another illness.
    illness = [0, 0, 0, 1, 0, 0, 1, 2]
    found = repair_groups(group_of(0, 1, 2, 3, 4), group_of(5, 6, 7), limits_of(illness, k=5, p_max=0.6))
    assert found is not None
    assert found[0].tolist() == [0, 1, 2, 3, 6]
    assert found[1] == [(4, 6)]


def test_two_distinct_values_too_few_take_two_swaps() -> None:
    # e = 3 and one illness: the nearest of another is 5, then 7; 6 would bring no third one.
    illness = [0, 0, 0, 0, 0, 1, 1, 2]
    found = repair_groups(group_of(0, 1, 2, 3), group_of(4, 5, 6, 7), limits_of(illness, k=4, e=3))
    assert found is not None
    assert found[1] == [(3, 5), (2, 7)]
    assert sorted(found[0].tolist()) == [0, 1, 5, 7]


def test_the_seed_stays_and_what_cannot_be_mended_is_told() -> None:
    illness = [0, 1, 1, 1, 1]
    assert repair_groups(group_of(0, 1, 2), group_of(3, 4), limits_of(illness, k=3, p_max=0.5)) is None
    found = repair_groups(group_of(0, 3), group_of(1), limits_of([0, 1, 1, 0], k=2, e=2))
    assert found is not None
    assert found[0].tolist() == [0, 1]


def test_a_swap_that_is_refused_is_not_made() -> None:
    illness = [0, 0, 0, 1, 1]
    limits = limits_of(illness, k=3, e=2)
    assert repair_groups(
        group_of(0, 1, 2), group_of(3, 4), limits, allowed=lambda _out, record: record == 4
    ) == (
        pytest.approx(group_of(0, 1, 4)),
        [(2, 4)],
    )
    assert repair_groups(group_of(0, 1, 2), group_of(3, 4), limits, allowed=lambda _out, _in: False) is None


def test_how_far_a_group_is_from_each_condition() -> None:
    illness = [0, 0, 0, 0, 1, 2]
    groups = np.array([[0, 1, 2, 3], [0, 1, 4, 5]])
    assert shortfall(groups, limits_of(illness, p_max=0.5)).tolist() == pytest.approx([2, 0])
    assert shortfall(groups, limits_of(illness, e=3)).tolist() == [2, 0]
    assert shortfall(groups, limits_of(illness, e=1), max_spread=2).tolist() == [0, 1]
    assert shortfall(groups, limits_of(illness, h_min=1.0)).tolist() == pytest.approx([1, 0])
    assert shortfall(groups[1:], limits_of(illness, h_min=1.5)).tolist() == pytest.approx(
        [1.5 - 1.5 * log(2)]
    )
    wage = SensitiveColumn(np.zeros(6, dtype=np.int64), 1, np.array([1.0, 2, 3, np.nan, 5, 9]))
    assert shortfall(groups, Constraints(2, 1.0, 0.0, 4.0, (wage,))).tolist() == [0.5, 0]


@pytest.mark.parametrize(
    ("n", "group_size", "most", "sizes"),
    [
        (31, 16, 24, [16, 15]),  # one group of 31 would be too large
        (32, 16, 24, [16, 16]),
        (40, 16, 24, [20, 20]),
        (24, 16, 24, [24]),
        (24, 16, 20, [12, 12]),
        (15, 16, 12, [15]),  # two groups would have fewer than 8
        (7, 16, 24, [7]),
    ],
)
def test_leaves_are_dealt_out_evenly(n: int, group_size: int, most: int, sizes: list[int]) -> None:
    assert planned_sizes(n, 8, LocalRule(most, group_size=group_size)) == sizes


def test_without_a_group_size_the_last_group_takes_the_rest() -> None:
    assert planned_sizes(31, 8, LocalRule(24)) == [15, 8, 8]
    assert planned_sizes(7, 8, LocalRule(24)) == [7]


def test_a_partition_leaves_room_for_groups_that_p_max_allows() -> None:
    illness = [0] * 78 + [1] * 22
    limits = limits_of(illness, k=8, p_max=0.8)
    # 12 of 16 may be alike, 0.75; with 78 of 100 alike already, the table itself does not hold that ...
    assert room_for_groups(limits, 16, 50).p_max == 0.8
    # ... but 15 of 19.
    assert room_for_groups(limits, 19, 50).p_max == 15 / 19
    assert room_for_groups(limits, 19, 50).k == 50
    assert room_for_groups(limits, 19, 3).k == 8


def test_the_last_group_is_mended_with_the_help_of_the_others() -> None:
    # Two illnesses, the second of them all at one end: the first group needs only one of the two there.
    points = np.arange(8, dtype=float)[:, None]
    limits = limits_of([0, 0, 0, 0, 0, 0, 1, 1], k=4, e=2)
    found = groups_of(aggregate(points, np.zeros(8, dtype=np.int64), limits, LocalRule(6, group_size=4)))
    assert sorted(map(len, found)) == [4, 4]
    assert all(limits.group_holds(np.array(group)) for group in found)


@st.composite
def leaves(draw: st.DrawFn) -> tuple[FloatArray, Constraints, LocalRule]:
    n = draw(st.integers(2, 45))
    column = st.lists(st.integers(0, 6).map(float), min_size=n, max_size=n)
    points = np.column_stack([draw(column) for _ in range(draw(st.integers(1, 2)))])
    codes = [np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))) for _ in range(2)]
    numbers = np.where(codes[1] == 4, np.nan, codes[1] * 1.5)
    k = draw(st.integers(2, 4))
    limits = Constraints(
        k,
        draw(st.sampled_from([0.4, 0.6, 1.0])),
        draw(st.sampled_from([0.0, 0.4])),
        draw(st.sampled_from([1, 2, 3])),
        (
            SensitiveColumn(codes[0], 5),
            SensitiveColumn(codes[1], 5, numbers if draw(st.booleans()) else None),
        ),
    )
    size = k + draw(st.integers(0, 4))
    return points, limits, LocalRule(2 * size, group_size=size)


@given(leaves())
def test_every_group_of_a_planned_size_satisfies_the_model_if_the_leaf_does(
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


@given(st.integers(4, 60), st.integers(2, 6), st.integers(0, 5))
def test_without_a_sensitive_condition_groups_have_the_planned_sizes(n: int, k: int, more: int) -> None:
    points = np.random.default_rng(n).normal(size=(n, 2))
    rule = LocalRule(2 * (k + more), group_size=k + more)
    limits = limits_of([0] * n, k=k)
    found = groups_of(aggregate(points, np.zeros(n, dtype=np.int64), limits, rule))
    assert sorted(map(len, found)) == sorted(planned_sizes(n, k, rule))
