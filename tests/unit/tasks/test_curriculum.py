"""The curriculum's parts, worked by hand, and its clusters on random tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tasks.partitioning.curriculum import complexity, partition, templates
from tasks.representation.features import unit_ranges
from tasks.types import FloatArray, IntArray, PreparedTable
from tests.support.small import (
    ILLNESS,
    MIXED,
    TWO_SENSITIVE,
    groups_of,
    limits_of,
    mixed_rows,
    prepared,
    small_policy,
)

SEX_AND_CITY = {
    "age": {"type": "integer", "bounds": [0, 120]},
    "sex": {"type": "categorical"},
    "city": {"type": "categorical"},
}
TEN = [
    # age, sex, city                   sex is F six times, M three, X once; Hull six times, York twice
    (40, "F", "Hull", "flu"),  # 0   E: F and Hull are the first values, R1
    (20, "F", "Hull", "flu"),  # 1   E
    (30, "F", "Hull", "flu"),  # 2   E
    (10, "F", "Hull", "flu"),  # 3   E
    (50, "M", "York", "flu"),  # 4   M: the second values, R2
    (60, "F", "York", "flu"),  # 5   M: one of R1, one of R2
    (70, "M", "Bath", "flu"),  # 6   M: one of R2
    (80, "F", "Wick", "flu"),  # 7   M: one of R1
    (90, "X", "Bath", "flu"),  # 8   C: neither
    (95, "M", "Hull", "flu"),  # 9   M: one of R2, one of R1
]


def halves(points: FloatArray, k: int, _seed: int) -> IntArray:
    """Cut into runs along the first dimension, as a cluster function would into clusters of k to 2k - 1."""
    order = np.argsort(points[:, 0], kind="stable")
    labels = np.empty(len(points), dtype=np.int64)
    labels[order] = np.arange(len(points)) * (len(points) // k) // len(points)
    return labels


def ten() -> PreparedTable:
    return prepared(small_policy(SEX_AND_CITY, ILLNESS), TEN)


def clusters(table: PreparedTable, k: int, **options: Any) -> list[list[int]]:
    limits = limits_of([0] * table.n_records, k=k)
    return groups_of(partition(table, unit_ranges(table), limits, cluster=halves, **options))


def test_templates_are_the_first_and_the_second_values() -> None:
    table = ten()
    rules = templates(table.codes.astype(np.int64), (3, 4))
    named = [[table.domains[n][c] for n, c in zip(("sex", "city"), rule, strict=True)] for rule in rules]
    # Bath and York both stand twice; Bath comes first in the order of the values.
    assert named == [["F", "Hull"], ["M", "Bath"]]
    # Given York as the second city, the ten rows are as they are annotated above.
    rules[1, 1] = table.domains["city"].index("York")
    assert complexity(table.codes.astype(np.int64), rules).tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 1]


def test_with_the_second_city_of_the_table_nobody_is_left_for_c() -> None:
    table = ten()
    codes = table.codes.astype(np.int64)
    # Bath is in R2, so (X, Bath) has a value of it: M.
    assert complexity(codes, templates(codes, (3, 4))).tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]


def test_e_is_cut_by_its_numbers_and_the_rest_is_clustered() -> None:
    # E by age: 10, 20 | 30, 40. M by age: 50, 60 | 70, 80 | 90, 95.
    assert clusters(ten(), 2) == [[0, 2], [1, 3], [4, 5], [6, 7], [8, 9]]


def test_a_part_under_k_joins_the_nearest_cluster_with_room() -> None:
    # k = 5: E has four records and no cluster; M is one of six with room for three; where none has room,
    # the nearest takes the fourth all the same.
    assert clusters(ten(), 5) == [[*range(10)]]
    # k = 3: E is one cluster of four, M two of three.
    assert clusters(ten(), 3) == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]


def test_a_record_of_a_small_part_is_joined_to_the_nearest_of_the_clusters() -> None:
    # The one in C is 30 years old: the run of E around 30 is nearer than M at 50 and above.
    rows = [*TEN[:8], (31, "X", "Wells", "flu"), TEN[9], (33, "F", "York", "flu")]
    table = prepared(small_policy(SEX_AND_CITY, ILLNESS), rows)
    points = table.numeric / 100
    labels = partition(table, points, limits_of([0] * 11, k=2), cluster=halves)
    found = groups_of(labels)
    assert [0, 2, 8] in found
    assert [1, 3] in found


def test_a_full_cluster_takes_nobody_while_another_has_room() -> None:
    roles = {"age": {"type": "integer", "bounds": [0, 120]}, "sex": {"type": "categorical"}}
    people = [*((age, "F") for age in (10, 11, 12, 13, 14)), (90, "M"), (91, "M"), (10, "X")]
    table = prepared(small_policy(roles, ILLNESS), [(*person, "flu") for person in people])
    # E by age: 10, 11, 12 | 13, 14. The one in C is nearest to the first, which has its 2k - 1 = 3 records.
    labels = partition(table, table.numeric, limits_of([0] * 8, k=2), cluster=halves)
    assert groups_of(labels) == [[0, 1, 2], [3, 4, 7], [5, 6]]


def test_where_no_part_has_k_records_all_are_clustered_together() -> None:
    rows = [(i, s, c, "flu") for i, (s, c) in enumerate(["FA", "FA", "MB", "MA", "XC", "YD"])]
    table = prepared(small_policy(SEX_AND_CITY, ILLNESS), rows)
    # E = {FA, FA}, M = {MB, MA}, C = {XC, YD}: each under k = 3.
    assert clusters(table, 3) == [[0, 1, 2], [3, 4, 5]]


def test_a_table_without_categories_is_all_easy() -> None:
    policy = small_policy({"age": {"type": "integer", "bounds": [0, 120]}}, ILLNESS)
    table = prepared(policy, [(age, "flu") for age in (9, 1, 8, 2, 7)])

    def never(_points: FloatArray, _k: int, _seed: int) -> IntArray:
        raise AssertionError("nothing is clustered")

    labels = partition(table, unit_ranges(table), limits_of([0] * 5, k=2), cluster=never)
    # 1, 2, 7 and 8, 9: five records are two runs.
    assert groups_of(labels) == [[0, 2], [1, 3, 4]]


@given(mixed_rows(n_max=40), st.integers(2, 6))
def test_every_cluster_has_k_records_if_the_table_has(rows: list[Any], k: int) -> None:
    table = prepared(small_policy(MIXED, TWO_SENSITIVE), rows)
    found = clusters(table, k)
    assert sorted(record for cluster in found for record in cluster) == [*range(len(rows))]
    if len(rows) < k:
        assert len(found) == 1
    else:
        assert min(len(cluster) for cluster in found) >= k
        assert found == clusters(table, k)
    codes = table.codes.astype(np.int64)
    part = complexity(codes, templates(codes, tuple(len(d) for d in table.domains.values())))
    counts = np.bincount(part, minlength=3)
    if len(rows) >= 2 * k and ((counts == 0) | (counts >= k)).all():
        # No part had to be given away: the paper's sizes hold, and no cluster mixes parts.
        assert max(len(cluster) for cluster in found) < 2 * k
        assert all(len(set(part[cluster].tolist())) == 1 for cluster in found)
