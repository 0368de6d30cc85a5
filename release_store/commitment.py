"""What is recorded of an input: a digest under a key, against which nobody without the key can try tables.

The plain SHA-256 of a small table tells its sensitive values: whoever knows all else tries the values that
are left until the digest is right.
"""

from __future__ import annotations

import hmac
from pathlib import Path

from release_store.keys import load_key

_PURPOSE = b"releasegate: key of the commitments to inputs\0"


def commitment_to(root: Path, digest: str) -> str:
    """Return the HMAC-SHA-256 of an input's digest under a key made of the store's signing key, hexadecimal.

    Raises UsageError where the signing key is not at hand.
    """
    key = hmac.digest(load_key(root).private_bytes_raw(), _PURPOSE, "sha256")
    return hmac.digest(key, digest.encode(), "sha256").hex()


def is_made_of(root: Path, recorded: str, digest: str) -> bool:
    """Tell whether `recorded` is of the input of this digest; older stores recorded the digest itself."""
    return hmac.compare_digest(recorded, digest) or hmac.compare_digest(recorded, commitment_to(root, digest))
