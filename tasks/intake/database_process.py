"""A database in a process of its own, whose memory and time are bounded whatever a query calls.

DuckDB's `memory_limit` counts its buffers alone, and an interruption counts between two of its steps alone:
one call of a function can take any memory and time. Therefore a policy's query runs in a process of its own
(`table_process.py`), which the system ends where it needs more than it may. What is asked travels as JSON.
Rows come back in Parquet, in a file in memory, whose columns are held against those that are expected;
nothing that comes back is code.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from policy.errors import TransientFailure
from policy.trusted import Memory
from releasegate.own_packages import OURS
from tasks.intake import table_process
from tasks.intake.database import own_database
from tasks.intake.lengths import MEMORY_SHARE, memory_bytes
from tasks.intake.table_process import LENGTH, packed
from tasks.memory import expect_refusals, memory_in_use, room_of
from tasks.sql import literal

if TYPE_CHECKING:
    import pandas as pd  # `check` does without it

START_SECONDS = 120.0  # of a busy machine
STATEMENT_SECONDS = 3600.0
PATIENCE_SECONDS = 5.0  # with a process that says no more: until its end tells why
LARGEST_ANSWER = 1 << 30  # bytes
_PACKAGES = ("duckdb", "fsspec", "cryptography")  # the latter for files to spill
# What an interpreter needs to find its own libraries, and DuckDB to know the zone of its times.
_ENVIRONMENT = ("LD_LIBRARY_PATH", "TZ", "TZDIR")


class ProcessEnded(duckdb.OutOfMemoryException):
    """The process ended by the signal that the text names: nearly always for want of memory."""


class Answer:
    """The rows of a statement."""

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows = rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows."""
        return self._rows

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the first row."""
        return self._rows[0] if self._rows else None


class Columns:
    """The columns of a query, which did not run."""

    def __init__(self, columns: list[str], types: list[str]) -> None:
        self.columns, self.types = columns, types


class DatabaseProcess:
    """A database in memory, in a process that ends with this object.

    It opens the sealed `files` (descriptors) under the paths that they have here, and has nothing else that
    is open in this process. Where it ends by itself, the statement raises ProcessEnded; where it took too
    long, duckdb.InterruptException.
    """

    def __init__(self, files: Collection[int] = (), memory: Memory | None = None) -> None:
        """Start it. Raises TransientFailure where the system lets no process start."""
        self.memory = memory or memory_in_use()
        self._ends: float | None = None
        self._too_late = False
        self._rows = os.memfd_create("rows", os.MFD_CLOEXEC)
        self._process: subprocess.Popen[bytes] | None = None
        problem = ""
        try:
            self._process = _started([*files, self._rows])
            self._begin()
        except OSError as error:
            problem = type(error).__name__
        except duckdb.Error as error:
            problem = str(error)
        except BaseException:
            self.close()
            raise
        if problem:
            self.close()
            raise TransientFailure(
                f"the process in which a query runs does not start ({problem})",
                hint="Free memory, and run it again.",
            )
        expect_refusals(self, self.memory)

    def _begin(self) -> None:
        memory = self.memory
        begun = {
            "memory": [memory.limit, None if memory.spill is None else str(memory.spill), memory.spill_limit],
            "room": int(MEMORY_SHARE * memory_bytes()) if memory.limit is None else memory.limit,
            "rows": self._path,
            "rows_room": memory_bytes(),
        }
        self._send(packed(begun))
        self._receive(time.monotonic() + START_SECONDS)

    def __enter__(self) -> DatabaseProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _path(self) -> str:
        return f"/proc/self/fd/{self._rows}"

    def execute(self, query: str, parameters: Sequence[object] | None = None) -> Answer:
        """Run a statement. Raises duckdb.Error, whose text may hold a cell."""
        found = self._ask({"do": "execute", "query": query, "parameters": parameters})
        return Answer([tuple(row) for row in found["rows"]])

    def sql(self, query: str) -> Columns:
        """Return the columns of a query, which does not run."""
        found = self._ask({"do": "columns", "query": query})
        return Columns(found["columns"], found["types"])

    def kinds_of_statements(self, query: str) -> list[str]:
        """Return the kind of each statement of a text, as `duckdb.StatementType` calls it."""
        return [str(one) for one in self._ask({"do": "statements", "query": query})["kinds"]]

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Let all that is asked inside the `with` take so long together; more ends the process."""
        self._ends = time.monotonic() + seconds
        self._ask({"do": "seconds", "seconds": seconds})
        try:
            yield
        finally:
            self._ends = None
        if self._is_running:
            self._ask({"do": "seconds", "seconds": None})

    def chunks(
        self, table: str, selection: str, kinds: Mapping[str, str], at_once: int
    ) -> Iterator[pd.DataFrame]:
        """Give the rows of a table in its order, so many at once, with the columns of a selection.

        `kinds` are DuckDB's types of these. A chunk is copied before it is read, so that nobody changes it
        meanwhile. Raises duckdb.Error, also where it has other columns.
        """
        ((n_rows,),) = self.execute(f"SELECT count(*) FROM {table}").fetchall()
        with own_database(self.memory) as connection:
            for first in range(0, int(n_rows), at_once):
                some = f"FROM {table} WHERE rowid >= {first} AND rowid < {first + at_once}"
                self.execute(
                    f"COPY (SELECT {selection} {some}) TO {literal(self._path)} "
                    "(FORMAT parquet, COMPRESSION uncompressed, USE_TMP_FILE false)"
                )
                yield self._chunk(connection, kinds)

    def _chunk(self, connection: duckdb.DuckDBPyConnection, kinds: Mapping[str, str]) -> pd.DataFrame:
        handle = os.memfd_create("chunk", os.MFD_CLOEXEC)
        try:
            size = os.fstat(self._rows).st_size
            place = 0
            while place < size and (copied := os.sendfile(handle, self._rows, place, size - place)):
                place += copied
            relation = connection.sql(
                f"FROM read_parquet({literal(f'/proc/self/fd/{handle}')}, hive_partitioning = false)"
            )
            if dict(zip(relation.columns, map(str, relation.types), strict=True)) != dict(kinds):
                raise duckdb.InvalidInputException("other columns than were asked for")
            found: pd.DataFrame = relation.df()
            return found
        finally:
            os.close(handle)

    def close(self) -> None:
        """End the process and whatever it started, and give its memory back."""
        self._end()
        if self._rows >= 0:
            os.close(self._rows)
            self._rows = -1

    @property
    def _is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    def _ask(self, message: dict[str, object]) -> dict[str, Any]:
        ends = time.monotonic() + STATEMENT_SECONDS
        self._send(packed(message))
        found = self._receive(ends if self._ends is None else min(ends, self._ends))
        if "error" not in found:
            return found
        room = room_of(self)
        if room is not None and "refused" in found:
            room.failure, room.limit = str(found["refused"]), int(found["limit"])
        kind = getattr(duckdb, str(found["error"]), duckdb.Error)
        is_one = isinstance(kind, type) and issubclass(kind, duckdb.Error)
        raise (kind if is_one else duckdb.Error)(str(found["text"]))

    def _send(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left and self._process is not None and self._process.stdin is not None:
                left = left[os.write(self._process.stdin.fileno(), left) :]
        except (OSError, ValueError):  # ValueError: it was closed
            raise self._ended() from None

    def _receive(self, ends: float) -> dict[str, Any]:
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

    def _read(self, n_bytes: int, ends: float) -> bytes:
        """Read so many bytes of the answer. Raises duckdb.Error where it comes too late, or not at all."""
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

    def _ended(self) -> duckdb.Error:
        """End the process, and return what to raise."""
        status = self._end(0.0 if self._too_late else PATIENCE_SECONDS)
        if self._too_late or status == -signal.SIGXCPU:
            self._too_late = True
            return duckdb.InterruptException("too late")
        return ProcessEnded(signal.Signals(-status).name if status < 0 else f"exit code {status}")

    def _end(self, patience: float = 0.0) -> int:
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
    """Return where its modules come from: our own, and what DuckDB and its files to spill need."""
    found = [str(OURS)]
    for name in _PACKAGES:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            found.append(str(Path(spec.origin).resolve().parents[1]))
    return list(dict.fromkeys(found))


def _with_date(found: dict[str, Any]) -> Any:
    return date.fromisoformat(found["date"]) if [*found] == ["date"] else found
