"""Rows that another program's file holds, and which sheet or table of it; written as text, exactly."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from policy.errors import InputError, did_you_mean
from policy.text import BLANKS, number_of
from tasks.intake.cell_text import NoCell, beginning, cell_text
from tasks.intake.columns import display_column
from tasks.intake.lengths import LONGEST_CELL, cell_too_long, check_rows

MISSING = r"\N"  # of a cell without quotes; every other cell has them
LONGEST_LINE = 2 << 20  # bytes
_MOST_NAMED = 10


@dataclass(frozen=True)
class Rows:
    """The names of a table's columns, and its rows, whose cells are of Python's types.

    A program that wrote the file need not have kept all digits of numbers from `rounded_from` on.
    """

    names: list[str]
    rows: Iterator[Sequence[object]]
    rounded_from: float = math.inf


def write_rows(file: BinaryIO, found: Rows, unread: Collection[str], where: str) -> int:
    """Write rows as CSV, every cell as text, and return how many. O(cells).

    Of the columns `unread`, there are the beginnings of cells alone. Raises InputError for a cell of another
    kind, of too many characters, with a NUL or with a rounded number in one of the others, and for too many
    rows.
    """
    names = found.names
    read = [name.strip(BLANKS) not in unread for name in names]
    file.write(_line(names, names, [True] * len(names), where))
    n_rows = 0
    for row in found.rows:
        n_rows += 1
        check_rows(n_rows, where)
        file.write(_line(row, names, read, where, found.rounded_from))
    return n_rows


def _line(
    row: Sequence[object], names: list[str], read: list[bool], where: str, rounded_from: float = math.inf
) -> bytes:
    """Return a row as a line of CSV."""
    cells = [MISSING] * len(names)
    wrong = ""
    for place, (cell, is_read) in enumerate(zip(row, read, strict=True)):
        try:
            text = cell_text(cell) if is_read else beginning(cell)
        except NoCell:
            wrong = names[place]
            break
        if text is not None:
            if is_read and isinstance(cell, int | float) and abs(cell) >= rounded_from:
                raise InputError(
                    f"the column {display_column(names[place])} has a number of {rounded_from:.0f} or more, "
                    "which a workbook does not tell from its neighbours",
                    where=where,
                    hint="Enter it as text, or drop the column (roles.dropped).",
                )
            if len(text) > LONGEST_CELL:
                raise cell_too_long(names[place], where)
            if "\0" in text:  # which no CSV file holds either, and stands for no cell later
                raise InputError(
                    f"the column {display_column(names[place])} has a cell with a NUL character",
                    where=where,
                    hint="Remove it, or drop the column (roles.dropped).",
                )
            quoted = text.replace('"', '""')
            cells[place] = f'"{quoted}"'
    if wrong:
        raise InputError(
            f"the column {display_column(wrong)} has cells that are no text, number, truth value or time",
            where=where,
            hint="Turn them into texts, or drop the column (roles.dropped).",
        )
    line = f"{','.join(cells)}\n".encode()
    if len(line) > LONGEST_LINE:
        raise InputError(
            f"a row has more than {LONGEST_LINE:,} bytes", where=where, hint="Drop its long columns."
        )
    return line


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
