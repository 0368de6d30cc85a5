"""The records of a leaf that are in no group yet: who is farthest, who is nearest, who leaves.

Equal records may be one point that stands for as many: distances are taken to points, and whoever leaves a
point is the first that is left there. Nothing that comes out differs from that of the records one by one, but
for the rounding of a centre.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from tasks.counting import numbers_from
from tasks.representation.manifold import distinct
from tasks.types import FloatArray, IntArray

ONE_BY_ONE = 2_000
"""Records of a leaf; to look at equal ones together takes longer for fewer."""


class Rest(ABC):
    """The records left of a leaf, by the point of each, `place` (n,).

    `points` (m,) are those that have records left, and some of those that have not any more: at most as
    many. Distances are new arrays (m,), beside `points`. Of records equally far the one with the least
    number comes first.
    """

    def __init__(self, place: IntArray) -> None:
        self.n_records = len(place)
        self.left = np.bincount(place)  # so many records at each of `points`, (m,)
        self.points = np.arange(len(self.left))
        self._at = self.points.copy()  # the place of each point in `points`
        self._n_empty = 0
        self._each_alone = len(self.left) == len(place)
        self._point_of = place
        self._records = np.argsort(place, kind="stable")  # those of a point in their order
        self._next = np.cumsum(self.left) - self.left  # the records before it have left the point

    @abstractmethod
    def from_centre(self) -> FloatArray:
        """Return the distance of each point to the centre of all records left."""

    @abstractmethod
    def from_point(self, point: int) -> FloatArray:
        """Return the distance of each point to `point`, which may have no record left."""

    @abstractmethod
    def leave(self, places: IntArray) -> None:
        """Let one record leave the centre for each of these `places` in `points`, (r,)."""

    def keep(self, kept: IntArray) -> None:
        """Drop all points but those at the places `kept`."""
        self.points, self.left = self.points[kept], self.left[kept]
        self._at[self.points] = np.arange(len(kept))
        self._n_empty = 0

    def farthest_from_centre(self) -> int:
        """Return the record that is farthest from the centre of all that are left."""
        return self._farthest(self.from_centre())

    def farthest_from(self, record: int) -> int:
        """Return the record left that is farthest from `record`, which may have left."""
        return self._farthest(self.from_point(int(self._point_of[record])))

    def first_of(self, points: IntArray) -> int:
        """Return the record with the least number of those left at some points, each of which has some."""
        return int(self._records[self._next[points]].min())

    def nearest(self, seed: int, n: int) -> IntArray:
        """Return n records, nearest to `seed` first, which is the first of its point and of them. O(m)."""
        distance = self._to_those_left(seed)
        nth = min(n, len(distance) - self._n_empty) - 1  # there is a record at each point
        near = np.flatnonzero(distance <= np.partition(distance, nth)[nth])
        if not self._each_alone:
            near = near[np.argsort(distance[near], kind="stable")]
            last = near[np.searchsorted(np.cumsum(self.left[near]), n)]
            near = near[: np.searchsorted(distance[near], distance[last], side="right")]
        return self._in_order(near, distance[near], seed, n)[:n]

    def all_nearest(self, seed: int, most: int) -> IntArray:
        """Return the records left, nearest to `seed` first, but of a point no more than `most`."""
        distance = self._to_those_left(seed)
        return self._in_order(np.arange(len(distance)), distance, seed, most)

    def take(self, records: IntArray) -> None:
        """Take records out, which are the first ones left of their points."""
        point = self._point_of[records]
        places = self._at[point]
        np.add.at(self._next, point, 1)
        np.subtract.at(self.left, places, 1)
        self.n_records -= len(records)
        self._n_empty += len(set(places[self.left[places] == 0].tolist()))
        self.leave(places)
        if 2 * self._n_empty > len(self.points):
            self.keep(np.flatnonzero(self.left))

    def records(self) -> IntArray:
        """Return all that are left, in order."""
        return np.sort(self._records[numbers_from(self._next[self.points], self.left)])

    def _to_those_left(self, record: int) -> FloatArray:
        distance = self.from_point(int(self._point_of[record]))
        distance[self.left == 0] = np.inf
        return distance

    def _farthest(self, distance: FloatArray) -> int:
        distance[self.left == 0] = -1.0
        return self.first_of(self.points[distance == distance.max()])

    def _in_order(self, near: IntArray, distance: FloatArray, seed: int, most: int) -> IntArray:
        """Return at most so many records of each of the points at `near`, nearest first."""
        first = self._next[self.points[near]]
        if self._each_alone:
            there = self.left[near] > 0
            records, distance = self._records[first[there]], distance[there]
        else:
            times = np.minimum(self.left[near], most)
            records, distance = self._records[numbers_from(first, times)], np.repeat(distance, times)
        return np.asarray(records[np.lexsort((records, distance, records != seed))])


class Straight(Rest):
    """The records left at points (d, r), with squared straight distances; the centre is their mean."""

    def __init__(self, points: FloatArray, place: IntArray) -> None:
        super().__init__(place)
        self._points = self._here = np.ascontiguousarray(points)
        self._sum = self.left @ self._points

    @classmethod
    def of(cls, points: FloatArray, *beside: IntArray | FloatArray) -> Straight:
        """Return the records at `points` (n, r), those as one whose columns `beside` (n,) are equal, too."""
        if len(points) <= ONE_BY_ONE:
            return cls(points, np.arange(len(points)))
        found = distinct(np.column_stack([points, *beside]))
        return cls(found.points[:, : points.shape[1]], found.place)

    def from_centre(self) -> FloatArray:
        """As `Rest` says."""
        return self._from(self._sum / self.n_records)

    def from_point(self, point: int) -> FloatArray:
        """As `Rest` says."""
        return self._from(self._points[point])

    def leave(self, places: IntArray) -> None:
        """As `Rest` says."""
        self._sum -= self._here[places].sum(axis=0)

    def keep(self, kept: IntArray) -> None:
        """As `Rest` says."""
        super().keep(kept)
        self._here = self._here[kept]

    def _from(self, centre: FloatArray) -> FloatArray:
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(centre[None, :], self._here, "sqeuclidean")[0])
