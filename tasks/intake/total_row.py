"""Refuse a table that ends in a total of its rows: nobody's row, which would be counted as a person's."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Mapping, Sequence

from policy.errors import InputError
from policy.roles import Roles
from policy.text import BLANKS
from tasks.intake.cells import stripped
from tasks.intake.database import Database
from tasks.intake.lines import LONGEST_LINE
from tasks.intake.sealed_file import SealedFile
from tasks.sql import identifier

_WORDS = (
    "(?:grand |sub[- ]?)?totals?|total[eti]?|totaal|total(?:e|is)? (?:g[eé]n[eé]rale?|geral|complessivo)|sum|"
    "gesamt(?:summe|ergebnis|zahl)?|(?:end|zwischen)?summe|insgesamt|somme|suma|summa|razem|ogółem|celkem|"
    "összesen|yhteensä|i alt|toplam|genel toplam|итого|всего|合計|总计|總計"
)
_TOTAL = re.compile(rf"(?:{_WORDS})(?: *[:=(].*)?", re.IGNORECASE | re.DOTALL)


def listed_values(roles: Roles) -> dict[str, Collection[str]]:
    """Return the values that a policy lists, by their columns."""
    listed = {
        **{name: one.allowed for name, one in roles.categorical.items()},
        **{name: one.allowed for name, one in roles.sensitive.items()},
        **roles.kept_values,
    }
    return {name: values for name, values in listed.items() if values is not None}


def check_no_total(
    connection: Database,
    relation: str,
    last: Mapping[str, object],
    n_rows: int,
    where: str,
    listed: Mapping[str, Collection[str]] | None = None,
) -> None:
    """Refuse a table whose last row, by its columns' names, is called a total.

    No other row of `relation` has the word in that column, and no policy has `listed` it there. O(1) where
    there is no such word, else O(n).
    """
    for name, cell in last.items():
        text = "" if cell is None else str(cell).strip(BLANKS)
        if not _TOTAL.fullmatch(text) or text in (listed or {}).get(name, ()):
            continue
        same = f"{stripped(f'CAST({identifier(name)} AS VARCHAR)')} = ?"
        if connection.execute(f"SELECT count(*) FROM {relation} WHERE {same}", [text]).fetchall() == [(1,)]:
            raise InputError(
                f"its last row, row {n_rows:,} below the names, is a total of the others, and no person's",
                where=where,
                hint="Remove that row; if it is a person's, list its value in the policy's roles.",
            )


def last_of_relation(
    connection: Database, names: Sequence[str], relation: str, n_rows: int
) -> dict[str, object]:
    """Return the last of a relation's rows, which has an order."""
    columns = ", ".join(f"CAST({identifier(name)} AS VARCHAR)" for name in names)
    rows = connection.execute(
        f"SELECT {columns} FROM {relation} LIMIT 1 OFFSET {max(n_rows - 1, 0)}"
    ).fetchall()
    return dict(zip(names, *rows, strict=True)) if rows else {}


def last_of_text(table: SealedFile, names: Sequence[str], delimiter: str) -> dict[str, object]:
    """Return the row in the last line of a text; nothing where it is none by itself. O(1)."""
    with table.open() as file:
        file.seek(max(table.size - 2 * LONGEST_LINE, 0))
        lines = file.read().decode("utf-8", "replace").strip("\r\n").split("\n")
    cells = next(csv.reader(lines[-1:], delimiter=delimiter), [])
    return dict(zip(names, cells, strict=True)) if len(cells) == len(names) else {}
