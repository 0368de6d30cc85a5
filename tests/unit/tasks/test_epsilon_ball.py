"""Groups near in every attribute: Miche et al.'s Table 1 by hand, and eq. 2 to 4 taken literally."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.model import ReleasePolicy
from tasks.partitioning.distances import Attribute, attributes_of
from tasks.partitioning.epsilon_ball import BallRule, cells, centroid_of, outlying, partition
from tasks.types import IntArray, PreparedTable
from tests.support.small import MIXED, TWO_SENSITIVE, groups_of, limits_of, mixed_rows, prepared, small_policy

AGE = {"age": {"type": "integer", "bounds": [0, 120]}}
# The table that the paper works with; zip codes in their regions.
HEALTH = {
    "zip": {"type": "categorical", "hierarchy": {"130": ["13053", "13068"], "148": ["14853"]}},
    "age": {"type": "integer", "bounds": [0, 120]},
    "nationality": {"type": "categorical"},
}
CONDITION = {"condition": {"stability": "stable"}}
TABLE_1 = [
    ("13053", 28, "Russian", "Heart Disease"),
    ("13068", 29, "American", "Heart Disease"),
    ("13068", 21, "Japanese", "Viral Infection"),
    ("13053", 23, "American", "Viral Infection"),
    ("14853", 50, "Indian", "Cancer"),
]


def of_ages(*ages: float | None) -> tuple[PreparedTable, ReleasePolicy]:
    policy = small_policy(AGE)
    return prepared(policy, [(age, "flu") for age in ages]), policy


def parted(table: PreparedTable, policy: ReleasePolicy, k: int, **rule: Any) -> IntArray:
    limits = limits_of([0] * table.n_records, k=k)
    return partition(table, policy.roles, limits, rule=BallRule(**rule), seed=3)


def test_a_distance_is_mapped_to_the_share_of_pairs_that_are_nearer() -> None:
    # All pairs: 10 apart (0, 10 and 10, 20), 20 apart (0, 20): two thirds and one third of the pairs.
    table, policy = of_ages(0, 10, 20)
    (age,) = attributes_of(table, policy.roles, pairs=60_000, seed=0)
    mapped = age.mapped(np.array([0.0, 5.0, 10.0, 15.0, 20.0, 25.0]))
    assert mapped == pytest.approx([0, 0, 1 / 3, 2 / 3, 5 / 6, 1], abs=0.01)
    assert [age.radius(epsilon) for epsilon in (0.2, 0.4, 0.8, 0.9)] == [0, 10, 10, 20]


def test_a_missing_number_is_far_from_all_known_ones_and_near_the_missing() -> None:
    table, policy = of_ages(0, None, None, 40)
    (age,) = attributes_of(table, policy.roles, pairs=10, seed=0)
    none = np.array([np.nan])
    assert age.distance(none, np.array([0.0])).tolist() == [np.inf]
    assert age.distance(none, none).tolist() == [0]


def test_a_number_is_swept_from_the_least_that_is_left() -> None:
    table, policy = of_ages(0, 4, 5, 9, 10, 14, 15, None)
    (age,) = attributes_of(table, policy.roles, pairs=10, seed=0)
    # A radius of 5: from 0 to 5, from 9 to 14, then 15; the missing one by itself.
    five = Attribute("age", age.values, None, np.array([5.0, 50.0]), np.array([0.0, 0.1, 1.0]))
    assert groups_of(cells([five], BallRule())) == [[0, 1, 2], [3, 4, 5], [6], [7]]


def test_table_1_is_a_crowd_of_four_and_an_outlier() -> None:
    policy = small_policy(HEALTH, CONDITION)
    table = prepared(policy, TABLE_1)
    attributes = {a.name: a for a in attributes_of(table, policy.roles, pairs=20_000, seed=3)}
    # Of the ten pairs of ages six are at most 8 apart: 8 is mapped to 0.55. Zip codes of one region are
    # mapped to 0.4, of two regions to 0.8; different nationalities, nine pairs of ten, to 0.55.
    assert {name: a.radius(0.6) for name, a in attributes.items()} == {"zip": 1, "age": 8, "nationality": 1}
    # Two of the same region, at most 8 years apart: 21 to 29. The fifth is from another.
    assert groups_of(cells(list(attributes.values()), BallRule(epsilon=0.6))) == [[0, 1, 2, 3], [4]]
    # Centroids, eq. 3: 13053 and 13068 stand twice; of 21, 23, 28, 29 the lower one in the middle.
    crowd = np.array([0, 0, 0, 0, -1])
    assert table.domains["zip"][int(centroid_of(attributes["zip"], crowd, 1)[0])] == "13053"
    assert centroid_of(attributes["age"], crowd, 1)[0] == 23
    assert (
        table.domains["nationality"][int(centroid_of(attributes["nationality"], crowd, 1)[0])] == "American"
    )
    # The crowd is the one group with more than one record.
    assert parted(table, policy, 2, epsilon=0.6).tolist() == [0] * 5
    assert outlying(table, policy.roles, 2, rule=BallRule(epsilon=0.6), seed=3).tolist() == [False] * 4 + [
        True
    ]
    # Regions of one zip code alone, and 13053 and 13068 apart, are too small for k = 3: nobody is moved.
    assert parted(table, policy, 3, epsilon=0.6, epsilons={"zip": 0.1}).tolist() == [0] * 5
    assert not outlying(table, policy.roles, 3, rule=BallRule(0.6, {"zip": 0.1}), seed=3).any()


def test_an_outlier_joins_the_group_with_the_nearest_centroid() -> None:
    # Two crowds at 10 and 50; 24 is nearer to the first, 40 to the second.
    table, policy = of_ages(10, 10, 11, 50, 51, 51, 24, 40)
    rule = {"epsilon": 0.2}
    assert groups_of(parted(table, policy, 3, **rule)) == [[0, 1, 2, 6], [3, 4, 5, 7]]
    assert (
        outlying(table, policy.roles, 3, rule=BallRule(**rule), seed=3).tolist() == [False] * 6 + [True] * 2
    )


def test_few_may_be_more_than_k_minus_1() -> None:
    table, policy = of_ages(10, 10, 11, 50, 51, 51, 51)
    assert groups_of(parted(table, policy, 2, epsilon=0.2)) == [[0, 1, 2], [3, 4, 5, 6]]
    assert groups_of(parted(table, policy, 2, epsilon=0.2, few=3)) == [[*range(7)]]


def test_two_small_groups_are_one_if_they_are_nearest_and_large_enough_together() -> None:
    # Small groups at 60 and 62 are nearer to each other than to 10; 14 is nearest to 10.
    table, policy = of_ages(10, 10, 10, 60, 60, 62, 62, 14)
    rule = {"epsilon": 0.0, "few": 2}
    assert groups_of(parted(table, policy, 2, **rule)) == [[*range(8)]]
    assert groups_of(parted(table, policy, 2, merge_small=True, **rule)) == [[0, 1, 2, 7], [3, 4, 5, 6]]
    # Of two that are equally large the later moves; 14 is an outlier as before.
    moved = outlying(table, policy.roles, 2, rule=BallRule(merge_small=True, **rule), seed=3)
    assert np.flatnonzero(moved).tolist() == [5, 6, 7]


def test_the_nearest_two_small_groups_go_first_and_each_once() -> None:
    # 41 is nearest to 40, and 43 to 41, which is taken: the two people of 43 go to the nearest group then.
    table, policy = of_ages(10, 10, 10, 40, 40, 41, 41, 43, 43)
    rule: dict[str, Any] = {"epsilon": 0.0, "few": 2, "merge_small": True}
    assert groups_of(parted(table, policy, 2, **rule)) == [[0, 1, 2], [3, 4, 5, 6, 7, 8]]
    # Without a large group two small ones suffice.
    table, policy = of_ages(40, 40, 41, 41)
    assert groups_of(parted(table, policy, 2, **rule)) == [[0, 1, 2, 3]]
    assert outlying(table, policy.roles, 2, rule=BallRule(**rule), seed=3).tolist() == [0, 0, 1, 1]
    # Four records are not over four: nobody moves, and all are one group.
    rule["few"] = 4
    assert not outlying(table, policy.roles, 2, rule=BallRule(**rule), seed=3).any()


def merged_literally(attributes: list[Attribute], cell: IntArray, few: int) -> IntArray:
    """Every pair of small cells by distance, the nearest first; a cell is in one pair at most."""
    size = np.bincount(cell)
    centroids = [centroid_of(each, cell, len(size)) for each in attributes]

    def away(one: int, other: int) -> float:
        ends = ((each, c[[one]], c[[other]]) for each, c in zip(attributes, centroids, strict=True))
        return float(sum(each.mapped(each.distance(first, second))[0] for each, first, second in ends))

    pairs = []
    for mover in range(len(size)):
        large = [away(mover, other) for other in range(len(size)) if size[other] > few]
        for other in range(len(size)):
            later = (size[other], -other) > (size[mover], -mover)
            together = size[other] <= few < size[other] + size[mover]
            if later and together and away(mover, other) < min(large, default=np.inf):
                pairs.append((away(mover, other), mover, other))
    into = np.arange(len(size))
    taken: set[int] = set()
    for _, mover, other in sorted(pairs):
        if not taken & {mover, other}:
            into[mover] = other
            taken |= {mover, other}
    return into[cell]


@given(mixed_rows(n_min=2, n_max=30), st.integers(2, 5), st.sampled_from([0.0, 0.2, 0.5]))
def test_small_groups_are_merged_as_pair_by_pair(rows: list[Any], k: int, epsilon: float) -> None:
    policy = small_policy(MIXED, TWO_SENSITIVE)
    table = prepared(policy, rows)
    rule = BallRule(epsilon=epsilon, merge_small=True, pairs=200)
    attributes = attributes_of(table, policy.roles, pairs=200, seed=3)
    merged = merged_literally(attributes, cells(attributes, rule), k - 1)
    limits = limits_of([0] * len(rows), k=k)
    labels = partition(table, policy.roles, limits, rule=rule, seed=3)
    sizes = np.bincount(labels)
    assert sizes.min() >= k or len(sizes) == 1
    if (np.bincount(merged)[merged] >= k).any():
        assert labels.tolist() == literally(table, policy, k, rule, merged).tolist()


def literally(
    table: PreparedTable, policy: ReleasePolicy, k: int, rule: BallRule, cell: IntArray
) -> IntArray:
    """Eq. 3 and 4, record by record."""
    attributes = attributes_of(table, policy.roles, pairs=rule.pairs, seed=3)
    sizes = np.bincount(cell)
    large = [c for c in np.unique(cell) if sizes[c] > max(rule.few or 0, k - 1)]
    labels = np.full(len(cell), -1)
    for number, c in enumerate(large):
        labels[cell == c] = number
    core = labels.copy()
    for record in np.flatnonzero(core < 0):
        sums = []
        for number in range(len(large)):
            total = 0.0
            for attribute in attributes:
                members = attribute.values[core == number]
                known = np.sort(np.unique(members[~np.isnan(members)]))
                costs = [attribute.distance(members, np.full(len(members), v)) for v in known]
                finite = [c[np.isfinite(c)].sum() for c in costs]
                centroid = known[int(np.argmin(finite))] if len(known) else np.nan
                away = attribute.distance(attribute.values[[record]], np.array([centroid]))
                total += float(attribute.mapped(away)[0])
            sums.append(total)
        labels[record] = int(np.argmin(sums))
    return labels


@given(
    mixed_rows(n_min=2, n_max=30),
    st.integers(2, 4),
    st.sampled_from([0.0, 0.2, 0.5, 0.7, 1.0]),
    st.sampled_from([None, 1, 4]),
)
def test_eq_2_to_4_on_random_tables(rows: list[Any], k: int, epsilon: float, few: int | None) -> None:
    policy = small_policy(MIXED, TWO_SENSITIVE)
    table = prepared(policy, rows)
    rule = BallRule(epsilon=epsilon, few=few, pairs=200)
    attributes = attributes_of(table, policy.roles, pairs=200, seed=3)
    cell = cells(attributes, rule)
    for group in groups_of(cell):
        for attribute in attributes:
            values = attribute.values[group]
            away = attribute.distance(values[:, None], values)
            assert attribute.mapped(away).max() <= epsilon + 1e-9 or not away.any()
    limits = limits_of([0] * len(rows), k=k)
    labels = partition(table, policy.roles, limits, rule=rule, seed=3)
    sizes = np.bincount(labels)
    assert labels.min() == 0
    assert sizes.min() > max(few or 0, k - 1) or len(sizes) == 1
    assert (labels == partition(table, policy.roles, limits, rule=rule, seed=3)).all()
    outside = outlying(table, policy.roles, k, rule=rule, seed=3)
    if outside.any():
        assert labels.tolist() == literally(table, policy, k, rule, cell).tolist()
        assert (np.bincount(cell)[cell[outside]] <= max(few or 0, k - 1)).all()


def test_with_many_groups_the_nearest_of_a_few_is_taken() -> None:
    draw = np.random.default_rng(0)
    ages = np.repeat(np.arange(0, 120, 3), 4)
    table, policy = of_ages(*ages, *draw.integers(0, 118, 20))
    # Epsilon 0 makes one cell a year; those of fewer than four people are moved.
    every = parted(table, policy, 4, epsilon=0.0)
    few = parted(table, policy, 4, epsilon=0.0, compare_all=10, nearest=3)
    near = np.abs(table.numeric[:, 0] - ages[::4][every]), np.abs(table.numeric[:, 0] - ages[::4][few])
    assert every.max() == 39
    # One attribute: the nearest by unit-scaled values are the nearest by mapped distance, ties apart.
    assert near[0].tolist() == near[1].tolist()


def test_with_many_groups_small_ones_are_merged_with_the_nearest_of_a_few() -> None:
    ages = np.repeat([0, 1, 20, 21, 40, 41, 60, 61, 100], [2, 2, 2, 2, 2, 2, 2, 2, 4])
    table, policy = of_ages(*ages)
    rule = {"epsilon": 0.0, "merge_small": True}
    every = parted(table, policy, 3, **rule)
    assert groups_of(every) == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9, 10, 11],
        [12, 13, 14, 15],
        [16, 17, 18, 19],
    ]
    assert parted(table, policy, 3, compare_all=5, nearest=3, **rule).tolist() == every.tolist()
