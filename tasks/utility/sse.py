"""Sum of squared errors to the groups' centroids, what microaggregation makes small (Domingo-Ferrer and
Mateo-Sanz, 2002).

Attributes are scaled alike: a number by its span in the source (a missing one is the median), a category as
one column a value over the square root of 2, so that two different values are 1 apart, as the ends of a
span are. The groups are the method's own: where rows were noised one by one, no two published rows are
alike.
"""

from __future__ import annotations

import numpy as np

from tasks.types import FloatArray, IntArray, PreparedTable
from tasks.utility.released import Released


def squared_errors(released: Released) -> dict[str, float | None]:
    """Return SSE, and its share of the published records' squared deviation from their own mean (SST)."""
    within = sse(released.table, released.records, released.groups)
    total = sse(released.table, released.records, np.zeros(released.n_published, dtype=np.int64))
    return {"sse": within, "sse_share": within / total if total > 0 else None}


def sse(table: PreparedTable, records: IntArray, groups: IntArray) -> float:
    """Return the sum over `records` (m,) of the squared distance to the mean of their group (m,). O(m) a
    column.
    """
    if not len(records):
        return 0.0
    _, group = np.unique(groups, return_inverse=True)
    size = np.bincount(group)
    total = 0.0
    for values in table.numeric.T:
        total += _deviation(_scaled(values)[records], group, size)
    for codes, name in zip(table.codes.T, table.categorical_names, strict=True):
        # Over a group of s records of which c have a value: half the sum of c (1 - c / s).
        n_values = len(table.domains[name])
        key, count = np.unique(group * n_values + codes[records], return_counts=True)
        total += float((count * (1 - count / size[key // n_values])).sum()) / 2
    return total


def _scaled(values: FloatArray) -> FloatArray:
    known = values[~np.isnan(values)]
    filled = np.where(np.isnan(values), np.median(known), values)
    span = float(np.ptp(known))
    return np.asarray((filled - known.min()) / (span if span > 0 else 1.0))


def _deviation(values: FloatArray, group: IntArray, size: IntArray) -> float:
    mean = np.bincount(group, weights=values) / size
    return float(((values - mean[group]) ** 2).sum())
