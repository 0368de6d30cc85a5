"""Read one table or view of a SQLite database: a copy in memory, in which nothing but reading is allowed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from policy.errors import InputError
from policy.location import Location
from tasks.intake.rows import Rows, chosen_part
from tasks.intake.sealed_file import SealedFile
from tasks.sql import identifier

T = TypeVar("T")
_MAGIC = b"SQLite format 3\0"
_VERSIONS = slice(18, 20)  # of the header: 2 if changes go to a write-ahead log, 1 if not
_BESIDE = ("-wal", "-journal")
# What a view sorts would be written into a file otherwise.
_SETTINGS = ("temp_store = MEMORY", "trusted_schema = OFF", "query_only = ON", "cell_size_check = ON")
_LIMIT_LENGTH = 64 << 20  # bytes of a row
# Of https://sqlite.org/c3ref/c_deterministic.html: what gives the same each time, and what no view may call.
_DETERMINISTIC, _DIRECT_ONLY = 0x800, 0x80000
_AGGREGATE = ("a", "w")  # which SQLite does not mark, but for functions of a window
# SQLite counts these among the former, although they tell the time.
_OF_TIME = frozenset(
    {"date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff"}
    | {"current_date", "current_time", "current_timestamp"}
)
_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})


def check_nothing_unfinished(path: Location) -> None:
    """Raise InputError where changes that are not in the file yet lie beside it."""
    if not isinstance(path, Path):
        return
    for end in _BESIDE:
        beside = path.resolve().with_name(f"{path.resolve().name}{end}")
        try:
            waits = beside.stat().st_size > 0
        except OSError:
            waits = False
        if waits:
            raise InputError(
                f"has changes beside it that are not in the file yet ('{beside.name}')",
                where=str(path),
                hint="Close the programs that write it, or copy it with sqlite3's `.backup`.",
            )


@contextmanager
def sqlite_rows(table: SealedFile, named: str | None, alias: str, prefix: str = "source.") -> Iterator[Rows]:
    """Open a table or view: the one `named`, else the one called `alias`, else the only one.

    A view may call functions that give the same each time. Raises InputError for what is no such database,
    for another table, and for a view that does anything but read tables. No message holds a cell.
    """
    with closing(_opened(table)) as connection:
        guard = _Guard(connection)
        names = _run(lambda: _names(connection), guard, table.shown)
        chosen = chosen_part(names, named, alias, "table", table.shown, prefix)
        columns = _run(lambda: _columns(connection, chosen), guard, table.shown)
        selected = ", ".join(map(identifier, columns))
        cursor = _run(
            lambda: connection.execute(f"SELECT {selected} FROM {identifier(chosen)}"), guard, table.shown
        )
        yield Rows(columns, _rows(cursor, guard, table.shown))


def _opened(table: SealedFile) -> sqlite3.Connection:
    with table.open() as file:
        data = bytearray(file.read())
    if not data:
        raise InputError("the file is empty", where=table.shown, hint="Give a database with a table.")
    if not data.startswith(_MAGIC):
        raise InputError(
            "is not a SQLite database",
            where=table.shown,
            hint="Check source.format; an encrypted database is not read.",
        )
    data[_VERSIONS] = b"\1\1"  # there is no log beside a copy in memory
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.deserialize(data)
    return connection


class _Guard:
    """Lets a connection read tables, and nothing else; remembers what it refused."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.refused = ""
        for setting in _SETTINGS:
            connection.execute(f"PRAGMA {setting}")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LIMIT_LENGTH)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        self._functions = {
            str(name).casefold()
            for name, built_in, kind, _, _, flags in connection.execute("PRAGMA function_list")
            if built_in and not flags & _DIRECT_ONLY and (flags & _DETERMINISTIC or kind in _AGGREGATE)
        } - _OF_TIME
        connection.set_authorizer(self._decide)

    def _decide(self, action: int, _: str | None, name: str | None, *__: str | None) -> int:
        if action in _ALLOWED:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            if (name or "").casefold() in self._functions:
                return sqlite3.SQLITE_OK
            self.refused = f"calls {name}()" if name and name.isidentifier() else "calls a function"
        else:
            self.refused = "does more than read tables"
        return sqlite3.SQLITE_DENY

    def finding(self, error: Exception) -> tuple[str, str]:
        """Return what is wrong, and how to mend it, without a word of SQLite's, which can quote cells."""
        if self.refused:
            hint = "Only tables are read, and functions that give the same each time: write a table."
            return f"has a view that {self.refused}", hint
        return (
            f"cannot be read ({type(error).__name__})",
            "It may be damaged, or a view needs what it may not use.",
        )


def _run(work: Callable[[], T], guard: _Guard, where: str) -> T:
    """Return what the work gives. Raises InputError in place of SQLite's errors."""
    try:
        return work()
    except MemoryError:
        raise
    except (sqlite3.Error, UnicodeError, OverflowError, ValueError) as error:
        finding, hint = guard.finding(error)
    raise InputError(finding, where=where, hint=hint)


def _rows(cursor: sqlite3.Cursor, guard: _Guard, where: str) -> Iterator[Sequence[object]]:
    while (row := _run(cursor.fetchone, guard, where)) is not None:
        yield row


def _names(connection: sqlite3.Connection) -> list[str]:
    """Return the names of tables and views, without those of SQLite itself and virtual tables."""
    found = connection.execute("SELECT type, name, rootpage FROM sqlite_master").fetchall()
    return [
        str(name)
        for kind, name, page in found
        if (kind == "view" or (kind == "table" and page)) and not str(name).startswith("sqlite_")
    ]


def _columns(connection: sqlite3.Connection, name: str) -> list[str]:
    return [
        str(one[0]) for one in connection.execute(f"SELECT * FROM {identifier(name)} LIMIT 0").description
    ]
