"""The process that reads a table or runs a query: what to do as JSON on standard input, and no secret.

It is started by `child_process.py` as a script of its own, with a few places of modules and none of the
environment, and imports what it needs alone, which makes it quick. It ends with the process that started it.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import duckdb

LENGTH = 8  # bytes before each message, which tell how long it is
MARGIN = 512 << 20  # bytes beside what the process has at its start and what DuckDB may take
MARGIN_OF_THREAD = 128 << 20  # for its stack, and the room that the allocator keeps for it
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38  # of Linux, prctl.h


def receive(file: BinaryIO) -> dict[str, Any] | None:
    """Return the next message, or None at the end."""
    head = file.read(LENGTH)
    if len(head) < LENGTH:
        return None
    found: dict[str, Any] = json.loads(file.read(int.from_bytes(head, "big")))
    return found


def packed(message: Mapping[str, Any]) -> bytes:
    """Return a message as bytes: JSON, in which a date is an object of its own."""
    data = json.dumps(message, default=_plain).encode()
    return len(data).to_bytes(LENGTH, "big") + data


def _plain(value: object) -> dict[str, str]:
    if type(value) is date:
        return {"date": value.isoformat()}
    raise TypeError


def main(parent: int, places: list[str]) -> None:
    """Carry out what comes, one after the other."""
    sys.path += places
    _end_with(parent)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    begun = receive(requests)
    if begun is None:
        return
    work: _Copier | _Database = _Database(begun) if "memory" in begun else _Copier(begun)
    answers.write(packed({"ready": True}))
    answers.flush()
    while (asked := receive(requests)) is not None:
        answers.write(work.answer(asked))
        answers.flush()


def _end_with(parent: int) -> None:
    """Leave no core file, gain no rights, and end when the process that started this one ends."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


class _Copier:
    """Writes the rows of a workbook's sheet or of a database's table as text."""

    def __init__(self, begun: dict[str, Any]) -> None:
        _limit(resource.RLIMIT_AS, _size() + int(begun["room"]) + MARGIN)
        _limit(resource.RLIMIT_FSIZE, int(begun["rows_room"]))

    def answer(self, asked: dict[str, Any]) -> bytes:
        """Return what is wrong with the file, or nothing, as bytes."""
        from policy.errors import ReleaseGateError

        try:
            return packed({"rows": self._copy(**asked)})
        except ReleaseGateError as error:
            return packed({"refused": [type(error).__name__, error.message, error.where, error.hint]})
        except Exception as error:
            too_long = isinstance(error, OSError) and error.errno == errno.EFBIG
            return packed({"error": "EFBIG" if too_long else type(error).__name__})

    def _copy(self, kind: str, table: list[Any], part: list[Any], unread: list[str], rows: str) -> int:
        from pathlib import Path

        from tasks.intake.excel import excel_rows
        from tasks.intake.rows import write_rows
        from tasks.intake.sealed_file import SealedFile
        from tasks.intake.sqlite_file import sqlite_rows

        opened = {"excel": excel_rows, "sqlite": sqlite_rows}[kind]
        shown, path, size = table
        with (
            opened(SealedFile(shown, Path(path), "", size), *part) as found,
            Path(rows).open("wb", buffering=1 << 20) as file,
        ):
            return write_rows(file, found, set(unread), shown)


class _Database:
    """A database in memory, whose process has so much room beside what it needs to start."""

    def __init__(self, begun: dict[str, Any]) -> None:
        from pathlib import Path

        from policy.trusted import Memory
        from tasks.intake.database import own_database
        from tasks.memory import room_of

        limit, spill, spill_limit = begun["memory"]
        memory = Memory(limit, None if spill is None else Path(spill), spill_limit)
        self._connection = own_database(memory)
        self._connection.execute(f"SET allowed_paths = ['{begun['rows']}']")  # to write its rows into
        self._room = room_of(self._connection)
        (threads,) = self._one("SELECT current_setting('threads')::INTEGER")
        self._threads = int(threads)
        _limit(resource.RLIMIT_AS, _size() + int(begun["room"]) + MARGIN + self._threads * MARGIN_OF_THREAD)
        if spill is None:  # its rows go into memory, and nothing else is written
            _limit(resource.RLIMIT_FSIZE, int(begun["rows_room"]))
        self._cpu = resource.getrlimit(resource.RLIMIT_CPU)

    def _one(self, query: str) -> Any:
        return self._connection.execute(query).fetchall()[0]

    def answer(self, asked: dict[str, Any]) -> bytes:
        """Return the answer to a message, or what is wrong with it, as bytes."""
        import duckdb

        work: dict[str, Callable[..., dict[str, Any]]] = {
            "execute": self._execute,
            "columns": self._columns,
            "statements": self._statements,
            "seconds": self._seconds,
        }
        try:
            return packed(work[asked.pop("do")](**asked))
        except duckdb.Error as error:
            found = {"error": type(error).__name__, "text": str(error)}
        except MemoryError:
            found = {"error": "OutOfMemoryException", "text": ""}
        except Exception as error:  # what this process cannot say is an error of the query there
            found = {"error": type(error).__name__, "text": ""}
        if self._room is not None and self._room.failure:
            failure, self._room.failure = self._room.failure, ""
            return packed({**found, "refused": failure, "limit": self._room.limit})
        return packed(found)

    def _execute(self, query: str, parameters: list[Any] | None) -> dict[str, Any]:
        done = self._connection.execute(query, parameters) if parameters else self._connection.execute(query)
        return {"rows": done.fetchall() if done.description else []}

    def _columns(self, query: str) -> dict[str, Any]:
        relation: duckdb.DuckDBPyRelation = self._connection.sql(query)
        return {"columns": relation.columns, "types": [str(one) for one in relation.types]}

    def _statements(self, query: str) -> dict[str, Any]:
        return {"kinds": [one.type.name for one in self._connection.extract_statements(query)]}

    def _seconds(self, seconds: float | None) -> dict[str, Any]:
        """Let all threads compute for so long from now on, or for ever."""
        most = self._cpu[0]
        if seconds is not None:
            used = resource.getrusage(resource.RUSAGE_SELF)
            most = int(used.ru_utime + used.ru_stime + self._threads * seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, self._cpu[1]))
        return {}


def _size() -> int:
    """Return the bytes of this process's address space."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 -- nothing more is imported
        return int(file.read().split()[0]) * resource.getpagesize()


def _limit(kind: int, most: int) -> None:
    """Set a limit that this process cannot lift, unless a lower one holds already."""
    hard = resource.getrlimit(kind)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
