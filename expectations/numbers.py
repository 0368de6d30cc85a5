"""What counts as a number in a column of text: one definition for intake, validation and drift."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from expectations.number_text import NUMBER


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
