"""Where a table lies: the path of a file, one object of an S3 store, or one table of a Postgres server."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from policy.errors import UsageError
from policy.postgres_address import PostgresTable, is_postgres, postgres_table

SCHEME = "s3"
LONGEST_KEY = 1024  # bytes, of S3
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
# No character that has a meaning in an address, a pattern or a chain of file systems.
_PART = re.compile(r"[\w!\-.'()=+,:@&$; ]+")
_HINT = "Write s3://BUCKET/KEY: no query, no pattern, no name or password, and no part that is empty, . or .."


@dataclass(frozen=True)
class ObjectAddress:
    """One object of an S3 store; with an empty key, all objects of the bucket."""

    bucket: str
    key: str

    def __str__(self) -> str:
        return f"{SCHEME}://{self.bucket}/{self.key}"

    @property
    def name(self) -> str:
        """The last part of the key."""
        return self.key.rpartition("/")[2]

    def is_below(self, prefix: ObjectAddress) -> bool:
        """Tell whether this is `prefix` or lies below it, part by part: `s3://b/new` is not below `s3://b/n`."""
        if self.bucket != prefix.bucket:
            return False
        return prefix.key in ("", self.key) or self.key.startswith(f"{prefix.key}/")


Location: TypeAlias = Path | ObjectAddress | PostgresTable


def location_of(written: str, where: str) -> Location:
    """Return the path or the address that `written` is; `where` names the field or the option of it.

    Raises UsageError for an address that is of neither S3 nor Postgres. The message does not repeat it,
    because addresses can hold passwords.
    """
    if "://" not in written:
        return Path(written)
    if is_postgres(written):
        return postgres_table(written, where)
    found = address_of(written, where)
    if not found.key:
        raise UsageError("names a bucket and no object", where=where, hint=_HINT)
    return found


def address_of(written: str, where: str) -> ObjectAddress:
    """Return the address of an object, of a bucket, or of what lies below a key. Raises UsageError."""
    scheme, _, rest = written.partition("://")
    if scheme != SCHEME:
        raise UsageError(
            "is an address that is not of S3",
            where=where,
            hint="Give the path of a file, s3://BUCKET/KEY or postgresql://HOST/DATABASE?table=TABLE.",
        )
    bucket, _, key = rest.partition("/")
    if not _BUCKET.fullmatch(bucket) or ".." in bucket:
        raise UsageError("has no valid name of a bucket after s3://", where=where, hint=_HINT)
    parts = key.split("/") if key else []
    if (
        len(key.encode(errors="replace")) > LONGEST_KEY
        or "::" in key
        or not all(_PART.fullmatch(_without_marks(part)) and part not in (".", "..") for part in parts)
    ):
        raise UsageError("has a key that is not read", where=where, hint=_HINT)
    return ObjectAddress(bucket, key)


def _without_marks(text: str) -> str:
    """Leave out what combines with letters: the accents of decomposed text, the vowel signs of Hindi."""
    return "".join(one for one in text if not unicodedata.category(one).startswith("M"))
