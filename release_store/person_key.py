"""The key of people's hashes, a file outside the store; and what an identifier becomes under it."""

from __future__ import annotations

import hmac
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from policy.errors import UsageError
from release_store.records import PersonHashes

PERSON_KEY_VARIABLE = "RELEASEGATE_PERSON_KEY_FILE"
LEAST_BYTES = 32
_FINGERPRINT = b"releasegate: fingerprint of a key of people\0"


def person_key(root: Path) -> bytes | None:
    """Return the key that people are hashed with for the store in `root`, or None where none is named.

    The key is the whole file, byte for byte. Raises UsageError if it cannot be read, lies inside the store,
    is open to others or is too short.
    """
    chosen = os.environ.get(PERSON_KEY_VARIABLE)
    if not chosen:
        return None
    path = Path(chosen).resolve()
    if path.is_relative_to(root.resolve()):
        raise UsageError(
            "the key of people lies inside the store, whose hashes it protects",
            where=str(path),
            mend=f"Keep it elsewhere, and name it in {PERSON_KEY_VARIABLE}.",
        )
    try:
        mode = path.stat().st_mode
        key = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"the key of people cannot be read ({type(error).__name__})",
            where=str(path),
            mend=f"Restore it, or unset {PERSON_KEY_VARIABLE} to keep no hashes of people.",
        ) from None
    if stat.S_IMODE(mode) & 0o077:
        raise UsageError(
            "the key of people can be read by others", where=str(path), mend=f"Run `chmod 600 {path}`."
        )
    if len(key) < LEAST_BYTES:
        raise UsageError(
            f"the key of people has {len(key)} bytes, and {LEAST_BYTES} are the least",
            where=str(path),
            mend=f"Make one: `(umask 077 && head -c {LEAST_BYTES} /dev/urandom > FILE)`.",
        )
    return key


def hashed_people(key: bytes, column: str, identifiers: Iterable[str]) -> PersonHashes:
    """Return the HMAC-SHA-256 of each distinct identifier, sorted, so that their order tells nothing.

    The fingerprint is of the key and the column, so that only hashes of one identifier are compared.
    """
    distinct = set(identifiers)
    hashes = sorted(hmac.digest(key, one.encode(), "sha256").hex() for one in distinct)
    fingerprint = hmac.digest(key, _FINGERPRINT + column.encode(), "sha256").hex()
    return PersonHashes(fingerprint, tuple(hashes))
