"""How far a column's distribution lies from the last release's."""

from __future__ import annotations

import numpy as np
import pandas as pd

from expectations.numbers import as_numbers


def total_variation(column: pd.Series, reference: dict[str, int], missing_label: str) -> float:
    """Return the total variation distance between the column's shares and the reference counts' shares.

    Half the sum of |p(v) - q(v)| over all values v, so 0 for equal shares and 1 for disjoint values.
    Missing values of the column count as `missing_label`, the name that they are published under.
    Numbers are compared as numbers: "5" in the reference is 5.0 in the column. Raises ValueError where
    column or reference hold nothing.
    """
    total = sum(reference.values())
    if total <= 0 or len(column) == 0:
        raise ValueError("no counts to compare")
    keys: list[str | float] = list(reference)
    if pd.api.types.is_numeric_dtype(column):
        numbers = as_numbers(pd.Series(keys, dtype="str"))
        keys = [key if np.isnan(number) else number for key, number in zip(keys, numbers, strict=True)]
    before = pd.Series(list(reference.values()), dtype=np.float64).groupby(keys, sort=False).sum()
    codes, distinct = pd.factorize(column)
    counts = np.bincount(codes + 1, minlength=len(distinct) + 1)
    now = pd.Series(counts, index=pd.Index([missing_label, *distinct], dtype=object))
    now = now[now > 0].groupby(level=0, sort=False).sum()
    gaps = (now / len(column)).sub(before / total, fill_value=0.0)
    return float(gaps.abs().sum() / 2)
