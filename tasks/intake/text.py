"""Look at a CSV file's bytes before it is parsed: encoding, NUL bytes, line ends, column names."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator
from typing import BinaryIO

from policy.errors import InputError
from tasks.intake.columns import display_column
from tasks.intake.sealed_file import CHUNK, SealedFile

DELIMITERS = {",": "','", ";": "';'", "\t": "'\\t'", "|": "'|'"}
LONGEST_HEADER = 1 << 20


def check_text(table: SealedFile, encoding: str) -> None:
    """Read the text once: it must be in the encoding, without NUL bytes, with LF or CRLF lines.

    Raises InputError with the number of the first bad line.
    """
    with table.open() as file:
        finding, hint = _text_problem(file, encoding)
    if finding:
        raise InputError(finding, where=table.shown, hint=hint)


def _text_problem(file: BinaryIO, encoding: str) -> tuple[str, str]:
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    line, has_cr, has_text = 1, False, False
    bad_line = 0
    for chunk in _chunks(file):
        has_text = has_text or bool(chunk.strip())
        has_cr = has_cr or b"\r" in chunk
        at = chunk.find(b"\0")
        if at >= 0:
            line += chunk.count(b"\n", 0, at)
            return (
                f"line {line} contains a NUL byte",
                "Give a plain text table; UTF-16 and binary files cannot be read.",
            )
        held = len(decoder.getstate()[0])
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError as error:
            bad_line = line + chunk.count(b"\n", 0, max(error.start - held, 0))
        if bad_line:
            break
        line += chunk.count(b"\n")
    if not bad_line and decoder.getstate()[0]:
        bad_line = line  # the file ends within a character
    if bad_line:
        other = "latin-1" if encoding == "utf-8" else "utf-8"
        return (
            f"line {bad_line} is not {encoding}",
            f"Set source.encoding: {other}, or save the file as {encoding}.",
        )
    if not has_text:
        return "the file is empty", "Give a table with a line of column names and its rows."
    if has_cr and line == 1:
        return "its lines end in CR alone", "Save the file with LF or CRLF line ends."
    return "", ""


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk


def read_header(table: SealedFile, encoding: str, delimiter: str) -> list[str]:
    """Return the column names of the first line.

    Raises InputError where it is blank, is not closed, holds one name with another common delimiter
    inside, or no row follows. The text must have passed `check_text`.
    """
    finding = ""
    names: list[str] = []
    has_rows = False
    python_encoding = "utf-8-sig" if encoding == "utf-8" else encoding
    with table.text(python_encoding) as text:
        limited = iter(lambda: text.readline(LONGEST_HEADER), "")
        try:
            names = next(csv.reader(limited, delimiter=delimiter, strict=True))
        except csv.Error:
            finding = "the line of column names has a quote that is not closed, or is too long"
        has_rows = not finding and any(line.strip() for line in limited)
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


def line_at(table: SealedFile, encoding: str, byte: int) -> int:
    """Return the number of the line that holds byte `byte` (0, 1, ...) of the text written in UTF-8."""
    with table.open() as file:
        text = file.read()
    if encoding != "utf-8":
        text = text.decode(encoding).encode("utf-8")
    return text.count(b"\n", 0, byte) + 1


def line_ends(table: SealedFile) -> list[str]:
    """Return which line ends the file holds, quoted text included."""
    with table.open() as file:
        text = file.read()
    crlf = text.count(b"\r\n")
    found = {"CRLF": crlf, "LF": text.count(b"\n") - crlf, "CR": text.count(b"\r") - crlf}
    return [name for name, count in found.items() if count]


def check_width(table: SealedFile, encoding: str, delimiter: str, width: int) -> None:
    """Refuse rows that end in one empty cell too many, `width` being the number in line 1."""
    count, line = overlong_rows(table, encoding, delimiter, width)
    if count:
        rows = "" if count == 1 else f" ({count} such rows)"
        raise InputError(
            f"line {line} has more than {width} cells, the number in line 1{rows}",
            where=table.shown,
            hint="Put cells that contain the delimiter in double quotes.",
        )


def overlong_rows(table: SealedFile, encoding: str, delimiter: str, width: int) -> tuple[int, int]:
    """Return how many rows end in one empty cell too many, and the first one's line.

    DuckDB reads `1,2,` as two cells, which would hide that a row is shifted. The exact look costs
    a parse in Python, so it is taken only at files with a line that ends in the delimiter.
    """
    ending = delimiter.encode(encoding)
    if not any(_ends_in(line, ending) for line in _lines(table)):
        return 0, 0
    count, first, before, too_long = 0, 0, 0, False
    with table.text(encoding) as text:
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
