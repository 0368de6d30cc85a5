"""Proofs of the Merkle tree of RFC 9162, section 2.1: hashes of nodes, inclusion and consistency."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def leaf_hash(entry: bytes) -> bytes:
    """Return the hash of a leaf."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of the node over two others."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def inclusion_holds(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """Tell whether `path` shows that `leaf` is leaf `index` (from 0) under `root` of `size` leaves."""
    if not 0 <= index < size:
        return False
    here, last, found = index, size - 1, leaf
    for other in path:
        if last == 0:
            return False
        if here % 2 == 1 or here == last:
            found = node_hash(other, found)
            while here % 2 == 0 and here != 0:
                here, last = here >> 1, last >> 1
        else:
            found = node_hash(found, other)
        here, last = here >> 1, last >> 1
    return last == 0 and found == root


def consistency_holds(
    first: int, first_root: bytes, second: int, second_root: bytes, path: Sequence[bytes]
) -> bool:
    """Tell whether `path` shows that the tree of `second` leaves begins with that of `first`."""
    if not 0 < first <= second:
        return False
    if first == second:
        return not path and first_root == second_root
    if first & (first - 1) == 0:
        path = [first_root, *path]
    if not path:
        return False
    here, last = first - 1, second - 1
    while here % 2 == 1:
        here, last = here >> 1, last >> 1
    earlier = later = path[0]
    for other in path[1:]:
        if last == 0:
            return False
        if here % 2 == 1 or here == last:
            earlier, later = node_hash(other, earlier), node_hash(other, later)
            while here % 2 == 0 and here != 0:
                here, last = here >> 1, last >> 1
        else:
            later = node_hash(later, other)
        here, last = here >> 1, last >> 1
    return last == 0 and earlier == first_root and later == second_root
