"""Load a table that a program holds in its memory into DuckDB."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
import numpy as np
import pandas as pd

from policy.errors import InputError, TransientFailure
from tasks.intake.cell_text import NoCell, beginning, cell_text
from tasks.intake.columns import check_distinct, display_column
from tasks.intake.database import Database, allowed_memory, memory_hint, own_database
from tasks.intake.repeated_people import MOST_ROWS
from tasks.intake.table_object import WHERE, TableObject
from tasks.memory import spill_failure
from tasks.sql import identifier, literal

_VIEW, _SENT = "releasegate_object", "releasegate_sent"
_ROWS_AT_ONCE = 2_048
_KEPT_BY_PARQUET = frozenset(
    {"BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}
    | {"FLOAT", "DOUBLE", "VARCHAR", "BLOB", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS"}
)


def load_object(
    connection: duckdb.DuckDBPyConnection, name: str, given: TableObject, unread: Collection[str]
) -> str:
    """Copy a table in memory into the new table `name` of a database, and return its SHA-256: see `_digest`.

    An index of pandas is not read, and the digest is not of the columns `unread`. Raises InputError where it
    cannot be read as a table; no message holds a cell.
    """
    table = given.table
    finding, hint = "", "Give a table whose columns hold texts, numbers, truth values or times."
    failure: TransientFailure | None = None
    try:
        if isinstance(table, pd.DataFrame):
            table = _plain(table, unread)
        connection.register(_VIEW, table)
        try:
            connection.execute(f"CREATE TABLE {identifier(name)} AS FROM {_VIEW}")
        finally:
            connection.unregister(_VIEW)
        columns = [row[0] for row in connection.execute(f"DESCRIBE {identifier(name)}").fetchall()]
        return _digest(connection, name, [one for one in columns if one not in unread])
    except duckdb.OutOfMemoryException as error:
        failure = spill_failure(error, connection)
        finding, hint = f"needs more than {allowed_memory()}", memory_hint()
    except (InputError, MemoryError):
        raise
    except Exception as error:  # of DuckDB, and of whatever stands behind the stream
        failure = spill_failure(error, connection) if isinstance(error, duckdb.Error) else None
        finding = f"cannot be read ({type(error).__name__})"
    if failure is not None:
        raise failure
    raise InputError(finding, where=WHERE, hint=hint)


@dataclass(frozen=True)
class SentObject:
    """A table in memory as bytes that another process can read: its digest, and where it lies."""

    digest: str
    handle: int
    types: dict[str, str]

    @property
    def path(self) -> str:
        """The path of the bytes in each process that has the descriptor."""
        return f"/proc/self/fd/{self.handle}"

    def load(self, database: Database, name: str) -> None:
        """Copy it into the new table `name` of a database."""
        cells = ", ".join(
            f"CAST({identifier(column)} AS {kind}) AS {identifier(column)}"
            for column, kind in self.types.items()
        )
        database.execute(
            f"CREATE TABLE {identifier(name)} AS SELECT {cells} FROM read_parquet({literal(self.path)})"
        )


@contextmanager
def sent_object(given: TableObject) -> Iterator[SentObject]:
    """Copy a table in memory into a file in memory, which is gone after the `with`.

    Cells of a type that Parquet does not keep are text there. Raises as `load_object`.
    """
    handle = os.memfd_create("object", os.MFD_CLOEXEC)
    try:
        with own_database() as connection:
            digest = load_object(connection, _SENT, given, ())
            described = connection.execute(f"DESCRIBE {_SENT}").fetchall()
            sent = SentObject(digest, handle, {str(row[0]): str(row[1]) for row in described})
            cells = ", ".join(
                identifier(column)
                if kind in _KEPT_BY_PARQUET or kind.startswith("DECIMAL")
                else f"CAST({identifier(column)} AS VARCHAR) AS {identifier(column)}"
                for column, kind in sent.types.items()
            )
            connection.execute(
                f"COPY (SELECT {cells} FROM {_SENT}) TO {literal(sent.path)} "
                "(FORMAT parquet, COMPRESSION uncompressed, USE_TMP_FILE false)"
            )
        yield sent
    finally:
        os.close(handle)


def _plain(table: pd.DataFrame, unread: Collection[str]) -> pd.DataFrame:
    """Return the frame with Python's objects as text; of a column `unread`, the beginnings of some cells."""
    names = list(table.columns)
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise InputError(
                f"the name of column {position} is no text",
                where=WHERE,
                hint="Name every column: table.columns = [...].",
            )
    check_distinct(names, WHERE, tell=True)
    columns = {name: (_beginnings if name in unread else _column)(table[name], name) for name in names}
    return pd.DataFrame(columns, copy=False)


def _beginnings(column: pd.Series, _: str) -> pd.Series:
    cells = column.iloc[:MOST_ROWS].to_list()
    return pd.Series([beginning(cell) for cell in cells], dtype="str").reindex(range(len(column)))


def _column(column: pd.Series, name: str) -> pd.Series:
    column = column.reset_index(drop=True)
    if isinstance(column.dtype, pd.SparseDtype):
        column = pd.Series(np.asarray(column))
    if isinstance(column.dtype, pd.PeriodDtype | pd.IntervalDtype) or column.dtype.kind == "c":
        raise _no_cells(name)
    if isinstance(column.dtype, pd.CategoricalDtype):
        known = np.array([*_texts(list(column.cat.categories), name), None], dtype=object)
        return pd.Series(known[column.cat.codes.to_numpy()], dtype="str")
    if column.dtype == object:
        return pd.Series(_texts(column.to_list(), name), dtype="str")
    if isinstance(column.dtype, np.dtype):  # DuckDB reads no array backwards, as one of `frame[::-1]` is
        return pd.Series(np.ascontiguousarray(column.to_numpy()), copy=False)
    return column.copy()


def _texts(cells: list[object], name: str) -> list[str | None]:
    try:
        return [cell_text(cell) for cell in cells]
    except NoCell:
        pass
    raise _no_cells(name)


def _no_cells(name: str) -> InputError:
    return InputError(
        f"the column {display_column(name)} has cells that are no text, number, truth value or time",
        where=WHERE,
        hint="Turn them into texts, or drop the column (roles.dropped).",
    )


def _digest(connection: duckdb.DuckDBPyConnection, name: str, columns: list[str]) -> str:
    """Return the SHA-256 of a table as lines of JSON: its columns' names, then each row's cells as text.

    A missing cell is null. The same rows have the same digest, whatever the object that held them.
    """
    types = {row[0]: row[1] for row in connection.execute(f"DESCRIBE {identifier(name)}").fetchall()}
    header = f"SELECT json_array({', '.join('?' for _ in columns)})"
    found = connection.execute(header, columns).fetchone()
    digest = hashlib.sha256(str(found[0] if found else "").encode())
    cells = ", ".join(_cell(column, types[column]) for column in columns)
    connection.execute(f"SELECT json_array({cells}) FROM {identifier(name)}")
    while rows := connection.fetchmany(_ROWS_AT_ONCE):
        digest.update("".join(f"\n{row[0]}" for row in rows).encode())
    return digest.hexdigest()


def _cell(name: str, kind: str) -> str:
    text = f"CAST({identifier(name)} AS VARCHAR)"
    return f"CASE WHEN NOT isnan({identifier(name)}) THEN {text} END" if kind in ("FLOAT", "DOUBLE") else text
