"""Which files of some folders were opened, made, written or removed, by whatever code of this process.

Python's audit hook tells what Python does; what a library does in C++ it does not see, so the kernel tells of
that (inotify, Linux).
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from tasks.intake import table_process

_LIBC = ctypes.CDLL(None, use_errno=True)
_EVENT = struct.Struct("iIII")
# Of inotify.h.
_OPEN, _MODIFY, _ATTRIB, _MOVED, _CREATE, _DELETE = 0x20, 0x2, 0x4, 0xC0, 0x100, 0x200
_OVERFLOW, _OF_A_FOLDER = 0x4000, 0x40000000
_WRITTEN = _MODIFY | _ATTRIB | _MOVED | _CREATE | _DELETE
# What a table, a policy or a query never makes the process do.
PROJECT = Path(__file__).resolve().parents[3]
SYSTEM = {"/proc/self", "/sys", "/dev/null", "/dev/urandom", "/usr/share/zoneinfo", "/etc/localtime"}
_ACTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.connect")


class Watch:
    """The files below `root` that are touched from now on; `close` ends it."""

    def __init__(self, root: Path) -> None:
        self._handle = _LIBC.inotify_init1(os.O_NONBLOCK)
        assert self._handle >= 0, os.strerror(ctypes.get_errno())
        self._folders: dict[int, Path] = {}
        for folder in [root, *(path for path in root.rglob("*") if path.is_dir() and not path.is_symlink())]:
            number = _LIBC.inotify_add_watch(self._handle, os.fsencode(folder), _OPEN | _WRITTEN)
            assert number >= 0, os.strerror(ctypes.get_errno())
            self._folders[number] = folder

    def close(self) -> tuple[set[Path], set[Path]]:
        """Return the files that were opened, and those that were made, written, moved or removed."""
        opened: set[Path] = set()
        written: set[Path] = set()
        for number, mask, name in self._events():
            assert not mask & _OVERFLOW, "more events than the kernel keeps"
            if number not in self._folders:
                continue
            path = self._folders[number] / name
            if mask & _WRITTEN:
                written.add(path)
            if mask & _OPEN and not mask & _OF_A_FOLDER:
                opened.add(path)
        os.close(self._handle)
        return opened, written

    def _events(self) -> Iterator[tuple[int, int, str]]:
        while True:
            try:
                data = os.read(self._handle, 1 << 16)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                number, mask, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size
                yield number, mask, os.fsdecode(data[at : at + length].rstrip(b"\0"))
                at += length


class Acts:
    """What this process did beyond the files of `root`, by Python's audit hook, which stays with the process.

    Files of Python, of the project and of the system's own settings may be opened, and no others.
    """

    def __init__(self, root: Path) -> None:
        self.found: list[str] = []
        self._root = str(root)
        self._ours = tuple(
            {str(Path(one).resolve()) for one in (sys.prefix, sys.base_prefix, PROJECT)} | SYSTEM
        )
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[object, ...]) -> None:
        if event in _ACTS and not _starts_a_query(event, args):
            self.found.append(f"{event} {args[0]!r:.80}")
        if event == "open" and isinstance(args[0], str | bytes):
            path = os.path.abspath(os.fsdecode(args[0]))  # noqa: PTH100 -- a Path would resolve and open more
            if not path.startswith((self._root, *self._ours)):
                self.found.append(f"opened {path:.200}")

    def taken(self) -> list[str]:
        """Return what was found since the last time."""
        found, self.found = self.found, []
        return found


def _starts_a_query(event: str, args: tuple[object, ...]) -> bool:
    """Tell whether a process starts in which a query runs: isolated Python, with our script alone."""
    words = args[1] if event == "subprocess.Popen" else None
    return isinstance(words, list) and words[:4] == [sys.executable, "-I", "-S", table_process.__file__]
