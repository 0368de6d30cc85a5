"""The key of people's hashes, a file outside the store; and what an identifier becomes under it."""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from numpy.typing import NDArray

from policy.accepted import real_path
from policy.errors import UsageError
from release_store.canonical_keys import canonical_key, cut_forms, is_shortened
from release_store.guarded_files import is_new_key, read_secret, resolved, write_new_key
from release_store.records import PersonHashes

PERSON_KEY_VARIABLE = "RELEASEGATE_PERSON_KEY_FILE"
LEAST_BYTES = 32
SHORTENED = 2  # what stands for a key of which digits are lost, by XOR with its own hash
CUT = 1  # what parts the forms of keys that a spreadsheet cut from those of whole ones
_FINGERPRINT = b"releasegate: fingerprint of a key of people\0"


def person_key_path(root: Path) -> Path:
    """Return where the key of people of the store in `root` is: as named, or beside the store.

    Raises UsageError inside the store.
    """
    chosen = os.environ.get(PERSON_KEY_VARIABLE)
    store = resolved(root)
    path = resolved(Path(chosen)) if chosen else store.with_name(store.name + ".people.key")
    if real_path(path).is_relative_to(store):
        raise UsageError(
            "the key of people is inside the store, whose hashes it protects",
            where=str(path),
            hint=f"Keep it elsewhere, and set {PERSON_KEY_VARIABLE} to its path.",
        )
    return path


def make_person_key(root: Path, undo: ExitStack | None = None) -> None:
    """Make the key of people of a new store (mode 0600), which `undo` removes, or take the one that is named.

    Raises UsageError where one that is named is of no use, as `person_key` does.
    """
    path = person_key_path(root)
    if is_new_key(path, PERSON_KEY_VARIABLE):
        write_new_key(path, secrets.token_bytes(LEAST_BYTES), undo)
    person_key(root)


def person_key(root: Path) -> bytes | None:
    """Return the key that people are hashed with for the store in `root`, or None where there is none.

    The key is the whole file, byte for byte. Raises UsageError if one that is named cannot be read, or if it
    lies inside the store, is open to others or is too short.
    """
    path = person_key_path(root)
    if not os.environ.get(PERSON_KEY_VARIABLE) and not os.path.lexists(path):
        return None
    key = read_secret(
        path, "the key of people", hint=f"Restore it, or name another place in {PERSON_KEY_VARIABLE}."
    )
    if len(key) < LEAST_BYTES:
        raise UsageError(
            f"the key of people has {len(key)} bytes; it needs at least {LEAST_BYTES}",
            where=str(path),
            hint=f"Make one: `(umask 077 && head -c {LEAST_BYTES} /dev/urandom > FILE)`.",
        )
    return key


def hashed_people(key: bytes, column: str, rows: Iterable[tuple[str, int]]) -> PersonHashes:
    """Return the HMAC-SHA-256 of each identifier with its class, sorted, so that their order tells nothing.

    `rows` are pairs of an identifier and the number of its class; equal ones count once. The fingerprint is
    of the key and the column, so that only hashes of one identifier are compared.
    """
    pairs = list(rows)
    classes = np.fromiter((number for _, number in pairs), dtype=np.int64, count=len(pairs))
    return hashed_rows(key, column, [identifier for identifier, _ in pairs], classes)[0]


def hashed_rows(
    key: bytes, column: str, identifiers: Sequence[str], classes: NDArray[np.int64]
) -> tuple[PersonHashes, NDArray[np.int64]]:
    """Return the people of rows as `hashed_people` does, and for each of them the first row that is theirs.

    `classes` (n,) are those of the identifiers. O(n) hashes, and one sort.
    """
    keyed = _keyed(key)
    joined = b"".join([_person_hash(keyed, identifier) for identifier in identifiers])
    words = np.frombuffer(joined, dtype=">u8").reshape(-1, 4).astype(np.uint64)
    order = np.lexsort((classes, *words.T[::-1]))
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(classes[order]) != 0) | (words[order[1:]] != words[order[:-1]]).any(axis=1)
    rows = order[first]
    text = words[rows].astype(">u8").tobytes().hex()
    hashes = tuple(text[start : start + 64] for start in range(0, len(text), 64))
    people = PersonHashes(fingerprint_of(key, column), hashes, tuple(classes[rows].tolist()))
    canonical = _other_forms(keyed, [identifiers[row] for row in rows.tolist()], hashes)
    return replace(people, canonical=canonical if any(canonical) else ()), rows


def _other_forms(keyed: HMAC, keys: Sequence[str], hashes: Sequence[str]) -> tuple[str | None, ...]:
    """Return the hash of each key's canonical form; None for a key that has this form itself.

    Of a long number it is the hash of what a program that cuts it leaves, by XOR with the key's own and,
    where it was cut, with `CUT`: so a whole key and a cut one can be told to be alike, two whole ones cannot.
    """
    forms = [canonical_key(key) for key in keys]
    found: list[str | None] = []
    for key, own, form, left in zip(keys, hashes, forms, cut_forms(forms), strict=True):
        if left is None and is_shortened(key):
            found.append(f"{int(own, 16) ^ SHORTENED:064x}")
        elif left is not None and (left[1] or form == key):
            rest, cut = left
            mixed = int(own, 16) ^ int(_person_hash(keyed, rest).hex(), 16) ^ (CUT if cut else 0)
            found.append(f"{mixed:064x}")
        else:
            found.append(None if form == key else _person_hash(keyed, form).hex())
    return tuple(found)


def fingerprint_of(key: bytes, column: str) -> str:
    """Return what tells hashes of this key and column from others, and nothing else."""
    return hmac.digest(key, _FINGERPRINT + column.encode(), "sha256").hex()


def person_hash(key: bytes, identifier: str) -> str:
    """Return the HMAC-SHA-256 of an identifier in hexadecimal."""
    return _person_hash(_keyed(key), identifier).hex()


@lru_cache(maxsize=1)
def _keyed(key: bytes) -> HMAC:
    return HMAC(key, SHA256())  # a copy of it costs a third of what a new one does


def _person_hash(keyed: HMAC, identifier: str) -> bytes:
    one = keyed.copy()
    one.update(identifier.encode())
    return one.finalize()
