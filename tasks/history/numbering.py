"""Distinct numbers and random orders of codes, by tables and by sorting numbers alone."""

from __future__ import annotations

import numpy as np

from tasks.sorting import BITS, stable_order
from tasks.types import IntArray

MANTISSA = 53  # bits of a random number of numpy
LONGER = 8  # the table than the numbers, at most; a longer one costs more than sorting


def number_codes(codes: IntArray, span: int) -> tuple[int, IntArray]:
    """Return how many distinct codes there are, and the place of each code (n,) among them, in order.

    Codes are from 0 to under `span`. O(n + span), or O(n log n) where the span is much longer.
    """
    distinct, place = numbered_codes(codes, span)
    return len(distinct), place


def numbered_codes(codes: IntArray, span: int) -> tuple[IntArray, IntArray]:
    """Return the distinct codes in order, and the place of each (n,) among them; as `number_codes` else."""
    if span > LONGER * len(codes):
        distinct, place = np.unique(codes, return_inverse=True)
        return distinct, place.reshape(-1)
    distinct = distinct_codes(codes, span)
    number = np.empty(span, dtype=np.int32 if span < 1 << 31 else np.int64)
    number[distinct] = np.arange(len(distinct))
    return distinct, number[codes].astype(np.int64)


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


def random_order(codes: IntArray, span: int, rng: np.random.Generator) -> IntArray:
    """Return what sorts codes from 0 to under `span`, (n,); equal ones in an order that is drawn.

    It is that of as many random numbers as there are codes. O(n log n).
    """
    drawn = (rng.random(len(codes)) * 2.0**MANTISSA).astype(np.int64)
    high = min(max(BITS - len(codes).bit_length() - (span - 1).bit_length(), 0), MANTISSA)
    keys = codes << high | drawn >> (MANTISSA - high)
    order = stable_order(keys)
    keys = keys[order]
    same = np.flatnonzero(keys[1:] == keys[:-1])  # few, whose lower bits decide
    if len(same):
        at = np.union1d(same, same + 1)
        order[at] = order[at][np.lexsort((drawn[order[at]], codes[order[at]]))]
    return order
