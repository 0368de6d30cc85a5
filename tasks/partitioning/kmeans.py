"""k-means for groups of bounded size: `sized` clusters of k to 2k - 1 records, and APMCA's.

n / k centres over n records would cost O(n^2 / k) an iteration. So clusters are halved instead, all of a
level at once (bisecting k-means; Steinbach, Karypis and Kumar, 2000): O(d n log n) an iteration and level,
and O(log n) levels, since no cut leaves a side with a vanishing share.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from tasks.aggregation.enforce import enforced
from tasks.partitioning.constraints import Constraints
from tasks.types import FloatArray, IntArray, Progress, no_progress

ITERATIONS = 10

LeastSide = Callable[[IntArray], IntArray]


def sized(points: FloatArray, k: int, *, progress: Progress = no_progress) -> IntArray:
    """Return labels (n,) of clusters of `points` (n, d) with k to 2k - 1 records each.

    A reading of algorithm 2 of doi:10.3390/app152111849: k-means with about n / k centres, sizes kept
    from k to 2k - 1. A cluster of 2k or more is cut by 2-means with at least k records, and where it has
    4k or more at least a quarter, to either side. Fewer than 2k records are one cluster. Nothing is
    drawn: a cut starts at the median of the widest coordinate.
    """
    whole = np.zeros(len(points), dtype=np.int64)
    return _halved(points, whole, 2 * k, lambda size: np.maximum(k, size // 4), progress)


def apmca(
    points: FloatArray,
    k: int,
    *,
    coarse: int = 16,
    seed: int = 0,
    progress: Progress = no_progress,
) -> IntArray:
    """Return labels (n,) of clusters of `points` (n, d) with at least k records each (all, if n < k).

    A reading of APMCA (Hu et al., 2026, section 5; their text gives little of it): k-means into at most
    `coarse` clusters, each cut by 2-means while it has over 2k records (a side has at least a sixteenth), and
    every cluster of fewer than k records merged with the one of nearest centroid that makes it large enough,
    in preference to at most 3k. The perturbation that the name speaks of is the recoding's (`centroid`).
    """
    first = _coarse(points, coarse, seed)
    cut = _halved(points, first, 2 * k + 1, lambda size: np.maximum(1, size // 16), progress)
    only_k = Constraints(k, p_max=1.0, h_min=0.0, e=1, columns=())
    return enforced(points, cut, only_k, 3 * k)[0]


def _coarse(points: FloatArray, clusters: int, seed: int) -> IntArray:
    from sklearn.cluster import KMeans

    n_distinct = len(np.unique(points, axis=0))
    with threadpool_limits(1):
        fitted = KMeans(min(clusters, n_distinct), n_init=1, random_state=seed).fit(points)
    return np.asarray(np.unique(fitted.labels_, return_inverse=True)[1], dtype=np.int64)


def _halved(
    points: FloatArray, labels: IntArray, too_large: int, least_side: LeastSide, progress: Progress
) -> IntArray:
    """Cut clusters `labels` (n,) in two until each has fewer than `too_large` records."""
    n = len(points)
    finer = np.empty(n, dtype=np.int64)
    n_done, n_left = 0, n
    records, node = np.arange(n), labels
    while len(records):
        size = np.bincount(node)
        done = size < too_large
        number = n_done + np.cumsum(done) - 1
        inside = done[node]
        finer[records[inside]] = number[node[inside]]
        n_done += int(done.sum())
        n_left -= int(inside.sum())
        progress(1 - n_left / n, f"{n_done} clusters")
        records, node = records[~inside], (np.cumsum(~done) - 1)[node[~inside]]
        if len(records):
            node = _two_means(points[records], node, least_side)
    return finer


def _two_means(points: FloatArray, node: IntArray, least_side: LeastSide) -> IntArray:
    """Return 2 * node or 2 * node + 1 (m,): the sides of every node's records, `points` (m, d).

    Lloyd's iterations in which the cut along the line through both centres lies halfway between
    them, or as near to it as the least size of a side allows. Records equally far along it stand by
    their number.
    """
    size = np.bincount(node)
    least = least_side(size)
    mean = _means(points, node, len(size))
    widest = _means((points - mean[node]) ** 2, node, len(size)).argmax(axis=1)
    cut = size // 2
    right = _sides(node, points[np.arange(len(node)), widest[node]], cut)
    for _ in range(ITERATIONS):
        centre = _means(points, 2 * node + right, 2 * len(size))
        middle = (centre[::2] + centre[1::2]) / 2
        towards = centre[1::2] - centre[::2]
        along = ((points - middle[node]) * towards[node]).sum(axis=1)
        nearer_left = np.bincount(node, along < 0, minlength=len(size)).astype(np.int64)
        cut = np.where(towards.any(axis=1), np.clip(nearer_left, least, size - least), cut)
        before, right = right, _sides(node, along, cut)
        if np.array_equal(before, right):
            break
    return 2 * node + right


def _sides(node: IntArray, along: FloatArray, cut: IntArray) -> IntArray:
    """Return 0 for the first `cut` (nodes,) records of each node by `along` (m,), 1 for the others."""
    order = np.lexsort((along, node))
    size = np.bincount(node)
    rank = np.arange(len(node)) - np.repeat(np.cumsum(size) - size, size)
    side = np.empty(len(node), dtype=np.int64)
    side[order] = rank >= cut[node[order]]
    return side


def _means(values: FloatArray, labels: IntArray, n_labels: int) -> FloatArray:
    size = np.bincount(labels, minlength=n_labels)
    sums = [np.bincount(labels, column, minlength=n_labels) for column in values.T]
    return np.stack(sums, axis=1) / np.maximum(size, 1)[:, None]
