"""How far up its hierarchy each published cell was raised.

The level of a set of values is that of the lowest node that covers it, 0 for a single value; the level of
an interval is the place of the smallest of the policy's `widths` that covers it, 0 for a single number.
What no width or node covers is the whole: the height of the hierarchy. An attribute without a hierarchy has
a height of 1: a cell is kept, or it is generalized.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policy.hierarchy import Hierarchy
from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, SetCells
from tasks.recoding.closure import covers_of
from tasks.types import FloatArray, IntArray

CELLS = 8_000_000


@dataclass(frozen=True)
class Levels:
    """The `level` (N,) of each cell of one quasi-identifier, 0 to `height`."""

    level: IntArray
    height: int

    @property
    def share(self) -> FloatArray:
        """Level over height, (N,), between 0 and 1."""
        return self.level / self.height


def levels_of(classes: EquivalenceClasses, policy: ReleasePolicy) -> dict[str, Levels]:
    """Return the levels of the classes' cells, of each quasi-identifier that has cells."""
    found: dict[str, Levels] = {}
    for name, cells in classes.intervals.items():
        found[name] = interval_levels(cells[:, 0], cells[:, 1], policy.roles.numeric[name].widths)
    for name, sets in classes.sets.items():
        found[name] = set_levels(sets, policy.roles.categorical[name].tree)
    return found


def interval_levels(low: FloatArray, high: FloatArray, widths: Sequence[float]) -> Levels:
    """Return the levels of the intervals [low, high], each (N,)."""
    apart = high - low
    place = np.searchsorted(np.array(widths, dtype=np.float64), apart * (1 - 1e-12), side="left") + 1
    return Levels(np.where(apart > 0, place, 0).astype(np.int64), len(widths) + 1)


def set_levels(cells: SetCells, hierarchy: Hierarchy | None) -> Levels:
    """Return the levels of sets of values. O(N v height) for v values."""
    single = cells.member.sum(axis=1) <= 1
    if hierarchy is None:
        return Levels(np.where(single & ~cells.whole, 0, 1).astype(np.int64), 1)
    covers = covers_of(hierarchy, cells.values)
    height = len(covers.node) - 1
    level = np.zeros(len(cells.member), dtype=np.int64)
    step = max(1, CELLS // max(len(covers.values), 1))
    for first in range(0, len(level), step):
        part = slice(first, first + step)
        level[part] = covers.levels(covers.among_all(cells.member[part]))
    level[single] = 0
    # A domain of one value is written as that value: a star stands for all that there is.
    level[cells.whole] = height
    return Levels(level, height)
