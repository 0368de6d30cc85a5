"""The zip of a bundle, which can be read in one way only.

Its members stand one behind the other, each with the header that the directory has of it, then the
directory in the same order, then its end: no comment, no further fields, no bytes between them. Each is a
plain file that has the checksum in the directory, so that other programs read the same.
"""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from release_store.protocol.strict_json import Broken, json_object, read_json

_LARGEST_DOCUMENT = 1 << 28  # bytes
_CHUNK = 1 << 20
_LOCAL, _CENTRAL, _END = b"PK\3\4", b"PK\1\2", b"PK\5\6"
_LOCAL_SIZE, _CENTRAL_SIZE, _END_SIZE = 30, 46, 22
_STORED, _DEFLATED = 0, 8
_PLAIN_FILE, _FOLDER = (0, 8), 0x10  # in attributes: the types of Unix, and the mark of DOS
_MEMBER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?")
_NO_BUNDLE = "is not a complete bundle written by releasegate; copy it again from its source"


class ZipMember(NamedTuple):
    """Where a member's data begin, their length, packed and unpacked, how they are packed, and CRC-32."""

    at: int
    packed: int
    size: int
    method: int
    checksum: int


class Archive:
    """The members of a bundle in the regular file `path`. Raises Broken for what is no bundle."""

    def __init__(self, path: Path) -> None:
        self._file = regular_file(path).open("rb")
        self.members: dict[str, ZipMember] = {}
        try:
            self._read_directory(path.stat().st_size)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, name: str) -> bytes:
        """Return the bytes of a member. Raises Broken if there are more than 256 MiB."""
        if self._member(name).size > _LARGEST_DOCUMENT:
            raise Broken(f"{name} is too large")
        return b"".join(self._pieces(name))

    def document(self, name: str) -> dict[str, Any]:
        """Return the JSON object in a member."""
        return json_object(read_json(self.read(name)), name)

    def digest(self, name: str) -> str:
        """Return the SHA-256 of a member, read piece by piece."""
        digest = hashlib.sha256()
        for piece in self._pieces(name):
            digest.update(piece)
        return digest.hexdigest()

    def _read_directory(self, size: int) -> None:
        end = self._at(max(0, size - _END_SIZE), _END_SIZE)
        if len(end) < _END_SIZE or not end.startswith(_END):
            raise Broken(_NO_BUNDLE)
        count, length, start, comment = struct.unpack("<HIIH", end[10:])
        if start + length + _END_SIZE != size or comment:
            raise Broken(_NO_BUNDLE)
        directory, at, following = self._at(start, length), 0, 0
        while at < length:
            entry = directory[at : at + _CENTRAL_SIZE]
            if len(entry) < _CENTRAL_SIZE or not entry.startswith(_CENTRAL):
                raise Broken(_NO_BUNDLE)
            flags, method, checksum, packed, unpacked, named, *others, attributes, place = struct.unpack(
                "<8xHH4xIIIHHHH2xII", entry
            )
            name = directory[at + _CENTRAL_SIZE : at + _CENTRAL_SIZE + named]
            header = _LOCAL + entry[6:32] + name
            if flags or any(others) or place != following or header != self._at(place, len(header)):
                raise Broken(_NO_BUNDLE)
            if method != _DEFLATED and (method != _STORED or packed != unpacked):
                raise Broken(_NO_BUNDLE)
            if attributes >> 28 not in _PLAIN_FILE or attributes & _FOLDER:
                raise Broken(_NO_BUNDLE)
            member = ZipMember(place + len(header), packed, unpacked, method, checksum)
            self._add(name.decode("latin-1"), member)
            following += len(header) + packed
            at += _CENTRAL_SIZE + named
        if at != length or following != start or count != len(self.members):
            raise Broken(_NO_BUNDLE)

    def _add(self, name: str, member: ZipMember) -> None:
        if not _MEMBER_NAME.fullmatch(name):
            raise Broken(f"{name!r} is not a name that a bundle may hold")
        if name in self.members:
            raise Broken(f"{name!r} appears in the zip twice")
        self.members[name] = member

    def _member(self, name: str) -> ZipMember:
        if name not in self.members:
            raise Broken(f"{name} is missing")
        return self.members[name]

    def _at(self, start: int, length: int) -> bytes:
        self._file.seek(start)
        return self._file.read(length)

    def _pieces(self, name: str) -> Iterator[bytes]:
        """Yield what a member holds. Raises Broken unless it has the length and checksum in the directory."""
        member, length, checksum = self._member(name), 0, 0
        for piece in _unpacked(self._packed(member)) if member.method else self._packed(member):
            length += len(piece)
            if length > member.size:
                raise Broken(f"{name} is longer than the directory says")
            checksum = zlib.crc32(piece, checksum)
            yield piece
        if length < member.size:
            raise Broken(f"{name} is shorter than the directory says")
        if checksum != member.checksum:
            raise Broken(f"{name} does not match its checksum in the zip")

    def _packed(self, member: ZipMember) -> Iterator[bytes]:
        for at in range(0, member.packed, _CHUNK):
            yield self._at(member.at + at, min(_CHUNK, member.packed - at))


def _unpacked(packed: Iterator[bytes]) -> Iterator[bytes]:
    """Yield what a Deflate stream holds. Raises Broken if it is cut, or something stands behind its end."""
    engine = zlib.decompressobj(-zlib.MAX_WBITS)
    for data in packed:
        rest = data
        while rest and not engine.eof:
            yield engine.decompress(rest, _CHUNK)
            rest = engine.unconsumed_tail
        if engine.unused_data or (engine.eof and rest):
            raise Broken("has data after the end of a member")
    yield engine.flush()
    if not engine.eof:
        raise Broken("has a member that is cut short")


def regular_file(path: Path) -> Path:
    """Return a path again. Raises Broken for a pipe or a device, at which a reader would wait."""
    if path.exists() and not path.is_file():
        raise Broken("is not a regular file")
    return path
