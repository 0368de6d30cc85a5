"""People and boxes cut into tiles: the boxes that a person is in are among those of the person's tile.

A tile is cut at the middle of one attribute. Each part keeps the boxes that reach into it, so that few people
come to stand beside few boxes, and a comparison of all with all goes tile by tile.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.types import BoolArray, FloatArray, IntArray

PAIRS = 1 << 24  # of people and boxes: to cut a smaller tile costs what it saves
FEWEST = 256  # people in a tile that is cut
SAMPLE = 1_024  # people, and boxes, by which the attribute is chosen
GAIN = 0.8  # share of the pairs that a cut may leave


@dataclass(frozen=True)
class Tile:
    """People (m,) and the boxes (b,) that one of them may be in, both ascending."""

    people: IntArray
    boxes: IntArray


def tiles(
    numbers: FloatArray,
    codes: NDArray[np.int32],
    low: FloatArray,
    high: FloatArray,
    member: tuple[BoolArray, ...],
    people: IntArray | None = None,
) -> Iterator[Tile]:
    """Yield tiles of people `numbers` (n, p), `codes` (n, q) and N boxes. Each person is in one tile.

    Where `people` are given, ascending, the others are in none.

    `low`, `high` (N, p) and `member[q]` (N, |domain|) are the boxes. nan and -1 are unknown and in every box;
    so is any value of a domain without values. O((n + the boxes of all tiles) log n).
    """
    axes: list[_Axis] = [
        _Numbers(numbers[:, column], low[:, column], high[:, column]) for column in range(numbers.shape[1])
    ]
    axes += [_Codes(codes[:, column], each) for column, each in enumerate(member) if each.shape[1]]
    waiting = [Tile(np.arange(len(numbers)) if people is None else people, np.arange(len(low)))]
    while waiting:
        tile = waiting.pop()
        parts = _cut(tile, axes)
        if parts:
            waiting += parts[::-1]  # so that the first part comes first
        else:
            yield tile


def _cut(tile: Tile, axes: list[_Axis]) -> list[Tile]:
    """Return the parts of a tile at the cut that leaves the fewest pairs; none where no cut is worth it."""
    n, n_boxes = len(tile.people), len(tile.boxes)
    if n <= FEWEST or n * n_boxes <= PAIRS:
        return []
    some = Tile(_sample(tile.people), _sample(tile.boxes))
    best, chosen = GAIN * len(some.people) * len(some.boxes), None
    for axis in axes:
        cut = axis.middle(some.people)
        if cut is None:
            continue
        pairs = sum(len(part.people) * len(part.boxes) for part in axis.parts(some, cut))
        if pairs < best:
            best, chosen = pairs, (axis, cut)
    if chosen is None:
        return []
    axis, cut = chosen
    return axis.parts(tile, cut)


def _sample(index: IntArray) -> IntArray:
    return index[:: max(1, len(index) // SAMPLE)]


class _Axis(ABC):
    """One attribute of everybody, `x` (n,), and the cells of all boxes in it."""

    x: NDArray[Any]

    @abstractmethod
    def known(self, x: NDArray[Any]) -> BoolArray:
        """Tell which of some values are known."""

    @abstractmethod
    def meeting(self, boxes: IntArray, x: NDArray[Any]) -> IntArray:
        """Return those of the boxes that some known values reach into; there is at least one value."""

    def middle(self, people: IntArray) -> float | None:
        """Return the last value of the lower half of some people; None where all have the same."""
        x = self.x[people]
        values, n = np.unique(x[self.known(x)], return_counts=True)
        if len(values) < 2:
            return None
        half = int(np.searchsorted(np.cumsum(n), n.sum() / 2))
        return float(values[min(half, len(values) - 2)])

    def parts(self, tile: Tile, cut: float) -> list[Tile]:
        """Return the people up to the cut, past it, and of no known value, each with their boxes."""
        x = self.x[tile.people]
        known = self.known(x)
        found = [
            Tile(tile.people[inside], self.meeting(tile.boxes, x[inside]))
            for inside in (known & (x <= cut), known & (x > cut))
            if inside.any()
        ]
        return found if known.all() else [*found, Tile(tile.people[~known], tile.boxes)]


@dataclass(frozen=True)
class _Numbers(_Axis):
    """A number, and the ends of all boxes in it, (N,)."""

    x: FloatArray
    low: FloatArray
    high: FloatArray

    def known(self, x: NDArray[Any]) -> BoolArray:
        return np.asarray(~np.isnan(x))

    def meeting(self, boxes: IntArray, x: NDArray[Any]) -> IntArray:
        return np.asarray(boxes[(self.low[boxes] <= x.max()) & (self.high[boxes] >= x.min())])


@dataclass(frozen=True)
class _Codes(_Axis):
    """A code, and the sets of all boxes, (N, |domain|)."""

    x: NDArray[np.int32]
    member: BoolArray

    def known(self, x: NDArray[Any]) -> BoolArray:
        return np.asarray(x >= 0)

    def meeting(self, boxes: IntArray, x: NDArray[Any]) -> IntArray:
        inside = np.zeros(len(boxes), dtype=bool)
        for code in np.flatnonzero(np.bincount(x)).tolist():
            inside |= self.member[boxes, code]
        return boxes[inside]
