"""Distinct numbers without sorting them, where a table of all that there may be is not much longer."""

from __future__ import annotations

import numpy as np

from tasks.types import IntArray

LONGER = 8  # the table than the numbers, at most; a longer one costs more than sorting


def number_codes(codes: IntArray, span: int) -> tuple[int, IntArray]:
    """Return how many distinct codes there are, and the place of each code (n,) among them, in order.

    Codes are from 0 to under `span`. O(n + span), or O(n log n) where the span is much longer.
    """
    if span > LONGER * len(codes):
        distinct, place = np.unique(codes, return_inverse=True)
        return len(distinct), place.reshape(-1)
    there = np.zeros(span, dtype=bool)
    there[codes] = True
    number = np.cumsum(there)
    return int(number[-1]) if span else 0, number[codes] - 1


def distinct_codes(codes: IntArray, span: int) -> IntArray:
    """Return the distinct codes in order; as `number_codes` else."""
    if span > LONGER * len(codes):
        ordered = np.sort(codes)  # which takes less time than the hashes of `np.unique`
        return np.asarray(ordered[np.diff(ordered, prepend=-1) != 0])
    there = np.zeros(span, dtype=bool)
    there[codes] = True
    return np.flatnonzero(there)
