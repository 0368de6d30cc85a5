"""The medoid of each group, attribute by attribute, from distances alone (Miche et al., 2016, eq. 3)."""

from __future__ import annotations

import numpy as np

from tasks.recoding.levels import Levels
from tasks.types import FloatArray, IntArray


def medians(values: FloatArray, labels: IntArray, n_groups: int) -> FloatArray:
    """Return the lower median of each group's known values, (n_groups,); NaN where none is known.

    It is a member's value, and none has a smaller sum of absolute differences. Records with label -1 are
    left out. O(n log n).
    """
    known = np.flatnonzero((labels >= 0) & ~np.isnan(values))
    order = known[np.lexsort((values[known], labels[known]))]
    size = np.bincount(labels[order], minlength=n_groups)
    found = np.full(n_groups, np.nan)
    filled = size > 0
    middle = (np.cumsum(size) - size + (size - 1) // 2)[filled]
    found[filled] = values[order[middle]]
    return found


def central_values(codes: IntArray, labels: IntArray, n_groups: int, levels: Levels) -> IntArray:
    """Return for each group the value with the least sum of distances to its members, (n_groups,).

    The distance is the level of the lowest common node, so that without a hierarchy this is the most
    frequent value. Ties go to the lower code, that is the earlier value of the policy. The value is always a
    member's. O(groups * values * height).
    """
    kept = labels >= 0
    cost = np.zeros((n_groups, levels.n_values), dtype=np.int64)
    for node in levels.node:
        width = int(node.max(initial=0)) + 1
        inside = np.bincount(labels[kept] * width + node[codes[kept]], minlength=n_groups * width)
        # Every member outside a value's node at this level is one level farther from it.
        cost -= inside.reshape(n_groups, width)[:, node]
    return np.asarray(cost.argmin(axis=1), dtype=np.int64)
