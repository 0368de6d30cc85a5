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
from tasks.types import BoolArray, FloatArray, IntArray
from tasks.utility.forms import widths_of

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
        found[name] = interval_levels(cells[:, 0], cells[:, 1], widths_of(policy, name))
    for name, sets in classes.sets.items():
        found[name] = set_levels(sets, policy.roles.categorical[name].hierarchy)
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
    height = max(len(path) for path in hierarchy.paths) - 1
    nodes, depth = _nodes(cells.values, hierarchy)
    level = np.empty(len(cells.member), dtype=np.int64)
    step = max(1, CELLS // max(len(cells.values), 1))
    for first in range(0, len(level), step):
        level[first : first + step] = _covering(cells.member[first : first + step], nodes, depth, height)
    level[single] = 0
    # A domain of one value is written as that value: a star stands for all that there is.
    level[cells.whole] = height
    return Levels(level, height)


def _nodes(values: Sequence[str], hierarchy: Hierarchy) -> tuple[IntArray, IntArray]:
    """Return the node above each value at each depth from the root, (v, height + 1), and the value's depth
    (v,).

    Beyond a value's own depth, and for a value that the hierarchy does not have, nodes are -1, -2, ...: no
    other value has them.
    """
    paths = {path[0]: tuple(reversed(path)) for path in hierarchy.paths}
    height = max(len(path) for path in hierarchy.paths) - 1
    numbered: dict[tuple[str, ...], int] = {}
    nodes = -1 - np.tile(np.arange(len(values))[:, None], (1, height + 1))
    depth = np.full(len(values), height, dtype=np.int64)
    for i, value in enumerate(values):
        path = paths.get(value, ())
        depth[i] = len(path) - 1 if path else height
        for d in range(len(path)):
            nodes[i, d] = numbered.setdefault(path[: d + 1], len(numbered))
    return nodes, depth


def _covering(member: BoolArray, nodes: IntArray, depth: IntArray, height: int) -> IntArray:
    """Return for each set (N, v) how many steps its deepest value lies under the lowest node above them
    all.
    """
    none = np.iinfo(np.int64)
    deepest = np.where(member, depth, 0).max(axis=1, initial=0)
    common = np.full(len(member), -1, dtype=np.int64)
    for d in range(height + 1):
        least = np.where(member, nodes[:, d], none.max).min(axis=1, initial=none.max)
        most = np.where(member, nodes[:, d], none.min).max(axis=1, initial=none.min)
        common[(least == most) & (common == d - 1)] = d
    return np.where(common < 0, height, deepest - common)
