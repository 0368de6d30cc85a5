"""The seed of what a recoding draws: nobody without the whole input can draw it again."""

from __future__ import annotations

import hashlib

import numpy as np

from tasks.types import PreparedTable


def seed_of(table: PreparedTable, seed: int) -> int:
    """Return a seed made of the policy's and of every value of the table, by SHA-256.

    The policy's seed is published with the release, and noise that it alone decided could be taken off. Equal
    tables and seeds give equal draws. Whoever has all of the input but one record can still try them all.
    """
    digest = hashlib.sha256(str(seed).encode())
    for array in (table.numeric, table.codes, table.sensitive):
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    for values in (*table.domains.values(), *table.sensitive_values.values()):
        digest.update("\0".join(values).encode("utf-8", "surrogatepass") + b"\1")
    return int.from_bytes(digest.digest()[:8], "big")
