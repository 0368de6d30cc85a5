"""Which of the records that are left are nearest in precision, while ever more of them are taken."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from tasks.partitioning.precision import Precision
from tasks.types import BoolArray, IntArray

RANKED_AT_MOST = 50_000
POOL = 16


class Nearby:
    """A search among the records that are `free` (n,), a mask that the caller keeps up to date.

    Up to `RANKED_AT_MOST` records that are left are all ranked; above that `POOL` times as many
    records as are asked for, nearest in a KD-tree over the scaled values. Both are made anew whenever half
    of their records are taken.
    """

    def __init__(self, precision: Precision, free: BoolArray) -> None:
        self._precision = precision
        self._free = free
        self._places = precision.places() if len(free) > RANKED_AT_MOST else None
        self._gather()

    def _gather(self) -> None:
        self._left = np.flatnonzero(self._free)
        self._tree = None
        if self._places is not None and len(self._left) > RANKED_AT_MOST:
            self._tree = cKDTree(self._places[self._left])

    def to(self, record: int, count: int) -> tuple[IntArray, bool]:
        """Return the `count` free records that `record` is cheapest with, and whether these are all.

        In the order of their numbers; ties of the last places go to the first records.
        """
        pool = self._left[self._free[self._left]]
        if 2 * len(pool) < len(self._left):
            self._gather()
        everyone = len(pool) - 1 <= count
        if self._tree is not None and self._places is not None and not everyone:
            near = self._tree.query(self._places[record], k=min(POOL * count, len(self._left)), p=1)[1]
            near = np.sort(self._left[near])
            near = near[self._free[near]]
            pool = near if len(near) > count else pool
        pool = pool[pool != record]
        if len(pool) <= count:
            return pool, everyone
        precision = self._precision
        cost = precision.penalty(precision.joined(precision.alone(np.array([record])), pool))
        last = np.partition(cost, count - 1)[count - 1]
        below, tied = np.flatnonzero(cost < last), np.flatnonzero(cost == last)
        return pool[np.sort(np.concatenate([below, tied[: count - len(below)]]))], everyone
