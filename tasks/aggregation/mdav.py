"""MDAV: groups of exactly k nearest records, grown in turn from both ends of what is left.

Domingo-Ferrer and Mateo-Sanz (2002), with fixed size k. It knows k and nothing else of a policy's
model. O(m^2 d / k) for a leaf of m records and d coordinates, O(m d) memory.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from tasks.types import FloatArray, IntArray, Progress, no_progress


class Rest(Protocol):
    """The records of one leaf that are in no group yet, in any order, and the distances among them.

    `records` (m,) are their numbers within the leaf. Both distances are new arrays (m,), beside `records`.
    """

    records: IntArray

    def from_centre(self) -> FloatArray:
        """Return the distance of each record left to the centre of all that are left."""
        ...

    def from_record(self, record: int) -> FloatArray:
        """Return the distance of each record left to `record`, which may have left."""
        ...

    def remove(self, places: IntArray) -> None:
        """Take the records at `places` out."""
        ...


def aggregate(points: FloatArray, labels: IntArray, k: int, *, progress: Progress = no_progress) -> IntArray:
    """Return finer labels (n,) for leaves `labels` (n,) of `points` (n, d); -1 stays -1.

    Every group has k records, but the last of a leaf, which has k to 2k - 1; a leaf of fewer than 2k
    records stays whole. Of records equally far the one with the least number is taken first.
    """
    finer = np.full(len(labels), -1, dtype=np.int64)
    n_groups = 0
    leaves = leaves_of(labels)
    for number, leaf in enumerate(leaves):
        progress(number / len(leaves), f"leaf {number + 1} of {len(leaves)}")
        for group in fixed_size_groups(_Euclidean(points[leaf]), k):
            finer[leaf[group]] = n_groups
            n_groups += 1
    return finer


def leaves_of(labels: IntArray) -> list[IntArray]:
    """Return the records of each label in their order, those of label -1 left out."""
    order = np.argsort(labels, kind="stable")
    order = order[np.searchsorted(labels[order], 0) :]
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if len(order) else []


def fixed_size_groups(rest: Rest, k: int) -> list[IntArray]:
    """Return the groups as arrays of numbers within the leaf, in the order in which they were made.

    While 3k records are left: the record farthest from the centre takes its k - 1 nearest, and so does
    the record that is farthest from the first one. Of 2k to 3k - 1 the record farthest from the
    centre takes its k - 1 nearest; the others are one group, as are fewer than 2k.
    """
    groups = []
    while len(rest.records) >= 2 * k:
        first = _farthest(rest.from_centre(), rest.records)
        both = len(rest.records) >= 3 * k
        groups.append(_take_nearest(rest, first, k))
        if both:
            second = _farthest(rest.from_record(first), rest.records)
            groups.append(_take_nearest(rest, second, k))
    groups.append(np.sort(rest.records))
    return groups


def without(values: np.ndarray, places: IntArray) -> np.ndarray:
    """Return `values` without those at `places`: the last ones fill the gaps, nothing else is moved.

    A view of `values`, whose content changes.
    """
    kept = len(values) - len(places)
    tail = np.ones(len(places), dtype=bool)
    tail[places[places >= kept] - kept] = False
    values[places[places < kept]] = values[kept:][tail]
    return values[:kept]


class _Euclidean:
    """Squared straight distances; the centre is the mean."""

    def __init__(self, points: FloatArray) -> None:
        self.records = np.arange(len(points))
        self._points = np.ascontiguousarray(points)
        self._left = self._points.copy()
        self._sum = points.sum(axis=0)

    def from_centre(self) -> FloatArray:
        return self._from(self._sum / len(self.records))

    def from_record(self, record: int) -> FloatArray:
        return self._from(self._points[record])

    def _from(self, centre: FloatArray) -> FloatArray:
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(centre[None, :], self._left, "sqeuclidean")[0])

    def remove(self, places: IntArray) -> None:
        self._sum -= self._left[places].sum(axis=0)
        self._left = without(self._left, places)
        self.records = without(self.records, places)


def _farthest(distance: FloatArray, records: IntArray) -> int:
    return int(records[distance == distance.max()].min())


def _take_nearest(rest: Rest, seed: int, k: int) -> IntArray:
    """Take `seed` and its k - 1 nearest out of what is left."""
    distance = rest.from_record(seed)
    distance[rest.records == seed] = -1.0
    places = np.flatnonzero(distance <= np.partition(distance, k - 1)[k - 1])
    if len(places) > k:
        order = np.lexsort((rest.records[places], distance[places]))
        places = places[order[:k]]
    group = np.sort(rest.records[places])
    rest.remove(places)
    return group
