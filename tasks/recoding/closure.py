"""Closing sets of values: up to the lowest node of a hierarchy, or to a range, that covers them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policy.hierarchy import ROOT, Hierarchy
from policy.model import ReleasePolicy
from tasks.types import BoolArray, IntArray


@dataclass(frozen=True)
class Covers:
    """The nodes above `values`: `node[level, v]` is the number of the node of value v at that level; the last
    level is the root. `apart` (|values|,) are values that stand beside a node: the missing one.
    """

    values: tuple[str, ...]
    node: IntArray
    n_given: int
    apart: BoolArray

    def among_all(self, member: BoolArray) -> BoolArray:
        """Return sets (n, given values) of the values that `covers_of` was given as sets of all `values`."""
        return _padded(member, len(self.values))

    def closed(
        self, member: BoolArray, *, one_level: bool = False, least: int = 0
    ) -> tuple[BoolArray, BoolArray]:
        """Return (member, whole): each set (n, |values|) closed up to the lowest node that covers it, or to
        that of the lowest level at which one node covers each; from the level `least` on.
        """
        found = member.copy()
        level = np.maximum(self.levels(member), least)
        if one_level:
            level[:] = level.max(initial=0)
        top = len(self.node) - 1
        inside = self._inside(member)
        for place in range(1, top):
            here = np.flatnonzero(level == place)
            mine = self.node[place][inside[here].argmax(axis=1)]
            some = np.asarray(inside[here].any(axis=1))
            found[here] |= (self.node[place] == mine[:, None]) & some[:, None]
        whole = (level == top) & (len(self.values) > 1)
        found[whole] = True
        return found, whole

    def _inside(self, member: BoolArray) -> BoolArray:
        return np.asarray(member & ~self.apart)

    def levels(self, member: BoolArray) -> IntArray:
        """Return the lowest level at which one node covers each set, what stands apart left out, (n,).

        O(levels times cells).
        """
        inside = self._inside(member)
        level = np.full(len(member), len(self.node) - 1, dtype=np.int64)
        first = inside.argmax(axis=1)
        for place in range(len(self.node) - 2, -1, -1):
            mine = self.node[place][first]
            level[~(inside & (self.node[place] != mine[:, None])).any(axis=1)] = place
        return level


def covers_of(hierarchy: Hierarchy | None, given: tuple[str, ...], *, missing: str | None = None) -> Covers:
    """Return the nodes above the `given` values and all other leaves; one that the hierarchy lacks has the
    root alone above it. Without a hierarchy, all values have. The value `missing` stands beside every node.
    """
    if hierarchy is None:
        codes = np.arange(len(given))
        node = np.stack([codes, np.zeros_like(codes)])
        return Covers(given, node, len(given), _apart(given, missing))
    paths = {path[0]: path for path in hierarchy.paths}
    stand = frozenset(given)
    values = (*given, *(leaf for leaf in paths if leaf not in stand))
    height = max(2, *(len(path) for path in hierarchy.paths))
    node = np.zeros((height, len(values)), dtype=np.int64)
    for level in range(height):
        nodes: dict[tuple[str, ...], int] = {}
        for v, value in enumerate(values):
            path = paths.get(value, (value, ROOT))
            # A node is told by all above it; on a short branch the leaf stands on the lower levels too.
            above = path[max(level - (height - len(path)), 0) :]
            node[level, v] = nodes.setdefault(above, len(nodes))
    return Covers(values, node, len(given), _apart(values, missing))


@dataclass(frozen=True)
class Ranges:
    """`values` and the `rank` (|values|,) of each in an order; -1 for one that stands beside a range."""

    values: tuple[str, ...]
    rank: IntArray
    n_given: int

    def among_all(self, member: BoolArray) -> BoolArray:
        """Return sets (n, given values) of the values that `ranges_of` was given as sets of all `values`."""
        return _padded(member, len(self.values))

    def closed(self, member: BoolArray) -> tuple[BoolArray, BoolArray]:
        """Return (member, whole): each set (n, |values|) closed up to the range from its first value to its
        last. O(cells).
        """
        first, last = self.ends(member)
        inside = (self.rank >= first[:, None]) & (self.rank <= last[:, None]) & (self.rank >= 0)
        n_ranked = int((self.rank >= 0).sum())
        whole = (last - first + 1 == n_ranked) & (n_ranked > 1)
        return member | inside | whole[:, None], whole

    def ends(self, member: BoolArray) -> tuple[IntArray, IntArray]:
        """Return the ranks of the first and the last value of each set, (n,) and (n,); 0 and -1 of none."""
        ranked = member & (self.rank >= 0)
        first = np.where(ranked, self.rank, len(self.values)).min(axis=1, initial=len(self.values))
        last = np.where(ranked, self.rank, -1).max(axis=1, initial=-1)
        return np.where(last < 0, 0, first), last


def ranges_of(order: tuple[str, ...], given: tuple[str, ...]) -> Ranges:
    """Return the `given` values and all others of an order; a value that it lacks stands beside a range."""
    stand = frozenset(given)
    values = (*given, *(value for value in order if value not in stand))
    place = {value: rank for rank, value in enumerate(order)}
    return Ranges(values, np.array([place.get(value, -1) for value in values], dtype=np.int64), len(given))


def closure_of(policy: ReleasePolicy, name: str, given: tuple[str, ...]) -> Covers | Ranges | None:
    """Return what closes the sets of a quasi-identifier, each by itself; None where they stay as they are."""
    qi, kind = policy.roles.categorical[name], policy.closure(name)
    if kind == "ranges" and qi.order is not None:
        return ranges_of(qi.order, given)
    return covers_of(qi.tree, given, missing=policy.source.missing_label) if kind == "nodes" else None


def _padded(member: BoolArray, n_values: int) -> BoolArray:
    return np.pad(member, ((0, 0), (0, n_values - member.shape[1])))


def _apart(values: tuple[str, ...], missing: str | None) -> BoolArray:
    return np.array([value == missing for value in values], dtype=bool)
