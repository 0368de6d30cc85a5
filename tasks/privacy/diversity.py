"""l-diversity in its three forms (Machanavajjhala et al., 2007), on counts of sensitive values."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Self

import numpy as np

from tasks.types import FloatArray, IntArray


def entropy(counts: IntArray) -> FloatArray:
    """Return the Shannon entropy (natural logarithm) of counts (..., m), shape (...,)."""
    size = counts.sum(axis=-1)
    inside = (counts * np.log(np.maximum(counts, 1))).sum(axis=-1)
    return np.asarray(np.log(np.maximum(size, 1)) - inside / np.maximum(size, 1))


def tails(counts: IntArray, l_least: int) -> tuple[IntArray, IntArray]:
    """Return r_1 and r_l + ... + r_m of each group, (...,) both, for counts (..., m).

    r_1 >= r_2 >= ... >= r_m are how often its values stand in it. A group of fewer than l values has a tail
    of 0.
    """
    falling = -np.sort(-counts, axis=-1)
    return falling.max(axis=-1, initial=0), falling[..., l_least - 1 :].sum(axis=-1)


class _OfTheGroupAlone:
    """A condition that looks at the group alone."""

    compares = False

    def among(self, _counts: IntArray) -> Self:
        """Return the condition itself."""
        return self


@dataclass(frozen=True)
class Distinct(_OfTheGroupAlone):
    """At least `least` distinct values."""

    least: int

    def shortfall(self, counts: IntArray, _size: IntArray) -> FloatArray:
        """Return the values that are missing, (...,)."""
        return np.asarray(np.maximum(self.least - (counts > 0).sum(axis=-1), 0.0))


@dataclass(frozen=True)
class Entropy(_OfTheGroupAlone):
    """An entropy of at least log `least`."""

    least: float

    def shortfall(self, counts: IntArray, _size: IntArray) -> FloatArray:
        """Return the entropy that is missing (natural logarithm), (...,)."""
        return np.asarray(np.maximum(log(self.least) - 1e-12 - entropy(counts), 0.0))


@dataclass(frozen=True)
class Recursive(_OfTheGroupAlone):
    """r_1 < `c` (r_l + ... + r_m)."""

    c: float
    least: int

    def shortfall(self, counts: IntArray, _size: IntArray) -> FloatArray:
        """Return the records of the most frequent value that are too many, (...,)."""
        first, tail = tails(counts, self.least)
        # Equality fails, and so does what rounding alone would lift over it.
        most = self.c * tail * (1 - 1e-12)
        return np.asarray(np.where(first < most, 0.0, first - most + 1))
