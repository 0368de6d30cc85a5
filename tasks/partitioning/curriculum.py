"""Clusters by a curriculum: what is alike is cut as it stands, only the rest is clustered.

Majeed, Lee and Hwang (2025), doi:10.3390/app152111849, Algorithms 1 and 2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tasks.partitioning.constraints import Constraints
from tasks.types import FloatArray, IntArray, PreparedTable, Progress, no_progress

Cluster = Callable[[FloatArray, int, int], IntArray]
"""`cluster(points, k, seed)` returns labels (m,) of clusters of k to 2k - 1 records, for m of at least k."""

EASY, MEDIUM, COMPLEX = 0, 1, 2


def templates(codes: IntArray, n_values: tuple[int, ...]) -> IntArray:
    """Return R1 and R2, the most and the second most frequent value of each attribute, (2, q).

    Ties go to the lower code, that is the earlier value of the policy; an attribute with one value has no
    second one (-1). Algorithm 1, lines 1 to 18. O(n q).
    """
    found = np.full((2, codes.shape[1]), -1, dtype=np.int64)
    for column, n in enumerate(n_values):
        frequent = np.argsort(-np.bincount(codes[:, column], minlength=n), kind="stable")[:2]
        found[: len(frequent), column] = frequent
    return found


def complexity(codes: IntArray, rules: IntArray) -> IntArray:
    """Return 0 (E, easy), 1 (M, medium) or 2 (C, complex) for each record, (n,).

    E: every attribute has R1's value; M: some attribute has R1's or R2's; C: none has. Algorithm 1 prints
    M as matching R2; its text, "few common values", gives this reading, in which the three are the whole
    table. A table without categorical attributes is all E.
    """
    first, second = codes == rules[0], codes == rules[1]
    some = (first | second).any(axis=1)
    return np.where(first.all(axis=1), EASY, np.where(some, MEDIUM, COMPLEX)).astype(np.int64)


def partition(
    table: PreparedTable,
    points: FloatArray,
    constraints: Constraints,
    *,
    cluster: Cluster,
    seed: int = 0,
    progress: Progress = no_progress,
) -> IntArray:
    """Return one cluster label a record; every cluster has at least k records, if the table has.

    `points` (n, r) is where the clusters of M and C are sought. E, whose records differ in numbers alone, is
    sorted by them in the policy's order (the paper leaves its order open) and cut into runs as even as
    possible, of k to 2k - 1 records. M and C are given to `cluster`. A part with under k records has no
    cluster: each of its records joins the nearest cluster that still has under 2k - 1 records, or the
    nearest where none has. If no part has k records, all are clustered together. Only k is kept:
    the method knows no other condition. O(n log n), and what `cluster` takes.
    """
    n, k = table.n_records, constraints.k
    if n < 2 * k:
        return np.zeros(n, dtype=np.int64)
    codes = table.codes.astype(np.int64)
    n_values = tuple(len(table.domains[name]) for name in table.categorical_names)
    part = complexity(codes, templates(codes, n_values))
    if np.bincount(part, minlength=3).max() < k:
        part = np.full(n, MEDIUM)
    labels = np.full(n, -1, dtype=np.int64)
    n_clusters = 0
    for step, kind in enumerate((EASY, MEDIUM, COMPLEX)):
        records = np.flatnonzero(part == kind)
        if len(records) < k:
            continue
        if kind == EASY:
            found = _runs(table.numeric[records], k)
        elif len(records) < 2 * k:
            found = np.zeros(len(records), dtype=np.int64)
        else:
            found = cluster(points[records], k, seed)
        labels[records] = n_clusters + found
        n_clusters += int(found.max()) + 1
        progress((step + 1) / 3, f"{n_clusters} clusters")
    _join(points, labels, n_clusters, 2 * k - 1)
    return labels


def _runs(numbers: FloatArray, k: int) -> IntArray:
    """Cut m records, by their numbers (m, p), into m // k runs whose sizes differ by one at most."""
    m = len(numbers)
    order = np.lexsort(numbers.T[::-1]) if numbers.shape[1] else np.arange(m)
    labels = np.empty(m, dtype=np.int64)
    labels[order] = np.arange(m) * (m // k) // m
    return labels


def _join(points: FloatArray, labels: IntArray, n_clusters: int, most: int) -> None:
    """Give each record without a label that of the nearest cluster with room; fewer than 2k such records."""
    outside = np.flatnonzero(labels < 0)
    if not len(outside):
        return
    inside = np.flatnonzero(labels >= 0)
    size = np.bincount(labels[inside], minlength=n_clusters)
    sums = [np.bincount(labels[inside], weights=column, minlength=n_clusters) for column in points[inside].T]
    centres = np.column_stack(sums) / size[:, None]
    for record in outside.tolist():
        distance = ((centres - points[record]) ** 2).sum(axis=1)
        room = size < most
        nearest = int(np.where(room, distance, np.inf).argmin() if room.any() else distance.argmin())
        labels[record] = nearest
        size[nearest] += 1
