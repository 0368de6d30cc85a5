"""The range of a numeric sensitive attribute in each group, for (k,e)-anonymity (Zhang et al., 2007)."""

from __future__ import annotations

import numpy as np

from tasks.types import FloatArray, IntArray


def ranges(counts: IntArray, numbers: FloatArray) -> FloatArray:
    """Return the greatest less the least number of each group (..., m), (...,); 0 without a number.

    `numbers` (m,), or as `counts` where each group has columns of its own, are those of the values. nan marks
    a missing one: it is no number, and does not widen the range.
    """
    known = (counts > 0) & ~np.isnan(numbers)
    high = np.where(known, numbers, -np.inf).max(axis=-1, initial=-np.inf)
    low = np.where(known, numbers, np.inf).min(axis=-1, initial=np.inf)
    return np.where(known.any(axis=-1), high - low, 0.0)


def relative_ranges(counts: IntArray, numbers: FloatArray) -> FloatArray:
    """Return the range of each group (..., m) beside its largest absolute number, (...,)."""
    known = (counts > 0) & ~np.isnan(numbers)
    largest = np.where(known, np.abs(numbers), 0.0).max(axis=-1, initial=0.0)
    return np.asarray(ranges(counts, numbers) / np.where(largest > 0, largest, 1.0))
