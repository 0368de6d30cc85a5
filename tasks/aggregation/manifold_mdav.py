"""M-MDAV: MDAV along the data, in geodesic distances around a median record.

Garg and Torra (2023, algorithm 1): MDAV with the geodesic for the straight distance, and for the mean the
record of least summed geodesic distance. On an Isomap or an LLE embedding this is their M-ISOMDAV or
M-LLEMDAV. O(m^2) memory and O(m^2 log m) time for a leaf of m distinct points, which the caller bounds.
"""

from __future__ import annotations

import numpy as np

from tasks.aggregation.mdav import fixed_size_groups, leaves_of
from tasks.aggregation.rest import Rest
from tasks.representation.manifold import distinct, geodesics
from tasks.types import FloatArray, IntArray, Progress, no_progress


def aggregate(
    points: FloatArray,
    labels: IntArray,
    k: int,
    *,
    neighbours: int = 10,
    progress: Progress = no_progress,
) -> IntArray:
    """Return finer labels (n,) for leaves `labels` (n,) of `points` (n, d); -1 stays -1.

    Sizes and ties are those of MDAV. Geodesic distances are taken in each leaf, over the graph of the
    `neighbours` nearest distinct points.
    """
    finer = np.full(len(labels), -1, dtype=np.int64)
    n_groups = 0
    leaves = leaves_of(labels)
    for number, leaf in enumerate(leaves):
        progress(number / len(leaves), f"leaf {number + 1} of {len(leaves)}")
        for group in _leaf_groups(points[leaf], k, neighbours):
            finer[leaf[group]] = n_groups
            n_groups += 1
    return finer


def _leaf_groups(points: FloatArray, k: int, neighbours: int) -> list[IntArray]:
    if len(points) < 2 * k:
        return [np.arange(len(points))]
    found = distinct(points)
    return fixed_size_groups(_Geodesic(geodesics(found.points, neighbours=neighbours), found.place), k)


class _Geodesic(Rest):
    """Distances (m, m) among the points; the centre is the median of the records left."""

    def __init__(self, distance: FloatArray, place: IntArray) -> None:
        super().__init__(place)
        self._distance = distance
        weight = np.bincount(place, minlength=len(distance)).astype(np.float64)
        self._sums = np.einsum("ij,j->i", distance, weight)

    def from_centre(self) -> FloatArray:
        """As `Rest` says."""
        left = self.points[self.left > 0]
        sums = self._sums[left]
        median = self.first_of(left[sums == sums.min()])
        return self.from_point(int(self._point_of[median]))

    def from_point(self, point: int) -> FloatArray:
        """As `Rest` says."""
        return np.asarray(self._distance[point][self.points])

    def leave(self, places: IntArray) -> None:
        """As `Rest` says."""
        self._sums -= self._distance[:, self.points[places]].sum(axis=1)
