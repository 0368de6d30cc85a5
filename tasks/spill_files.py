"""Temporary files for DuckDB that hold ciphertext only, have no name, and end with the process.

DuckDB's own encryption of temporary files needs an extension that has to be downloaded: without it, its keys
are made of random numbers that DuckDB itself calls unsafe. Therefore DuckDB writes through this file system,
which encrypts each block with AES-256-GCM, under a key of its own and with a nonce drawn for each write. Key,
nonces and tags are in memory only. A file has no name in its folder, so that the system frees its room when
the process ends, however that happens.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from fsspec import AbstractFileSystem

PROTOCOL = "spill"
KEY_BITS = 256
NONCE_BYTES = 12
TAG_BYTES = 16
NO_ROOM_LEFT = "the files reached their limit"


class SpillFailed(Exception):
    """A temporary file was refused. The text is the system's name of the reason, or words of this module."""


class SpillRoom:
    """The room in a folder that the files of one database share, and why the last one was refused.

    `failure` is set by this module alone: the text of DuckDB's errors may come from a query or hold a cell.
    """

    def __init__(self, folder: Path, limit: int | None) -> None:
        self.folder, self._given = folder, limit
        self.limit = 0  # bytes
        self.failure = ""
        self._used = 0
        self._lock = threading.RLock()  # a file that is dropped meanwhile gives its room back

    def take(self, n_bytes: int) -> None:
        """Count bytes before they are written. Raises SpillFailed where they are more than the limit.

        Without one, the limit is half of what is free when the first byte is written.
        """
        with self._lock:
            if not self._used:
                self.limit = self._free() // 2 if self._given is None else self._given
            if self._used + n_bytes > self.limit:
                raise self.failed(NO_ROOM_LEFT)
            self._used += n_bytes

    def give(self, n_bytes: int) -> None:
        """Count bytes that went."""
        with self._lock:
            self._used -= n_bytes

    def failed(self, reason: str) -> SpillFailed:
        """Keep why a file was refused, and return the error."""
        self.failure = reason
        return SpillFailed(reason)

    def _free(self) -> int:
        try:
            return shutil.disk_usage(self.folder).free
        except OSError as error:
            raise self.failed(_word(error)) from None


class SpillFile:
    """A file that is read in the pieces in which it was written, each at its own position.

    Each thread has a position of its own: DuckDB moves to a place and reads or writes there in two calls.
    """

    def __init__(self, room: SpillRoom, cipher: AESGCM) -> None:
        self._room, self._cipher = room, cipher
        self._taken = 0  # bytes of the room
        self._pieces: dict[int, tuple[int, bytes, bytes]] = {}  # by position: size, nonce and tag
        self._own = threading.local()
        self._lock = threading.RLock()  # __del__ may come in the midst of another call
        self._file = tempfile.TemporaryFile(dir=room.folder, buffering=0)  # noqa: SIM115 -- DuckDB closes it

    def seek(self, position: int, whence: int = 0) -> int:
        """Move to a position from the start."""
        if whence != os.SEEK_SET:
            raise self._room.failed("a spilled file is read from its start only")
        self._own.position = position
        return position

    def tell(self) -> int:
        """Return the position of this thread."""
        return int(getattr(self._own, "position", 0))

    def write(self, data: bytes) -> int:
        """Encrypt one piece, and write it in its place."""
        position, nonce = self.tell(), os.urandom(NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, data, None)
        rest = memoryview(sealed)[:-TAG_BYTES]
        place = position
        self._grow(position + len(rest))
        try:
            while rest:
                written = os.pwrite(self._file.fileno(), rest, place)
                rest, place = rest[written:], place + written
        except OSError as error:
            raise self._room.failed(_word(error)) from None
        self._pieces[position] = (len(data), nonce, sealed[-TAG_BYTES:])
        self._own.position = place
        return len(data)

    def read(self, size: int) -> bytes:
        """Return the piece of `size` bytes that was written at this position."""
        position = self.tell()
        held, nonce, tag = self._pieces.get(position, (-1, b"", b""))
        if held != size:
            raise self._room.failed("a piece is not read as it was written")
        try:
            found = os.pread(self._file.fileno(), size, position)
        except OSError as error:
            raise self._room.failed(_word(error)) from None
        self._own.position = position + size
        try:
            return self._cipher.decrypt(nonce, found + tag, None)
        except InvalidTag:
            raise self._room.failed("a piece changed on the disk") from None

    def close(self) -> None:
        """Give its room back to the disk."""
        self._file.close()
        with self._lock:
            taken, self._taken = self._taken, 0
        self._room.give(taken)

    def __del__(self) -> None:
        """Close the file: DuckDB drops one that it has removed."""
        if hasattr(self, "_file"):
            self.close()

    def _grow(self, end: int) -> None:
        """Take the room of a file that is to reach `end`."""
        with self._lock:
            if end > self._taken:
                self._room.take(end - self._taken)
                self._taken = end


class SpillFiles(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The temporary files of one instance of DuckDB, in a folder; DuckDB calls what fsspec names."""

    protocol = PROTOCOL
    cachable = False  # each instance has a key of its own

    def __init__(self, folder: Path, limit: int | None) -> None:
        super().__init__()
        self.room = SpillRoom(folder, limit)
        self._cipher = AESGCM(AESGCM.generate_key(KEY_BITS))
        self._names: set[str] = set()

    def open(self, path: str, *_: Any, **__: Any) -> SpillFile:
        """Open a new file, which is empty whatever the mode."""
        try:
            made = SpillFile(self.room, self._cipher)
        except OSError as error:
            raise self.room.failed(_word(error)) from None
        self._names.add(path)
        return made

    def isdir(self, *_: Any) -> bool:
        """Tell that the folder is there, so that DuckDB makes none."""
        return True

    def isfile(self, path: str) -> bool:
        """Tell whether DuckDB has such a file open."""
        return path in self._names

    def exists(self, path: str, **_: Any) -> bool:
        """Tell the same."""
        return path in self._names

    def ls(self, *_: Any, **__: Any) -> list[str]:
        """Return no file: what another process left, DuckDB would remove."""
        return []

    def glob(self, *_: Any, **__: Any) -> list[str]:
        """Return no file: a query finds none."""
        return []

    def rm(self, path: str, *_: Any, **__: Any) -> None:
        """Forget the name; the file went when DuckDB closed it."""
        self._names.discard(path)

    def touch(self, *_: Any, **__: Any) -> None:
        """Leave a file as long as it is: DuckDB does not say how short it may be, and uses its room again."""


def _word(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, type(error).__name__)
