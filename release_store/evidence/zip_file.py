"""The zip of a bundle, read so that every reader finds the same in it."""

from __future__ import annotations

import hashlib
import struct
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from release_store.evidence.findings import Finding
from release_store.protocol.strict_json import Broken, read_json

_LARGEST_DOCUMENT = 1 << 28
_CHUNK = 1 << 20
_LOCAL_HEADER = 30  # bytes before a member's name; the last four are the lengths of its name and extra field
_DESCRIPTOR = 24  # bytes at most behind a member
_ENDING = 1 << 17  # more than the end of a zip can have


def open_zip(path: Path) -> zipfile.ZipFile:
    """Open the zip in a file. Raises Broken if it is none."""
    try:
        return zipfile.ZipFile(regular_file(path))
    except zipfile.BadZipFile:
        raise Broken("is no bundle, or not all of one: copy it again from where it was made") from None


def regular_file(path: Path) -> Path:
    """Return a path again. Raises Broken for a pipe or a device, at which a reader would wait."""
    if path.exists() and not path.is_file():
        raise Broken("is no regular file")
    return path


def strange_names(names: Sequence[str]) -> list[Finding]:
    """Find names that stand in the zip twice, or lead out of it."""
    findings = []
    for name, times in sorted(Counter(names).items()):
        if times > 1:
            findings.append(Finding(repr(name), f"stands in the zip {times} times"))
        if "\\" in name or any(part in ("", ".", "..") for part in name.split("/")):
            findings.append(Finding(repr(name), "is no name that a bundle may hold"))
    return findings


def overlapping_members(path: Path, archive: zipfile.ZipFile) -> list[Finding]:
    """Find members whose data run into another's, of which readers make different things.

    Newer versions of Python refuse them, and older ones read them.
    """
    names, end = [], archive.start_dir
    with path.open("rb") as file:
        for member in sorted(archive.infolist(), key=lambda one: one.header_offset, reverse=True):
            if _data_of(file, member) + member.compress_size > end:
                names.append(member.filename)
            end = member.header_offset
    return [Finding(repr(name), "runs into another member of the zip") for name in sorted(names)]


def _data_of(file: BinaryIO, member: zipfile.ZipInfo) -> int:
    """Return where the data of a member begin, by the header that stands before them."""
    file.seek(member.header_offset)
    header = file.read(_LOCAL_HEADER).ljust(_LOCAL_HEADER, b"\xff")
    return member.header_offset + len(header) + int(sum(struct.unpack("<HH", header[-4:])))


def foreign_bytes(path: Path, archive: zipfile.ZipFile) -> list[Finding]:
    """Find bytes before, between or behind the members, of which a reader from the front makes others."""
    at, apart = 0, False
    with path.open("rb") as file:
        for member in sorted(archive.infolist(), key=lambda one: one.header_offset):
            apart |= member.header_offset > at
            # The sizes of a member may stand behind it once more.
            after = _DESCRIPTOR if member.flag_bits & 8 else 0
            at = _data_of(file, member) + member.compress_size + after
        apart |= archive.start_dir > at
        at = archive.start_dir
        for _ in archive.infolist():
            file.seek(at)
            at += 46 + sum(struct.unpack("<HHH", file.read(46)[28:34]))
        file.seek(at)
        tail = file.read(_ENDING)
    tail = tail[76:] if tail.startswith(b"PK\6\6") else tail
    comment = int.from_bytes(tail[20:22], "little")
    if apart or len(tail) != 22 + comment:
        return [Finding("bundle", "holds bytes that are in none of its members")]
    return []


def read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the bytes of a member. Raises Broken if there are more than 256 MiB."""
    if archive.getinfo(name).file_size > _LARGEST_DOCUMENT:
        raise Broken(f"{name} is too large")
    return archive.read(name)


def read_document(archive: zipfile.ZipFile, name: str) -> Any:
    """Return the JSON in a member."""
    return read_json(read_member(archive, name))


def member_digest(archive: zipfile.ZipFile, name: str) -> str:
    """Return the SHA-256 of a member, read piece by piece."""
    digest = hashlib.sha256()
    with archive.open(name) as file:
        while piece := file.read(_CHUNK):
            digest.update(piece)
    return digest.hexdigest()
