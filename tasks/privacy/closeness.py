"""t-closeness (Li et al., 2007): how far a group's sensitive values are from those of the whole table.

The distance is the earth mover's. Between two categories it is 1 (equal distance); between the i-th and the
j-th of m values that stand in the table and have an order |i - j| / (m - 1) (ordered distance); between two
values of a hierarchy the level of their lowest common node over the level of the root (hierarchical
distance). A missing value that has no place in the order or the hierarchy is one value, 1 from every other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.privacy.condition import BesideTheTable
from tasks.privacy.value_tree import ValueTree
from tasks.types import FloatArray, IntArray


def equal_distances(counts: IntArray, overall: IntArray) -> FloatArray:
    """Distance of each group (..., m) from all together, `overall` (m,): half of sum |p - q|, (...,)."""
    return np.asarray(np.abs(_shares(counts) - _shares(overall)).sum(axis=-1) / 2)


def ordered_distances(counts: IntArray, overall: IntArray, numbers: FloatArray) -> FloatArray:
    """Distance of each group (..., m) from all together, over numbers (m,), nan for the missing value.

    Sum of |p_1 + ... + p_i - q_1 - ... - q_i| over the order, divided by m - 1. Where values are missing
    it is the cost of one way to move: the surplus on one side to or from the missing value in proportion,
    the rest in the order. No way costs more than 1, and the cheapest may cost less; so nothing passes that
    the exact distance would refuse. O(groups m).
    """
    order = np.argsort(numbers, kind="stable")
    order = order[(overall[order] > 0) & ~np.isnan(numbers[order])]
    steps = max(len(order) - 1, 1)
    shares, whole = _shares(counts)[..., order], _shares(overall)[order]
    known, known_overall = shares.sum(axis=-1), whole.sum()
    moved = np.abs(known - known_overall)
    apart = _proper(shares, known[..., None]) - _proper(whole, known_overall)
    within = np.abs(np.cumsum(apart, axis=-1)[..., :-1]).sum(axis=-1) / steps
    return np.asarray(moved + np.minimum(known, known_overall) * within)


def hierarchical_distances(counts: IntArray, overall: IntArray, tree: ValueTree) -> FloatArray:
    """Distance of each group (..., m) from all together, over the m values of a hierarchy of H levels.

    The mean over the levels below the root of the equal distance of their nodes. This is the least cost: it
    equals the sum of level(N) / H * min(surplus, deficit) of the children of each inner node N (Li et al.,
    2007, section 4.3), as a surplus that the children of N do not balance is moved at a level above. O(groups
    nodes).
    """
    counts, overall = counts[..., tree.order], overall[tree.order]
    total = equal_distances(counts, overall)
    for first in tree.first:
        counts, overall = np.add.reduceat(counts, first, axis=-1), np.add.reduceat(overall, first)
        total = total + equal_distances(counts, overall)
    return np.asarray(total / (len(tree.first) + 1))


def distances(
    counts: IntArray, overall: IntArray, numbers: FloatArray | None = None, tree: ValueTree | None = None
) -> FloatArray:
    """Distance of each group (..., m) from all together: of values with an order, a tree, or neither."""
    if tree is not None:
        return hierarchical_distances(counts, overall, tree)
    if numbers is not None:
        return ordered_distances(counts, overall, numbers)
    return equal_distances(counts, overall)


TOLERANCE = 1e-13  # of rounding, less than the gate has


@dataclass(frozen=True)
class Closeness(BesideTheTable):
    """A distance of at most `most` from a table with the counts `overall` (m,).

    `numbers` and `tree` are as in `distances`. Of two groups together it is at most the greater of theirs: a
    way to move both is one way to move them.
    """

    numbers: FloatArray | None
    tree: ValueTree | None = None

    def shortfall(self, counts: IntArray, _size: IntArray) -> FloatArray:
        """Return the distance over the limit, times the values counted, (...,)."""
        distance = distances(counts, self.overall, self.numbers, self.tree)
        return np.asarray(np.maximum(distance - self.most - TOLERANCE, 0.0) * counts.sum(axis=-1))


def _shares(counts: IntArray) -> FloatArray:
    return np.asarray(counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1))


def _proper(shares: FloatArray, total: FloatArray) -> FloatArray:
    """Return shares as those of their total; where that is 0, nothing is moved by them."""
    return np.asarray(shares / np.where(total > 0, total, 1.0))
