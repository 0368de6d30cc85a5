"""Limits on the share of each sensitive value: (alpha,k), beta-likeness and delta-disclosure privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from tasks.privacy.condition import BesideTheTable
from tasks.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Alpha:
    """No value of those `listed` (m,) has a share over `most` ((alpha,k)-anonymity, Wong et al., 2006)."""

    most: float
    listed: BoolArray
    compares = False

    def shortfall(self, counts: IntArray, size: IntArray) -> FloatArray:
        """Return the records of the most frequent one that are too many, (...,)."""
        largest = counts[..., self.listed].max(axis=-1, initial=0)
        return np.asarray(np.maximum(largest - (self.most + 1e-13) * size, 0.0))

    def among(self, _counts: IntArray) -> Self:
        """Return the condition itself."""
        return self


def gains(counts: IntArray, overall: IntArray) -> FloatArray:
    """Return the greatest (p - q) / q over the values of each group (..., m), (...,); at least 0.

    p is a value's share in the group, q in the table, `overall` (m,) or as `counts`, where each group has
    columns of its own (Cao and Karras, 2012). A value that the table does not have has a gain without end.
    """
    shares, whole = _both(counts, overall)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(shares > whole, (shares - whole) / whole, 0.0)
    return np.asarray(gain.max(axis=-1, initial=0.0))


@dataclass(frozen=True)
class Likeness(BesideTheTable):
    """No value's share is over 1 + `most` times that in the table (beta-likeness, Cao and Karras, 2012)."""

    def shortfall(self, counts: IntArray, _size: IntArray) -> FloatArray:
        """Return the records of all values that are too many, (...,)."""
        _, whole = _both(counts, self.overall)
        room = (1 + self.most) * whole * counts.sum(axis=-1, keepdims=True)
        return np.asarray(np.maximum(counts - room * (1 + 1e-12), 0.0).sum(axis=-1))


def least_ratios(counts: IntArray, overall: IntArray) -> FloatArray:
    """Return the least of p / q and q / p over the values of the table, (...,), for groups (..., m).

    p and q are as in `gains`; its logarithm is -max |ln(p / q)| (Brickell and Shmatikov, 2008, definition 1).
    It is 0 where a group lacks a value that the table has, or has one that the table lacks.
    """
    shares, whole = _both(counts, overall)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(shares == whole, 1.0, np.minimum(shares / whole, whole / shares))
    return np.asarray(ratio.min(axis=-1, initial=1.0))


@dataclass(frozen=True)
class Disclosure(BesideTheTable):
    """|ln(p / q)| is under `most` for every value (delta-disclosure, Brickell and Shmatikov, 2008)."""

    def shortfall(self, counts: IntArray, _size: IntArray) -> FloatArray:
        """Return the records of all values that are too many or too few, (...,)."""
        shares, whole = _both(counts, self.overall)
        low, high = whole * np.exp(-self.most), whole * np.exp(self.most)
        away = np.maximum(shares - high, 0.0) + np.maximum(low - shares, 0.0)
        short = away.sum(axis=-1) * counts.sum(axis=-1)
        # Equality fails, and what rounding alone would lift over it.
        holds = least_ratios(counts, self.overall) > np.exp(-self.most) * (1 + 1e-12)
        return np.asarray(np.where(holds, 0.0, np.maximum(short, 1e-9)))


def _both(counts: IntArray, overall: IntArray) -> tuple[FloatArray, FloatArray]:
    total = np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    return np.asarray(counts / total), np.asarray(
        overall / np.maximum(overall.sum(axis=-1, keepdims=True), 1)
    )
