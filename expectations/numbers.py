"""What counts as a number in a column of text, and how it is written: one definition for all stages."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from expectations.number_text import HELD_DIGITS, NUMBER, WHOLE_LIMIT

_MOST_PLACES = 40  # behind the point, before a power of ten is written


def as_numbers(column: pd.Series) -> NDArray[np.float64]:
    """Return the column as numbers, NaN where a value is missing or is no finite decimal number.

    Shape (n,). A column that is numeric already is returned as it is, infinities included.
    """
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    codes, distinct = pd.factorize(column)
    texts = pd.Series(distinct, dtype="str")
    numbers = texts.where(texts.str.fullmatch(NUMBER)).astype(np.float64).to_numpy(copy=True)
    numbers[~np.isfinite(numbers)] = np.nan  # 1e999 is written like a number and has no value
    return np.append(numbers, np.nan)[codes]  # code -1, a missing value, takes the appended NaN


def number_text(value: float) -> str:
    """Return a number as the published files write it: whole numbers without a point."""
    return str(int(value)) if value == int(value) else repr(float(value))


def exact_text(text: str) -> str:
    """Return a decimal number as the published files write it, with all its digits; equal ones are alike."""
    if _is_double(text):
        return number_text(float(text) + 0.0)
    number = Decimal(text.strip(" "))
    number = number.normalize(Context(prec=len(text), Emin=MIN_EMIN, Emax=MAX_EMAX))
    return format(number, "f") if number.adjusted() > -_MOST_PLACES else str(number)


def are_doubles(texts: Iterable[str]) -> bool:
    """Tell whether doubles hold these decimal numbers: the shortest form of each is the number."""
    return all(map(_is_double, texts))


def _is_double(text: str) -> bool:
    if len(text) <= HELD_DIGITS and "e" not in text and "E" not in text:
        return True
    value = float(text)
    shortest = repr(value)
    return abs(value) < WHOLE_LIMIT and (shortest == text or Decimal(shortest) == Decimal(text.strip(" ")))
