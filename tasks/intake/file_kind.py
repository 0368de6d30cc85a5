"""What a file that is no text is by its first bytes, whatever its name says."""

from __future__ import annotations

import re

from policy.errors import InputError
from tasks.intake.sealed_file import SealedFile

_HEAD = 1 << 12
_UNPACK = "Unpack it, and give the table in it."
_SAVE = "Open it in the program that wrote it, and save the table as CSV."
# What the first bytes match, what such a file is, and what to do.
_KINDS = (
    (rb"\x1f\x8b", "a gzip file", "Add .gz to its name, or unpack it."),
    (
        rb"PK\x03\x04.*(?:\[Content_Types\]\.xml|xl/)",
        "an Excel workbook (.xlsx)",
        "Name it .xlsx, or set source.format: excel.",
    ),
    (rb"PK\x03\x04.*application/vnd\.oasis\.opendocument", "an OpenDocument file", _SAVE),
    (rb"PK(?:\x03\x04|\x05\x06|\x07\x08)", "a ZIP archive", _UNPACK),
    (rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)", "a bzip2 file", _UNPACK),
    (rb"\xfd7zXZ\0", "an xz file", _UNPACK),
    (rb"\x28\xb5\x2f\xfd", "a zstd file", _UNPACK),
    (rb"\x04\x22\x4d\x18", "an lz4 file", _UNPACK),
    (rb"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (rb"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    (rb".{257}ustar[\0 ]", "a tar archive", _UNPACK),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old or an encrypted Excel file (.xls)", _SAVE),
    (rb"PAR1[\0-\x1f]", "a Parquet file", "Name it .parquet, or set source.format: parquet."),
    (rb"SQLite format 3\0", "a SQLite database", "Name it .sqlite, or set source.format: sqlite."),
    (rb"%PDF-", "a PDF document", "Give the table from which it was made."),
    (rb"\{\\rtf", "an RTF document", _SAVE),
    (rb"ARROW1\0\0", "an Arrow or Feather file", "Save it as Parquet."),
    (rb"Obj\x01", "an Avro file", "Save it as Parquet."),
    (rb"\x89HDF\r\n\x1a\n", "an HDF5 file", _SAVE),
    (rb"\$FL[23]@\(#\)", "an SPSS file", _SAVE),
    (rb"<stata_dta>|[\x71-\x73][\x01\x02]\x01\0", "a Stata file", _SAVE),
    (rb"\0{12}\xc2\xea\x81\x60", "a SAS file", _SAVE),
    (rb"PGDMP", "a dump of Postgres", "Export the table as CSV."),
    (rb"\x89PNG|\xff\xd8\xff|GIF8[79]a", "a picture", "Give the table itself."),
    (rb"(?i)(?:\xef\xbb\xbf)?\s*(?:<!doctype html|<html)", "a web page (HTML)", _SAVE),
    (rb"(?:\xef\xbb\xbf)?\s*<\?xml", "an XML document", _SAVE),
)
_CONTROLS = bytes({*range(32)} - {*b"\t\n\v\f\r\x1b"})
_MOST_CONTROLS = 0.05  # share of bytes that are control characters: random ones have a tenth


def check_is_text(table: SealedFile, *, wide: bool) -> None:
    """Raise InputError where the first bytes are those of another kind of file; `wide` characters may hold
    bytes of control characters. O(1).
    """
    with table.open() as file:
        head = file.read(_HEAD)
    for pattern, kind, hint in _KINDS:
        if re.match(pattern, head, re.DOTALL):
            raise InputError(f"is {kind}, not text", where=table.shown, hint=hint)
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if not wide and controls > max(_MOST_CONTROLS * len(head), 8):
        raise InputError(
            "is a binary file of an unknown kind, not text",
            where=table.shown,
            hint="Export the table as CSV.",
        )
