"""What counts as a number, and how far a distribution has drifted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from expectations.drift import total_variation
from expectations.numbers import as_numbers


def texts(*cells: str | None) -> pd.Series:
    return pd.Series(cells, dtype="str")


def test_plain_and_exponent_notation_are_numbers() -> None:
    column = texts("1", "-2.5", "+3", ".5", "4.", "1e2", "1E-2", " 7 ")
    assert as_numbers(column).tolist() == [1, -2.5, 3, 0.5, 4, 100, 0.01, 7]


@pytest.mark.parametrize(
    "cell", ["", " ", ".", "e5", "nan", "inf", "-Infinity", "1e999", "1_0", "1,5", "٣", "1 2"]
)
def test_everything_else_is_no_number(cell: str) -> None:
    assert np.isnan(as_numbers(texts("1", cell))).tolist() == [False, True]


def test_missing_text_is_nan_and_numeric_columns_stay_as_they_are() -> None:
    assert np.isnan(as_numbers(texts("1", None, "1"))).tolist() == [False, True, False]
    assert as_numbers(pd.Series([1.5, np.inf])).tolist() == [1.5, np.inf]
    assert as_numbers(texts()).tolist() == []


def test_total_variation_is_half_the_sum_of_the_gaps() -> None:
    # now: a 1/2, b 1/2; then: a 1/4, b 1/4, c 1/2; gaps 1/4 + 1/4 + 1/2
    assert total_variation(texts("a", "b"), {"a": 1, "b": 1, "c": 2}, "missing") == 0.5


def test_total_variation_is_0_for_equal_shares_and_1_for_disjoint_values() -> None:
    assert total_variation(texts("a", "b", "a", "b"), {"a": 5, "b": 5}, "missing") == 0
    assert total_variation(texts("a"), {"b": 5}, "missing") == 1


def test_missing_values_are_compared_under_the_name_they_are_published_by() -> None:
    assert total_variation(texts("a", None), {"a": 3, "gone": 3}, "gone") == 0
    assert total_variation(texts("a", None), {"a": 3, "missing": 3}, "gone") == 0.5


def test_numbers_are_compared_as_numbers() -> None:
    column = pd.Series([5.0, 7.5, np.nan, 5.0])
    assert total_variation(column, {"5": 1, "5.0": 1, "7.50": 1, "missing": 1}, "missing") == 0


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(ValueError, match="no counts"):
        total_variation(texts("a"), {}, "missing")
    with pytest.raises(ValueError, match="no counts"):
        total_variation(texts(), {"a": 1}, "missing")
