"""Which groups overlap which earlier classes, looked for once for each cell of the rounds of a repair."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tasks.counting import numbers_from
from tasks.geometry.overlaps import Overlaps
from tasks.geometry.space import Boxes
from tasks.types import BoolArray, IntArray

BLOCK = 1_000_000  # pairs that are told at once


class KnownPairs:
    """The pairs of `Overlaps.pairs`; those of the boxes of the last call are not looked for again.

    Memory: 4 bytes a pair, and the cells of the boxes.
    """

    def __init__(self, overlaps: Overlaps) -> None:
        self._overlaps = overlaps
        self._number: dict[bytes, int] = {}  # of each cell, by which its pairs are found
        self._ends = np.zeros(1, dtype=np.int64)
        self._places = np.empty(0, dtype=np.int32)

    def __len__(self) -> int:
        return len(self._overlaps)

    def pairs(self, boxes: Boxes) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield which of `boxes` overlaps which, ascending, all of one box at once.

        Cost: that of `Overlaps.pairs` for boxes with other cells than those of the last call.
        """
        keys = cell_keys(boxes)
        number = np.array([self._number.get(key, -1) for key in keys], dtype=np.int64)
        new = np.flatnonzero(number < 0)
        line, place = _all_pairs(self._overlaps, boxes.take(new))
        known = np.flatnonzero(number >= 0)
        count = np.zeros(len(boxes), dtype=np.int64)
        count[new] = np.bincount(line, minlength=len(new))
        count[known] = np.diff(self._ends)[number[known]]
        ends = np.append(0, np.cumsum(count))
        places = np.empty(ends[-1], dtype=np.int32)
        places[numbers_from(ends[:-1][new], count[new])] = place
        places[numbers_from(ends[:-1][known], count[known])] = self._places[
            numbers_from(self._ends[:-1][number[known]], count[known])
        ]
        self._number = {key: one for one, key in enumerate(keys)}
        self._ends, self._places = ends, places
        first = 0
        while first < len(boxes):
            last = max(int(np.searchsorted(ends, ends[first] + BLOCK, side="right")) - 1, first + 1)
            yield (
                np.repeat(np.arange(first, last), count[first:last]),
                places[ends[first] : ends[last]].astype(np.int64),
            )
            first = last


def cell_keys(boxes: Boxes, marks: tuple[BoolArray, ...] = ()) -> list[bytes]:
    """Return for each box bytes that differ where its cells do, or its `marks` (n, any)."""
    columns = [boxes.low.view(np.uint8), boxes.high.view(np.uint8)]
    columns += [np.packbits(each, axis=1) for each in (*boxes.member, *marks)]
    return [row.tobytes() for row in np.hstack(columns)]


def _all_pairs(overlaps: Overlaps, boxes: Boxes) -> tuple[IntArray, IntArray]:
    nothing = np.empty(0, dtype=np.int64)
    lines, places = zip((nothing, nothing), *overlaps.pairs(boxes), strict=True)
    return np.concatenate(lines), np.concatenate(places)
