"""What merging groups costs, exactly and at least, computed for many pairs at once over columns of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tasks.geometry.box_tree import FAN, PackedBoxes
from tasks.repair.measure import Measure
from tasks.types import FloatArray, IntArray

T = TypeVar("T", bound=np.generic)
Counts = NDArray[np.unsignedinteger]
Bits = NDArray[np.unsignedinteger]

SLACK = 1e-9  # by which the bound of a cost gives way to rounding
NARROW = (np.uint8, np.uint16, np.uint32)
STEP = 2  # columns after which pairs are left out that cost too much already


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

    `penalty[m]` is what a cell with m values costs; `dtype` counts them, and one more. `word` holds as many
    bits as one of its words needs.
    """

    begin: int
    end: int
    weight: float
    n_values: int
    width: int
    penalty: FloatArray
    dtype: type[np.unsignedinteger]
    word: type[np.unsignedinteger]


@dataclass(frozen=True)
class Cells:
    """The cells of n groups, by columns (n,): `low` and `high` of each number that counts, the `bits` of the
    words of each set that counts, how many values each such set has (`count`), and a group's `ncp`.

    `so_far` is the part of `ncp` that the numbers and the first sets have, after each `STEP` of them.
    """

    low: list[FloatArray]
    high: list[FloatArray]
    bits: list[list[Bits]]
    count: list[Counts]
    ncp: FloatArray
    so_far: list[FloatArray]

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
            [each.take(index) for each in self.so_far],
        )

    def columns(self) -> list[NDArray[np.generic]]:
        """Return all columns."""
        bits = [each for words in self.bits for each in words]
        return [*self.low, *self.high, *bits, *self.count, self.ncp, *self.so_far]


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
    none: list[list[Bits]]
    every: list[list[Bits]]

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

        def common(sets: list[list[Bits]]) -> list[list[Bits]]:
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
                word = next((each for each in NARROW if width <= np.iinfo(each).bits), np.uint64)
                self.sets.append(Category(begin, end, weight, n_values, width, penalty, dtype, word))

    def cells_of(self, boxes: PackedBoxes) -> Cells:
        """Return the cells of groups with these boxes."""
        low = [np.ascontiguousarray(boxes.low[:, each.column]) for each in self.numbers]
        high = [np.ascontiguousarray(boxes.high[:, each.column]) for each in self.numbers]
        bits = [
            [boxes.bits[:, word].astype(each.word) for word in range(each.begin, each.end)]
            for each in self.sets
        ]
        return self._cells(len(boxes), low, high, bits)

    def join(self, cells: Cells, group: int, partner: int) -> None:
        """Make the cells of `group` those of the two groups joined."""
        ncp = 0.0
        for number, low, high in zip(self.numbers, cells.low, cells.high, strict=True):
            low[group] = least = min(low.item(group), low.item(partner))
            high[group] = most = max(high.item(group), high.item(partner))
            ncp += number.weight * min((most - least) / number.span, 1.0)
        so_far = iter(cells.so_far)
        for place, (each, words, count) in enumerate(zip(self.sets, cells.bits, cells.count, strict=True)):
            if self._stops(place):
                next(so_far)[group] = ncp
            n_values = 0
            for word in words:
                word[group] = both = word.item(group) | word.item(partner)
                n_values += both.bit_count()
            count[group] = n_values
            ncp += each.penalty.item(n_values)
        cells.ncp[group] = ncp

    def _cells(self, n: int, low: list[FloatArray], high: list[FloatArray], bits: list[list[Bits]]) -> Cells:
        count = [_counted(words, each.dtype) for words, each in zip(bits, self.sets, strict=True)]
        ncp, so_far = np.zeros(n), list[FloatArray]()
        for number, least, most in zip(self.numbers, low, high, strict=True):
            ncp += number.weight * np.minimum((most - least) / number.span, 1.0)
        for place, (each, n_values) in enumerate(zip(self.sets, count, strict=True)):
            if self._stops(place):
                so_far.append(ncp.copy())
            ncp += each.penalty.take(n_values)
        return Cells(low, high, bits, count, ncp, so_far)

    def _stops(self, place: int) -> bool:
        """Tell whether pairs are left out before the set at `place`."""
        return place > 0 and (len(self.numbers) + place) % STEP == 0

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
        ncp = self._numbers_merged(one, line, other, place)
        for each, words, their_words in zip(self.sets, one.bits, other.bits, strict=True):
            both = [
                _of(mine, line) | theirs.take(place) for mine, theirs in zip(words, their_words, strict=True)
            ]
            ncp += each.penalty.take(_counted(both, each.dtype))
        mine, theirs = _of(size, line), others.take(place)
        return np.asarray((theirs + mine) * ncp - theirs * other.ncp.take(place) - mine * _of(one.ncp, line))

    def _numbers_merged(self, one: Cells, line: IntArray | None, other: Cells, place: IntArray) -> FloatArray:
        """Return the part of the NCP of merged groups that their numbers have."""
        ncp = np.zeros(place.shape)
        for number, low, high, their_low, their_high in zip(
            self.numbers, one.low, one.high, other.low, other.high, strict=True
        ):
            width = np.maximum(_of(high, line), their_high.take(place))
            width -= np.minimum(_of(low, line), their_low.take(place))
            width /= number.span
            ncp += number.weight * np.minimum(width, 1.0)
        return ncp

    def merged_within(
        self,
        one: Cells,
        size: IntArray,
        line: IntArray,
        other: Cells,
        others: IntArray,
        place: IntArray,
        limit: FloatArray,
    ) -> tuple[IntArray, FloatArray]:
        """Return which of the pairs may cost no more than the `limit` of their line, and what they cost.

        The costs are those of `merged`. Some that are returned may cost more. No column of a group costs less
        once it is merged: what the first columns add is what the merge costs at least.
        """
        kept, stops = np.arange(len(line)), 0
        mine, theirs = size.take(line), others.take(place)
        ncp = self._numbers_merged(one, line, other, place)
        for at, (each, words, their_words) in enumerate(zip(self.sets, one.bits, other.bits, strict=True)):
            if self._stops(at):
                least = theirs * (ncp - other.so_far[stops].take(place))
                least += mine * (ncp - one.so_far[stops].take(line))
                near = np.flatnonzero(least <= limit.take(line) + SLACK)
                kept, line, place = kept.take(near), line.take(near), place.take(near)
                mine, theirs, ncp, stops = mine.take(near), theirs.take(near), ncp.take(near), stops + 1
            both = [
                word.take(line) | their.take(place) for word, their in zip(words, their_words, strict=True)
            ]
            ncp += each.penalty.take(_counted(both, each.dtype))
        return kept, np.asarray(
            (theirs + mine) * ncp - theirs * other.ncp.take(place) - mine * one.ncp.take(line)
        )

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
        words: list[Bits],
        n: Counts,
        line: IntArray | None,
        counts: tuple[Counts, Counts],
        none: list[Bits],
        every: list[Bits],
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


def _counted(words: list[Bits], dtype: type[np.unsignedinteger]) -> Counts:
    """Return how many values the sets with these words have."""
    found = np.bitwise_count(words[0]).astype(dtype, copy=False)
    for word in words[1:]:
        found += np.bitwise_count(word)
    return found
