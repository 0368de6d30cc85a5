"""The levels of an attribute's generalization: which of its values are one node, from leaf to root."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policy.hierarchy import ROOT, Hierarchy
from tasks.types import BoolArray, FloatArray, IntArray

WHOLE = -1


@dataclass(frozen=True)
class Levels:
    """`node[level, value]` (height + 1, n_values) is the node of a value at a level, `WHOLE` for the root.

    Level 0 is the value itself. Values that are one node at a level are one at every level above, so that
    the distance between two values, the level of their lowest common node, is an ultrametric.
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
        return np.asarray((self.node[:, first] != self.node[:, second]).sum(axis=0))

    def covered(self, level: int) -> BoolArray:
        """Return which values each value's node at `level` holds, (n_values, n_values)."""
        node = self.node[min(level, self.height)]
        return np.asarray((node[:, None] == node) | (node[:, None] == WHOLE))


def category_levels(domain: Sequence[str], hierarchy: Hierarchy | None) -> Levels:
    """Return the levels of a table's values; without a hierarchy there is the value, and the whole domain.

    A value that is no leaf, as the label of missing ones, stays itself up to the root. O(values * height).
    """
    paths = {path[0]: path for path in hierarchy.paths} if hierarchy is not None else {}
    height = max([1, *(len(path) - 1 for path in paths.values())])
    node = np.full((height + 1, len(domain)), WHOLE, dtype=np.int64)
    node[0] = np.arange(len(domain))
    for level in range(1, height):
        number: dict[tuple[str, bool], int] = {}
        for value, text in enumerate(domain):
            path = paths.get(text)
            name = text if path is None else path[min(level, len(path) - 1)]
            if path is None or name != ROOT:
                node[level, value] = number.setdefault((name, path is None), len(number))
    return Levels(node)


def number_levels(
    values: FloatArray, least: float, widths: Sequence[float]
) -> tuple[IntArray, FloatArray, Levels]:
    """Return codes (n,) into the distinct values, those values (NaN for missing, last), and their levels.

    Level i holds intervals of `widths[i - 1]` from `least`, widths ascending; a width that is no multiple of
    the one below takes in its intervals by where they start. Missing numbers are one value by themselves.
    """
    known, code = np.unique(values, return_inverse=True)  # NaN is one value, sorted last
    node = np.full((len(widths) + 2, len(known)), WHOLE, dtype=np.int64)
    node[0] = np.arange(len(known))
    missing = np.isnan(known)
    start = np.where(missing, least, known)
    for level, width in enumerate(widths, 1):
        interval = np.floor((start - least) / width)
        start = least + interval * width
        node[level] = np.where(missing, len(known), np.unique(interval, return_inverse=True)[1])
    return code.astype(np.int64), known, Levels(node)
