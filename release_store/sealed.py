"""A sealed copy of a file: its bytes are read once, held against their digest, and cannot change any more."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from policy.errors import VerificationFailed
from policy.plain_file import not_read, open_plain

_CHUNK = 1 << 20
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
_HINT = "Run `releasegate verify` for details, then run the period again."


@contextmanager
def sealed_file(path: Path, digest: str | None) -> Iterator[Path]:
    """Copy a file into memory that the system keeps from changing; yield a path to the copy.

    Whatever replaces the file meanwhile is not seen. Raises VerificationFailed unless the bytes that were
    copied have that SHA-256. Costs the file's size in memory.
    """
    handle = os.memfd_create("releasegate", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        found = hashlib.sha256()
        try:
            with open_plain(path) as reader, open(handle, "wb", closefd=False) as writer:
                while piece := reader.read(_CHUNK):
                    found.update(piece)
                    writer.write(piece)
        except OSError as error:
            raise VerificationFailed(not_read(error), where=str(path), hint=_HINT) from None
        if found.hexdigest() != digest:
            raise VerificationFailed("differs from the assessed file", where=str(path), hint=_HINT)
        fcntl.fcntl(handle, fcntl.F_ADD_SEALS, _SEALS)
        yield Path(f"/proc/self/fd/{handle}")
    finally:
        os.close(handle)
