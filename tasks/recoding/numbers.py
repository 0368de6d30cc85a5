"""Numbers before they are replaced or perturbed, and how far they may go."""

from __future__ import annotations

import numpy as np

from policy.roles import NumericQuasiIdentifier
from tasks.partitioning.medoids import medians
from tasks.types import FloatArray, IntArray


def imputed(values: FloatArray, labels: IntArray, bounds: tuple[float, float]) -> FloatArray:
    """Return numbers (n,) with missing ones replaced by the lower median of their group's known ones.

    Where a group knows none, by the middle of the declared bounds. No label is -1. O(n log n).
    """
    middle = medians(values, labels, int(labels.max(initial=-1)) + 1)
    middle = np.where(np.isnan(middle), (bounds[0] + bounds[1]) / 2, middle)
    return np.where(np.isnan(values), middle[labels], values)


def within_bounds(values: FloatArray, qi: NumericQuasiIdentifier) -> FloatArray:
    """Return numbers clipped to the declared bounds, those of an integer rounded to one inside."""
    least, greatest = qi.bounds
    if qi.type == "integer":
        return np.clip(np.rint(values), np.ceil(least), np.floor(greatest))
    return np.clip(values, least, greatest)


def laplace_noise(scale: FloatArray, draw: np.random.Generator) -> FloatArray:
    """Return one draw from the Laplace distribution around 0 for each scale, (m,)."""
    with np.errstate(over="ignore"):  # a tiny epsilon: the result is clipped to the bounds all the same
        return np.asarray(draw.laplace(0.0, 1.0, len(scale)) * scale)
