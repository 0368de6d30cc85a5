"""Read one sheet of an Excel workbook (.xlsx): the values that were saved, and nothing that runs.

The file is a ZIP archive. Its parts are unpacked here, within limits, and only those that a table needs are
handed to openpyxl, without compression: a header of the archive that lies about a size decides nothing.
"""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from policy.errors import InputError, UsageError
from tasks.intake.cell_text import NoCell, cell_text
from tasks.intake.rows import Rows, chosen_part
from tasks.intake.sealed import CHUNK, HARMLESS_BYTES, LARGEST_RATIO, SealedFile

LARGEST_WORKBOOK = 2 << 30  # bytes, unpacked
MOST_PARTS = 10_000
LAST_ROW = 1_048_576  # of a sheet
MOST_CELLS = 500_000_000  # empty ones too, as far as rows are wide
_OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # a compound file: .xls, and an encrypted .xlsx
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
# What no table needs: macros, links, pictures, and the sheets of charts, dialogs and macros.
_UNREAD = re.compile(
    r"(?:customxml|docprops)/|xl/(?:activex|chartsheets|charts|comments|ctrlprops|customproperty|dialogsheets|"
    r"drawings|embeddings|externallinks|macrosheets|media|persons|pivotcache|pivottables|printersettings|"
    r"querytables|slicers|tables|threadedcomments|timelines|vba)",
    re.IGNORECASE,
)
_MERGED = re.compile(rb'<mergeCell\b[^>]*?\bref\s*=\s*["\']([A-Z]{1,3}[0-9]{1,7}:[A-Z]{1,3}[0-9]{1,7})["\']')
_NO_RESULT = re.compile(rb"<f\b[^>]*(?:/>|>[^<]*</f>)\s*(?:</c>|<v\s*/>|<v>\s*</v>)")
_PLACE = re.compile(rb'\br="([A-Z]{1,3}[0-9]{1,7})"')
_HINT_SAVE = "Open it in a spreadsheet program, and save it again as .xlsx."


@contextmanager
def excel_rows(table: SealedFile, sheet: str | None, alias: str, prefix: str = "source.") -> Iterator[Rows]:
    """Open a sheet: `sheet`, else the one called `alias`, else the only one. Row 1 has the columns' names.

    Formulas give the values that were saved with them; rows without a value are left out, hidden rows are
    not. Raises UsageError without the extra `excel`, and InputError for what is no such workbook, is too
    large, or has merged cells, a formula without a value, or a cell beside the columns of row 1. No message
    holds a cell.
    """
    load_workbook = _reader()
    parts = _unpacked(table)
    with closing(_workbook(load_workbook, parts, table.shown)) as workbook:
        sheets = {one.title: one for one in workbook.worksheets}
        found = sheets[chosen_part([*sheets], sheet, alias, "sheet", table.shown, prefix)]
        _check_cells(parts[found._worksheet_path], table.shown)
        parts.clear()
        found.reset_dimensions()  # what the sheet says of its size could hide rows
        rows = _values(found, table.shown)
        names = _names(next(rows, (1, ()))[1], table.shown)
        yield Rows(names, _below(rows, len(names), table.shown))


def _reader() -> Any:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise UsageError(
            "needs the package openpyxl, which is not installed",
            where=".xlsx",
            hint="Install it in the version of requirements.lock: pip install '.[excel]'.",
        ) from None
    return load_workbook


def _unpacked(table: SealedFile) -> dict[str, bytes]:
    """Return the parts of the archive that a table needs, by their names."""
    _check_kind(table)
    finding, hint = "cannot be read (BadZipFile)", "The file may be damaged: save it again."
    try:
        with table.open() as file, zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
            names = [info.filename.removeprefix("/") for info in infos]
            if len(infos) > MOST_PARTS or len({*names}) < len(names):
                raise zipfile.BadZipFile
            return _within_limits(archive, dict(zip(names, infos, strict=True)), table)
    except MemoryError:
        finding, hint = "does not fit into memory", "Free memory, or split the table."
    except InputError as error:
        finding, hint = error.message, error.hint or ""
    except Exception as error:  # of zipfile, zlib, lzma and bz2: they have no common base
        finding = f"cannot be read ({type(error).__name__})"
    raise InputError(finding, where=table.shown, hint=hint)


def _check_kind(table: SealedFile) -> None:
    """Refuse what is no ZIP archive: an old or an encrypted workbook, and anything else."""
    with table.open() as file:
        start = file.read(len(_OLD))
        encrypted = start == _OLD and _ENCRYPTED in file.read(HARMLESS_BYTES)
    finding = ""
    if not start:
        finding, hint = "the file is empty", "Give a workbook with rows."
    elif encrypted:
        finding, hint = "is encrypted", "Save it without a password, where nobody else can read it."
    elif start == _OLD:
        finding, hint = "is an old Excel file (.xls)", _HINT_SAVE
    elif not start.startswith(b"PK\x03\x04"):
        finding, hint = "is not an Excel file (.xlsx)", "Check source.format, or copy the file again."
    if finding:
        raise InputError(finding, where=table.shown, hint=hint)


def _within_limits(
    archive: zipfile.ZipFile, infos: dict[str, zipfile.ZipInfo], table: SealedFile
) -> dict[str, bytes]:
    limit = min(LARGEST_WORKBOOK, max(HARMLESS_BYTES, LARGEST_RATIO * table.size))
    total = 0
    parts = {}
    for name, info in infos.items():
        if not name.lower().endswith((".xml", ".rels")) or _UNREAD.match(name):
            continue
        data = bytearray()
        with archive.open(info) as part:
            while chunk := part.read(CHUNK):
                total += len(chunk)
                if total > limit:
                    hint = "Give the table alone, as CSV or Parquet."
                    raise InputError(f"has more than {limit >> 20:,} MiB when unpacked", hint=hint)
                data += chunk
        if b"\0" in data[:4] or b"<!DOCTYPE" in data or b"<!ENTITY" in data:
            raise InputError("has a part that is not plain XML in UTF-8", hint=_HINT_SAVE)
        parts[name] = bytes(data)
    return parts


def _workbook(load_workbook: Any, parts: dict[str, bytes], where: str) -> Any:
    finding = ""
    clean = io.BytesIO()
    with zipfile.ZipFile(clean, "w", zipfile.ZIP_STORED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return load_workbook(clean, read_only=True, data_only=True, keep_links=False)
    except MemoryError:
        raise
    except Exception as error:  # of whatever a damaged file makes openpyxl stumble over
        finding = f"cannot be read ({type(error).__name__})"
    raise InputError(finding, where=where, hint=_HINT_SAVE)


def _check_cells(sheet: bytes, where: str) -> None:
    """Refuse cells that are merged, which hide values, and formulas whose result was not saved."""
    merged = _MERGED.search(sheet)
    if merged:
        raise InputError(
            f"the cells {merged[1].decode()} are merged",
            where=where,
            hint="Split them, and write each cell's own value.",
        )
    for found in _NO_RESULT.finditer(sheet):
        cell = sheet[sheet.rfind(b"<c ", 0, found.start()) : found.start()]
        if b't="str"' in cell:  # an empty text is the result
            continue
        place = _PLACE.search(cell)
        raise InputError(
            f"the cell {place[1].decode()} has a formula without a value"
            if place
            else "a formula has no value",
            where=where,
            hint=_HINT_SAVE,
        )


def _values(sheet: Any, where: str) -> Iterator[tuple[int, Sequence[object]]]:
    """Yield the number and the cells of each row, without the empty cells at its end."""
    finding, n_cells = "", 0
    rows = sheet.iter_rows(values_only=True)
    number = 0
    while not finding:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                row = next(rows, None)
        except MemoryError:
            raise
        except Exception as error:  # as above
            finding = f"cannot be read after row {number} ({type(error).__name__})"
            break
        if row is None:
            return
        number += 1
        n_cells += len(row)
        if number > LAST_ROW or n_cells > MOST_CELLS:
            finding = "has more rows or columns than a sheet of a table needs"
            break
        width = next((n for n in range(len(row), 0, -1) if row[n - 1] is not None), 0)
        yield number, row[:width]
    raise InputError(finding, where=where, hint=_HINT_SAVE)


def _names(header: Sequence[object], where: str) -> list[str]:
    if not header:
        raise InputError("row 1 is blank", where=where, hint="Row 1 must have the names of the columns.")
    names = []
    for position, cell in enumerate(header, start=1):
        try:
            name = cell_text(cell)
        except NoCell:
            name = None
        if name is None or not name.strip():
            raise InputError(
                f"column {position} has no name: its cell in row 1 is empty or merged",
                where=where,
                hint="Name every column in row 1.",
            )
        names.append(name)
    return names


def _below(
    rows: Iterator[tuple[int, Sequence[object]]], width: int, where: str
) -> Iterator[Sequence[object]]:
    """Yield the rows below the names, each as wide as these."""
    for number, row in rows:
        if len(row) > width:
            raise InputError(
                f"row {number} has a cell in column {len(row)}, but row 1 has {width} names",
                where=where,
                hint="Name the column in row 1, or empty the cell.",
            )
        if row:
            yield [*row, *[None] * (width - len(row))]
