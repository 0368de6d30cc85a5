"""The model of one group."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.model import Privacy
from tasks.aggregation.swaps import shortfall
from tasks.partitioning.constraints import (
    Constraints,
    SensitiveColumn,
    ValueLimits,
    constraints_of,
    log_values,
)
from tasks.privacy.diversity import entropy
from tests.support.small import limits_of, prepared, small_policy

EVERYBODY = np.arange(4)


def test_a_group_needs_k_records() -> None:
    limits = limits_of([0, 1, 0, 1], k=4)
    assert limits.group_holds(EVERYBODY)
    assert not limits.group_holds(EVERYBODY[:3])


@pytest.mark.parametrize(("p_max", "holds"), [(0.75, True), (0.74, False)])
def test_three_of_four_alike_are_a_share_of_three_quarters(p_max: float, holds: bool) -> None:
    assert limits_of([0, 0, 0, 1], p_max=p_max).group_holds(EVERYBODY) is holds


@pytest.mark.parametrize(("h_min", "holds"), [(log(2), True), (log(2) + 1e-6, False)])
def test_two_and_two_have_the_entropy_of_a_coin(h_min: float, holds: bool) -> None:
    assert limits_of([0, 1, 0, 1], h_min=h_min).group_holds(EVERYBODY) is holds


@pytest.mark.parametrize(("e", "holds"), [(3, True), (4, False)])
def test_e_is_the_least_number_of_distinct_values(e: int, holds: bool) -> None:
    assert limits_of([0, 1, 2, 0], e=e).group_holds(EVERYBODY) is holds


@pytest.mark.parametrize(("e", "holds"), [(5, True), (5.5, False)])
def test_e_of_a_numeric_attribute_is_the_least_range_of_known_numbers(e: float, holds: bool) -> None:
    numbers = np.array([10.0, np.nan, 15.0, 12.0])
    limits = Constraints(2, 1.0, 0.0, e, (SensitiveColumn(np.array([0, 3, 2, 1]), 4, numbers),))
    assert limits.group_holds(EVERYBODY) is holds


def test_numbers_that_are_all_missing_have_no_range() -> None:
    column = SensitiveColumn(np.zeros(4, dtype=np.int64), 1, np.full(4, np.nan))
    assert not Constraints(2, 1.0, 0.0, 1, (column,)).group_holds(EVERYBODY)


def test_every_sensitive_attribute_must_hold() -> None:
    varied, constant = [0, 1, 2, 3], [0, 0, 0, 0]
    assert limits_of(varied, varied, e=2).group_holds(EVERYBODY)
    assert not limits_of(varied, constant, e=2).group_holds(EVERYBODY)
    assert not limits_of(constant, varied, e=2).group_holds(EVERYBODY)


def test_the_policys_model_is_bound_to_the_tables_columns() -> None:
    policy = small_policy(
        sensitive={"illness": {"stability": "stable"}, "wage": {"stability": "stable", "type": "numeric"}}
    )
    table = prepared(policy, [(1, "a", "flu", 3), (2, "a", None, 1)])
    privacy = Privacy(k=2, e=2, p_max=0.5, h_min=0.1)
    limits = constraints_of(table, policy.model_copy(update={"privacy": privacy}))
    assert (limits.k, limits.e, limits.p_max, limits.h_min) == (2, 2, 0.5, 0.1)
    illness, wage = limits.columns
    assert illness.n_values == 2
    assert illness.numbers is None
    assert wage.numbers is not None
    assert limits.group_holds(np.arange(2))


def test_an_attribute_of_its_own_limits_is_not_held_to_those_of_all() -> None:
    policy = small_policy(
        sensitive={"illness": {"stability": "stable"}, "wage": {"stability": "stable", "type": "numeric"}},
        privacy={
            "k": 2,
            "e": 2,
            "p_max": 0.5,
            "attributes": {"wage": {"e": 30, "p_max": 0.9, "spread": 0.4}},
        },
    )
    # Three of four illnesses differ; of the wages three are alike, from 70 to 100.
    rows = [(1, "a", "flu", 70), (2, "a", "flu", 100), (3, "a", "hiv", 70), (4, "a", None, 70)]
    limits = constraints_of(prepared(policy, rows), policy)
    illness, wage = limits.columns
    assert limits.limits_of(illness) == ValueLimits(0.5, 0.0, 2, 0.05)
    assert limits.limits_of(wage) == ValueLimits(0.9, 0.0, 30, 0.4)
    assert not limits.group_holds(EVERYBODY)  # 30 is under 0.4 of 100
    looser = {"wage": {"e": 30, "p_max": 0.9, "spread": 0.3}}
    policy = policy.model_copy(
        update={"privacy": Privacy.model_validate({"k": 2, "e": 2, "p_max": 0.5, "attributes": looser})}
    )
    limits = constraints_of(prepared(policy, rows), policy)
    assert limits.group_holds(EVERYBODY)
    assert float(shortfall(EVERYBODY[None], limits)[0]) == 0
    assert not limits.group_holds(np.array([0, 2, 3]))  # of one wage
    assert float(shortfall(np.array([[0, 2, 3]]), limits)[0]) > 0


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any))
def test_entropy_is_that_of_the_shares(counts: list[int]) -> None:
    shares = [count / sum(counts) for count in counts if count]
    assert float(entropy(np.array(counts))) == pytest.approx(-sum(p * log(p) for p in shares), abs=1e-12)


def test_the_largest_entropy_of_one_value_does_not_divide_by_zero() -> None:
    assert log_values(SensitiveColumn(np.zeros(2, dtype=np.int64), 1)) == 1.0
    assert log_values(SensitiveColumn(np.zeros(2, dtype=np.int64), 8)) == pytest.approx(log(8))
