"""Distinct numbers and orders of codes, by tables and by sorting numbers alone."""

from __future__ import annotations

import numpy as np

from tasks.types import IntArray

BITS = 63  # of a number that is not negative
MANTISSA = 53  # bits of a random number of numpy
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


def number_rows(codes: IntArray, span: int) -> tuple[IntArray, IntArray]:
    """Return the place of each row of codes (n, r) among the distinct rows, in order, and a row of each.

    Codes are from 0 to under `span`, as for `number_codes`, of which each column takes one.
    """
    n, number = min(len(codes), 1), np.zeros(len(codes), dtype=np.int64)
    for column in codes.T:
        n, number = number_codes(number * span + column, n * span)
    return number, distinct_of(np.arange(len(codes)), number, n)


def distinct_of(codes: IntArray, place: IntArray, n: int) -> IntArray:
    """Return the code that has each of `n` places, by the place of each, as `number_codes` returns both."""
    distinct = np.empty(n, dtype=np.int64)
    distinct[place] = codes
    return distinct


def distinct_codes(codes: IntArray, span: int) -> IntArray:
    """Return the distinct codes in order; as `number_codes` else."""
    if span > LONGER * len(codes):
        ordered = np.sort(codes)  # which takes less time than the hashes of `np.unique`
        return np.asarray(ordered[np.diff(ordered, prepend=-1) != 0])
    there = np.zeros(span, dtype=bool)
    there[codes] = True
    return np.flatnonzero(there)


def stable_order(codes: IntArray, span: int) -> IntArray:
    """Return what sorts codes from 0 to under `span`, (n,); equal ones stay in their order. O(n log n).

    Codes and their places are sorted as one number, in a tenth of the time of a stable `np.argsort`.
    """
    shift = len(codes).bit_length()
    width = BITS - shift
    if span > 1 << width:  # not one number of so many bits: the lower ones first
        order = stable_order(codes & ((1 << width) - 1), 1 << width)
        return order[stable_order(codes[order] >> width, ((span - 1) >> width) + 1)]
    both = codes << shift
    both |= np.arange(len(codes))
    both.sort()
    both &= (1 << shift) - 1
    return both


def random_order(codes: IntArray, span: int, rng: np.random.Generator) -> IntArray:
    """Return what sorts codes from 0 to under `span`, (n,); equal ones in an order that is drawn.

    It is that of as many random numbers as there are codes. O(n log n).
    """
    drawn = (rng.random(len(codes)) * 2.0**MANTISSA).astype(np.int64)
    low = min(BITS - len(codes).bit_length(), MANTISSA)
    high = MANTISSA - low
    order = stable_order(drawn & ((1 << low) - 1), 1 << low)
    return order[stable_order(((codes << high) | (drawn >> low))[order], span << high)]
