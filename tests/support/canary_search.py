"""Search everything that lies in a folder for canaries: raw bytes, and what databases and encodings hide."""

from __future__ import annotations

import base64
import re
import shutil
import sqlite3
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

import duckdb

Needles = Mapping[str, tuple[bytes, ...]]
BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}={0,2}")
COMPRESSED = re.compile(rb"\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]")
DEEPEST = 4


def find(folder: Path, needles: Needles, *, but: Iterable[Path] = ()) -> dict[str, set[str]]:
    """Return each needle's places below `folder`, a file or `file: table`; `but` are left unread."""
    found: dict[str, set[str]] = {}
    left_out = set(but)
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path in left_out:
            continue
        target = str(path.readlink()) if path.is_symlink() else ""
        _note(found, needles, f"{name} {target}".encode(), f"the name {name}")
        if path.is_file() and not path.is_symlink():
            for place, content in _contents(path, name):
                _note(found, needles, content, place)
    return found


def _note(found: dict[str, set[str]], needles: Needles, content: bytes, place: str) -> None:
    for layer in layers(content):
        for name, forms in needles.items():
            if any(form in layer for form in forms):
                found.setdefault(name, set()).add(place)


def _contents(path: Path, name: str) -> Iterator[tuple[str, bytes]]:
    raw = path.read_bytes()
    if raw.startswith(b"SQLite format 3"):
        yield name, raw
        yield from ((f"{name}: {table}", text) for table, text in _sqlite(path))
    elif raw[8:12] == b"DUCK":
        yield from ((f"{name}: {table}", text) for table, text in _duckdb(path))
    elif raw.startswith(b"PAR1"):
        with duckdb.connect() as con:
            rows = con.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
        yield name, raw + _text(rows)
    elif raw.startswith(b"PK\x03\x04"):
        yield from _zip(path, name)
    else:
        yield name, raw


def _zip(path: Path, name: str) -> Iterator[tuple[str, bytes]]:
    with tempfile.TemporaryDirectory() as unpacked, zipfile.ZipFile(path) as archive:
        for one in archive.infolist():
            member = f"{name}: {one.filename}"
            yield f"the name {member}", one.filename.encode() + archive.comment + one.comment + one.extra
            if not one.is_dir():
                yield from _contents(Path(archive.extract(one, unpacked)), member)


def _sqlite(path: Path) -> Iterator[tuple[str, bytes]]:
    with tempfile.TemporaryDirectory() as copies:
        for part in path.parent.glob(f"{path.name}*"):  # with its log of what is not yet written back
            shutil.copy2(part, copies)
        with closing(sqlite3.connect(Path(copies) / path.name)) as con:
            tables = con.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (table,) in tables:
                yield table, _text(con.execute(f'SELECT * FROM "{table}"').fetchall())


def _duckdb(path: Path) -> Iterator[tuple[str, bytes]]:
    with duckdb.connect(str(path), read_only=True) as con:
        for (table,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            yield table, _text(con.execute(f'SELECT * FROM "{table}"').fetchall())


def _text(rows: Iterable[tuple[object, ...]]) -> bytes:
    cells = (cell if isinstance(cell, bytes) else str(cell).encode() for row in rows for cell in row)
    return b"\n".join(cells)


def layers(content: bytes, depth: int = 0) -> Iterator[bytes]:
    """Give the content, and what its base64 and compressed parts hold, as deep as they are nested."""
    yield content
    if depth == DEEPEST:
        return
    for run in BASE64.findall(content):
        text = run.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
        for start in range(4):  # a letter before it in the file may look like a part of it
            part = text[start:-1] if (len(text) - start) % 4 == 1 else text[start:]
            yield from layers(base64.b64decode(part + b"=" * (-len(part) % 4)), depth + 1)
    for start in (match.start() for match in COMPRESSED.finditer(content)):
        try:
            inner = zlib.decompressobj(wbits=47).decompress(content[start:])
        except zlib.error:
            continue
        if inner:
            yield from layers(inner, depth + 1)
