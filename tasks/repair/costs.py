"""What merging groups costs, exactly and at least, computed for many pairs at once over columns of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tasks.geometry.bitsets import Words
from tasks.geometry.box_tree import FAN, PackedBoxes
from tasks.repair.measure import Measure
from tasks.types import FloatArray, IntArray

T = TypeVar("T", bound=np.generic)
Counts = NDArray[np.unsignedinteger]

SLACK = 1e-9  # by which the bound of a cost gives way to rounding


@dataclass(frozen=True)
class Number:
    """A number that counts: its column, its weight and its span."""

    column: int
    weight: float
    span: float


@dataclass(frozen=True)
class Category:
    """A set that counts: its words from `begin` to `end`, its weight, and how many values the table has of it
    and the space, `width`.

    `penalty[m]` is what a cell with m values costs; `dtype` counts them, and one more.
    """

    begin: int
    end: int
    weight: float
    n_values: int
    width: int
    penalty: FloatArray
    dtype: type[np.unsignedinteger]


@dataclass(frozen=True)
class Cells:
    """The cells of n groups, by columns (n,): `low` and `high` of each number that counts, the `bits` of the
    words of each set that counts, how many values each such set has (`count`), and a group's `ncp`.
    """

    low: list[FloatArray]
    high: list[FloatArray]
    bits: list[list[Words]]
    count: list[Counts]
    ncp: FloatArray

    def __len__(self) -> int:
        return len(self.ncp)

    def take(self, index: IntArray) -> Cells:
        """Return the cells of the groups at `index`."""
        return Cells(
            [each.take(index) for each in self.low],
            [each.take(index) for each in self.high],
            [[each.take(index) for each in words] for words in self.bits],
            [each.take(index) for each in self.count],
            self.ncp.take(index),
        )

    def columns(self) -> list[NDArray[np.generic]]:
        """Return all columns."""
        bits = [each for words in self.bits for each in words]
        return [*self.low, *self.high, *bits, *self.count, self.ncp]


@dataclass(frozen=True)
class Nodes:
    """n nodes, by columns (n,): the least and the greatest of their groups' `size`, of the `low` and `high`
    bounds of each number, and of how many values each set has, `count`.

    `none` are the words of the values that no group has, `every` of those that all have.
    """

    size: tuple[IntArray, IntArray]
    low: list[tuple[FloatArray, FloatArray]]
    high: list[tuple[FloatArray, FloatArray]]
    count: list[tuple[Counts, Counts]]
    none: list[list[Words]]
    every: list[list[Words]]

    @classmethod
    def of(cls, cells: Cells, size: IntArray) -> Nodes:
        """Return a node for each group."""
        return cls(
            (size, size),
            [(each, each) for each in cells.low],
            [(each, each) for each in cells.high],
            [(each, each) for each in cells.count],
            [[~each for each in words] for words in cells.bits],
            cells.bits,
        )

    def __len__(self) -> int:
        return len(self.size[0])

    def above(self) -> Nodes:
        """Return one node for every `FAN` neighbours."""
        first = np.arange(0, len(self), FAN)

        def ends(both: tuple[NDArray[T], NDArray[T]]) -> tuple[NDArray[T], NDArray[T]]:
            return np.minimum.reduceat(both[0], first), np.maximum.reduceat(both[1], first)

        def common(sets: list[list[Words]]) -> list[list[Words]]:
            return [[np.bitwise_and.reduceat(each, first) for each in words] for words in sets]

        return Nodes(
            ends(self.size),
            [ends(each) for each in self.low],
            [ends(each) for each in self.high],
            [ends(each) for each in self.count],
            common(self.none),
            common(self.every),
        )


class Costs:
    """What merging costs by a measure, before the cells are closed."""

    def __init__(self, measure: Measure, boxes: PackedBoxes, filled: list[int]) -> None:
        self.numbers = [Number(*each) for each in measure.numbers]
        self.sets = []
        for column, weight, n_values in measure.sets:
            if column in filled:
                place = filled.index(column)
                begin, end = boxes.ends[place : place + 2]
                width = boxes.widths[place]
                penalty = weight * np.minimum(np.arange(width + 1) / n_values, 1.0)
                penalty[1] = 0.0
                dtype = np.uint8 if width < 255 else np.uint32
                self.sets.append(Category(begin, end, weight, n_values, width, penalty, dtype))

    def cells_of(self, boxes: PackedBoxes) -> Cells:
        """Return the cells of groups with these boxes."""
        low = [np.ascontiguousarray(boxes.low[:, each.column]) for each in self.numbers]
        high = [np.ascontiguousarray(boxes.high[:, each.column]) for each in self.numbers]
        bits = [
            [np.ascontiguousarray(boxes.bits[:, word]) for word in range(each.begin, each.end)]
            for each in self.sets
        ]
        return self._cells(len(boxes), low, high, bits)

    def joined(self, cells: Cells, one: IntArray, other: IntArray) -> Cells:
        """Return the cells of groups (n,) joined with others (n,)."""
        return self._cells(
            len(one),
            [np.minimum(each[one], each[other]) for each in cells.low],
            [np.maximum(each[one], each[other]) for each in cells.high],
            [[each[one] | each[other] for each in words] for words in cells.bits],
        )

    def _cells(self, n: int, low: list[FloatArray], high: list[FloatArray], bits: list[list[Words]]) -> Cells:
        count = [_counted(words, each.dtype) for words, each in zip(bits, self.sets, strict=True)]
        ncp = np.zeros(n)
        for number, least, most in zip(self.numbers, low, high, strict=True):
            ncp += number.weight * np.minimum((most - least) / number.span, 1.0)
        for each, n_values in zip(self.sets, count, strict=True):
            ncp += each.penalty.take(n_values)
        return Cells(low, high, bits, count, ncp)

    def merged(
        self,
        one: Cells,
        size: IntArray,
        line: IntArray | None,
        other: Cells,
        others: IntArray,
        place: IntArray,
    ) -> FloatArray:
        """Return what merging costs, (n,): groups `line` (n,) of `one` of a `size`, and `place` of `other`.

        Without `line`, `place` (m, n) are those that each group is merged with.
        """
        ncp = np.zeros(place.shape)
        for number, low, high, their_low, their_high in zip(
            self.numbers, one.low, one.high, other.low, other.high, strict=True
        ):
            width = np.maximum(_of(high, line), their_high.take(place))
            width -= np.minimum(_of(low, line), their_low.take(place))
            width /= number.span
            ncp += number.weight * np.minimum(width, 1.0)
        for each, words, their_words in zip(self.sets, one.bits, other.bits, strict=True):
            both = [
                _of(mine, line) | theirs.take(place) for mine, theirs in zip(words, their_words, strict=True)
            ]
            ncp += each.penalty.take(_counted(both, each.dtype))
        mine, theirs = _of(size, line), others.take(place)
        return np.asarray((theirs + mine) * ncp - theirs * other.ncp.take(place) - mine * _of(one.ncp, line))

    def least(
        self, one: Cells, size: IntArray, line: IntArray | None, nodes: Nodes, place: IntArray
    ) -> FloatArray:
        """Return what merging costs at least, as above, with any of the groups of nodes `place`.

        A cell that would be wider than the table, or have more values, is taken not to grow at all.
        """
        mine, theirs = np.zeros(place.shape), np.zeros(place.shape)
        for number, low, high, lows, highs in zip(
            self.numbers, one.low, one.high, nodes.low, nodes.high, strict=True
        ):
            rate = number.weight / number.span
            begin, end = _of(low, line), _of(high, line)
            low_least, low_most, high_least, high_most = (each.take(place) for each in (*lows, *highs))
            with np.errstate(invalid="ignore"):  # of cells without end, which do not fit
                added = np.maximum(begin - low_most, 0) + np.maximum(high_least - end, 0)
                missing = np.maximum(low_least - begin, 0) + np.maximum(end - high_most, 0)
            fits = np.maximum(end, high_most) <= np.minimum(begin, low_least) + number.span
            mine += rate * np.where(fits, added, 0.0)
            theirs += rate * np.where(fits, missing, 0.0)
        for each, words, n, counts, none, every in zip(
            self.sets, one.bits, one.count, nodes.count, nodes.none, nodes.every, strict=True
        ):
            rate = each.weight / each.n_values
            add, miss = self._grown(each, words, _of(n, line), line, counts, none, every, place)
            mine += rate * add
            theirs += rate * miss
        mine *= _of(size, line)
        theirs *= nodes.size[0].take(place)
        mine += theirs
        mine -= SLACK
        return mine

    def _grown(
        self,
        each: Category,
        words: list[Words],
        n: Counts,
        line: IntArray | None,
        counts: tuple[Counts, Counts],
        none: list[Words],
        every: list[Words],
        place: IntArray,
    ) -> tuple[Counts, Counts]:
        """Return how many values a group's set gains at least, and that of any group of a node."""
        own = [_of(word, line) for word in words]
        without = [word.take(place) for word in none]
        missing = _counted([a & b for a, b in zip(own, without, strict=True)], each.dtype)
        added = _counted([~a & b.take(place) for a, b in zip(own, every, strict=True)], each.dtype)
        added = np.where(missing == n, counts[0].take(place), added)  # where there is no value in common
        # A set of one value costs nothing, and one of two values as much as two.
        added += np.minimum(added, n == 1)
        missing += np.minimum(missing, counts[1].take(place) == 1)
        if each.width > each.n_values:
            fits = _counted([a | ~b for a, b in zip(own, without, strict=True)], np.uint32) <= each.n_values
            added, missing = added * fits, missing * fits
        return added, missing


def _of(column: NDArray[T], line: IntArray | None) -> NDArray[T]:
    return column[:, None] if line is None else column.take(line)


def _counted(words: list[Words], dtype: type[np.unsignedinteger]) -> Counts:
    """Return how many values the sets with these words have."""
    found = np.bitwise_count(words[0]).astype(dtype, copy=False)
    for word in words[1:]:
        found += np.bitwise_count(word)
    return found
