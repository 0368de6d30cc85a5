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


def read_bytes(path: Path) -> bytes:
    """Return what a regular file holds; raises as `open_plain`."""
    with open_plain(path) as file:
        return file.read()


def not_read(error: Exception) -> str:
    """Return why a file could not be read, in words that hold nothing of it."""
    if isinstance(error, NotRegular):
        return "is no regular file"
    return f"cannot be read ({type(error).__name__})"
