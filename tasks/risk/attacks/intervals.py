"""95% intervals: of a mean over draws, and of a mean over a group of people."""

from __future__ import annotations

from math import sqrt

import numpy as np

from tasks.types import FloatArray

# Student's t, 97.5%, for 1 to 10 degrees of freedom.
T_975 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


def interval(values: FloatArray) -> tuple[float, float]:
    """Return the mean over draws and half the width of its 95% confidence interval by Student's t.

    Draws that measured nothing (nan) are left out; nan where none is left, and for the width of a single one.
    """
    found = values[~np.isnan(values)]
    n = len(found)
    if n < 2:
        return (float(found[0]) if n else float("nan")), float("nan")
    return float(found.mean()), student_t(n - 1) * float(found.std(ddof=1)) / sqrt(n)


def group_interval(values: FloatArray) -> tuple[float, int]:
    """Return how far the mean over a group may lie from that over all people like it, at 95%, and of how many
    people that goes by.

    `values` (ways, n) are shares from 0 to 1, nan where a person gives none; the mean is that over people,
    then over ways, and counted are the people of the way that has fewest (ways without any are left out).
    People are a sample: one person's values in several ways vary together. Two people more with 0 and two
    with 1 (Agresti and Coull, 1998) keep a group in which all are alike from being certain; how far they
    move the mean is added. (nan, 0) without people.
    """
    known = ~np.isnan(values)
    values, known = values[known.any(axis=1)], known[known.any(axis=1)]
    if not len(values):
        return float("nan"), 0
    fewest = int(known.sum(axis=1).min())
    mean = float(np.nanmean(values, axis=1).mean())
    added = np.tile([0.0, 0.0, 1.0, 1.0], (len(values), 1))
    values, known = np.hstack([values, added]), np.hstack([known, np.ones(added.shape, dtype=bool)])
    n = known.sum(axis=1, keepdims=True)
    centre = np.nansum(values, axis=1, keepdims=True) / n
    pulls = np.where(known, (values - centre) / n, 0.0).mean(axis=0)
    freedom = fewest + len(added[0]) - 1
    deviation = sqrt(float((pulls**2).sum()) * (freedom + 1) / freedom)
    return abs(float(centre.mean()) - mean) + student_t(freedom) * deviation, fewest


def student_t(freedom: int) -> float:
    """Return the 97.5% point of Student's t (beyond 10 degrees of freedom by Fisher's expansion, to 1e-4)."""
    if freedom <= len(T_975):
        return T_975[freedom - 1]
    z = 1.959964
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )
