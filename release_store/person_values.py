"""The published sensitive values of a candidate's people, sealed under the key of people.

Exact reasoning over a history starts from one world that fits it: which value everybody had, and with whose
it may be interchanged (their signature and position, `tasks/history/signatures.py`). The store keeps both
sealed, and the key is outside of it. Whoever has both can read the value of everybody whose identifier they
know or can guess (docs/store.md).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import zlib
from dataclasses import dataclass

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

from release_store.records import PersonHashes

_USE = b"releasegate: values of people\0"
_NONCE = 12
_AT_ONCE = 1 << 16  # hashes
MOST_BYTES = 1 << 31


class NotOpened(ValueError):
    """The values were sealed under another key or for other people, or were altered."""


@dataclass(frozen=True)
class PersonValues:
    """What the rows of a candidate say of s sensitive attributes and kept columns.

    `texts[attribute]` are its values; `codes` (n, s) index into them, one row for each of a candidate's n
    hashes in their order, and `seats` (n, 2) are their signatures and positions, or -1; `strangers`
    (m, 3 + s) holds the class, the seat and the codes of every row of nobody known. `kept` names the kept
    columns among the attributes; None where none were sealed, as by releasegate before 2026-11-26.
    """

    texts: dict[str, tuple[str, ...]]
    codes: NDArray[np.int32]
    seats: NDArray[np.int32]
    strangers: NDArray[np.int32]
    kept: tuple[str, ...] | None = ()


def sealed_values(key: bytes, people: PersonHashes, values: PersonValues) -> bytes:
    """Return the values under AES-256-GCM, bound to the people that they are of.

    The nonce follows from what is sealed: equal values of equal people give equal bytes, and nothing else.
    """
    header = json.dumps(
        {
            "texts": {name: list(texts) for name, texts in values.texts.items()},
            "people": len(values.codes),
            "strangers": len(values.strangers),
            **({} if values.kept is None else {"kept": list(values.kept)}),
        },
        ensure_ascii=False,
    ).encode()
    parts = (values.codes, values.seats, values.strangers)
    arrays = b"".join(part.astype("<i4").tobytes() for part in parts)
    plain = zlib.compress(len(header).to_bytes(8, "big") + header + arrays, 6)
    bound = _bound_to(people)
    nonce = hmac.digest(key, _USE + b"nonce\0" + bound + plain, "sha256")[:_NONCE]
    return nonce + AESGCM(_key(key)).encrypt(nonce, plain, bound)


def open_values(key: bytes, people: PersonHashes) -> PersonValues:
    """Return the values of `people`, who must have some. Raises NotOpened."""
    sealed = people.values or b""
    try:
        plain = AESGCM(_key(key)).decrypt(sealed[:_NONCE], sealed[_NONCE:], _bound_to(people))
        unpack = zlib.decompressobj()
        data = unpack.decompress(plain, MOST_BYTES)
        end = 8 + int.from_bytes(data[:8], "big")
        header = json.loads(data[8:end])
        texts = {str(name): tuple(map(str, each)) for name, each in header["texts"].items()}
        n, width = int(header["people"]), len(texts)
        codes = np.frombuffer(data, "<i4", n * width, end).reshape(n, width)
        end += codes.nbytes
        seats = np.frombuffer(data, "<i4", n * 2, end).reshape(n, 2)
        rest = np.frombuffer(data, "<i4", offset=end + seats.nbytes)
        strangers = rest.reshape(int(header["strangers"]), 3 + width)
        kept = tuple(map(str, header["kept"])) if "kept" in header else None
    except (InvalidTag, ValueError, KeyError, TypeError, zlib.error) as error:
        raise NotOpened(type(error).__name__) from None
    if n != len(people.hashes):
        raise NotOpened("other people")
    return PersonValues(texts, codes, seats, strangers, kept)


def _key(key: bytes) -> bytes:
    return hmac.digest(key, _USE, "sha256")


def _bound_to(people: PersonHashes) -> bytes:
    digest = hashlib.sha256(people.fingerprint.encode())
    classes = people.classes or ()
    for start in range(0, max(len(people.hashes), len(classes)), _AT_ONCE):
        piece = slice(start, start + _AT_ONCE)
        pairs = zip(people.hashes[piece], classes[piece], strict=True)
        digest.update("".join(f"\n{one} {number}" for one, number in pairs).encode())
    return digest.digest()
