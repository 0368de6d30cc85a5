"""Groups in which whoever could have another stable value could have another transient value too.

Rows are published whole: in a group, the rows that people of one signature could have must tell enough
values of every attribute that may change (`transient`). Where they do not, two people of one position change
places; groups that still tell too few values are merged with near ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from tasks.history.attribute import Attribute
from tasks.history.exchange import ranges
from tasks.history.transient import values_at
from tasks.history.worlds import counted_values
from tasks.types import FloatArray, IntArray

ROUNDS = 3  # of merges, before people are left out
NEAREST = 64  # people of the same position who are tried, the nearest first


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
    `points` (m, d) where records lie. O(m log m), and the pools of the people of each group that tells too
    little.
    """
    labels = labels.copy()
    failing = np.unique(alike(labels, seat, value, told, attribute, enough)[:, 0])
    if not len(failing):
        return labels
    groups = _Groups(labels, seat, value, told, attribute, enough)
    for group in failing.tolist():
        for signature in groups.short(group):
            mine = [row for row in sorted(groups.rows(group)) if seat[row, 0] == signature]
            for row, other in groups.candidates(mine, points):
                there = int(labels[other])
                groups.swap(row, other)
                if signature not in groups.short(group) and not groups.short(there):
                    break
                groups.swap(row, other)
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
    """Return `labels` after groups that tell too few values were merged with near ones; as `varied`.

    After a few rounds, and of signatures that tell too few values in the whole table, those whose rows tell
    too few leave their group, -1: all of a signature at once, so that the others stay in balance.
    """
    labels = labels.copy()
    whole = np.where(labels >= 0, 0, -1)
    hopeless = alike(whole, seat, value, told, attribute, enough)[:, 1]
    for _ in range(ROUNDS):
        failing = alike(labels, seat, value, told, attribute, enough)
        failing = np.unique(failing[~np.isin(failing[:, 1], hopeless), 0])
        groups, place, size = np.unique(labels[labels >= 0], return_inverse=True, return_counts=True)
        if not len(failing) or len(groups) < 2:
            break
        there = points[labels >= 0]
        centre = np.column_stack([np.bincount(place, x) / size for x in there.T])
        own = np.searchsorted(groups, failing)
        near = cKDTree(centre).query(centre[own], k=2)[1]
        other = np.where(near[:, 0] == own, near[:, 1], near[:, 0])
        arcs = coo_array((np.ones(len(own), dtype=np.int8), (own, other)), shape=(len(groups),) * 2)
        labels[labels >= 0] = connected_components(arcs, directed=False)[1][place]
    span = int(seat[:, 0].max(initial=0)) + 1
    while len(failing := alike(labels, seat, value, told, attribute, enough)):
        short = np.isin(labels * span + seat[:, 0], failing[:, 0] * span + failing[:, 1])
        labels[short & (labels >= 0) & (seat[:, 0] >= 0)] = -1
    return labels


def alike(
    labels: IntArray, seat: IntArray, value: IntArray, told: IntArray, attribute: Attribute, enough: int
) -> IntArray:
    """Return groups and signatures (f, 2): the rows of its tuples there tell under `enough` values."""
    inside = np.flatnonzero((labels >= 0) & (told >= 0))
    rows = inside[seat[inside, 0] >= 0]
    if not len(rows):
        return np.empty((0, 2), dtype=np.int64)
    m = int(value.max()) + 1
    tuples = np.unique(np.column_stack([seat[rows, 0], value[rows]]), axis=0)
    buckets = np.unique(np.column_stack([labels[rows], seat[rows, 0]]), axis=0)
    first, end = (np.searchsorted(tuples[:, 0], buckets[:, 1], side) for side in ("left", "right"))
    bucket = np.repeat(np.arange(len(buckets)), end - first)
    wanted = buckets[bucket, 0] * m + tuples[ranges(first, end - first), 1]
    key, of_key = np.unique(np.column_stack([labels[inside] * m + value[inside], told[inside]]), axis=0).T
    place, values = values_at(key, of_key, wanted)
    span = len(attribute.value)
    counted = counted_values(np.unique(bucket[place] * span + values), len(buckets), span, attribute)
    return np.asarray(buckets[counted < enough])


class _Groups:
    """Groups whose people may change places: what the rows of each tell, counted when it is first asked."""

    def __init__(
        self,
        labels: IntArray,
        seat: IntArray,
        value: IntArray,
        told: IntArray,
        attribute: Attribute,
        enough: int,
    ) -> None:
        self._labels, self._seat, self._value, self._told = labels, seat, value, told
        self._attribute, self._enough = attribute, enough
        inside = np.flatnonzero((labels >= 0) & (told >= 0))
        self._order = inside[np.argsort(labels[inside], kind="stable")]
        self._start = np.searchsorted(labels[self._order], np.arange(int(labels.max()) + 2))
        seated = inside[seat[inside, 0] >= 0]
        pairs = np.unique(np.column_stack([seat[seated, 0], value[seated]]), axis=0)
        starts = np.flatnonzero(np.diff(pairs[:, 0], prepend=-1))
        self._tuples = {
            int(part[0, 0]): part[:, 1].tolist() for part in np.split(pairs, starts[1:]) if len(part)
        }
        seats, place = np.unique(seat[seated], axis=0, return_inverse=True)
        by_seat = seated[np.argsort(place.reshape(-1), kind="stable")]
        ends = np.cumsum(np.bincount(place.reshape(-1), minlength=len(seats)))[:-1]
        self._pools = dict(zip(map(tuple, seats.tolist()), np.split(by_seat, ends), strict=True))
        self._rows: dict[int, set[int]] = {}
        self._counts: dict[int, dict[int, Counter[int]]] = {}

    def rows(self, group: int) -> set[int]:
        """Return the rows of a group that tell a value."""
        if group not in self._rows:
            rows = self._order[self._start[group] : self._start[group + 1]].tolist()
            self._rows[group], self._counts[group] = set(rows), {}
            for row in rows:
                self._put(group, row, 1)
        return self._rows[group]

    def short(self, group: int) -> list[int]:
        """Return the signatures of a group whose people could have too few values."""
        signatures = {int(self._seat[row, 0]) for row in self.rows(group)} - {-1}
        found = []
        for signature in sorted(signatures):
            counts = [self._counts[group].get(one, Counter()) for one in self._tuples[signature]]
            values = np.array(sorted({one for each in counts for one, n in each.items() if n > 0}))
            span = len(self._attribute.value)
            if int(counted_values(values, 1, span, self._attribute)[0]) < self._enough:
                found.append(signature)
        return found

    def candidates(self, mine: list[int], points: FloatArray) -> Iterable[tuple[int, int]]:
        """Return pairs of a row and another of the same seat that tells another value, the nearest first."""
        found: list[tuple[float, int, int]] = []
        for row in mine:
            pool = self._pools[int(self._seat[row, 0]), int(self._seat[row, 1])]
            pool = pool[(self._labels[pool] != self._labels[row]) & (self._told[pool] != self._told[row])]
            distance = ((points[pool] - points[row]) ** 2).sum(axis=1)
            if len(pool) > NEAREST:
                near = np.argpartition(distance, NEAREST)[:NEAREST]
                pool, distance = pool[near], distance[near]
            found += zip(distance.tolist(), [row] * len(pool), pool.tolist(), strict=True)
        return [(row, other) for _, row, other in sorted(found)[:NEAREST]]

    def swap(self, row: int, other: int) -> None:
        """Let two rows of one seat change their groups."""
        here, there = int(self._labels[row]), int(self._labels[other])
        for one, own, new in ((row, here, there), (other, there, here)):
            self.rows(own).remove(one)
            self._put(own, one, -1)
            self.rows(new).add(one)
            self._put(new, one, 1)
        self._labels[[row, other]] = there, here

    def _put(self, group: int, row: int, n: int) -> None:
        counts = self._counts[group].setdefault(int(self._value[row]), Counter())
        counts[int(self._told[row])] += n
