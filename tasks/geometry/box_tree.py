"""A tree over boxes: which of them a box overlaps is found without looking at them all.

The boxes are put into an order in which neighbours lie near each other, by halving them again and again at
the middle of the attribute in which they are spread most. Every `FAN` neighbours have one bounding box, every
`FAN` of these another, and so on. Many boxes descend together, level by level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tasks.geometry.bitsets import Words, packed
from tasks.geometry.space import Boxes, distinct_rows
from tasks.sorting import stable_order
from tasks.types import BoolArray, FloatArray, IntArray

FAN = 8
WORD = 64  # bits
Asked = Callable[[int, IntArray, IntArray], BoolArray]
"""Tells of pairs of a box and a node of a height whether they are wanted, or some below them."""
LINES = 4096  # boxes that descend together, fewer where they meet more than `PAIRS`
PAIRS = 2_000_000


@dataclass(frozen=True)
class PackedBoxes:
    """n boxes, their sets as bits: `low`, `high` (n, p), `bits` (n, w).

    `ends` are the first word of each set that has values, and w; `widths` how many values there are of each.
    """

    low: FloatArray
    high: FloatArray
    bits: Words
    ends: tuple[int, ...]
    widths: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.low)

    def take(self, index: IntArray) -> PackedBoxes:
        """Return the boxes at `index`."""
        return PackedBoxes(self.low[index], self.high[index], self.bits[index], self.ends, self.widths)

    def bounding(self) -> PackedBoxes:
        """Return one box for every `FAN` neighbours."""
        first = np.arange(0, len(self), FAN)
        return PackedBoxes(
            np.minimum.reduceat(self.low, first),
            np.maximum.reduceat(self.high, first),
            np.bitwise_or.reduceat(self.bits, first),
            self.ends,
            self.widths,
        )


def pack_boxes(boxes: Boxes) -> PackedBoxes:
    """Return the boxes with their sets as bits. O(n) bytes a value."""
    filled = [member for member in boxes.member if member.shape[1]]
    words = [packed(member) for member in filled]
    ends = np.cumsum([0, *(each.shape[1] for each in words)])
    bits = np.hstack([np.zeros((len(boxes), 0), dtype=np.uint64), *words])
    widths = tuple(member.shape[1] for member in filled)
    return PackedBoxes(boxes.low, boxes.high, bits, tuple(ends.tolist()), widths)


@dataclass(frozen=True)
class _Fields:
    """n boxes for comparison: `bounds` (n,) are the least and greatest of each number, and in each of `words`
    (n,) small sets stand side by side, each a bit apart from the next; `wide` are the words of larger sets.

    `full` and `guard` of each word are all values of its sets, and the bits that stand apart.
    """

    bounds: list[tuple[FloatArray, FloatArray]]
    words: list[Words]
    full: list[np.uint64]
    guard: list[np.uint64]
    wide: list[list[Words]]

    @classmethod
    def of(cls, boxes: PackedBoxes) -> _Fields:
        """Lay out the boxes. O(n) a word and a number."""
        words, full, guard, wide = list[Words](), list[int](), list[int](), list[list[Words]]()
        used = WORD
        for begin, end, width in zip(boxes.ends, boxes.ends[1:], boxes.widths, strict=False):
            if width >= WORD:
                wide.append([np.ascontiguousarray(boxes.bits[:, word]) for word in range(begin, end)])
                continue
            if used + width >= WORD:
                words.append(np.zeros(len(boxes), dtype=np.uint64))
                full.append(0)
                guard.append(0)
                used = 0
            words[-1] |= boxes.bits[:, begin] << np.uint64(used)
            full[-1] |= ((1 << width) - 1) << used
            guard[-1] |= 1 << used + width
            used += width + 1
        bounds = [
            (np.ascontiguousarray(low), np.ascontiguousarray(high))
            for low, high in zip(boxes.low.T, boxes.high.T, strict=True)
        ]
        return cls(bounds, words, [np.uint64(one) for one in full], [np.uint64(one) for one in guard], wide)

    def overlapping(self, line: IntArray, others: _Fields, place: IntArray) -> tuple[IntArray, IntArray]:
        """Return those of the pairs of a box and another that overlap in every attribute."""
        for own, theirs, full, guard in zip(self.words, others.words, self.full, self.guard, strict=True):
            # A sum carries into the bit beside a set where there is a common value.
            common = own.take(line)
            common &= theirs.take(place)
            common += full
            common &= guard
            kept = np.flatnonzero(common == guard)
            line, place = line.take(kept), place.take(kept)
        for mine, other in zip(self.wide, others.wide, strict=True):
            common = np.zeros(len(line), dtype=np.uint64)
            for own, theirs in zip(mine, other, strict=True):
                common |= own.take(line) & theirs.take(place)
            kept = np.flatnonzero(common)
            line, place = line.take(kept), place.take(kept)
        for (low, high), (their_low, their_high) in zip(self.bounds, others.bounds, strict=True):
            meet = low.take(line) <= their_high.take(place)
            meet &= their_low.take(place) <= high.take(line)
            kept = np.flatnonzero(meet)
            line, place = line.take(kept), place.take(kept)
        return line, place


class BoxTree:
    """N boxes, ordered so that those that any box overlaps are found in about log N steps and the pairs."""

    def __init__(self, boxes: PackedBoxes) -> None:
        self.order = spatial_order(boxes)
        levels = [boxes.take(self.order)]
        while len(levels[-1]) > FAN:
            levels.append(levels[-1].bounding())
        self._levels = [_Fields.of(level) for level in levels]
        self._sizes = [len(level) for level in levels]

    def __len__(self) -> int:
        return len(self.order)

    def in_common(self, sets: Words) -> list[Words]:
        """Return for the nodes of every height what the `sets` (N, w) of all their boxes have in common."""
        levels = [sets[self.order]]
        while len(levels) < len(self._sizes):
            levels.append(np.bitwise_and.reduceat(levels[-1], np.arange(0, len(levels[-1]), FAN)))
        return levels

    def pairs(self, boxes: PackedBoxes, asked: Asked | None = None) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield which box overlaps which of the tree, ascending, all of one box at once.

        Only those pairs that `asked(height, line, node)` wants.
        """
        fields = _Fields.of(boxes)
        for line, node in descend(self._sizes, len(boxes), partial(self._meet, fields, asked)):
            key = np.sort(line * len(self) + self.order[node])
            yield key // len(self), key % len(self)

    def visits(self, boxes: PackedBoxes, asked: Asked | None = None) -> int:
        """Return how many nodes the boxes meet on their way down, with `asked` as above."""
        found, fields = 0, _Fields.of(boxes)

        def meet(height: int, line: IntArray, node: IntArray) -> tuple[IntArray, IntArray]:
            nonlocal found
            found += len(line)
            return self._meet(fields, asked, height, line, node)

        for _ in descend(self._sizes, len(boxes), meet):
            pass
        return found

    def _meet(
        self, fields: _Fields, asked: Asked | None, height: int, line: IntArray, node: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Return those of the pairs that overlap and are wanted."""
        line, node = fields.overlapping(line, self._levels[height], node)
        if asked is None:
            return line, node
        kept = np.flatnonzero(asked(height, line, node))
        return line.take(kept), node.take(kept)


def descend(
    sizes: Sequence[int], n_lines: int, meet: Callable[[int, IntArray, IntArray], tuple[IntArray, IntArray]]
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield lines and items of a tree that meet at every height, all of one line at once.

    `sizes` are how many nodes each height has, the items first; `meet(height, line, node)` keeps those of the
    pairs that may meet below.
    """
    waiting = [np.arange(first, min(first + LINES, n_lines)) for first in range(0, n_lines, LINES)][::-1]
    while waiting and sizes[0]:
        lines, top = waiting.pop(), sizes[-1]
        line, node = np.repeat(lines, top), np.tile(np.arange(top), len(lines))
        for height in range(len(sizes) - 1, 0, -1):
            line, node = meet(height, line, node)
            if FAN * len(line) > PAIRS and len(lines) > 1:
                waiting += np.array_split(lines, 2)[::-1]
                break
            line, node = below(line, node, sizes[height - 1])
        else:
            yield meet(0, line, node)


def below(line: IntArray, node: IntArray, n_below: int) -> tuple[IntArray, IntArray]:
    """Return each line with the nodes below its node, of which there are `n_below` in all."""
    line = np.repeat(line, FAN)
    node = (FAN * node[:, None] + np.arange(FAN)).reshape(-1)
    if len(node) and n_below % FAN:
        there = np.flatnonzero(node < n_below)
        line, node = line.take(there), node.take(there)
    return line, node


def spatial_order(boxes: PackedBoxes, far: Sequence[float] = ()) -> IntArray:
    """Return an order (n,) of the boxes in which near ones are near. O(n log^2 n) an attribute.

    `far` tells of each number how far its ends lie apart, and of each set how far any two values do; without
    it, the places of the values count.
    """
    n, p = len(boxes), boxes.low.shape[1]
    middles = [
        0.5 * low + 0.5 * high for low, high in zip(_finite(boxes.low), _finite(boxes.high), strict=True)
    ]
    for begin, end in zip(boxes.ends, boxes.ends[1:], strict=False):
        middles.append(_middle(boxes.bits[:, begin:end]))
    ranks = [np.unique(middle, return_inverse=True)[1] for middle in middles]
    chosen = [i for i, rank in enumerate(ranks) if n and rank.max() > 0 and (not far or far[i] > 0)]
    order = np.arange(n)
    stacked = np.stack([ranks[i] for i in chosen]) if chosen else np.empty((0, n), dtype=np.int64)
    size = 1 << max(n - 1, 1).bit_length()
    while size > FAN and chosen:
        first, spread = np.arange(0, n, size), []
        for place, i in enumerate(chosen):
            here = stacked[place].take(order)
            width = np.maximum.reduceat(here, first) - np.minimum.reduceat(here, first)
            width = width / ranks[i].max() if not far or i < p else width > 0
            spread.append(width * (far[i] if far else 1.0))
        widest = np.argmax(spread, axis=0)
        part = np.arange(n) // size
        key = part * (n + 1)
        key += stacked[widest[part], order]
        order = order[stable_order(key)]
        size //= 2
    return order


def _finite(bounds: FloatArray) -> FloatArray:
    """Return the columns (p, n) of bounds, those without end moved to the last that is known."""
    known = np.where(np.isfinite(bounds), bounds, np.nan)
    found = []
    for column, each in zip(bounds.T, known.T, strict=True):
        some = each[~np.isnan(each)]
        least, most = (some.min(), some.max()) if len(some) else (0.0, 0.0)
        found.append(np.clip(np.nan_to_num(column, nan=least, posinf=most, neginf=least), least, most))
    return np.array(found).reshape(bounds.shape[::-1])


def _middle(bits: Words) -> FloatArray:
    """Return the mean place of the values of each set (n, w), -1 for one without any."""
    first, place = distinct_rows(bits.T)
    marks = np.unpackbits(bits[first].view(np.uint8), axis=1, bitorder="little")
    count = marks.sum(axis=1, dtype=np.int64)
    middle = np.where(
        count > 0, marks @ np.arange(marks.shape[1], dtype=np.float64) / np.maximum(count, 1), -1.0
    )
    return np.asarray(middle[place])
