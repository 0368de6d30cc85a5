"""A process of its own for what parses bytes that somebody else wrote, ended where it needs more than it may.

It has no secret, no environment and no open file but those that it is given (`table_process.py`). What is
asked and answered travels as JSON; nothing that comes back is code.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from policy.errors import TransientFailure
from releasegate.own_packages import OURS
from tasks.intake import table_process
from tasks.intake.table_process import LENGTH, packed

START_SECONDS = 120.0  # of a busy machine
STATEMENT_SECONDS = 3600.0
PATIENCE_SECONDS = 5.0  # with a process that says no more: until its end tells why
LARGEST_ANSWER = 1 << 30  # bytes
# DuckDB, its files to spill, and what reads a workbook.
_PACKAGES = ("duckdb", "fsspec", "cryptography", "openpyxl", "et_xmlfile", "numpy")
_ENVIRONMENT = ("LD_LIBRARY_PATH",)  # what an interpreter needs to find its own libraries


class Ended(Exception):
    """The process ended: by the signal that the text names, nearly always for want of memory."""


class TookTooLong(Ended):
    """The process was ended where its time was over."""


class ChildProcess:
    """The process, with the open `files` (descriptors) alone, which ends with this object."""

    def __init__(self, files: Collection[int], begun: Mapping[str, object]) -> None:
        """Start it, and tell it what it is for.

        Raises TransientFailure where the system lets no process start.
        """
        self._too_late = False
        self._process: subprocess.Popen[bytes] | None = None
        problem = ""
        try:
            self._process = _started([*files])
            self.ask(begun, START_SECONDS)
        except OSError as error:
            problem = type(error).__name__
        except Ended as error:
            problem = str(error)
        except BaseException:
            self.end()
            raise
        if problem:
            self.end()
            raise TransientFailure(
                f"the process that reads a table does not start ({problem})",
                hint="Free memory, and run it again.",
            )

    @property
    def is_running(self) -> bool:
        """Tell whether it can still be asked."""
        return self._process is not None and self._process.returncode is None

    def ask(self, message: Mapping[str, object], seconds: float) -> dict[str, Any]:
        """Return the answer to a message. Raises Ended where it does not come in so many seconds."""
        ends = time.monotonic() + seconds
        self._send(packed(message))
        length = int.from_bytes(self._read(LENGTH, ends), "big")
        if length > LARGEST_ANSWER:
            raise self._ended()
        try:
            found = json.loads(self._read(length, ends), object_hook=_with_date)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise self._ended()
        return found

    def _send(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left and self._process is not None and self._process.stdin is not None:
                left = left[os.write(self._process.stdin.fileno(), left) :]
        except (OSError, ValueError):  # ValueError: it was closed
            raise self._ended() from None

    def _read(self, n_bytes: int, ends: float) -> bytes:
        """Read so many bytes of the answer."""
        found = bytearray()
        if self._process is None or self._process.stdout is None or self._process.stdout.closed:
            raise self._ended()
        answers = self._process.stdout.fileno()
        ready = select.poll()
        ready.register(answers, select.POLLIN)
        while len(found) < n_bytes:
            left = ends - time.monotonic()
            if left <= 0 or not ready.poll(1000 * left):
                self._too_late = True
                raise self._ended()
            part = os.read(answers, min(n_bytes - len(found), 1 << 20))
            if not part:
                raise self._ended()
            found += part
        return bytes(found)

    def _ended(self) -> Ended:
        """End the process, and return what to raise."""
        status = self.end(0.0 if self._too_late else PATIENCE_SECONDS)
        if self._too_late or status == -signal.SIGXCPU:
            self._too_late = True
            return TookTooLong("too late")
        return Ended(signal.Signals(-status).name if status < 0 else f"exit code {status}")

    def end(self, patience: float = 0.0) -> int:
        """End the process and those that it started, by itself or after so many seconds of `patience`."""
        process = self._process
        if process is None:
            return 0
        if process.returncode is None:
            # Its number is its own, and that of its group, until `wait` has returned.
            if patience:
                with suppress(OSError):
                    _await_end(process.pid, patience)
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        return process.returncode


def copied(handle: int, name: str) -> int:
    """Return a new file in memory with the bytes of another, which nobody else can change meanwhile."""
    own = os.memfd_create(name, os.MFD_CLOEXEC)
    size = os.fstat(handle).st_size
    place = 0
    try:
        while place < size and (n_bytes := os.sendfile(own, handle, place, size - place)):
            place += n_bytes
    except BaseException:
        os.close(own)
        raise
    return own


def _await_end(process: int, seconds: float) -> None:
    """Wait until a process ends, or so long; it stays one that waits to be asked how it ended."""
    handle = os.pidfd_open(process)
    try:
        over = select.poll()
        over.register(handle, select.POLLIN)
        over.poll(1000 * seconds)
    finally:
        os.close(handle)


def _started(files: list[int]) -> subprocess.Popen[bytes]:
    """Start the process with these descriptors, and no other; it is in a session and a group of its own."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", table_process.__file__, str(os.getpid()), *_places()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        pass_fds=files,
        cwd="/",
        env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        start_new_session=True,
    )


def _places() -> list[str]:
    """Return where its modules come from: our own, and the packages that it needs."""
    found = [str(OURS)]
    for name in _PACKAGES:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            found.append(str(Path(spec.origin).resolve().parents[1]))
    return list(dict.fromkeys(found))


def _with_date(found: dict[str, Any]) -> Any:
    return date.fromisoformat(found["date"]) if [*found] == ["date"] else found
