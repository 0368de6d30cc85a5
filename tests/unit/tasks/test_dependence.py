"""Whether one column tells what another does: relations that were made are seen, and chance is not one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np
import pytest

from tasks.history import dependence
from tasks.history.dependence import Column
from tasks.types import IntArray

N = 16
RANDOM = np.random.default_rng(5)
WARDS = [f"w{i % 4}" for i in RANDOM.permutation(N)]
YEARS = [int(year) for year in RANDOM.permutation(np.arange(1930, 2000))[:N]]
DAYS = [date.fromordinal(737_000 + int(day)) for day in RANDOM.permutation(700)[:N]]
PAY = [int(pay) for pay in RANDOM.permutation(np.arange(1_000, 9_999))[:N]]


def column(values: Sequence[Any]) -> Column:
    return Column([str(value) for value in values])


def is_equal(first: Column, second: Column) -> bool:
    return dependence.is_equal(first, second, nobody_known(first))


def is_function(first: Column, second: Column) -> bool:
    return dependence.is_function(first, second, nobody_known(first))


def is_sum(total: Column, parts: tuple[Column, Column]) -> bool:
    return dependence.is_sum(total, parts, nobody_known(total))


def nobody_known(column: Column) -> IntArray:
    """Everybody is in one stratum."""
    return np.zeros(len(column.texts), dtype=np.int64)


def later(day: date) -> date:
    """The same day of the month, a quarter later."""
    month = day.month + 2
    return date(day.year + month // 12, month % 12 + 1, min(day.day, 28))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (WARDS, [f"site {ward[1:]}" for ward in WARDS]),
        (WARDS, ["upper" if ward in ("w0", "w1") else "lower" for ward in WARDS]),
        (YEARS, [f"{year // 20 * 20} to {year // 20 * 20 + 19}" for year in YEARS]),
        (DAYS, [later(day) for day in DAYS]),
        (PAY, [round(1.02 * pay + 137.5, 2) for pay in PAY]),
        (PAY, [10_000 - pay for pay in PAY]),
        (PAY, [round(pay**0.5, 3) for pay in PAY]),
    ],
    ids=["other names", "merged", "bands", "a quarter later", "a rule", "reversed", "a curve"],
)
def test_a_column_that_another_gives_is_a_function_of_it(before: Sequence[Any], after: Sequence[Any]) -> None:
    assert is_function(column(before), column(after))
    assert is_function(column(after), column(before))
    assert not is_function(column(before), column(after[7:] + after[:7]))


def test_a_column_that_says_unknown_of_most_people_is_one_for_the_others() -> None:
    before = [f"w{i % 5}" for i in range(60)]
    after = ["unknown" if i % 3 else f"w{i % 5}" for i in range(60)]
    assert is_function(column(before), column(after))


def test_equal_texts_are_equal_in_any_spelling() -> None:
    assert is_equal(
        column(["Ward 1", "Ward 2", "Ward 3", "Ward 4"]), column(["ward-1", "WARD 2", "ward3", "ward 4"])
    )
    assert not is_equal(column(["yes"] * 4), column(["yes"] * 4))  # says the same of everybody
    assert not is_equal(column(["a", "b", "c", "d"]), column(["b", "a", "d", "c"]))


def test_a_total_less_a_part_is_the_rest() -> None:
    month = [pay % 97 for pay in PAY]
    total = [pay + more for pay, more in zip(PAY, month, strict=True)]
    assert is_sum(column(total), (column(PAY), column(month)))
    assert is_sum(column(PAY), (column(month), column(total)))
    assert not is_sum(column(total), (column(PAY), column(month[1:] + month[:1])))


def test_numbers_that_are_missing_hide_nothing() -> None:
    some = ["missing", *PAY[1:]]
    assert is_function(column(some), column([2 * pay for pay in PAY]))
    assert is_sum(column([2 * pay for pay in PAY]), (column(some), column(PAY)))


def test_columns_drawn_by_themselves_are_hardly_ever_related() -> None:
    """Of 150 pairs of columns, of few people and many, of two values and many."""
    found = 0
    for seed in range(150):
        random = np.random.default_rng(seed)
        n = int(random.choice([5, 8, 12, 24, 100]))
        drawn = [column(random.integers(0, int(random.choice([2, 3, 8, 1_000])), n)) for _ in range(3)]
        found += is_function(*drawn[:2]) + is_equal(*drawn[:2]) + is_sum(drawn[0], (drawn[1], drawn[2]))
    assert found <= 1
