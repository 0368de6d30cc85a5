"""Write a page as a file that its owner alone can read, and write over nothing but a page."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from policy.errors import UsageError
from release_store.guarded_files import resolved

_MARK = b'<meta name="generator" content="releasegate report">'
_HEAD = 4096  # bytes in which the mark stands


def write_page(data: bytes, path: Path, option: str, store: Path | None = None) -> None:
    """Put the page in its place whole. `option` is the one that named the place.

    Raises UsageError where something else is there, where it is in the folder `store`, and where it cannot be
    written.
    """
    hint = f"Choose another file with {option}."
    try:
        if store is not None and resolved(path).is_relative_to(store.resolve()):
            raise UsageError("is inside the store", where=str(path), hint=hint)
        if path.is_symlink() or (path.exists() and not (path.is_file() and _is_page(path))):
            raise UsageError("exists already, and is no report", where=str(path), hint=hint)
        _put(data, path)
    except OSError as error:
        raise UsageError(f"cannot be written ({type(error).__name__})", where=str(path), hint=hint) from None


def _put(data: bytes, path: Path) -> None:
    handle, beside = tempfile.mkstemp(prefix=".releasegate-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _is_page(path: Path) -> bool:
    with path.open("rb") as file:
        return _MARK in file.read(_HEAD)
