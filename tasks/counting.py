"""Counts of records of which each may stand for several equal rows, and the numbers of several in a row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tasks.types import IntArray


def counted(places: NDArray[np.signedinteger], rows: IntArray | None, number: int) -> IntArray:
    """Return how many records have each of so many places, (number,); each stands for `rows`, or for one."""
    if rows is None:
        return np.bincount(places, minlength=number)
    return np.bincount(places, weights=rows, minlength=number).astype(np.int64)  # exact under 2^53


def numbers_from(first: IntArray, length: IntArray) -> IntArray:
    """Return first[0], first[0] + 1, ..., `length[0]` of them, then as many from first[1] as it says, ..."""
    begin = np.cumsum(length) - length
    return np.repeat(first - begin, length) + np.arange(int(length.sum()))
