"""Taking a recoding back: what an attacker who knows how cells come about predicts of each class.

Cohen (2022), "Attacks on deidentification's defenses", calls it downcoding; arXiv 2509.03350 inverts local
recoding. The attacker knows the method and the policy, reads the release, and knows nothing else. Of a class
of n records they predict n exact tuples of quasi-identifiers:

1. Marginals. Each class spreads its records evenly over the values of its cell; those of whom one is known to
   be there (an attained end, a value of a set) count one each first.
2. Certain. In a class of one value in all columns but one, each attained value of that column is somebody's
   tuple. In a class of one value in all columns, all tuples are certain.
3. Guessed. Columns are taken for independent, so that X, how many of the class have a tuple, is binomial. The
   copies of tuples with the largest P(X >= i) are named: no other choice is expected to be right as often.

The control group is the same attacker who does not know which values are attained.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtrc

from tasks.geometry.space import distinct_rows
from tasks.types import BoolArray, FloatArray, IntArray

MOST_TUPLES = 256
"""Distinct tuples that are predicted of one class, at most; more copies of them may be."""
MOST_VALUES = 4_096
"""Values of a column that are guessed where nobody is known to have them: the most frequent."""
CHUNK = 4_000_000
DIGITS = 12
"""Chances that agree to so many digits are the same, whatever the order in which they were multiplied."""


@dataclass(frozen=True)
class Column:
    """One quasi-identifier of N classes: `values` are numbered in their order.

    The cell of class c holds the values `first[c]` to `last[c]`, or those of `member` (N, values). `sure`
    lists, as pairs (classes, values), the values that somebody of a class of several values must have.
    """

    name: str
    n_values: int
    sure: tuple[IntArray, IntArray]
    first: IntArray | None = None
    last: IntArray | None = None
    member: BoolArray | None = None

    def counted(self) -> IntArray:
        """Return how many values each cell holds, (N,)."""
        if self.member is not None:
            return np.asarray(np.count_nonzero(self.member, axis=1), dtype=np.int64)
        first, last = self._ends()
        return last - first + 1

    def _ends(self) -> tuple[IntArray, IntArray]:
        if self.first is None or self.last is None:
            raise ValueError("a column has the ends of its cells, or their members")
        return self.first, self.last

    def spread(self, amount: FloatArray) -> FloatArray:
        """Return what each value gets if every class spreads `amount` (N,) evenly over its cell."""
        each = amount / np.maximum(self.counted(), 1)
        if self.member is not None:
            return np.asarray(each @ self.member)
        first, last = self._ends()
        steps = np.bincount(first, each, self.n_values + 1) - np.bincount(last + 1, each, self.n_values + 1)
        return np.maximum(np.cumsum(steps)[: self.n_values], 0.0)

    def within(self, weight: FloatArray) -> FloatArray:
        """Return the sum of the weights of the values in each cell, (N,)."""
        if self.member is not None:
            return np.asarray(self.member @ weight)
        first, last = self._ends()
        sums = np.concatenate([[0.0], np.cumsum(weight)])
        return np.asarray(sums[last + 1] - sums[first])


@dataclass(frozen=True)
class Predictions:
    """Predicted tuples: `copies` (m,) of `codes` (m, columns) in class `owner` (m,).

    `certain` (N,) of each class's are certain.
    """

    owner: IntArray
    codes: IntArray
    copies: IntArray
    certain: IntArray


@dataclass(frozen=True)
class _Read:
    """A column as one attacker reads it; `n_sure` (N,), `weight` of each value, `total` of each cell."""

    column: Column
    n_sure: IntArray
    single: BoolArray
    weight: FloatArray
    total: FloatArray
    named: IntArray
    keys: IntArray  # class times n_values plus value of each sure pair, ascending

    def cells(self, chunk: IntArray, size: int) -> tuple[IntArray, FloatArray, FloatArray, BoolArray]:
        """Return for classes of `size` records (m,) the most likely values: (codes, expected, drawn, sure).

        All (m, d) in the order of ties; `expected` is the share of the class that is expected to have
        the value, `drawn` the chance of one who is not known; both 0 where there are fewer than d.
        """
        column = self.column
        codes = np.broadcast_to(self.named, (len(chunk), len(self.named)))
        if column.member is not None:
            inside = column.member[chunk][:, self.named]
        else:
            first, last = (end[chunk, None] for end in column._ends())
            inside = (codes >= first) & (codes <= last)
            if len(self.named) < column.n_values:
                ends = np.concatenate([first, last], axis=1)
                missing = ~np.isin(ends, self.named)
                missing[:, 1] &= ends[:, 0] != ends[:, 1]
                codes = np.concatenate([codes, ends], axis=1)
                inside = np.concatenate([inside, missing], axis=1)
        # A cell of which no value has any weight is one of values that are equally likely.
        total = self.total[chunk, None]
        even = 1.0 / np.maximum(inside.sum(axis=1, keepdims=True), 1)
        drawn = np.where(total > 0, self.weight[codes] / np.where(total > 0, total, 1.0), even)
        drawn = np.where(inside, drawn, 0.0)
        sure = inside & self._is_sure(chunk[:, None] * column.n_values + codes)
        n_sure = self.n_sure[chunk, None]
        expected = (sure + np.maximum(size - n_sure, 0) * drawn) / np.maximum(size, n_sure)
        expected = np.where(self.single[chunk, None], drawn, expected)
        best = _largest(expected, min(size, MOST_TUPLES))
        return tuple(np.take_along_axis(each, best, axis=1) for each in (codes, expected, drawn, sure))  # type: ignore[return-value]

    def _is_sure(self, keys: IntArray) -> BoolArray:
        if not len(self.keys):
            return np.zeros(keys.shape, dtype=bool)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.asarray(self.keys[at] == keys)


def predictions(columns: Sequence[Column], size: IntArray, *, knows_ends: bool) -> Predictions:
    """Return what an attacker predicts of classes of `size` (N,) records.

    Without `knows_ends` they do not know that any value is attained. A cell without a value that is known
    leaves a class without a prediction. Cost: O(N times values) a column, at most `MOST_VALUES` of them, and
    O(n^2) a class of n records, n at most `MOST_TUPLES`; memory as `CHUNK`.
    """
    read = [_read(column, size, knows_ends=knows_ends) for column in columns]
    several = np.sum([~each.single for each in read], axis=0) if read else np.zeros(len(size), dtype=np.int64)
    n_sure = np.zeros(len(size), dtype=np.int64)
    for each in read:
        n_sure += np.where((several == 1) & ~each.single, np.minimum(each.n_sure, size), 0)
    certain = np.where(several == 0, size, n_sure)
    parts = [
        _of_chunk(read, chunk, n, several[chunk], n_sure[chunk])
        for n, chunk in _chunks(size, max((len(each.named) for each in read), default=1))
    ]
    nothing = (np.zeros(0, np.int64), np.zeros((0, len(read)), np.int64), np.zeros(0, np.int64))
    owner, codes, copies = (np.concatenate(each) for each in zip(nothing, *parts, strict=True))
    return Predictions(owner, codes, copies, certain)


def recovered(found: Predictions, owner: IntArray, codes: IntArray) -> int:
    """Return how many records (n,) of classes `owner` are predicted, each prediction counted once.

    `codes` (n, columns) are their true values, -1 for those that no column numbers. O((n + m) log n).
    """
    both = np.concatenate([found.owner, owner])
    columns = [both, *np.concatenate([found.codes, codes]).T]
    _, place = distinct_rows(columns)
    n = int(place.max(initial=-1)) + 1
    split = len(found.owner)
    predicted = np.bincount(place[:split], found.copies, n)
    true = np.bincount(place[split:], minlength=n)
    return int(np.minimum(predicted, true).sum())


def _read(column: Column, size: IntArray, *, knows_ends: bool) -> _Read:
    counted = column.counted()
    single = counted == 1
    classes, values = column.sure if knows_ends else (np.zeros(0, np.int64), np.zeros(0, np.int64))
    several = ~single[classes]
    classes, values = classes[several], values[several]
    n_sure = np.bincount(classes, minlength=len(size)).astype(np.int64)
    weight = column.spread(np.maximum(size - n_sure, 0).astype(np.float64))
    weight += np.bincount(values, minlength=column.n_values)
    weight = np.round(weight, DIGITS - 3)  # what adding up has left of nothing is nothing
    named = tie_order(column.n_values)
    if len(named) > MOST_VALUES:
        named = named[np.sort(np.argsort(-weight[named], kind="stable")[:MOST_VALUES])]
    keys = np.sort(classes * column.n_values + values)
    return _Read(column, n_sure, single, weight, column.within(weight), named, keys)


def tie_order(n_values: int) -> IntArray:
    """Return the order in which values that are equally likely are named, (n_values,).

    Always the same, and mixed: by their size, the first of a cell would be one of its ends.
    """
    return np.random.default_rng(0).permutation(n_values)


def _chunks(size: IntArray, n_values: int) -> Iterator[tuple[int, IntArray]]:
    """Yield sizes with some of the classes of that size."""
    order = np.argsort(size, kind="stable")
    sizes, starts = np.unique(size[order], return_index=True)
    for n, classes in zip(sizes.tolist(), np.split(order, starts[1:]), strict=True):
        width = max(n_values + 2, min(n, MOST_TUPLES) ** 2, 8 * n)
        step = max(1, CHUNK // width)
        for first in range(0, len(classes), step):
            yield n, classes[first : first + step]


def _of_chunk(
    read: Sequence[_Read], chunk: IntArray, size: int, several: IntArray, n_sure: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return (owner, codes, copies) of the predictions for classes of `size` records each.

    `several` (m,) of their columns have several values; where one has, `n_sure` (m,) of these are attained.
    """
    m, most = len(chunk), min(size, MOST_TUPLES)
    expected, drawn = np.ones((m, 1)), np.ones((m, 1))
    sure = np.zeros((m, 1), dtype=bool)
    codes = np.zeros((m, 1, 0), dtype=np.int64)
    for each in read:
        values, likely, chance, attained = each.cells(chunk, size)
        both = (expected[:, :, None] * likely[:, None, :]).reshape(m, -1)
        best = _largest(both, most)
        left, right = np.divmod(best, values.shape[1])
        expected = np.take_along_axis(both, best, axis=1)
        drawn = np.take_along_axis(drawn, left, axis=1) * np.take_along_axis(chance, right, axis=1)
        sure = np.take_along_axis(sure, left, axis=1) | np.take_along_axis(attained, right, axis=1)
        codes = np.concatenate(
            [
                np.take_along_axis(codes, left[:, :, None], axis=1),
                np.take_along_axis(values, right, axis=1)[:, :, None],
            ],
            axis=2,
        )
    alone = several == 1
    chance = np.where(alone[:, None], drawn, expected)
    order = np.argsort(-np.round(chance, DIGITS), axis=1, kind="stable")
    extra = _copies(np.take_along_axis(chance, order, axis=1), size - n_sure)
    copies = np.zeros_like(order)
    np.put_along_axis(copies, order, extra, axis=1)
    copies += sure & alone[:, None] & (expected > 0)
    rows, places = np.nonzero(copies)
    return chunk[rows], codes[rows, places], copies[rows, places]


def _largest(weight: FloatArray, most: int) -> IntArray:
    """Return the places (m, min(most, d)) of the largest of each row (m, d), ascending; ties to the first."""
    if weight.shape[1] <= most:
        return np.broadcast_to(np.arange(weight.shape[1]), weight.shape)
    order = np.argsort(-np.round(weight, DIGITS), axis=1, kind="stable")
    return np.sort(order[:, :most], axis=1)


def _copies(chance: FloatArray, n: IntArray) -> IntArray:
    """Return how often each tuple, of `chance` (m, d) descending, is named in `n` (m,) predictions.

    The n largest of P(X >= i), X binomial of n draws, so that the r-th tuple has at most n / r copies.
    """
    most = int(n.max(initial=0))
    times = most // np.arange(1, chance.shape[1] + 1)
    rank = np.repeat(np.arange(chance.shape[1]), times)
    nth = np.arange(len(rank)) - np.repeat(np.cumsum(times) - times, times)
    gain = np.round(bdtrc(nth[None, :], n[:, None], np.clip(chance[:, rank], 0.0, 1.0)), DIGITS)
    gain[nth[None, :] >= n[:, None]] = 0.0
    order = np.argsort(-gain, axis=1, kind="stable")
    taken = np.arange(gain.shape[1])[None, :] < n[:, None]
    taken &= np.take_along_axis(gain, order, axis=1) > 0
    copies = np.zeros(chance.shape, dtype=np.int64)
    rows, places = np.nonzero(taken)
    np.add.at(copies, (rows, rank[order[rows, places]]), 1)
    return copies
