"""The range of a numeric sensitive attribute in each group, for (k,e)-anonymity (Zhang et al., 2007)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal

import numpy as np

from tasks.types import FloatArray, IntArray

_EXACT = Context(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX)


def exact_ranges(counts: IntArray, values: Sequence[Decimal | None]) -> FloatArray:
    """Return what `ranges` does for decimal numbers that doubles need not hold, None for a missing one.

    Each range is the double that is nearest to it. O(groups m).
    """
    known = sorted({value for value in values if value is not None})
    place = {value: float(i) for i, value in enumerate(known)}
    ranks = np.array([np.nan if value is None else place[value] for value in values])
    there = (counts > 0) & ~np.isnan(ranks)
    low = np.where(there, ranks, np.inf).min(axis=-1, initial=np.inf)
    high = np.where(there, ranks, -np.inf).max(axis=-1, initial=-np.inf)
    some = there.any(axis=-1)
    ends, of = np.unique(np.stack([low[some], high[some]]).astype(np.int64), axis=1, return_inverse=True)
    found = np.zeros(some.shape)
    apart = [float(_EXACT.subtract(known[last], known[first])) for first, last in ends.T.tolist()]
    found[some] = np.array(apart, dtype=np.float64)[of.ravel()]
    return found


def from_least(values: Sequence[Decimal | None]) -> tuple[FloatArray, float]:
    """Return how far numbers (m,) lie above the least of them, nan for a missing one, and the least.

    Differences of these are those of the numbers, where doubles of the numbers would be too far apart.
    """
    least = min((value for value in values if value is not None), default=Decimal(0))
    above = [np.nan if value is None else float(_EXACT.subtract(value, least)) for value in values]
    return np.array(above), float(least)


def ranges(counts: IntArray, numbers: FloatArray) -> FloatArray:
    """Return the greatest less the least number of each group (..., m), (...,); 0 without a number.

    `numbers` (m,), or as `counts` where each group has columns of its own, are those of the values. nan marks
    a missing one: it is no number, and does not widen the range.
    """
    known = (counts > 0) & ~np.isnan(numbers)
    high = np.where(known, numbers, -np.inf).max(axis=-1, initial=-np.inf)
    low = np.where(known, numbers, np.inf).min(axis=-1, initial=np.inf)
    return np.where(known.any(axis=-1), high - low, 0.0)


def relative_ranges(counts: IntArray, numbers: FloatArray, own: FloatArray | None = None) -> FloatArray:
    """Return the range of each group (..., m), or its `own`, beside its largest absolute number, (...,)."""
    known = (counts > 0) & ~np.isnan(numbers)
    largest = np.where(known, np.abs(numbers), 0.0).max(axis=-1, initial=0.0)
    found = ranges(counts, numbers) if own is None else own
    return np.asarray(found / np.where(largest > 0, largest, 1.0))
