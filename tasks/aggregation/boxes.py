"""The cells of some groups of records, and what a swap of two records would make of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.partitioning.attributes import Attributes
from tasks.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Cells:
    """The cells of N groups: `low`, `high` (N, p) of their numbers, `distinct` (N, q) values of the rest."""

    low: FloatArray
    high: FloatArray
    distinct: IntArray

    def take(self, index: IntArray) -> Cells:
        """Return the cells of the groups at `index`."""
        return Cells(self.low[index], self.high[index], self.distinct[index])


class GroupCells:
    """G groups of m records: their cells, kept while records are swapped.

    `group_of` (m,) are the groups of the first m of the n records of `attributes`; the others are in no
    group, but cells may contain them. Memory O(G w + n G) for w different values of the categories.
    """

    def __init__(self, attributes: Attributes, group_of: IntArray) -> None:
        missing = np.isnan(attributes.numeric)
        # A missing number widens no interval and lies in every one.
        self._least = np.where(missing, np.inf, attributes.numeric)
        self._most = np.where(missing, -np.inf, attributes.numeric)
        self._values = [np.unique(np.concatenate([[-np.inf], x, [np.inf]])) for x in self._least.T]
        self._least_place = [_places(v, x) for v, x in zip(self._values, self._least.T, strict=True)]
        self._most_place = [_places(v, x) for v, x in zip(self._values, self._most.T, strict=True)]
        self._attributes = attributes
        self._codes, self._n_codes = _coded(attributes.codes)
        self.group_of = group_of.copy()
        n_groups = int(group_of.max()) + 1
        self.size = np.bincount(group_of, minlength=n_groups)
        self.members = np.full((n_groups, max(int(self.size.max()), 2)), -1)
        order = np.argsort(group_of, kind="stable")
        self._place = np.empty(len(group_of), dtype=np.int64)
        self._place[order] = np.arange(len(order)) - np.repeat(np.cumsum(self.size) - self.size, self.size)
        self.members[group_of, self._place] = np.arange(len(group_of))
        p = attributes.numeric.shape[1]
        self._low, self._high = np.empty((2, n_groups, p)), np.empty((2, n_groups, p))
        self._counts = np.zeros((n_groups, int(self._n_codes.sum())), dtype=np.int64)
        self._distinct = np.zeros((n_groups, len(self._n_codes)), dtype=np.int64)
        self._within = np.zeros((p + len(self._n_codes), n_groups, len(missing)), dtype=bool)
        self.cost = np.empty(n_groups)
        self.added = np.empty((len(group_of), n_groups))  # what a group's cost would gain with a record
        self.refresh(np.arange(n_groups))
        self.settle(np.arange(n_groups))

    def __len__(self) -> int:
        return len(self.size)

    def refresh(self, groups: IntArray) -> None:
        """Read the cells of `groups` from their members again."""
        members = self.members[groups]
        away = (members < 0)[:, :, None]
        # The two least and the two greatest: the second are the ends where the first is taken away.
        low = np.sort(np.where(away, np.inf, self._least[members]), axis=1)
        high = np.sort(np.where(away, -np.inf, self._most[members]), axis=1)
        self._low[:, groups], self._high[:, groups] = (low[:, 0], low[:, 1]), (high[:, -1], high[:, -2])
        width = self._counts.shape[1]
        flat = np.where(away, -1, self._codes[members] + (np.arange(len(groups)) * width)[:, None, None])
        counts = np.bincount(flat.ravel()[flat.ravel() >= 0], minlength=len(groups) * width)
        self._counts[groups] = counts.reshape(len(groups), width)
        starts = np.cumsum(self._n_codes) - self._n_codes
        if width:
            self._distinct[groups] = np.add.reduceat(self._counts[groups] > 0, starts, axis=1)
        self.cost[groups] = self.costs(
            Cells(self._low[0, groups], self._high[0, groups], self._distinct[groups])
        )

    def costs(self, cells: Cells) -> FloatArray:
        """Return the weighted NCP of cells of any shape (..., p) and (..., q)."""
        total = np.zeros(cells.low.shape[:-1])
        for p in range(cells.low.shape[-1]):
            total += self._attributes.interval_cost(p, cells.low[..., p], cells.high[..., p])
        for q in range(cells.distinct.shape[-1]):
            total += self._attributes.set_cost(q, cells.distinct[..., q])
        return total

    def saved(self) -> FloatArray:
        """Return what each group's cost would lose without each of its records, (m,)."""
        groups = self.group_of
        least, most, codes = (x[: len(groups)] for x in (self._least, self._most, self._codes))
        low = np.where(least == self._low[0, groups], self._low[1, groups], self._low[0, groups])
        high = np.where(most == self._high[0, groups], self._high[1, groups], self._high[0, groups])
        alone = self._counts[groups[:, None], codes] == 1
        return np.asarray(self.cost[groups] - self.costs(Cells(low, high, self._distinct[groups] - alone)))

    def settle(self, groups: IntArray) -> None:
        """Work out again what `groups` contain, and what they would cost with each record."""
        n_numeric = self._low.shape[2]
        for p in range(n_numeric):
            self._within[p, groups] = self._in_interval(p, self._low[0, groups, p], self._high[0, groups, p])
        for q, codes in enumerate(self._codes.T):
            self._within[n_numeric + q, groups] = self._counts[groups][:, codes] > 0
        least, most, members = (x[: len(self.group_of)] for x in (self._least, self._most, self._codes))
        low = np.minimum(self._low[0, groups], least[:, None])
        high = np.maximum(self._high[0, groups], most[:, None])
        new = (self._counts[groups] == 0).T[members].transpose(0, 2, 1)
        cells = Cells(low, high, self._distinct[groups] + new)
        self.added[:, groups] = self.costs(cells) - self.cost[groups]

    def after(self, groups: IntArray, out: IntArray, into: IntArray) -> Cells:
        """Return the cells of `groups` (N,) without their records `out` (N,) and with `into` (N,)."""
        low = np.where(self._least[out] == self._low[0, groups], self._low[1, groups], self._low[0, groups])
        high = np.where(
            self._most[out] == self._high[0, groups], self._high[1, groups], self._high[0, groups]
        )
        gone, come = self._codes[out], self._codes[into]
        left = self._counts[groups[:, None], gone] == 1
        new = self._counts[groups[:, None], come] == 0
        change = np.where(gone == come, 0, new.astype(np.int64) - left)
        return Cells(
            np.minimum(low, self._least[into]),
            np.maximum(high, self._most[into]),
            self._distinct[groups] + change,
        )

    def contained(self, groups: IntArray, out: IntArray, into: IntArray, cells: Cells) -> BoolArray:
        """Tell which records lie in `cells`, those of `groups` after swapping `out` for `into`, (N, n).

        Most swaps change one or two attributes: of the others, what lies in the group is known.
        """
        inside = np.ones((len(groups), len(self._least)), dtype=bool)
        for p in range(cells.low.shape[1]):
            within = self._within[p][groups]
            low, high = cells.low[:, p], cells.high[:, p]
            other = np.flatnonzero((low != self._low[0, groups, p]) | (high != self._high[0, groups, p]))
            within[other] = self._in_interval(p, low[other], high[other])
            inside &= within
        for q, codes in enumerate(self._codes.T):
            within = self._within[cells.low.shape[1] + q][groups]
            gone, come = codes[out], codes[into]
            left = np.flatnonzero((gone != come) & (self._counts[groups, gone] == 1))
            within[left] &= codes != gone[left, None]
            new = np.flatnonzero(self._counts[groups, come] == 0)
            within[new] |= codes == come[new, None]
            inside &= within
        return inside

    def now_contained(self) -> BoolArray:
        """Tell which records lie in the cells of the groups as they are, (G, n)."""
        return np.asarray(np.logical_and.reduce(self._within))

    def contain(
        self, groups: IntArray, out: IntArray, into: IntArray, cells: Cells, record: IntArray
    ) -> BoolArray:
        """Tell of N swaps whether `cells`, as for `contained`, hold one record each: `record` (N,)."""
        unknown = cells.low > cells.high
        within = (cells.low <= self._least[record]) & (self._most[record] <= cells.high)
        codes = self._codes[record]
        n_with_it = self._counts[groups[:, None], codes] - (self._codes[out] == codes)
        n_with_it += self._codes[into] == codes
        return np.asarray((unknown | within).all(axis=1) & (n_with_it > 0).all(axis=1))

    def _in_interval(self, p: int, low: FloatArray, high: FloatArray) -> BoolArray:
        # Places among the block's values are compared: short integers take a fraction of the time.
        # Without a known number the whole range is published.
        first = _places(self._values[p], np.where(low <= high, low, -np.inf))
        last = _places(self._values[p], np.where(low <= high, high, np.inf))
        return np.asarray((first[:, None] <= self._least_place[p]) & (self._most_place[p] <= last[:, None]))

    def has_equal(self, group: int) -> bool:
        """Tell whether another group has the cells of `group`: published, they would be one class."""
        same = (self._low[0] == self._low[0, group]).all(axis=1)
        same &= (self._high[0] == self._high[0, group]).all(axis=1)
        same &= ((self._counts > 0) == (self._counts[group] > 0)).all(axis=1)
        return int(same.sum()) > 1

    def swap(self, one: int, other: int) -> None:
        """Let two records change places; the cells of their groups have to be refreshed."""
        groups, places = self.group_of, self._place
        self.members[groups[one], places[one]] = other
        self.members[groups[other], places[other]] = one
        for of_both in (groups, places):
            of_both[one], of_both[other] = of_both[other], of_both[one]


def _places(values: FloatArray, x: FloatArray) -> NDArray[np.signedinteger]:
    return np.searchsorted(values, x).astype(np.int16 if len(values) < 2**15 else np.int64)


def _coded(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Number the values that stand in (m, q) codes through all columns; return them and how many a column."""
    numbered = np.empty_like(codes)
    n_codes = np.zeros(codes.shape[1], dtype=np.int64)
    for q, column in enumerate(codes.T):
        values, place = np.unique(column, return_inverse=True)
        numbered[:, q] = place.ravel() + n_codes.sum()
        n_codes[q] = len(values)
    return numbered, n_codes
