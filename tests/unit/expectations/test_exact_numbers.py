"""Decimal numbers as text: equal ones have one text, which has all their digits."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from expectations.numbers import are_doubles, exact_text, number_text

NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("1000.0", "1000"),
        (" 007", "7"),
        ("-0.0", "0"),
        ("1e3", "1000"),
        (".50", "0.5"),
        ("9007199254740993", "9007199254740993"),
        ("9007199254741021000", "9007199254741021000"),
        ("0.10000000000000000001", "0.10000000000000000001"),
        ("12345678901234567890.1200", "12345678901234567890.12"),
        ("1e20", "100000000000000000000"),
        ("1e-400", "1E-400"),
        ("10e-401", "1E-400"),
    ],
)
def test_numbers_have_their_shortest_text(written: str, text: str) -> None:
    assert exact_text(written) == text


@given(NUMBERS)
def test_the_text_is_the_number(number: Decimal) -> None:
    text = exact_text(f"{number:f}")
    assert Decimal(text) == number
    assert exact_text(text) == text
    assert exact_text(f"{number:f}".replace("-", "-00") if number < 0 else f"000{number:f}") == text


@given(NUMBERS)
def test_what_doubles_hold_reads_the_same_from_either(number: Decimal) -> None:
    text = f"{number:f}"
    if are_doubles([text]):
        assert Decimal(number_text(float(text) + 0.0)) == number
        assert exact_text(text) == number_text(float(text) + 0.0)


@given(st.integers(-(2**53) + 1, 2**53 - 1))
def test_doubles_hold_small_whole_numbers(number: int) -> None:
    assert are_doubles([str(number)])


def test_they_do_not_hold_larger_ones() -> None:
    assert not any(are_doubles([str(sign * n)]) for n in (2**53, 2**53 + 1, 10**20) for sign in (1, -1))
