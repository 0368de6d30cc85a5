"""A release that replaces another of its period: people stay in the classes that they were in.

Between the two nothing changes but what is corrected. Classes that are cut anew would tell once more, of the
same values, who is beside whom; so classes stay as they were. Who is gone takes a counterpart of every other
position along, and newcomers come as whole buckets.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from tasks.types import FloatArray, IntArray


def revision(classes: IntArray, seat: IntArray, n_positions: IntArray) -> IntArray:
    """Return labels (m,): the class of each record before, or -1 for who was in none or has no counterpart.

    `classes` (m,) as they were, -1 for none, `seat` (m, 2) signatures and positions, `n_positions` of each
    signature. In every class as many people of each position of a signature stay as of the one that fewest
    have. O(m log m).
    """
    labels = np.where(seat[:, 0] >= 0, classes, -1)
    rows = np.flatnonzero(labels >= 0)
    if not len(rows):
        return labels
    order = rows[np.lexsort((rows, seat[rows, 1], seat[rows, 0], labels[rows]))]
    key = np.column_stack([labels[order], seat[order]])
    first = np.flatnonzero(np.append(True, (np.diff(key, axis=0) != 0).any(axis=1)))
    count = np.diff(np.append(first, len(order)))
    rank = np.arange(len(order)) - np.repeat(first, count)
    bucket = key[first][:, :2]
    start = np.flatnonzero(np.append(True, (np.diff(bucket, axis=0) != 0).any(axis=1)))
    held = np.diff(np.append(start, len(bucket)))
    n_buckets = np.where(held == n_positions[bucket[start, 1]], np.minimum.reduceat(count, start), 0)
    labels[order[rank >= np.repeat(np.repeat(n_buckets, held), count)]] = -1
    return labels


def join_nearest(labels: IntArray, seat: IntArray, points: FloatArray) -> None:
    """Let whole buckets of who has a seat and no class join the class whose centre is nearest, in place.

    A bucket is one of each position, in the order of the records; a signature has as many positions as
    anybody has a seat of. `points` (m, d) are where records lie.
    """
    groups, place, size = np.unique(labels[labels >= 0], return_inverse=True, return_counts=True)
    new = np.flatnonzero((labels < 0) & (seat[:, 0] >= 0))
    if not len(groups) or not len(new):
        return
    there = points[labels >= 0]
    near = cKDTree(np.column_stack([np.bincount(place, x) / size for x in there.T]))
    n_positions = np.zeros(int(seat[:, 0].max()) + 1, dtype=np.int64)
    np.maximum.at(n_positions, seat[seat[:, 0] >= 0, 0], seat[seat[:, 0] >= 0, 1] + 1)
    order = new[np.lexsort((new, seat[new, 1], seat[new, 0]))]
    for signature in np.unique(seat[order, 0]).tolist():
        mine = order[seat[order, 0] == signature]
        positions = np.split(mine, np.flatnonzero(np.diff(seat[mine, 1])) + 1)
        if len(positions) < n_positions[signature]:
            continue
        buckets = np.stack([rows[: min(map(len, positions))] for rows in positions], axis=1)
        labels[buckets] = groups[near.query(points[buckets].mean(axis=1))[1]][:, None]
