"""Rows that another program's file holds, as text, in a table of DuckDB: they are then read as a CSV's."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from policy.errors import InputError, did_you_mean
from policy.text import number_of
from tasks.intake.cell_text import NoCell, cell_text
from tasks.intake.columns import display_column
from tasks.intake.database import Database
from tasks.intake.lengths import LONGEST_CELL, LONGEST_ROW, cell_too_long, check_rows
from tasks.sql import identifier

ROWS_TABLE = "releasegate_rows"
_ROWS_AT_ONCE = 2_048
_CHARACTERS_AT_ONCE = 32 << 20
_MOST_NAMED = 10


@dataclass(frozen=True)
class Rows:
    """The names of a table's columns, and its rows, whose cells are of Python's types."""

    names: list[str]
    rows: Iterator[Sequence[object]]


def load_rows(connection: Database, found: Rows, unread: Collection[str], where: str) -> None:
    """Copy rows into the new table ROWS_TABLE, every cell as text; those of the columns `unread` are missing.

    Raises InputError for a cell of another kind or of too many characters, and for too many rows.
    """
    columns = ", ".join(f"{identifier(name)} VARCHAR" for name in found.names)
    connection.execute(f"CREATE OR REPLACE TABLE {ROWS_TABLE} ({columns})")
    read = [number for number, name in enumerate(found.names) if name not in unread]
    part: list[list[str | None]] = []
    held = 0
    for n_rows, row in enumerate(found.rows, start=1):
        check_rows(n_rows, where)
        cells, length = _texts(row, read, found.names, where)
        part.append(cells)
        held += length
        if len(part) == _ROWS_AT_ONCE or held > _CHARACTERS_AT_ONCE:
            _insert(connection, part, read)
            part, held = [], 0
    if part:
        _insert(connection, part, read)


def _texts(
    row: Sequence[object], read: list[int], names: list[str], where: str
) -> tuple[list[str | None], int]:
    """Return the cells of a row as text, None in the columns that are not read, and how long they are."""
    cells: list[str | None] = [None] * len(names)
    length, wrong = 0, ""
    for number in read:
        try:
            text = cell_text(row[number])
        except NoCell:
            wrong = names[number]
            break
        if text is not None:
            if len(text) > LONGEST_CELL:
                raise cell_too_long(names[number], where)
            length += len(text)
            cells[number] = text
    if wrong:
        raise InputError(
            f"the column {display_column(wrong)} has cells that are no text, number, truth value or time",
            where=where,
            hint="Turn them into texts, or drop the column (roles.dropped).",
        )
    if length > LONGEST_ROW:
        raise InputError(
            f"a row has more than {LONGEST_ROW:,} characters", where=where, hint="Drop its long columns."
        )
    return cells, length


def _insert(connection: Database, rows: list[list[str | None]], read: list[int]) -> None:
    if read:
        cells = ", ".join("unnest(?::VARCHAR[])" if n in read else "NULL" for n in range(len(rows[0])))
        columns = [[row[n] for row in rows] for n in read]
        connection.execute(f"INSERT INTO {ROWS_TABLE} SELECT {cells}", columns)


def chosen_part(
    names: Sequence[str], named: str | None, alias: str, kind: str, where: str, prefix: str = "source."
) -> str:
    """Return which sheet or table of a file is read: the one `named`, else `alias`, else the only one.

    `kind` is "sheet" or "table"; messages tell the field or the option of that name, with its `prefix`.
    Raises InputError.
    """
    if named is not None:
        if named in names:
            return named
        raise InputError(
            f"has no {kind} {display_column(named)}{did_you_mean(named, names)}",
            where=where,
            hint=f"Correct {prefix}{kind}.",
        )
    if alias in names:
        return alias
    if len(names) == 1:
        return names[0]
    if not names:
        raise InputError(f"has no {kind}", where=where, hint="Give a file with a table.")
    more = len(names) - _MOST_NAMED
    listed = ", ".join(map(display_column, names[:_MOST_NAMED])) + (f" and {more} more" if more > 0 else "")
    raise InputError(
        f"has {number_of(len(names), kind)}: {listed}",
        where=where,
        hint=f"Name one of them as {prefix}{kind}.",
    )
