"""The greatest ordered distance of a class from the table (t-closeness), of few classes looked at."""

from __future__ import annotations

import numpy as np

from tasks.privacy.closeness import ordered_distances
from tasks.table_measures.counts import Distributions, ValueCounts
from tasks.types import FloatArray

CELLS = 4_000_000
MOST_CELLS = 400_000_000  # of counts in the order of their numbers: some ten CPU seconds
ROUNDING = 1e-9


def greatest_ordered_distance(counts: ValueCounts, numbers: FloatArray) -> float | None:
    """Return the greatest distance of a class; None where that takes too much work.

    `numbers` (n_values,) are those of the values, nan for the missing one. A distribution is no further than
    its values are in the mean, each alone: the distance is convex. So classes are looked at from the greatest
    such bound on, until none can be further than one that was looked at. Where values are missing, what
    `ordered_distances` gives is not convex, and all are looked at.
    """
    of = counts.distributions()
    if np.isnan(numbers).any():
        bound = np.full(of.n_rows, np.inf)
    elif of.n_values**2 <= MOST_CELLS:
        bound = of.means(_of_each_value(counts, numbers))
    else:
        return None
    return _greatest(of, bound, counts, numbers)


def _of_each_value(counts: ValueCounts, numbers: FloatArray) -> FloatArray:
    """Return the distance of each value alone, (n_values,)."""
    n = len(numbers)
    step = max(CELLS // n, 1)
    parts = [np.arange(start, min(start + step, n)) for start in range(0, n, step)]
    rows = ((part[:, None] == np.arange(n)).astype(np.int64) for part in parts)
    return np.concatenate([ordered_distances(each, counts.overall, numbers) for each in rows])


def _greatest(of: Distributions, bound: FloatArray, counts: ValueCounts, numbers: FloatArray) -> float | None:
    order, step = np.argsort(-bound, kind="stable"), max(CELLS // of.n_values, 1)
    greatest = 0.0
    for start in range(0, of.n_rows, step):
        rows = order[start : start + step]
        if bound[rows[0]] <= greatest - ROUNDING:
            break
        if (start + len(rows)) * of.n_values > MOST_CELLS:
            return None
        found = ordered_distances(of.take(rows), counts.overall, numbers)
        greatest = max(greatest, float(found.max()))
    return greatest
