"""What is made of an input under the store's key: its commitment, and the key of what a recoding draws.

The plain SHA-256 of a small table tells its sensitive values: whoever knows all else tries the values that
are left until the digest is right.
"""

from __future__ import annotations

import hmac
from pathlib import Path

from release_store.audit.keys import load_key

_PURPOSE = b"releasegate: key of the commitments to inputs\0"
_DRAWS = b"releasegate: key of the draws of a recoding\0"


def commitment_to(root: Path, digest: str) -> str:
    """Return the HMAC-SHA-256 of an input's digest under a key made of the store's signing key, hexadecimal.

    Raises UsageError where the signing key is not at hand.
    """
    key = hmac.digest(load_key(root).private_bytes_raw(), _PURPOSE, "sha256")
    return hmac.digest(key, digest.encode(), "sha256").hex()


def draw_key(root: Path) -> bytes:
    """Return the key under which the seed of a recoding's draws is made, 32 bytes.

    Without it noise could be drawn again for every table that somebody thinks possible. Raises UsageError
    where the signing key is not at hand.
    """
    return hmac.digest(load_key(root).private_bytes_raw(), _DRAWS, "sha256")


def is_made_of(root: Path, recorded: str, digest: str) -> bool:
    """Tell whether `recorded` is of the input of this digest; older stores recorded the digest itself."""
    return hmac.compare_digest(recorded, digest) or hmac.compare_digest(recorded, commitment_to(root, digest))
