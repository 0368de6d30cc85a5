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

from expectations.number_text import WHOLE_LIMIT
from policy.errors import InputError, UsageError
from tasks.intake.cell_text import NoCell, cell_text
from tasks.intake.rows import Rows, chosen_part
from tasks.intake.sealed_file import CHUNK, HARMLESS_BYTES, LARGEST_RATIO, SealedFile
from tasks.intake.sheet import HINT_SAVE, Cells, SheetXml, shared_texts

LARGEST_WORKBOOK = 2 << 30  # bytes, unpacked
MOST_PARTS = 10_000
MOST_CELLS = 500_000_000  # empty ones too, as far as rows are wide
_ENCODING = re.compile(rb"""(?:\xef\xbb\xbf)?<\?xml\b[^>]*?\bencoding\s*=\s*["']([^"']*)["']""")
_OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # a compound file: .xls, and an encrypted .xlsx
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
# What no table needs: macros, links, pictures, and the sheets of charts, dialogs and macros.
_UNREAD = re.compile(
    r"(?:customxml|docprops)/|xl/(?:activex|chartsheets|charts|comments|ctrlprops|customproperty|dialogsheets|"
    r"drawings|embeddings|externallinks|macrosheets|media|persons|pivotcache|pivottables|printersettings|"
    r"querytables|slicers|tables|threadedcomments|timelines|vba)",
    re.IGNORECASE,
)


@contextmanager
def excel_rows(table: SealedFile, sheet: str | None, alias: str, prefix: str = "source.") -> Iterator[Rows]:
    """Open a sheet: `sheet`, else the one called `alias`, else the only one. Row 1 has the columns' names.

    Formulas give the values that were saved with them; rows without a value are left out, hidden rows are
    not. Raises UsageError without the extra `excel`, and InputError for what is no such workbook, is too
    large, or has a cell beside the columns of row 1; as `SheetXml.rows`, too. No message holds a cell.
    """
    load_workbook = _reader()
    parts = _unpacked(table)
    with closing(_workbook(load_workbook, parts, table.shown)) as workbook:
        sheets = {one.title: one for one in workbook.worksheets}
        found = sheets[chosen_part([*sheets], sheet, alias, "sheet", table.shown, prefix)]
        xml = parts[found._worksheet_path]
        times, durations = workbook._date_formats, workbook._timedelta_formats
        texts = _shared_texts(parts, table.shown)
        cells = SheetXml(xml, texts, times, durations, workbook.epoch, table.shown)
    parts.clear()
    rows = cells.rows()
    number, header = next(rows, (1, {}))
    names = _names(header if number == 1 else {}, table.shown)
    yield Rows(names, _below(rows, len(names), table.shown), WHOLE_LIMIT)


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
        finding, hint = "is an old Excel file (.xls)", HINT_SAVE
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
        if not _is_plain_xml(data):
            raise InputError("has a part that is not plain XML in UTF-8", hint=HINT_SAVE)
        parts[name] = bytes(data)
    return parts


def _is_plain_xml(data: bytearray) -> bool:
    """Tell whether XML is in UTF-8, in which it can be seen that it declares no entity."""
    encoding = _ENCODING.match(data)
    is_utf_8 = b"\0" not in data[:4] and (encoding is None or encoding[1].lower() in (b"utf-8", b"us-ascii"))
    return is_utf_8 and b"<!DOCTYPE" not in data and b"<!ENTITY" not in data


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
    raise InputError(finding, where=where, hint=HINT_SAVE)


def _shared_texts(parts: dict[str, bytes], where: str) -> list[str | None]:
    """Return the texts of all sheets; openpyxl has other words for some."""
    from openpyxl.packaging.manifest import Manifest
    from openpyxl.xml.constants import SHARED_STRINGS
    from openpyxl.xml.functions import fromstring

    part = Manifest.from_tree(fromstring(parts["[Content_Types].xml"])).find(SHARED_STRINGS)
    xml = parts.get(part.PartName.lstrip("/")) if part is not None else None
    return [] if xml is None else shared_texts(xml, where)


def _names(header: Cells, where: str) -> list[str]:
    width = _width(header)
    if not width:
        raise InputError("row 1 is blank", where=where, hint="Row 1 must have the names of the columns.")
    names = []
    for position in range(1, width + 1):
        try:
            name = cell_text(header.get(position))
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


def _width(row: Cells) -> int:
    """Return the number of the last column with a value."""
    return max((column for column, cell in row.items() if cell is not None), default=0)


def _below(rows: Iterator[tuple[int, Cells]], width: int, where: str) -> Iterator[Sequence[object]]:
    """Yield the rows below the names, each as wide as these; those without a value are left out."""
    n_cells = 0
    for number, row in rows:
        own_width = _width(row)
        if own_width > width:
            raise InputError(
                f"row {number} has a cell in column {own_width}, but row 1 has {width} names",
                where=where,
                hint="Name the column in row 1, or empty the cell.",
            )
        if own_width:
            n_cells += width
            if n_cells > MOST_CELLS:
                raise InputError(
                    "has more rows or columns than a sheet of a table needs", where=where, hint=HINT_SAVE
                )
            yield [row.get(column) for column in range(1, width + 1)]
