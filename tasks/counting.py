"""Counts of records of which each may stand for several equal rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tasks.types import IntArray


def counted(places: NDArray[np.signedinteger], rows: IntArray | None, number: int) -> IntArray:
    """Return how many records have each of so many places, (number,); each stands for `rows`, or for one."""
    if rows is None:
        return np.bincount(places, minlength=number)
    return np.bincount(places, weights=rows, minlength=number).astype(np.int64)  # exact under 2^53
