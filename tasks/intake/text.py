"""Look at a CSV text before it is parsed: its column names, and rows that are too long. It is in UTF-8."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from policy.errors import InputError
from tasks.intake.columns import display_column
from tasks.intake.sealed_file import SealedFile

DELIMITERS = {",": "','", ";": "';'", "\t": "'\\t'", "|": "'|'"}
LONGEST_HEADER = 1 << 20
_OPEN_HEADER = "the line of column names has a quote that is not closed, or is too long"
_SEPARATOR = re.compile(r"\ufeff?sep=(.?)", re.IGNORECASE)


def read_header(table: SealedFile, delimiter: str) -> list[str]:
    """Return the column names of the first line.

    Raises InputError where it is blank, is not closed, holds one name with another common delimiter
    inside, or no row follows. The text must be that of `utf_8_text`.
    """
    finding = ""
    names: list[str] = []
    has_rows = False
    with table.text("utf-8-sig") as text:
        read: list[str] = []

        def limited() -> Iterator[str]:
            while line := text.readline(LONGEST_HEADER):
                read.append(line)
                yield line

        try:
            names = next(csv.reader(limited(), delimiter=delimiter, strict=True))
        except csv.Error:
            finding = _OPEN_HEADER
        if sum(line.count('"') for line in read) % 2:  # in the midst of a name, too
            finding = _OPEN_HEADER
        has_rows = not finding and any(
            line.strip() for line in iter(lambda: text.readline(LONGEST_HEADER), "")
        )
    if finding:
        raise InputError(finding, where=table.shown, hint="Quotes are doubled inside quoted text.")
    _check_header(names, table.shown, delimiter)
    if not has_rows:
        raise InputError(
            "has column names but no rows", where=table.shown, hint="Give the period's whole table."
        )
    return names


def _check_header(names: list[str], where: str, delimiter: str) -> None:
    if not any(name.strip() for name in names):
        raise InputError("line 1 is blank", where=where, hint="Line 1 must have the names of the columns.")
    if advice := separator_advice(delimiter.join(names)):
        raise InputError(
            "line 1 tells a spreadsheet program the delimiter (sep=), and no names of columns",
            where=where,
            hint=advice,
        )
    if len(names) == 1:
        inside = max(DELIMITERS, key=names[0].count)
        if inside != delimiter and names[0].count(inside):
            raise InputError(
                (
                    f"line 1 is one column with the delimiter {display_column(delimiter)}, but contains "
                    f"{DELIMITERS[inside]}"
                ),
                where=where,
                hint=f'Write source.delimiter: "{DELIMITERS[inside][1:-1]}" in the policy.',
            )


def separator_advice(text: str) -> str:
    """Return how to correct a text whose line 1 is for a spreadsheet program, such as `sep=;`, else ""."""
    found = _SEPARATOR.fullmatch(re.split("[\r\n]", text, maxsplit=1)[0])
    if found is None:
        return ""
    told = DELIMITERS.get(found[1], "")
    return f"Remove line 1, by which source.delimiter is {told}." if told else "Remove line 1."


def line_at(table: SealedFile, byte: int) -> int:
    """Return the number of the line that holds byte `byte` (0, 1, ...)."""
    with table.open() as file:
        return file.read(byte).count(b"\n") + 1


def check_width(table: SealedFile, delimiter: str, width: int) -> None:
    """Refuse rows that end in one empty cell too many, `width` being the number in line 1."""
    count, line = overlong_rows(table, delimiter, width)
    if count:
        rows = "" if count == 1 else f" ({count} such rows)"
        raise InputError(
            f"line {line} has more than {width} cells, the number in line 1{rows}",
            where=table.shown,
            hint="Put cells that contain the delimiter in double quotes.",
        )


def overlong_rows(table: SealedFile, delimiter: str, width: int) -> tuple[int, int]:
    """Return how many rows end in one empty cell too many, and the first one's line.

    DuckDB reads `1,2,` as two cells, which would hide that a row is shifted. The exact look costs
    a parse in Python, so it is taken only at files with a line that ends in the delimiter.
    """
    ending = delimiter.encode()
    if not any(_ends_in(line, ending) for line in _lines(table)):
        return 0, 0
    count, first, before, too_long = 0, 0, 0, False
    with table.text("utf-8") as text:
        reader = csv.reader(text, delimiter=delimiter)
        try:
            for cells in reader:
                if len(cells) > width:
                    count += 1
                    first = first or before + 1
                before = reader.line_num
        except csv.Error:
            too_long = True
    if too_long:
        raise InputError(
            f"line {before + 1} has a cell of more than {csv.field_size_limit()} characters",
            where=table.shown,
            hint="Check the quotes there.",
        )
    return count, first


def _lines(table: SealedFile) -> Iterator[bytes]:
    with table.open() as file:
        yield from file


def _ends_in(line: bytes, ending: bytes) -> bool:
    return line.rstrip(b"\r\n").endswith(ending)
