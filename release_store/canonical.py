"""One way to write JSON as bytes (RFC 8785), and the digests that everything else is bound by."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from enum import Enum
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from policy.errors import StoreError
from policy.plain_file import open_plain
from release_store.protocol.strict_json import canonical

_CHUNK = 1 << 20
_JSON = (str, int, float, list, tuple, dict, type(None))


def canonical_json(value: Any) -> bytes:
    """Return `value` as canonical JSON (RFC 8785).

    NumPy numbers, enums and datetimes are written as plain JSON; numbers that JSON does not have
    become the texts NaN, Infinity and -Infinity. Raises StoreError for what JSON cannot hold.
    """
    try:
        return canonical(plain(value))
    except ValueError as error:
        raise StoreError(f"cannot be written as canonical JSON ({type(error).__name__})") from None


def pretty_json(value: Any) -> bytes:
    """Return `value` as indented JSON with sorted keys: the same bytes for the same value."""
    return (indented_json(plain(value), sort_keys=True, allow_nan=False) + "\n").encode()


def indented_json(
    value: Any,
    *,
    sort_keys: bool = False,
    allow_nan: bool = True,
    default: Callable[[Any], Any] | None = None,
) -> str:
    """Return what `json.dumps(value, indent=2, ensure_ascii=False, ...)` does, in a third of the time."""
    scalar = json.JSONEncoder(ensure_ascii=False, allow_nan=allow_nan, default=default).encode

    def serialize(value: Any, line: str) -> str:
        kind = type(value)
        if kind is str:
            return encode_basestring(value)
        inner = line + "  "
        if kind is dict and value:
            if not all(isinstance(name, str) for name in value):
                value = json.loads(scalar(value))
            items = sorted(value.items()) if sort_keys else value.items()
            lines = [f"{encode_basestring(name)}: {serialize(item, inner)}" for name, item in items]
            return f"{{{inner}{f',{inner}'.join(lines)}{line}}}"
        if (kind is list or kind is tuple) and value:
            return f"[{inner}{f',{inner}'.join([serialize(item, inner) for item in value])}{line}]"
        if default is not None and not isinstance(value, _JSON):
            return serialize(default(value), line)
        return scalar(value)

    return serialize(value, "\n")


def plain(value: Any) -> Any:  # noqa: PLR0911 -- one line a kind of value
    """Return `value` made of dict, list, str, int, float, bool and None only."""
    kind = type(value)  # the kinds of JSON itself first: there may be millions of them
    if value is None or kind is str or kind is bool or kind is int:
        return value
    if kind is dict:
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, str | int):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else _not_finite(value)
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    raise StoreError(f"cannot be written as JSON: a value of type {type(value).__name__}")


def iso(moment: datetime) -> str:
    """Return an aware `moment` as UTC, ISO 8601, microseconds. Raises StoreError if it has no zone."""
    if moment.tzinfo is None:
        raise StoreError("a time without a time zone cannot be kept")
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def utc_now() -> datetime:
    """Return the present time in UTC."""
    return datetime.now(UTC)


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of `data` in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def digest_of(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of `value`."""
    return sha256_hex(canonical_json(value))


def file_digest(path: Path) -> str:
    """Return the SHA-256 of the regular file in `path`, read piece by piece; raises as `open_plain`."""
    with open_plain(path) as file:
        return stream_digest(file)


def stream_digest(file: BinaryIO) -> str:
    """Return the SHA-256 of what is left to read in `file`, read piece by piece."""
    digest = hashlib.sha256()
    while piece := file.read(_CHUNK):
        digest.update(piece)
    return digest.hexdigest()


def tree_digest(files: Mapping[str, str]) -> str:
    """Return the digest of a set of files from `{name: SHA-256}`, whatever their order."""
    return digest_of(dict(files))


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
