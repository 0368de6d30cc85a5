"""The Merkle tree of RFC 9162, section 2.1, over the audit log: roots, and proofs that fit on a page.

The entry of an event is the 32 bytes of its own hash, which is taken over all its other fields. What checks
proofs is in `release_store/protocol`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from policy.errors import StoreError
from release_store.protocol.ed25519 import is_hash
from release_store.protocol.merkle_proofs import consistency_holds, inclusion_holds, leaf_hash, node_hash

__all__ = ["MerkleTree", "consistency_holds", "inclusion_holds", "leaf_hash", "log_tree", "node_hash"]

_WIDTH = 32


class MerkleTree:
    """All trees over the first 0, 1, ... n of a list of leaf hashes, each of 32 bytes.

    Built in O(n). What is kept are the perfect subtrees only, `2^h` leaves each, one row of bytes a height:
    they are shared by the trees of every size, so each root and proof costs a few look-ups.
    """

    def __init__(self, leaves: Iterable[bytes]) -> None:
        row = b"".join(leaves)
        self.size = len(row) // _WIDTH
        self._rows = [row]
        while len(row) >= 2 * _WIDTH:
            row = b"".join(
                hashlib.sha256(b"\x01" + row[at : at + 2 * _WIDTH]).digest()
                for at in range(0, len(row) - 2 * _WIDTH + 1, 2 * _WIDTH)
            )
            self._rows.append(row)

    def root(self, size: int) -> bytes:
        """Return the hash of the tree over the first `size` leaves. Raises IndexError beyond their number."""
        self._check(holds=0 <= size <= self.size)
        return self._hash(0, size) if size else hashlib.sha256(b"").digest()

    def inclusion_proof(self, index: int, size: int) -> list[bytes]:
        """Return the path from leaf `index` (from 0) to `root(size)`, PATH of RFC 9162, section 2.1.3.1.

        Raises IndexError unless `0 <= index < size <= n`.
        """
        self._check(holds=0 <= index < size <= self.size)
        path: list[bytes] = []
        start, end = 0, size
        while end - start > 1:
            middle = start + _split(end - start)
            if index < middle:
                path.append(self._hash(middle, end))
                end = middle
            else:
                path.append(self._hash(start, middle))
                start = middle
        return path[::-1]

    def consistency_proof(self, first: int, second: int) -> list[bytes]:
        """Return what shows that `root(second)` continues `root(first)`, PROOF of section 2.1.4.1.

        Raises IndexError unless `0 < first <= second <= n`.
        """
        self._check(holds=0 < first <= second <= self.size)
        path: list[bytes] = []
        start, end = 0, second
        while first != end:
            middle = start + _split(end - start)
            if first <= middle:
                path.append(self._hash(middle, end))
                end = middle
            else:
                path.append(self._hash(start, middle))
                start = middle
        # A subtree that starts with the first leaf is the earlier tree itself, whose root is known.
        if start:
            path.append(self._hash(start, end))
        return path[::-1]

    def _hash(self, start: int, end: int) -> bytes:
        width = end - start
        if width & (width - 1) == 0:
            height = width.bit_length() - 1
            at = (start >> height) * _WIDTH
            return self._rows[height][at : at + _WIDTH]
        middle = start + _split(width)
        return node_hash(self._hash(start, middle), self._hash(middle, end))

    def _check(self, *, holds: bool) -> None:
        if not holds:
            raise IndexError(f"there are {self.size} leaves")


def log_tree(hashes: Iterable[str]) -> MerkleTree:
    """Return the tree over events by their hashes in hexadecimal. Raises StoreError where one is no hash."""
    entries = list(hashes)
    if not all(map(is_hash, entries)):
        raise StoreError("an event's hash is not 64 hexadecimal digits in small letters")
    return MerkleTree(leaf_hash(bytes.fromhex(text)) for text in entries)


def _split(width: int) -> int:
    """Return the largest power of two smaller than `width`."""
    return 1 << ((width - 1).bit_length() - 1)
