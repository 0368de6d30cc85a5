"""Groups in which whoever could have another stable value could have another transient value too.

Rows are published whole: in a group, the rows that people of one signature could have must tell enough
values of every attribute that may change (`transient`). Where they do not, two people of one position change
places; groups that still tell too few values are merged with near ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from tasks.counting import numbers_from
from tasks.history.attribute import Attribute
from tasks.history.search import counted_values
from tasks.history.transient import values_at
from tasks.types import FloatArray, IntArray

ROUNDS = 3  # of merges, before people are left out
NEAREST = 64  # people of the same position who are tried, the nearest first


@dataclass(frozen=True)
class Records:
    """m records with signatures, and what the row of each says of one attribute that may change.

    `seat` (m, 2): signature and position, or -1; `value` (m,): stable tuples; `row_value` (m,): the values of
    the `attribute`, -1 for none, of which `enough` have to be told, and as many `more` as it says; `points`
    (m, d): where records lie.
    """

    seat: IntArray
    value: IntArray
    row_value: IntArray
    attribute: Attribute
    enough: int
    points: FloatArray

    @property
    def least(self) -> int:
        """How many values have to be told."""
        return self.enough + self.attribute.more


def swap_people(records: Records, labels: IntArray) -> IntArray:
    """Return `labels` (m,) after people of the same seat changed places where groups tell more by it.

    O(m log m), and the pools of the people of each group that tells too little.
    """
    labels = labels.copy()
    failing = np.unique(uniform_buckets(records, labels)[:, 0])
    if not len(failing):
        return labels
    groups = _Groups(records, labels)
    for group in failing.tolist():
        for signature in groups.short(group):
            mine = [row for row in sorted(groups.rows(group)) if records.seat[row, 0] == signature]
            for row, other in groups.candidates(mine):
                there = int(labels[other])
                groups.swap(row, other)
                if signature not in groups.short(group) and not groups.short(there):
                    break
                groups.swap(row, other)
    return labels


def merge_groups(records: Records, labels: IntArray) -> IntArray:
    """Return `labels` (m,) after groups that tell too few values were merged with near ones.

    After a few rounds, and of signatures that tell too few values in the whole table, those whose rows tell
    too few leave their group, -1: all of a signature at once, so that the others stay in balance.
    """
    labels = labels.copy()
    whole = np.where(labels >= 0, 0, -1)
    hopeless = uniform_buckets(records, whole)[:, 1]
    for _ in range(ROUNDS):
        failing = uniform_buckets(records, labels)
        failing = np.unique(failing[~np.isin(failing[:, 1], hopeless), 0])
        groups, place, size = np.unique(labels[labels >= 0], return_inverse=True, return_counts=True)
        if not len(failing) or len(groups) < 2:
            break
        there = records.points[labels >= 0]
        centre = np.column_stack([np.bincount(place, x) / size for x in there.T])
        own = np.searchsorted(groups, failing)
        near = cKDTree(centre).query(centre[own], k=2)[1]
        other = np.where(near[:, 0] == own, near[:, 1], near[:, 0])
        arcs = coo_array((np.ones(len(own), dtype=np.int8), (own, other)), shape=(len(groups),) * 2)
        labels[labels >= 0] = connected_components(arcs, directed=False)[1][place]
    signature = records.seat[:, 0]
    span = int(signature.max(initial=0)) + 1
    while len(failing := uniform_buckets(records, labels)):
        short = np.isin(labels * span + signature, failing[:, 0] * span + failing[:, 1])
        labels[short & (labels >= 0) & (signature >= 0)] = -1
    return labels


def uniform_buckets(records: Records, labels: IntArray) -> IntArray:
    """Return groups and signatures (f, 2): the rows of its tuples there tell too few values."""
    seat, value, row_value = records.seat, records.value, records.row_value
    inside = np.flatnonzero((labels >= 0) & (row_value >= 0))
    rows = inside[seat[inside, 0] >= 0]
    if not len(rows):
        return np.empty((0, 2), dtype=np.int64)
    m = int(value.max()) + 1
    tuples = np.unique(np.column_stack([seat[rows, 0], value[rows]]), axis=0)
    buckets = np.unique(np.column_stack([labels[rows], seat[rows, 0]]), axis=0)
    first, end = (np.searchsorted(tuples[:, 0], buckets[:, 1], side) for side in ("left", "right"))
    bucket = np.repeat(np.arange(len(buckets)), end - first)
    wanted = buckets[bucket, 0] * m + tuples[numbers_from(first, end - first), 1]
    key, of_key = np.unique(
        np.column_stack([labels[inside] * m + value[inside], row_value[inside]]), axis=0
    ).T
    place, values = values_at(key, of_key, wanted)
    span = len(records.attribute.value)
    counted = counted_values(np.unique(bucket[place] * span + values), len(buckets), span, records.attribute)
    return np.asarray(buckets[counted < records.least])


class _Groups:
    """Groups whose people may change places: what the rows of each tell, counted when it is first asked."""

    def __init__(self, records: Records, labels: IntArray) -> None:
        self._records, self._labels = records, labels
        seat, value = records.seat, records.value
        inside = np.flatnonzero((labels >= 0) & (records.row_value >= 0))
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
        signatures = {int(self._records.seat[row, 0]) for row in self.rows(group)} - {-1}
        found = []
        for signature in sorted(signatures):
            counts = [self._counts[group].get(one, Counter()) for one in self._tuples[signature]]
            values = np.array(sorted({one for each in counts for one, n in each.items() if n > 0}))
            span = len(self._records.attribute.value)
            if int(counted_values(values, 1, span, self._records.attribute)[0]) < self._records.least:
                found.append(signature)
        return found

    def candidates(self, mine: list[int]) -> Iterable[tuple[int, int]]:
        """Return pairs of a row and another of the same seat that tells another value, the nearest first."""
        found: list[tuple[float, int, int]] = []
        points = self._records.points
        for row in mine:
            pool = self._pools[int(self._records.seat[row, 0]), int(self._records.seat[row, 1])]
            pool = pool[
                (self._labels[pool] != self._labels[row])
                & (self._records.row_value[pool] != self._records.row_value[row])
            ]
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
        counts = self._counts[group].setdefault(int(self._records.value[row]), Counter())
        counts[int(self._records.row_value[row])] += n
