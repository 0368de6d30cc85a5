"""t-closeness (Li et al., 2007): how far a group's sensitive values are from those of the whole table.

The distance is the earth mover's. Between two categories it is 1 (equal distance); between the i-th and the
j-th of m numbers that stand in the table |i - j| / (m - 1) (ordered distance). A missing number has no place
in the order: it is one value, 1 from every number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

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


TOLERANCE = 1e-13  # of rounding, less than the gate has


@dataclass(frozen=True)
class Closeness:
    """A distance of at most `most` from a table with the counts `overall` (m,).

    Of two groups together it is at most the greater of theirs: a way to move both is one way to move them.
    """

    most: float
    overall: IntArray
    numbers: FloatArray | None
    compares = True

    def shortfall(self, counts: IntArray, _size: IntArray) -> FloatArray:
        """Return the distance over the limit, times the values counted, (...,)."""
        if self.numbers is None:
            distance = equal_distances(counts, self.overall)
        else:
            distance = ordered_distances(counts, self.overall, self.numbers)
        return np.asarray(np.maximum(distance - self.most - TOLERANCE, 0.0) * counts.sum(axis=-1))

    def among(self, counts: IntArray) -> Self:
        """Return the condition beside a table with these counts (m,)."""
        return replace(self, overall=counts)


def _shares(counts: IntArray) -> FloatArray:
    return np.asarray(counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1))


def _proper(shares: FloatArray, total: FloatArray) -> FloatArray:
    """Return shares as those of their total; where that is 0, nothing is moved by them."""
    return np.asarray(shares / np.where(total > 0, total, 1.0))
