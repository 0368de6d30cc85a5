"""Sets of classes as bits of 64-bit words, so that a comparison with many classes is a few ANDs and ORs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.geometry.space import Boxes
from tasks.types import BoolArray, FloatArray

Words = NDArray[np.uint64]

TABLE_WORDS = 8_000_000


def packed(marks: BoolArray) -> Words:
    """Return marks (..., m) as words (..., ceil(m / 64)), at least one."""
    m = marks.shape[-1]
    padded = np.zeros((*marks.shape[:-1], max(64 * -(-m // 64), 64)), dtype=bool)
    padded[..., :m] = marks
    return np.packbits(padded, axis=-1, bitorder="little").view(np.uint64)


def places(words: Words) -> NDArray[np.int64]:
    """Return which bits of one row of words (w,) are set."""
    return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))


def united(marks: BoolArray, rows: Words) -> Words:
    """Return for each line of `marks` (n, v) the union of the marked `rows` (v, w), empty where none is."""
    line, value = np.nonzero(marks)
    out = np.zeros((len(marks), rows.shape[1]), dtype=np.uint64)
    if len(line):
        filled, first = np.unique(line, return_index=True)
        out[filled] = np.bitwise_or.reduceat(rows[value], first, axis=0)
    return out


def set_bits(words: Words) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return line and place of every set bit of `words` (n, w), in the order of lines, then places."""
    line, word = np.nonzero(words)
    bits = np.unpackbits(words[line, word].view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    at, bit = np.nonzero(bits)
    return line[at], 64 * word[at] + bit


@dataclass(frozen=True)
class AtMost:
    """The classes whose `values` (N,) are at most x, for any x."""

    values: FloatArray
    steps: FloatArray | None
    table: Words | None

    @classmethod
    def of(cls, values: FloatArray) -> AtMost:
        """Take the values (N,) of N classes."""
        steps = np.unique(values)
        if len(steps) * (len(values) // 64 + 1) > TABLE_WORDS:
            return cls(values, None, None)
        table = packed(values[None, :] <= np.concatenate([[np.nan], steps])[:, None])
        return cls(values, steps, table)

    def at(self, x: FloatArray) -> Words:
        """Return words (n, w) for `x` (n,)."""
        if self.steps is None or self.table is None:
            return packed(self.values[None, :] <= x[:, None])
        return np.asarray(self.table[np.searchsorted(self.steps, x, side="right")])


@dataclass(frozen=True)
class AnyOf:
    """The classes that have any of some values: `rows` (v, w) are the classes of each value.

    `table[c]` (256, w) holds the union for every choice among eight values, so that a line costs v / 8 ORs.
    """

    rows: Words
    table: Words | None

    @classmethod
    def of(cls, marks: BoolArray) -> AnyOf:
        """Take marks (N, v) of N classes."""
        rows = packed(marks.T)
        n_values, width = rows.shape
        if not n_values or -(-n_values // 8) * 256 * width > TABLE_WORDS:
            return cls(rows, None)
        table = np.zeros((-(-n_values // 8), 256, width), dtype=np.uint64)
        for value, row in enumerate(rows):
            first = 1 << value % 8
            table[value // 8, first : 2 * first] = table[value // 8, :first] | row
        return cls(rows, table)

    def at(self, marks: BoolArray) -> Words:
        """Return words (n, w) for the values marked in each line of `marks` (n, v)."""
        if self.table is None:
            return united(marks, self.rows)
        chosen = np.packbits(marks, axis=1, bitorder="little")
        found = self.table[0, chosen[:, 0]]
        for chunk in range(1, len(self.table)):
            found |= self.table[chunk, chosen[:, chunk]]
        return np.asarray(found)


class ClassIndex:
    """N classes, indexed so that those that any box overlaps are found by bits."""

    def __init__(self, boxes: Boxes) -> None:
        self._low = [AtMost.of(column) for column in boxes.low.T]
        self._high = [AtMost.of(-column) for column in boxes.high.T]
        self._member = [AnyOf.of(member) for member in boxes.member]
        self._present = [packed(present.T) for present in boxes.present]
        self._knows = packed(boxes.knows.T)
        self.everyone = packed(np.ones(len(boxes), dtype=bool))

    def overlapping(self, boxes: Boxes) -> Words:
        """Return the classes that each box overlaps in every quasi-identifier, (n, w)."""
        found = np.repeat(self.everyone[None, :], len(boxes), axis=0)
        for column, (low, high) in enumerate(zip(self._low, self._high, strict=True)):
            found &= low.at(boxes.high[:, column])
            found &= high.at(-boxes.low[:, column])
        for member, having in zip(boxes.member, self._member, strict=True):
            # A domain of no values: every class is published as `*`, and overlaps all.
            if member.shape[1]:
                found &= having.at(member)
        return found

    def comparable(self, boxes: Boxes, attribute: int) -> Words:
        """Return the classes whose release publishes the attribute, for boxes whose release does, (n, w)."""
        return np.where(boxes.knows[:, attribute, None], self._knows[attribute], np.uint64(0))

    def sharing_some_but_few(
        self, boxes: Boxes, attribute: int, l_least: int, groups: NDArray[np.int64] | None = None
    ) -> Words:
        """Return the classes with at least one, but under `l_least` sensitive values in common, (n, w).

        Values of one of `groups` (values,), if there are any, count as one.
        """
        rows = self._present[attribute]
        l_least = min(l_least, len(rows) + 1)  # no two classes have more values in common than there are
        at_least = [np.zeros((len(boxes), rows.shape[1]), dtype=np.uint64) for _ in range(l_least)]
        there = np.flatnonzero(boxes.present[attribute].any(axis=0))
        kind = there if groups is None else groups[there]
        for alike in (there[kind == one] for one in np.unique(kind)):
            lines = boxes.present[attribute][:, alike].any(axis=1)
            sharing = united(boxes.present[attribute][np.ix_(lines, alike)], rows[alike])
            for t in range(l_least - 1, 0, -1):
                at_least[t][lines] |= at_least[t - 1][lines] & sharing
            at_least[0][lines] |= sharing
        return np.asarray(at_least[0] & ~at_least[-1])
