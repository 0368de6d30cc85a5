"""A grid of decimal numbers, without the errors of binary ones: 0.3 is the third point of a grid of 0.1.

A number of a policy or a table means its shortest decimal, as it is written. Its double lies beside it, so
that quotients of doubles put numbers on the grid into the step before, and sums of them have other digits.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tasks.types import FloatArray


def points_of(steps: FloatArray, low: float, step: float) -> FloatArray:
    """Return where steps (any shape) of a grid from `low` begin, each the double nearest to the decimal.

    NaN stays NaN. O(n log n) time, and an exact sum for each different step.
    """
    different, place = np.unique(steps, return_inverse=True)
    start, width = Fraction(repr(float(low))), Fraction(repr(float(step)))
    points = [float(start + width * int(one)) if math.isfinite(one) else one for one in different]
    return np.array(points, dtype=np.float64)[place].reshape(np.shape(steps))


def steps_of(values: FloatArray, low: float, step: float) -> FloatArray:
    """Return the number of the step in which each of `values` (any shape) lies; step 0 begins at `low`.

    NaN stays NaN. Costs as `points_of`; where all numbers are whole, O(n).
    """
    found = np.floor((values - low) / step)
    whole = np.array_equal(values, np.rint(values), equal_nan=True)
    if not (whole and float(low).is_integer() and float(step).is_integer()):
        found += points_of(found + 1, low, step) <= values
        found -= points_of(found, low, step) > values
    return found
