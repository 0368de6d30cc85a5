"""The stable order of whole numbers, found by sorting numbers instead of places."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tasks.types import IntArray

FEW = 1 << 16  # numbers that are sorted by counting
BITS = 63  # of a number that is not negative
CHUNK = 1_000_000


def stable_order(key: NDArray[np.signedinteger]) -> IntArray:
    """Return the places of `key` (n,) in ascending order of their numbers, equal ones in their own order.

    The same as a stable `argsort`, in less time: few numbers are counted, and of more, each is
    sorted together with its place as one number; where both do not fit into 63 bits, its lower bits first.
    O(n log n).
    """
    n = len(key)
    if not n:
        return np.empty(0, dtype=np.int64)
    least = int(key.min())
    span = int(key.max()) - least + 1
    if span <= FEW:
        return np.argsort(np.subtract(key, least, dtype=np.int64).astype(np.uint16), kind="stable")
    if span > 1 << BITS:
        return np.argsort(key, kind="stable")
    shift = (n - 1).bit_length()
    width = BITS - shift
    both = np.subtract(key, least, dtype=np.int64)
    if span > 1 << width:
        order = stable_order(both & ((1 << width) - 1))
        return order[stable_order(both[order] >> width)]
    both <<= shift
    for start in range(0, n, CHUNK):  # all places at once would be another array
        part = both[start : start + CHUNK]
        part |= np.arange(start, start + len(part))
    both.sort()
    both &= (1 << shift) - 1
    return np.asarray(both)
