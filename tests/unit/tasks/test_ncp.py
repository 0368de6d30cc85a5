"""NCP, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.recoding.generalize import generalized
from tasks.utility.ncp import class_ncp, ncp, penalties, scale_of
from tests.support.small import prepared, small_policy

ROWS = [
    (20, "Hull", "flu"),
    (40, "York", "hiv"),
    (30, "Hull", "flu"),
    (60, "Bath", "flu"),
    (70, "Bath", "hiv"),
]
LABELS = np.array([0, 0, 0, 1, 1])


def test_a_table_of_two_classes() -> None:
    policy = small_policy()
    table = prepared(policy, ROWS)
    classes, scale = generalized(table, LABELS, policy), scale_of(table, policy)
    found = penalties(classes, scale)
    assert found["age"].tolist() == [20 / 50, 10 / 50]
    assert found["city"].tolist() == [2 / 3, 0]
    first, second = (0.4 + 2 / 3) / 2, 0.1
    assert class_ncp(classes, scale) == pytest.approx([first, second])
    assert ncp(classes, scale) == pytest.approx((3 * first + 2 * second) / 5)


def test_quasi_identifiers_have_weights() -> None:
    policy = small_policy(
        {
            "age": {"type": "integer", "bounds": [0, 120], "weight": 3},
            "city": {"type": "categorical", "weight": 1},
        }
    )
    table = prepared(policy, ROWS)
    found = class_ncp(generalized(table, LABELS, policy), scale_of(table, policy))
    assert found == pytest.approx([(3 * 0.4 + 2 / 3) / 4, 3 * 0.2 / 4])


def test_a_star_costs_1_and_so_do_bounds_where_nothing_is_known() -> None:
    policy = small_policy()
    table = prepared(policy, [*ROWS, (None, "Hull", "flu"), (None, "Bath", "flu"), (None, "York", "flu")])
    classes = generalized(table, np.array([0, 0, 0, 0, 0, 1, 1, 1]), policy)
    found = penalties(classes, scale_of(table, policy))
    assert found["age"].tolist() == [1, 1]
    assert found["city"].tolist() == [1, 1]
    assert ncp(classes, scale_of(table, policy)) == 1


def test_constants_cost_nothing() -> None:
    policy = small_policy()
    table = prepared(policy, [(5, "a", "x"), (5, "a", "y")])
    assert ncp(generalized(table, np.array([0, 0]), policy), scale_of(table, policy)) == 0


def test_an_empty_release_costs_nothing() -> None:
    policy = small_policy()
    table = prepared(policy, ROWS)
    assert ncp(generalized(table, np.full(5, -1), policy), scale_of(table, policy)) == 0
