"""Read regular files only: a pipe in place of one would keep its reader waiting, and a device for ever."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


class NotRegular(OSError):
    """Something else than a file stands where a file should: a pipe, a device or a socket."""


class TooLarge(OSError):
    """A file has more bytes than anything of its kind needs."""


@contextmanager
def open_plain(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading, without waiting. Raises OSError, and NotRegular for anything else."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(str(path))
        if not stat.S_ISREG(mode):
            raise NotRegular(str(path))
        with open(handle, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(handle)


def read_bytes(path: Path, at_most: int | None = None) -> bytes:
    """Return what a regular file holds; raises as `open_plain`, and TooLarge over `at_most` bytes."""
    with open_plain(path) as file:
        return read_at_most(file, at_most, path)


def read_at_most(file: BinaryIO, at_most: int | None, path: Path) -> bytes:
    """Return the rest of a file. Raises TooLarge over `at_most` bytes."""
    if at_most is None:
        return file.read()
    data = file.read(at_most + 1)
    if len(data) > at_most:
        raise TooLarge(str(path))
    return data


def not_read(error: Exception) -> str:
    """Return why a file could not be read, in words that hold nothing of it."""
    if isinstance(error, NotRegular):
        return "is not a regular file"
    if isinstance(error, TooLarge):
        return "is too large"
    return f"cannot be read ({type(error).__name__})"


def open_path(handle: int) -> Path | None:
    """Return where an open file lies, or None on a system that does not tell."""
    try:
        return Path(f"/proc/self/fd/{handle}").readlink()
    except OSError:
        return None
