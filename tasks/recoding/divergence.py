"""How far the distances to a group's centroid are from what they were (Miche et al., 2016, eq. 6 and 10)."""

from __future__ import annotations

import numpy as np

from tasks.types import FloatArray, IntArray

BINS = 10


def divergences(
    before: FloatArray,
    group_before: IntArray,
    after: FloatArray,
    group_after: IntArray,
    reach: FloatArray,
) -> FloatArray:
    """Return the Kullback-Leibler divergence KL(before, after) of each group's distances, (n_groups,).

    In nats. `reach` (n_groups,) is each group's greatest distance before. The reading of the distributions,
    which the paper leaves open: shares of ten equal bins from 0 to `reach`, what lies beyond in the last one.
    Infinite where a bin that was filled is empty; 0 for groups that nobody is in.
    """
    n_groups = len(reach)
    was = _shares(before, group_before, reach, n_groups)
    now = _shares(after, group_after, reach, n_groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(was > 0, was * np.log(was / now), 0.0)
    return np.asarray(np.maximum(terms.sum(axis=1), 0.0))


def _shares(distance: FloatArray, group: IntArray, reach: FloatArray, n_groups: int) -> FloatArray:
    scale = np.where(reach > 0, reach, 1.0)[group]
    place = np.minimum(distance / scale * BINS, BINS - 1).astype(np.int64)
    counts = np.bincount(group * BINS + place, minlength=n_groups * BINS).reshape(n_groups, BINS)
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
