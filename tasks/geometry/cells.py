"""The cells of N classes in the attributes that somebody knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from release_store.records import EquivalenceClasses
from tasks.geometry.nearest import Replaced
from tasks.geometry.space import Boxes, Space, boxes_of
from tasks.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Cells:
    """N classes in the attributes that somebody knows: `low`, `high` (N, p), `member[q]` (N, |domain|).

    `scale` (p,) is the unit of distance of the numbers whose cells are values put in place of others, nan for
    cells that contain their people; `replaced` (q,) marks such sets.
    """

    low: FloatArray
    high: FloatArray
    member: tuple[BoolArray, ...]
    scale: FloatArray
    replaced: BoolArray

    def __len__(self) -> int:
        return len(self.low)

    def of(self, numeric: Sequence[int], categorical: Sequence[int]) -> Cells:
        """Return the classes in some attributes only."""
        numeric, categorical = list(numeric), list(categorical)
        member = tuple(self.member[column] for column in categorical)
        scale, replaced = self.scale[numeric], self.replaced[categorical]
        return Cells(self.low[:, numeric], self.high[:, numeric], member, scale, replaced)

    def take(self, index: IntArray) -> Cells:
        """Return the classes at `index`."""
        member = tuple(member[index] for member in self.member)
        return Cells(self.low[index], self.high[index], member, self.scale, self.replaced)

    def beside(self, other: Cells) -> Cells:
        """Return the same classes in the attributes of both."""
        return Cells(
            np.hstack([self.low, other.low]),
            np.hstack([self.high, other.high]),
            self.member + other.member,
            np.concatenate([self.scale, other.scale]),
            np.concatenate([self.replaced, other.replaced]),
        )

    @property
    def all_true(self) -> bool:
        """Whether every cell contains its people."""
        return bool(np.isnan(self.scale).all() and not self.replaced.any())

    @property
    def all_replaced(self) -> bool:
        """Whether there is a cell, and every one is a value put in place of others."""
        return bool(len(self.scale) + len(self.replaced)) and bool(
            not np.isnan(self.scale).any() and self.replaced.all()
        )

    def with_number(self, column: int, values: FloatArray, scale: float) -> Cells:
        """Return the cells with `values` (N,) put in place of one attribute's numbers."""
        low, high, scales = self.low.copy(), self.high.copy(), self.scale.copy()
        low[:, column] = high[:, column] = values
        scales[column] = scale
        return Cells(low, high, self.member, scales, self.replaced)

    def certain(self) -> Cells:
        """Return what the cells tell for certain: a value in place of others may be anybody's."""
        untrue = ~np.isnan(self.scale)
        return true_cells(
            np.where(untrue, -np.inf, self.low),
            np.where(untrue, np.inf, self.high),
            tuple(m | r for m, r in zip(self.member, self.replaced, strict=True)),
        )

    def untrue(self) -> Replaced:
        """Return the cells that were put in place of values."""
        columns = np.flatnonzero(~np.isnan(self.scale))
        sets = np.flatnonzero(self.replaced)
        member = tuple(self.member[column] for column in sets.tolist())
        return Replaced(columns, self.low[:, columns], self.scale[columns], sets, member)

    def as_written(self) -> Cells:
        """Return the cells as if each were true."""
        return true_cells(self.low, self.high, self.member)

    def contain(self, classes: IntArray, numbers: FloatArray, codes: NDArray[np.int32]) -> BoolArray:
        """Tell whether class `classes[i]` contains person i, (n,); what is unknown is in every cell, and
        everybody in one that was replaced.
        """
        unknown = np.isnan(numbers) | ~np.isnan(self.scale)
        inside = (self.low[classes] <= numbers) & (numbers <= self.high[classes]) | unknown
        found = inside.all(axis=1)
        for member, replaced, column in zip(self.member, self.replaced, codes.T, strict=True):
            if member.shape[1] and not replaced:
                found &= member[classes, np.maximum(column, 0)] | (column < 0)
        return np.asarray(found)


def true_cells(low: FloatArray, high: FloatArray, member: tuple[BoolArray, ...]) -> Cells:
    """Return cells each of which contains its people."""
    return Cells(low, high, member, np.full(low.shape[1], np.nan), np.zeros(len(member), dtype=bool))


def cells_of(boxes: Boxes) -> Cells:
    """Return the cells of classes in all quasi-identifiers of their space; each contains its people."""
    return true_cells(boxes.low, boxes.high, boxes.member)


def format_cells(classes: EquivalenceClasses, space: Space, numbers: FloatArray) -> Cells:
    """Return the cells of a release as they are written; distances are counted in the spans of the source's
    `numbers` (n, p).
    """
    boxes = boxes_of(classes, space, as_written=True)
    scale = np.full(len(space.numeric), np.nan)
    for column, name in enumerate(space.numeric):
        if name in classes.replaced:
            scale[column] = unit_of(numbers[:, column])
    replaced = np.array([name in classes.replaced for name in space.domains], dtype=bool)
    return Cells(boxes.low, boxes.high, boxes.member, scale, replaced)


def unit_of(numbers: FloatArray) -> float:
    """Return the span of the known numbers, the unit in which their distance is counted; 1 where it is 0."""
    known = numbers[~np.isnan(numbers)]
    return (float(np.ptp(known)) if len(known) else 0.0) or 1.0
