"""Which of the records that are left are nearest in precision, while ever more of them are taken."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tasks.partitioning.precision import Precision
from tasks.types import BoolArray, FloatArray, IntArray

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
        precision = self._precision
        self._left = np.flatnonzero(self._free)
        self._codes = precision.codes[:, self._left]
        self._numbers = precision.numbers[:, self._left]
        self._tree = None
        if self._places is not None and len(self._left) > RANKED_AT_MOST:
            from scipy.spatial import cKDTree  # here: it is slow to import

            self._tree = cKDTree(self._places[self._left])

    def to(self, record: int, count: int, unlike: Sequence[IntArray] = ()) -> tuple[IntArray, bool]:
        """Return the `count` free records that `record` is cheapest with, and whether these are all.

        And for each column of `unlike` (n,) the cheapest whose value is another than the record's, a quarter
        of `count`. In the order of their numbers; ties of the last places go to the first records.
        """
        if 2 * np.count_nonzero(self._free[self._left]) < len(self._left):
            self._gather()
        place = np.flatnonzero(self._free[self._left] & (self._left != record))
        if len(place) <= count:
            return self._left[place], True
        if self._tree is not None and self._places is not None:
            near = self._tree.query(self._places[record], k=min(POOL * count, len(self._left)), p=1)[1]
            near = np.intersect1d(near, place)
            place = near if len(near) > count else place
        cost = self._cost(record, place)
        chosen = [place[_cheapest(cost, count)]]
        for column in unlike:
            other = np.flatnonzero(column[self._left[place]] != column[record])
            chosen.append(place[other[_cheapest(cost[other], count // 4)]])
        return self._left[np.unique(np.concatenate(chosen))], False

    def _cost(self, record: int, place: IntArray) -> FloatArray:
        """Return what a class of `record` and each record at `place` (m,) would cost, (m,)."""
        precision = self._precision
        cost = np.zeros(len(place))
        for levels, own, codes in zip(precision.levels, precision.codes[:, record], self._codes, strict=True):
            share = levels.distance(own, np.arange(levels.n_values)) / levels.height
            cost += share[codes[place]]
        for own, numbers in zip(precision.numbers[:, record], self._numbers, strict=True):
            away = np.abs(numbers[place] - own)
            cost += np.where(np.isnan(away), 0.0, away)
        return cost


def _cheapest(cost: FloatArray, count: int) -> IntArray:
    """Return the positions of the `count` least costs; ties of the last ones go to the first positions."""
    if len(cost) <= count:
        return np.arange(len(cost))
    last = np.partition(cost, count - 1)[count - 1]
    below, tied = np.flatnonzero(cost < last), np.flatnonzero(cost == last)
    return np.concatenate([below, tied[: count - len(below)]])
