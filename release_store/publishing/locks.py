"""Who holds the locks of a store: the files alone say nothing, since the lock of a dead process is free."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from release_store.own_places import check_lock

_LINE = re.compile(r"\d+: FLOCK +\w+ +\w+ +(\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) ")


@dataclass(frozen=True)
class HeldLock:
    """A lock file that a living process holds, and which, where the system tells."""

    name: str
    process: int | None

    def __str__(self) -> str:
        return f"{self.name} by {lock_name(self.process)}"


def lock_name(process: int | None) -> str:
    """Return what a process is called, known or not."""
    return "another process" if process is None else f"process {process}"


def locks_in_use(root: Path) -> list[HeldLock]:
    """Return the locks of the store in `root` that are held; each of the others is taken for a moment.

    Raises VerificationFailed where something else has the place of one.
    """
    return [
        HeldLock(path.name, holder(path)) for path in sorted((root / "locks").glob("*")) if _is_held(path)
    ]


def _is_held(path: Path) -> bool:
    check_lock(path)
    lock = FileLock(path, timeout=0, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        return True
    except (OSError, NotImplementedError):
        return False  # it cannot be locked by anybody here, as in a copy that is only read
    lock.release()
    return False


def holder(path: Path) -> int | None:
    """Return the process that Linux names as the holder of a lock on this file, if it names one."""
    try:
        wanted = path.stat()
        text = Path("/proc/locks").read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return None
    for process, major, minor, inode in _LINE.findall(text):
        if (int(major, 16), int(minor, 16), int(inode)) == (
            os.major(wanted.st_dev),
            os.minor(wanted.st_dev),
            wanted.st_ino,
        ):
            return int(process)
    return None
