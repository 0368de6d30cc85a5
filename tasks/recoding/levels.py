"""The levels of an attribute's generalization: which of its values are one node, from leaf to root."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policy.hierarchy import Hierarchy
from tasks.recoding.closure import covers_of
from tasks.recoding.grid import steps_of
from tasks.types import FloatArray, IntArray


@dataclass(frozen=True)
class Levels:
    """`node[level, value]` (height + 1, n_values) is the number of a value's node at a level.

    Level 0 is the value itself, the last one the root. Values that are one node at a level are one at
    every level above, so that the distance of two values, the level of their lowest common node, is an
    ultrametric.
    """

    node: IntArray

    @property
    def height(self) -> int:
        """The level at which all values are one."""
        return len(self.node) - 1

    @property
    def n_values(self) -> int:
        """How many values there are."""
        return int(self.node.shape[1])

    def distance(self, first: IntArray, second: IntArray) -> IntArray:
        """Return the level of the lowest common node of values, given as codes that broadcast together."""
        away = np.zeros(np.broadcast_shapes(np.shape(first), np.shape(second)), dtype=np.int64)
        for node in self.node:
            away += node[first] != node[second]
        return away


def category_levels(domain: tuple[str, ...], hierarchy: Hierarchy | None) -> Levels:
    """Return the levels of a table's values; without a hierarchy there is the value, and the whole domain.

    O(values * height).
    """
    return Levels(covers_of(hierarchy, domain).node[:, : len(domain)])


def number_levels(values: FloatArray, least: float, widths: Sequence[float]) -> tuple[IntArray, Levels]:
    """Return codes (n,) into the distinct numbers, and their levels: intervals of `widths` from `least`.

    Each width is a multiple of the one before. Missing numbers are one value by themselves. O(n log n).
    """
    known, code = np.unique(values, return_inverse=True)  # NaN is one value, sorted last
    missing = np.isnan(known)
    node = np.zeros((len(widths) + 2, len(known)), dtype=np.int64)
    node[0] = np.arange(len(known))
    for level, width in enumerate(widths, 1):
        interval = steps_of(np.where(missing, least, known), least, width)
        node[level] = np.where(missing, len(known), np.unique(interval, return_inverse=True)[1])
    return code.astype(np.int64), Levels(node)
