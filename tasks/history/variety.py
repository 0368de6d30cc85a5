"""Groups in which whoever could have another stable value could have another transient value too.

Rows are published whole: in a group, the rows that people of one signature could have must tell enough
values of every attribute that may change (`transient`). Where they do not, two people of one position change
places; groups that still tell too few values are merged with near ones.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from tasks.history.attribute import Attribute
from tasks.types import FloatArray, IntArray

NEAREST = 64  # people of the same position who are tried, the nearest first


@dataclass
class _Rows:
    """The rows of groups: for each group and stable tuple, how many tell each value of one attribute."""

    attribute: Attribute
    enough: int
    tuples: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))  # of each signature
    told: dict[int, dict[int, Counter[int]]] = field(default_factory=lambda: defaultdict(dict))
    signatures: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))  # of each group

    def short(self, group: int) -> list[int]:
        """Return the signatures of a group whose people could have too few values."""
        found = []
        for signature in sorted(self.signatures[group]):
            told = [self.told[group].get(one, Counter()) for one in self.tuples[signature]]
            values = {value for counter in told for value, n in counter.items() if n > 0}
            if values and self._count(values) < self.enough:
                found.append(signature)
        return found

    def put(self, group: int, value: int, told: int, n: int) -> None:
        """Count n more rows of a stable tuple that tell a value."""
        self.told[group].setdefault(value, Counter())[told] += n

    def _count(self, values: set[int]) -> int:
        attribute = self.attribute
        if attribute.number is None or not attribute.width:
            return len(values)
        counted, reach = 0, -np.inf
        for number in sorted(attribute.number[list(values)].tolist()):
            if number > reach:
                counted, reach = counted + 1, number + attribute.width
        return counted


def varied(
    labels: IntArray,
    seat: IntArray,
    value: IntArray,
    told: IntArray,
    attribute: Attribute,
    enough: int,
    points: FloatArray,
) -> IntArray:
    """Return `labels` (m,) after people of the same `seat` (m, 2) changed places where that helps.

    `value` (m,) are stable tuples, `told` (m,) the values of an attribute that may change, -1 for none,
    `points` (m, d) where records lie. O(m), and for each group that tells too little its people's pools.
    """
    labels = labels.copy()
    rows, members, pools = _rows_of(labels, seat, value, told, attribute, enough)
    for group in sorted(members):
        for signature in rows.short(group):
            mine = [row for row in sorted(members[group]) if seat[row, 0] == signature]
            for row, other in _candidates(mine, pools, seat, told, labels, points):
                there = int(labels[other])
                _swap(rows, labels, value, told, row, other)
                if signature not in rows.short(group) and not rows.short(there):
                    members[group].symmetric_difference_update((row, other))
                    members[there].symmetric_difference_update((row, other))
                    break
                _swap(rows, labels, value, told, row, other)
    return labels


def merged(
    labels: IntArray,
    seat: IntArray,
    value: IntArray,
    told: IntArray,
    attribute: Attribute,
    enough: int,
    points: FloatArray,
) -> IntArray:
    """Return `labels` after groups that tell too few values were merged with near ones; as `varied`."""
    labels = labels.copy()
    while True:
        rows, members, _ = _rows_of(labels, seat, value, told, attribute, enough)
        failing = np.array([group for group in sorted(members) if rows.short(group)], dtype=np.int64)
        groups, place, size = np.unique(labels[labels >= 0], return_inverse=True, return_counts=True)
        if not len(failing) or len(groups) < 2:
            return labels
        there = points[labels >= 0]
        centre = np.column_stack([np.bincount(place, x) / size for x in there.T])
        own = np.searchsorted(groups, failing)
        near = cKDTree(centre).query(centre[own], k=2)[1]
        other = np.where(near[:, 0] == own, near[:, 1], near[:, 0])
        arcs = coo_array((np.ones(len(own), dtype=np.int8), (own, other)), shape=(len(groups),) * 2)
        labels[labels >= 0] = connected_components(arcs, directed=False)[1][place]


def _rows_of(
    labels: IntArray, seat: IntArray, value: IntArray, told: IntArray, attribute: Attribute, enough: int
) -> tuple[_Rows, dict[int, set[int]], dict[tuple[int, int], list[int]]]:
    """Return what groups tell, the rows of each group, and those of each seat."""
    rows = _Rows(attribute, enough)
    members: dict[int, set[int]] = defaultdict(set)
    pools: dict[tuple[int, int], list[int]] = defaultdict(list)
    inside = np.flatnonzero((labels >= 0) & (told >= 0))
    columns = (each[inside].tolist() for each in (labels, value, told, seat[:, 0], seat[:, 1]))
    for row, group, one, tells, signature, position in zip(inside.tolist(), *columns, strict=True):
        rows.put(group, one, tells, 1)
        if signature >= 0:
            rows.tuples[signature].add(one)
            rows.signatures[group].add(signature)
            members[group].add(row)
            pools[signature, position].append(row)
    return rows, members, pools


def _candidates(
    mine: list[int],
    pools: dict[tuple[int, int], list[int]],
    seat: IntArray,
    told: IntArray,
    labels: IntArray,
    points: FloatArray,
) -> Iterable[tuple[int, int]]:
    """Yield pairs of a row and another of the same seat that tells another value, the nearest first."""
    found: list[tuple[float, int, int]] = []
    for row in mine:
        pool = np.array(pools[int(seat[row, 0]), int(seat[row, 1])], dtype=np.int64)
        pool = pool[(labels[pool] != labels[row]) & (told[pool] != told[row])]
        distance = ((points[pool] - points[row]) ** 2).sum(axis=1)
        found += zip(distance.tolist(), [row] * len(pool), pool.tolist(), strict=True)
    return [(row, other) for _, row, other in sorted(found)[:NEAREST]]


def _swap(rows: _Rows, labels: IntArray, value: IntArray, told: IntArray, row: int, other: int) -> None:
    """Let two rows of one seat change their groups."""
    for one, new in ((row, int(labels[other])), (other, int(labels[row]))):
        rows.put(int(labels[one]), int(value[one]), int(told[one]), -1)
        rows.put(new, int(value[one]), int(told[one]), 1)
    labels[[row, other]] = labels[[other, row]]
