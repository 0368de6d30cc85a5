"""Where nodes can be cut, and what lies on either side of every candidate cut, all nodes at once."""

from __future__ import annotations

import numpy as np

from tasks.partitioning.constraints import SensitiveColumn
from tasks.types import FloatArray, IntArray

Sides = tuple[FloatArray, FloatArray]
FAR = np.iinfo(np.int64).max


def positions_of_cuts(
    values: FloatArray,
    starts: IntArray,
    nodes: IntArray,
    k: int,
    quantiles: tuple[float, ...],
    passed: IntArray | None = None,
    apart: IntArray | None = None,
) -> IntArray:
    """Return (nodes, quantiles) positions between two different values, nearest to each quantile.

    A position that would leave a side with under k rows is replaced by the node's end. `passed` (n + 1,) are
    the rows before each position, where a record stands for several; None: one row a record. `apart` (n - 1,)
    are the levels of the lowest common nodes of neighbours in a hierarchy, -1 beside a missing value: a node
    of the tree is then cut between children of its values' lowest common node only; None: between any values.
    """
    passed = np.arange(len(values) + 1) if passed is None else passed
    end = starts[nodes + 1][:, None]
    first, last = passed[starts[nodes]][:, None], passed[end]
    target = first + np.rint((last - first) * np.array(quantiles)).astype(np.int64)
    changes = np.flatnonzero(values[1:] != values[:-1]) + 1
    if apart is not None:
        changes = _between_children(changes, starts, apart)
    if not len(changes):
        return np.broadcast_to(end, target.shape).copy()
    rows = passed[changes]
    place = np.searchsorted(rows, target)
    after = np.minimum(place, len(changes) - 1)
    before = np.maximum(place - 1, 0)

    def distance(change: IntArray) -> IntArray:
        allowed = (rows[change] >= first + k) & (rows[change] <= last - k)
        return np.where(allowed, np.abs(rows[change] - target), FAR)

    distance_after, distance_before = distance(after), distance(before)
    nearest = changes[np.where(distance_before <= distance_after, before, after)]
    none = (distance_after == FAR) & (distance_before == FAR)
    return np.sort(np.where(none, end, nearest), axis=1)


def _between_children(changes: IntArray, starts: IntArray, apart: IntArray) -> IntArray:
    """Return the `changes` inside nodes at which the highest level of their node's changes is crossed, and
    those beside a missing value.
    """
    changes = changes[~np.isin(changes, starts, assume_unique=True)]
    node = np.searchsorted(starts, changes, side="right") - 1
    level = apart[changes - 1]
    highest = np.zeros(len(starts), dtype=np.int64)
    np.maximum.at(highest, node, level)
    return np.asarray(changes[(level == highest[node]) | (level < 0)])


class Buckets:
    """The records of nodes between successive cut positions, so that every side is a cumulative sum.

    `records` (n,) are in one dimension's order within their nodes, `cuts` (nodes, c) positions in it, and
    `rows` (n,) how many rows each record stands for; None: one.
    """

    def __init__(
        self,
        records: IntArray,
        starts: IntArray,
        nodes: IntArray,
        cuts: IntArray,
        rows: IntArray | None = None,
    ) -> None:
        edges = np.column_stack([starts[nodes], cuts, starts[nodes + 1]])
        sizes = np.diff(edges, axis=1)
        self._shape = sizes.shape
        self._sizes = sizes.ravel()
        ends = np.zeros(len(records) + 1, dtype=np.int64)
        np.add.at(ends, edges[:, 0], 1)
        np.add.at(ends, edges[:, -1], -1)
        self._inside = np.cumsum(ends[:-1]) > 0
        self._records = records[self._inside]
        self._bucket = np.repeat(np.arange(sizes.size), self._sizes)
        self._filled = np.flatnonzero(self._sizes)
        self._first = (np.cumsum(self._sizes) - self._sizes)[self._filled]
        self._rows = None if rows is None else rows[self._records].astype(np.float64)
        if self._rows is not None:
            # As floats they are exact: there are fewer than 2^53.
            sizes = np.bincount(self._bucket, self._rows, sizes.size).astype(np.int64).reshape(sizes.shape)
        self.left_size = np.cumsum(sizes, axis=1)[:, :-1]
        self.right_size = sizes.sum(axis=1, keepdims=True) - self.left_size

    def counts(self, column: SensitiveColumn) -> tuple[IntArray, IntArray]:
        """Return the counts of sensitive values left and right of each cut, each (nodes, cuts, m)."""
        m = column.n_values
        cell = self._bucket * m + column.codes[self._records]
        flat = np.bincount(cell, self._rows, len(self._sizes) * m).astype(np.int64, copy=False)
        running = np.cumsum(flat.reshape(*self._shape, m), axis=1)
        return running[:, :-1], running[:, -1:] - running[:, :-1]

    def ranges(self, values: FloatArray) -> tuple[Sides, Sides]:
        """Return ((least, greatest) left, (least, greatest) right) of each cut, each (nodes, cuts)."""
        low, high = np.full(len(self._sizes), np.inf), np.full(len(self._sizes), -np.inf)
        if len(self._filled):
            here = values[self._records]
            low[self._filled] = np.fmin.reduceat(here, self._first)
            high[self._filled] = np.fmax.reduceat(here, self._first)
        low, high = low.reshape(self._shape), high.reshape(self._shape)
        left = np.fmin.accumulate(low, axis=1)[:, :-1], np.fmax.accumulate(high, axis=1)[:, :-1]
        right = (
            np.fmin.accumulate(low[:, ::-1], axis=1)[:, ::-1][:, 1:],
            np.fmax.accumulate(high[:, ::-1], axis=1)[:, ::-1][:, 1:],
        )
        return left, right

    def distinct(self, codes: IntArray, by_code: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return how many different codes there are left, right (nodes, cuts) and in all (nodes, 1).

        `by_code` (n,) are the records in the order of `codes` within their nodes. However many values a
        column has, this is one pass: a value is on the left from the first bucket that holds it on, and on
        the right up to the last.
        """
        bucket = np.empty(len(codes), dtype=np.int64)
        bucket[self._records] = self._bucket
        here = by_code[self._inside]
        if not len(here):
            none = np.zeros(self.left_size.shape, dtype=np.int64)
            return none, none, none[:, :1]
        buckets, code = bucket[here], codes[here]
        node = buckets // self._shape[1]
        runs = np.flatnonzero(np.concatenate([[True], (code[1:] != code[:-1]) | (node[1:] != node[:-1])]))
        first = np.bincount(np.minimum.reduceat(buckets, runs), minlength=len(self._sizes))
        last = np.bincount(np.maximum.reduceat(buckets, runs), minlength=len(self._sizes))
        begun = np.cumsum(first.reshape(self._shape), axis=1)
        ended = np.cumsum(last.reshape(self._shape), axis=1)
        return begun[:, :-1], begun[:, -1:] - ended[:, :-1], begun[:, -1:]
