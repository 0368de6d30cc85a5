"""MDAV: groups of exactly k nearest records, grown in turn from both ends of what is left.

Domingo-Ferrer and Mateo-Sanz (2002), with fixed size k. It knows k and nothing else of a policy's
model. O(n log n + n m d / k) for a leaf of n records, of which m differ, and d coordinates; O(n d) memory.
"""

from __future__ import annotations

import numpy as np

from tasks.aggregation.rest import Rest, Straight
from tasks.types import FloatArray, IntArray, Progress, no_progress


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
        for group in fixed_size_groups(Straight.of(points[leaf]), k):
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
    groups: list[IntArray] = []

    def take(seed: int) -> None:
        group = rest.nearest(seed, k)
        rest.take(group)
        groups.append(np.sort(group))

    while rest.n_records >= 2 * k:
        both = rest.n_records >= 3 * k
        first = rest.farthest_from_centre()
        take(first)
        if both:
            take(rest.farthest_from(first))
    groups.append(rest.records())
    return groups
