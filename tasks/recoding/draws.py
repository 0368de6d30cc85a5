"""The seed of draws of a recoding, the repair and attacks: nobody without the store's key can draw again."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np

from tasks.types import PreparedTable

CHUNK = 1_000_000


def seed_of(table: PreparedTable, seed: int | str) -> int:
    """Return a seed of the policy's (or of what is drawn) and of every value of the table.

    It is the HMAC-SHA-256 under the store's key.

    The policy's seed is published with the release, and noise that it alone decided could be taken off. Equal
    tables, seeds and keys give equal draws. Without a key (an evaluation, which publishes nothing, and a
    release from before there was one) it is the plain SHA-256: whoever has all of the input but one record
    could then try them all.
    """
    key = table.draw_key
    digest = hmac.new(key, digestmod="sha256") if key else hashlib.sha256()
    digest.update(str(seed).encode())
    for array, kind in ((table.numeric, np.float64), (table.codes, np.int32), (table.sensitive, np.int32)):
        digest.update(str(array.shape).encode())
        for start in range(0, len(array), CHUNK):
            digest.update(np.ascontiguousarray(array[start : start + CHUNK], dtype=kind).tobytes())
    for values in (*table.domains.values(), *table.sensitive_values.values()):
        digest.update("\0".join(values).encode("utf-8", "surrogatepass") + b"\1")
    return int.from_bytes(digest.digest()[:8], "big")
