"""Who takes the place of whom: newcomers for those who left a class, of the same values, at least cost.

A class in which everybody who left is followed by somebody of the same sensitive values publishes the same
values again, and what the two releases differ in tells nothing (Xiao and Tao, 2007, m-invariance).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import linear_sum_assignment

from tasks.history.extent import Extent
from tasks.types import BoolArray, FloatArray, IntArray

AT_ONCE = 2_000
NEVER = 1e12


def substitutes(
    extent: Extent,
    group: IntArray,
    left: IntArray,
    rows: IntArray,
    have: IntArray,
    may: Callable[[IntArray, IntArray], BoolArray] | None = None,
) -> tuple[IntArray, IntArray]:
    """Return rows and the slots that they take, each at most once.

    Slot i is in `group[i]`, left by somebody with the values `left[i]`; `rows` may join, with values `have`.
    The sum of what the joined cells cost is least for up to `AT_ONCE` slots of the same values; more are
    divided along the first attribute. `may(groups, rows)`, where it is given, tells who may join which group,
    (groups, rows). O(slots x rows) for each value.
    """
    found: list[tuple[IntArray, IntArray]] = []
    for value in np.intersect1d(left, have):
        slots, free = np.flatnonzero(left == value), rows[have == value]
        n_parts = -(-max(len(slots), len(free)) // AT_ONCE)
        slots = slots[np.argsort(extent.centre(group[slots]), kind="stable")]
        free = free[np.argsort(extent.place(free), kind="stable")]
        for some, others in zip(np.array_split(slots, n_parts), np.array_split(free, n_parts), strict=True):
            cost = _cost(extent, group[some], others)
            allowed = np.ones(cost.shape, dtype=bool) if may is None else may(group[some], others)
            slot, row = linear_sum_assignment(np.where(allowed, cost, NEVER))
            right = allowed[slot, row]
            slot, row = slot[right], row[right]
            found.append((others[row], some[slot]))
    if not found:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    return np.concatenate([row for row, _ in found]), np.concatenate([where for _, where in found])


def _cost(extent: Extent, group: IntArray, rows: IntArray) -> FloatArray:
    """Return what each of `rows` costs in each group, (groups, rows)."""
    total = np.zeros((len(group), len(rows)))
    for first in range(0, len(group), 256):
        part = slice(first, first + 256)
        total[part] = extent.growth(group[part], rows) * extent.size[group[part], None]
    return total
