"""The centres of groups, and the sum of squared distances to them that microaggregation makes small.

Domingo-Ferrer and Mateo-Sanz (2002) take centroids, Garg and Torra (2023) medians: the record of a group
whose summed distance to the others is least.
"""

from __future__ import annotations

import numpy as np

from tasks.aggregation.mdav import leaves_of
from tasks.representation.manifold import distinct, geodesics
from tasks.types import FloatArray, IntArray

CHUNK_CELLS = 4_000_000
STACKED_UP_TO = 64


def centroids(points: FloatArray, labels: IntArray) -> FloatArray:
    """Return the mean of `points` (n, d) of each label 0..g-1 of `labels` (n,), (g, d); O(n d)."""
    kept = labels >= 0
    size = np.bincount(labels[kept])
    sums = [np.bincount(labels[kept], column, minlength=len(size)) for column in points[kept].T]
    return np.stack(sums, axis=1) / size[:, None] if sums else np.empty((len(size), 0))


def medoids(points: FloatArray, labels: IntArray) -> IntArray:
    """Return the record of each label 0..g-1 whose summed straight distance to its group is least, (g,).

    Of equal sums the least record number is taken. O(n s d) for groups of s records.
    """
    groups = leaves_of(labels)
    found = np.empty(len(groups), dtype=np.int64)
    sizes = np.array([len(group) for group in groups])
    for size in np.unique(sizes).tolist():
        alike = np.flatnonzero(sizes == size)
        step = max(1, CHUNK_CELLS // size**2) if size <= STACKED_UP_TO else 1
        for first in range(0, len(alike), step):
            part = alike[first : first + step]
            members = np.stack([groups[label] for label in part])
            sums = _stacked(points[members]) if size <= STACKED_UP_TO else _in_rows(points[members[0]])
            found[part] = members[np.arange(len(part)), sums.argmin(axis=1)]
    return found


def geodesic_medoids(
    points: FloatArray, labels: IntArray, leaves: IntArray, *, neighbours: int = 10
) -> IntArray:
    """Return the record of each label 0..g-1 whose summed geodesic distance to its group is least, (g,).

    Distances are those of M-MDAV in each of `leaves` (n,). A group that was merged over several leaves has
    its medoid by straight distances.
    """
    found = medoids(points, labels)
    groups = leaves_of(labels)
    leaf_of = np.array([leaves[group[0]] if np.ptp(leaves[group]) == 0 else -1 for group in groups])
    for leaf in np.unique(leaf_of[leaf_of >= 0]).tolist():
        records = np.flatnonzero(leaves == leaf)
        block = distinct(points[records])
        distance = geodesics(block.points, neighbours=neighbours)
        for label in np.flatnonzero(leaf_of == leaf).tolist():
            place = block.place[np.searchsorted(records, groups[label])]
            found[label] = groups[label][distance[np.ix_(place, place)].sum(axis=1).argmin()]
    return found


def squared_error(points: FloatArray, labels: IntArray, centres: FloatArray) -> float:
    """Return the sum of squared distances of `points` (n, d) to the centre (g, d) of their label.

    The objective of microaggregation (SSE; Domingo-Ferrer and Mateo-Sanz, 2002). Label -1 does not count.
    """
    kept = labels >= 0
    return float(((points[kept] - centres[labels[kept]]) ** 2).sum())


def _stacked(points: FloatArray) -> FloatArray:
    """Return the summed distances (g, s) within each of g groups of s points (g, s, d)."""
    squared = np.zeros((len(points), points.shape[1], points.shape[1]))
    for column in np.moveaxis(points, 2, 0):
        squared += (column[:, :, None] - column[:, None, :]) ** 2
    return np.asarray(np.sqrt(squared).sum(axis=2))


def _in_rows(points: FloatArray) -> FloatArray:
    """Return the summed distances (1, s) within one large group (s, d), some rows at a time."""
    from scipy.spatial.distance import cdist

    step = max(1, CHUNK_CELLS // len(points))
    sums = [cdist(points[i : i + step], points).sum(axis=1) for i in range(0, len(points), step)]
    return np.concatenate(sums)[None, :]
