"""lHD-Diversity: classes by hand on the table of Riyana (2025, Table 4), and on random tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.model import Privacy, ReleasePolicy
from tasks.partitioning import nearby
from tasks.partitioning.constraints import constraints_of
from tasks.partitioning.lhd import LhdRule, partition
from tasks.partitioning.precision import Boxes, precision_of
from tasks.types import IntArray, PreparedTable
from tests.support.small import (
    MIXED,
    TWO_SENSITIVE,
    anonymized,
    groups_of,
    mixed_rows,
    prepared,
    privacies,
    small_policy,
)

GENDER_AND_ZIP = {
    "gender": {"type": "categorical"},
    "zip": {"type": "categorical", "hierarchy": {"6063": ["60632", "60635", "60636", "60639"]}},
}
AGE = {"age": {"type": "integer", "bounds": [0, 100]}}
SALARY = {"salary": {"stability": "stable"}}
# Gender, zip code and salary of the seven people of Table 4, in its order.
SEVEN = [
    ("Male", "60636", "10000"),
    ("Female", "60632", "13000"),
    ("Male", "60635", "14000"),
    ("Male", "60639", "15000"),
    ("Female", "60632", "16000"),
    ("Female", "60632", "17000"),
    ("Female", "60632", "18000"),
]


def grown(policy: ReleasePolicy, table: PreparedTable, l: int = 2, **options: Any) -> list[list[int]]:  # noqa: E741
    limits = constraints_of(table, policy)
    return groups_of(partition(table, policy.roles, limits, l=l, **options))


def test_the_penalty_is_the_level_over_the_height() -> None:
    policy = small_policy(
        {
            "age": {"type": "integer", "bounds": [0, 100], "widths": [10, 50]},
            "pay": {"type": "numeric", "bounds": [0, 100]},
            **GENDER_AND_ZIP,
        },
        SALARY,
    )
    rows = [
        (41, 0, "Male", "60636", "a"),
        (49, 5, "Male", "60635", "a"),
        (51, 20, "Female", "60635", "a"),
        (None, None, "Female", "60635", "a"),
    ]
    precision = precision_of(prepared(policy, rows), policy.roles)
    alone = precision.alone(np.array([0]))
    assert precision.penalty(alone).tolist() == [0]
    # 41 and 49 are one ten of three levels, pay is 5 of 20; zip codes meet on the first level of two.
    with_second = precision.joined(alone, np.array([1]))
    assert precision.penalty(with_second) == pytest.approx([1 / 3 + 5 / 20 + 0 + 1 / 2])
    # With 51 the ages are the whole of 0 to 100, pay is all of its range, gender is both.
    with_third = precision.joined(with_second, np.array([2]))
    assert precision.penalty(with_third) == pytest.approx([3 / 3 + 20 / 20 + 1 + 1 / 2])
    # An unknown age is with no other below the whole; an unknown pay widens nothing.
    with_missing = precision.joined(alone, np.array([1, 3]))
    assert precision.penalty(with_missing) == pytest.approx([1 / 3 + 1 / 4 + 1 / 2, 1 + 0 + 1 + 1 / 2])


def test_classes_of_table_4_with_l_2() -> None:
    policy = small_policy(GENDER_AND_ZIP, SALARY)
    # 0 takes 2, the first man: zip codes 6063* (0.5), any woman would cost 1.5. 1 takes 4, her equal (0).
    # 3 is left with 5 and 6, both 1.5: it takes 5. 6 is left over, and equal to 1 and 4.
    assert grown(policy, prepared(policy, SEVEN)) == [[0, 2], [1, 4, 6], [3, 5]]


def test_classes_that_hold_beside_table_7_are_those_of_table_11() -> None:
    # Table 7 told salaries by position and gender: accountants of any gender 10000 and 13000,
    # programmers, men, 14000 and 15000, lecturers, women, the rest.
    earlier = [
        ({"Male", "Female"}, {"10000", "13000"}),
        ({"Male"}, {"14000", "15000"}),
        ({"Female"}, {"16000", "17000", "18000"}),
    ]

    def accept(records: IntArray) -> bool:
        genders = {SEVEN[r][0] for r in records}
        salaries = {SEVEN[r][2] for r in records}
        shared = [len(salaries & theirs) for whose, theirs in earlier if whose & genders]
        return all(n == 0 or n >= 2 for n in shared)

    policy = small_policy(GENDER_AND_ZIP, SALARY)
    # 0 with 2: 10000 is all that accountants share with them, and so it stays with 3. With 1 it is 10000 and
    # 13000, and 14000 and 15000. 4 with 5 share two salaries with the lecturers; 6 joins them.
    assert grown(policy, prepared(policy, SEVEN), accept=accept) == [[0, 1, 2, 3], [4, 5, 6]]


def test_two_sensitive_attributes_must_both_have_l_values() -> None:
    policy = small_policy(GENDER_AND_ZIP, {**SALARY, "disease": {"stability": "stable"}})
    diseases = ["Flu", "Flu", "Cancer", "Cancer", "Flu", "HIV", "Fever"]
    rows = [(*row, disease) for row, disease in zip(SEVEN, diseases, strict=True)]
    # 0 has flu and takes 2, who has cancer. 1 passes over 4, her equal, who has flu as well, for 5 with HIV.
    # 3 with cancer takes 4; 6 joins 1 and 5, her equals.
    assert grown(policy, prepared(policy, rows)) == [[0, 2], [1, 5, 6], [3, 4]]


def test_a_class_that_is_large_enough_takes_only_what_it_lacks() -> None:
    policy = small_policy(
        {"age": {"type": "integer", "bounds": [0, 100]}}, {"illness": {"stability": "stable"}}
    )
    # Nine neighbours with flu, one hiv far away: the class of the first does not take them all on its way.
    rows = [(age, "flu") for age in range(9)] + [(90, "hiv"), (91, "flu"), (92, "hiv")]
    # 0 has no room but for an hiv and takes the one of 90 years, 1 the other. The rest joins at least PREC:
    # one more costs 90/92 in the first class and 91/92 in the second; only 91 would widen the first (100/92).
    assert grown(policy, prepared(policy, rows)) == [[0, *range(2, 10)], [1, 10, 11]]


def test_k_p_max_and_e_hold_too() -> None:
    privacy = {"k": 3, "e": 2, "p_max": 0.67}
    policy = small_policy(AGE, privacy=privacy)
    rows = [(age, "flu") for age in (1, 2, 3, 4)] + [(50, "hiv"), (51, "hiv")]
    # 1 takes 2, and no third flu, which would be over two thirds: an hiv. 3 takes 4 and the other.
    assert grown(policy, prepared(policy, rows)) == [[0, 1, 4], [2, 3, 5]]


def test_a_class_leaves_room_for_what_p_max_asks_of_it() -> None:
    policy = small_policy(AGE, privacy={"k": 4, "p_max": 0.5})
    rows = [(age, "flu") for age in (1, 2, 3, 4)] + [(age, "hiv") for age in (50, 51, 52, 53)]
    # Two of four are the half: 1 takes 2 and, passing over 3 and 4, two with hiv.
    assert grown(policy, prepared(policy, rows)) == [[0, 1, 4, 5], [2, 3, 6, 7]]


def test_what_cannot_be_placed_is_suppressed() -> None:
    policy = small_policy(AGE, privacy={"k": 2, "p_max": 0.5})
    table = prepared(policy, [(1, "flu"), (2, "hiv"), (3, "flu"), (4, "flu")])
    labels = partition(table, policy.roles, constraints_of(table, policy), l=2)
    # One class of half flu, half hiv; another flu would be more than half.
    assert labels.tolist() == [0, 0, -1, -1]
    # A table with one value cannot be published at all.
    alike = prepared(policy, [(1, "flu")] * 5)
    assert partition(alike, policy.roles, constraints_of(alike, policy), l=2).tolist() == [-1] * 5


def test_a_predicate_may_refuse_everything() -> None:
    policy = small_policy(GENDER_AND_ZIP, SALARY)
    table = prepared(policy, SEVEN)
    limits = constraints_of(table, policy)
    assert (partition(table, policy.roles, limits, l=2, accept=lambda _: False) == -1).all()


ROLES = {**MIXED, "age": {**MIXED["age"], "widths": [5, 20]}}


@given(mixed_rows(n_max=36), privacies(), st.sampled_from([1, 3, 128]), st.booleans())
def test_every_class_satisfies_the_model_and_has_l_values(
    rows: list[Any], privacy: Privacy, block: int, even: bool
) -> None:
    policy = small_policy(ROLES, TWO_SENSITIVE, privacy=privacy.model_dump())
    table = prepared(policy, rows)
    limits = constraints_of(table, policy)

    def accept(records: IntArray) -> bool:
        return len(records) % 2 == 0

    options = {"l": privacy.l, "accept": accept if even else None, "rule": LhdRule(block=block)}
    labels = partition(table, policy.roles, limits, **options)
    assert (labels == partition(table, policy.roles, limits, **options)).all()
    assert sorted(set(labels.tolist()) - {-1}) == [*range(labels.max() + 1)]
    for label in range(labels.max() + 1):
        records = np.flatnonzero(labels == label)
        assert limits.group_holds(records)
        assert all(len(np.unique(column)) >= privacy.l for column in table.sensitive[records].T)
        assert not even or accept(records)


@given(mixed_rows(n_min=6, n_max=40, missing=False))
def test_where_every_record_has_a_value_of_its_own_nobody_is_suppressed(rows: list[Any]) -> None:
    roles = {"illness": {"stability": "stable"}}
    policy = small_policy(ROLES, roles, privacy={"k": 3})
    table = prepared(policy, [(*row[:4], f"v{i}") for i, row in enumerate(rows)])
    labels = partition(table, policy.roles, constraints_of(table, policy), l=3)
    sizes = np.bincount(labels)
    assert sizes.min() >= 3
    assert sizes.sum() == len(rows)


@given(mixed_rows(n_min=4, n_max=30), st.integers(1, 12))
def test_the_nearest_by_precision_are_found(rows: list[Any], count: int) -> None:
    policy = small_policy(ROLES, TWO_SENSITIVE)
    table = prepared(policy, rows)
    precision = precision_of(table, policy.roles)
    free = np.ones(len(rows), dtype=bool)
    search = nearby.Nearby(precision, free)
    free[1 : len(rows) * 2 // 3] = False
    found, everyone = search.to(0, count)
    left = np.flatnonzero(free)[1:]
    pairs: Boxes = precision.joined(precision.alone(np.array([0])), left)
    cost = precision.penalty(pairs)
    assert everyone == (len(left) <= count)
    if len(left) <= count:
        assert found.tolist() == left.tolist()
    else:
        best = left[np.lexsort((left, np.round(cost, 9)))][:count]
        assert sorted(np.round(cost[np.isin(left, found)], 9)) == sorted(
            np.round(cost[np.isin(left, best)], 9)
        )


def test_the_nearest_with_another_value_are_found_too() -> None:
    policy = small_policy(AGE)
    table = prepared(policy, [(age, "flu") for age in range(20)] + [(60, "hiv"), (70, "hiv"), (80, "hiv")])
    search = nearby.Nearby(precision_of(table, policy.roles), np.ones(23, dtype=bool))
    illness = table.sensitive[:, 0].astype(np.int64)
    assert search.to(3, 8)[0].tolist() == [0, 1, 2, 4, 5, 6, 7, 8]
    assert search.to(3, 8, [illness])[0].tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 20, 21]


def test_a_tree_gives_the_pool_where_too_many_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearby, "RANKED_AT_MOST", 50)
    draw = np.random.default_rng(1)
    policy = small_policy(GENDER_AND_ZIP, SALARY, privacy={"k": 4})
    rows = [
        (("Male", "Female")[a], f"6063{(2, 5, 6, 9)[b]}", str(c))
        for a, b, c in zip(*(draw.integers(0, n, 1_200) for n in (2, 4, 6)), strict=True)
    ]
    table = prepared(policy, rows)
    labels = partition(table, policy.roles, constraints_of(table, policy), l=3, rule=LhdRule(block=8))
    assert labels.min() == 0
    precision = precision_of(table, policy.roles)
    for label in range(labels.max() + 1):
        assert len(np.unique(table.sensitive[labels == label])) >= 3
    # Eight kinds of people, a hundred and more of each: hardly a class has to mix them.
    kinds = [len({rows[r][:2] for r in np.flatnonzero(labels == c)}) for c in range(labels.max() + 1)]
    assert np.mean(np.array(kinds) == 1) > 0.9
    assert precision.places().shape == (1_200, 2)


def test_where_no_class_grows_all_records_are_one_if_they_hold_the_model() -> None:
    """Two of three have flu, whoever is near: t 0.05 asks for more records than a class may grow to."""
    policy = small_policy(
        {"age": {"type": "integer", "bounds": [0, 100]}},
        method={"name": "lhd"},
        gates={"models": {"t_closeness": {"max": 0.01}}},
    )
    ills = ["flu"] * 40 + ["hiv"] * 17 + ["gout"] * 3
    table = prepared(policy, [(age, ill) for age, ill in enumerate(ills)])
    assert anonymized(table, policy).labels.tolist() == [0] * 60
