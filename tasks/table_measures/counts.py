"""How many units of each class have each sensitive value, without a cell for what no class has.

The measures of `tasks.privacy` take counts (n_classes, n_values), which are too many for raw microdata. A
class has few values of its own, and all others count 0: so classes with about as many values stand together,
with a column for each value that they have and one for all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tasks.geometry.space import distinct_rows
from tasks.types import FloatArray, IntArray


@dataclass(frozen=True)
class Block:
    """Some `classes` (c,) with the counts (c, w) of the values that each has, and 0 in the columns beyond.

    `values` (c, w) are their codes, -1 beyond. The last column of `overall` (c, w) has how many units of the
    table have a value that the class lacks, the others how many have the column's value.
    """

    classes: IntArray
    counts: IntArray
    values: IntArray
    overall: IntArray


@dataclass(frozen=True)
class ValueCounts:
    """The counts over 0: of class `of_class` (z,), ascending, `n` (z,) units have the value `value` (z,).

    `overall` (n_values,) are the units of the table with each value; each class has a value.
    """

    of_class: IntArray
    value: IntArray
    n: IntArray
    overall: IntArray

    @cached_property
    def width(self) -> IntArray:
        """How many values each class has, (n_classes,)."""
        return np.bincount(self.of_class)

    def blocks(self) -> Iterator[Block]:
        """Yield all classes, those with about as many values together. O(z log z), at most 3 z cells."""
        place = np.arange(len(self.n)) - (np.cumsum(self.width) - self.width)[self.of_class]
        kind = np.ceil(np.log2(self.width)).astype(np.int64)
        for each in np.unique(kind):
            classes = np.flatnonzero(kind == each)
            inside = np.flatnonzero(kind[self.of_class] == each)
            at = np.searchsorted(classes, self.of_class[inside]), place[inside]
            shape = len(classes), int(2**each) + 1
            counts, overall = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
            values = np.full(shape, -1, dtype=np.int64)
            counts[at], values[at] = self.n[inside], self.value[inside]
            overall[at] = self.overall[values[at]]
            overall[:, -1] = self.overall.sum() - overall.sum(axis=1)
            yield Block(classes, counts, values, overall)

    def distributions(self) -> Distributions:
        """Return the classes' distributions; those of classes of one value are there once a value."""
        pure = self.width[self.of_class] == 1
        single = np.unique(self.value[pure])
        _, row = np.unique(self.of_class[~pure], return_inverse=True)
        return Distributions(
            np.concatenate([np.arange(len(single)), len(single) + row]),
            np.concatenate([single, self.value[~pure]]),
            np.concatenate([np.ones(len(single), dtype=np.int64), self.n[~pure]]),
            len(single) + int((self.width > 1).sum()),
            len(self.overall),
        )


@dataclass(frozen=True)
class Distributions:
    """Counts over 0: the row `row` (y,), ascending, has `n` (y,) of `value` (y,); of n_rows and n_values."""

    row: IntArray
    value: IntArray
    n: IntArray
    n_rows: int
    n_values: int

    def take(self, rows: IntArray) -> IntArray:
        """Return rows (c,) with all values, (c, n_values)."""
        start = np.searchsorted(self.row, rows)
        width = np.searchsorted(self.row, rows, side="right") - start
        counts = np.zeros((len(rows), self.n_values), dtype=np.int64)
        at = np.repeat(np.arange(len(rows)), width)
        entry = np.arange(len(at)) + np.repeat(start - (np.cumsum(width) - width), width)
        counts[at, self.value[entry]] = self.n[entry]
        return counts

    def means(self, of_value: FloatArray) -> FloatArray:
        """Return the mean of a figure of values (n_values,) in each row, (n_rows,)."""
        total = np.bincount(self.row, weights=self.n * of_value[self.value], minlength=self.n_rows)
        return np.asarray(total / np.bincount(self.row, weights=self.n, minlength=self.n_rows))


def count_values(own: IntArray, value: IntArray, whose: IntArray | None, n_values: int) -> ValueCounts:
    """Count the units of each class `own` (n,) with each `value` (n,); rows where `whose` is None.

    A unit counts once a class and value, and once a value in the table. O(n log n).
    """
    if whose is None:
        rows = np.arange(len(own))
        overall = np.bincount(value, minlength=n_values)
    else:
        rows, _ = distinct_rows([own, value, whose])
        once, _ = distinct_rows([value, whose])
        overall = np.bincount(value[once], minlength=n_values)
    first, key = distinct_rows([own[rows], value[rows]])
    n, first = np.bincount(key), rows[first]
    order = np.argsort(own[first], kind="stable")
    first, n = first[order], n[order]
    return ValueCounts(own[first], value[first], n, overall)


def padded_numbers(block: Block, numbers: FloatArray) -> FloatArray:
    """Return the numbers (c, w) that a block's values stand for; `numbers` (n_values,). nan where none is."""
    return np.where(block.values >= 0, numbers[block.values], np.nan)
