"""An input read once, into memory that nothing can change: one copy is digested, checked and parsed.

DuckDB opens files by their names, and a name can lead to another file from one moment to the next. So the
bytes are copied into an anonymous file in memory (memfd_create, Linux), which is sealed, and has a name under
/proc that only this process's account can open.
"""

from __future__ import annotations

import errno
import fcntl
import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from policy.errors import InputError, ReleaseGateError, TransientFailure
from policy.location import Location, ObjectAddress
from policy.plain_file import not_read, open_path, open_plain
from policy.postgres_address import PostgresTable
from policy.trusted import ObjectStore
from release_store.canonical import file_digest
from tasks.intake.object_store import open_object
from tasks.intake.postgres import open_table
from tasks.intake.sealed_file import CHUNK, HARMLESS_BYTES, LARGEST_RATIO, SealedFile

PEM, PEM_WITHIN = b"-----BEGIN", 1 << 16  # what a file of a key holds, and in how many bytes it is looked for
LARGEST_INPUT = 64 << 30  # bytes, decompressed
# Of Linux (fcntl.h): no seal more, no shrinking, no growing, no writing.
_SEALS = getattr(fcntl, "F_SEAL_SEAL", 1) | 2 | 4 | 8
_ADD_SEALS = getattr(fcntl, "F_ADD_SEALS", 1033)


def seal(handle: int) -> None:
    """Let nobody change a file in memory from now on. Raises OSError where somebody could still write it."""
    fcntl.fcntl(handle, _ADD_SEALS, _SEALS)


def is_compressed(path: Location) -> bool:
    """Tell by the name whether the file is gzip-compressed."""
    return not isinstance(path, PostgresTable) and path.name.lower().endswith(".gz")


def input_digest(path: Location, objects: ObjectStore) -> str:
    """Return the SHA-256 of a file, an object of the store `objects`, or a table; raises as `sealed`."""
    if isinstance(path, Path):
        return file_digest(path)
    with sealed(path, objects=objects) as found:
        return found.digest


def digest_of_parts(digests: Sequence[str]) -> str:
    """Return the digest of a table in one or several files: that of the file, or of theirs, a line each."""
    return digests[0] if len(digests) == 1 else hashlib.sha256("\n".join(digests).encode()).hexdigest()


@contextmanager
def sealed(
    path: Location, check: Callable[[Path], None] | None = None, objects: ObjectStore | None = None
) -> Iterator[SealedFile]:
    """Copy a file, object or table into sealed memory, decompressed if its name ends in .gz.

    It is gone after the `with`. The bytes of a table of Postgres are those of `open_table`.

    Takes as much memory as it has bytes. `check` is told where an opened file lies, whatever its name was
    meant to lead to; `objects` is the store of an object. Raises InputError for what is not a regular file,
    cannot be read, is no gzip file, or is too large; else as `open_object` and `open_table`.
    """
    handle = os.memfd_create("input", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        digest = _copied(path, handle, check, objects or ObjectStore())
        seal(handle)
        size = os.fstat(handle).st_size
        if PEM in os.pread(handle, PEM_WITHIN, 0):  # whatever it is called, and however it came to lie there
            raise _key(path)
        yield SealedFile(str(path), Path(f"/proc/self/fd/{handle}"), digest, size)
    finally:
        os.close(handle)


@contextmanager
def head_of(path: Path, check: Callable[[Path], None], n_bytes: int) -> Iterator[SealedFile]:
    """Copy the first `n_bytes` of a file's text into sealed memory, up to the last line end among them.

    The digest is empty. Raises InputError as `sealed`.
    """
    handle = os.memfd_create("head", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    failure: ReleaseGateError | None = None
    head = b""
    try:
        try:
            with _opened(path, check, ObjectStore()) as (file, _):
                text = gzip.GzipFile(fileobj=file, mode="rb") if is_compressed(path) else file
                head = text.read(n_bytes)
                if text.read(1):
                    head = head[: head.rfind(b"\n") + 1]
            write_all(handle, head)
        except (EOFError, zlib.error, MemoryError, OSError) as error:
            failure = copy_failure(error, str(path))
        if failure is not None:
            raise failure
        if PEM in head[:PEM_WITHIN]:
            raise _key(path)
        seal(handle)
        yield SealedFile(str(path), Path(f"/proc/self/fd/{handle}"), "", len(head))
    finally:
        os.close(handle)


@contextmanager
def opened_in_place(path: Path, check: Callable[[Path], None]) -> Iterator[SealedFile]:
    """Open a file where it lies, under a name that leads to no other; its bytes may change meanwhile.

    For a look at its size and the names of its columns; no row may be read of it. The digest is empty.
    Raises InputError as `sealed`.
    """
    finding, hint = "", ""
    try:
        with _opened(path, check, ObjectStore()) as (file, _):
            handle = file.fileno()
            yield SealedFile(str(path), Path(f"/proc/self/fd/{handle}"), "", os.fstat(handle).st_size)
    except OSError as error:
        finding, hint = _problem(error)
    if finding:
        raise InputError(finding, where=str(path), hint=hint)


def _key(path: Location) -> InputError:
    return InputError("is a key (PEM), not a table", where=str(path), hint="Give the path of a table.")


def _copied(path: Location, handle: int, check: Callable[[Path], None] | None, objects: ObjectStore) -> str:
    """Copy the file's text into `handle`, and return the digest of its bytes."""
    try:
        with _opened(path, check, objects) as (file, stamp):
            before = stamp()
            digesting = _Digesting(file)
            if is_compressed(path):
                _decompress(digesting, handle, path)
                digesting.drain()
            else:
                _pour(digesting, handle, path)
            if stamp() == before:
                return digesting.digest.hexdigest()
            failure: ReleaseGateError = InputError(
                "changed while it was being read",
                where=str(path),
                hint="Run again when the file is complete.",
            )
    except (EOFError, zlib.error, MemoryError, OSError) as error:
        failure = copy_failure(error, str(path))
    raise failure


def copy_failure(error: Exception, where: str) -> ReleaseGateError:
    """Return what a user is told of a file that was not copied into memory."""
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return TransientFailure(
            "is larger than the file size limit of this process",
            where=where,
            hint="Allow larger files (`ulimit -f`), and check the free space of the disk.",
        )
    finding, hint = _problem(error)
    return InputError(finding, where=where, hint=hint)


def _problem(error: Exception) -> tuple[str, str]:
    """Return why a file could not be read, and how to correct it."""
    if isinstance(error, EOFError | zlib.error | gzip.BadGzipFile):
        return f"cannot be read ({type(error).__name__})", "The file is damaged or is not a gzip file."
    if isinstance(error, IsADirectoryError):
        return "is a folder", "Give the path of one CSV or Parquet file."
    if isinstance(error, FileNotFoundError):
        return "no such file", "Give --input FILE, or correct source.path."
    # ENOSPC is of the memory here, not of a disk.
    if isinstance(error, MemoryError) or getattr(error, "errno", 0) in (errno.ENOMEM, errno.ENOSPC):
        return "does not fit into memory", "Free memory, or split the table."
    return not_read(error), "Give a regular file that this account can read."


@contextmanager
def _opened(
    path: Location, check: Callable[[Path], None] | None, objects: ObjectStore
) -> Iterator[tuple[BinaryIO, Callable[[], tuple[int, ...]]]]:
    """Open a file, object or table; the function tells what changes if somebody writes it meanwhile."""
    if isinstance(path, ObjectAddress):
        with open_object(path, objects, LARGEST_INPUT) as opened:
            yield opened, tuple  # each of its parts is asked for by its version
        return
    if isinstance(path, PostgresTable):
        with open_table(path) as rows:
            yield rows, tuple  # of one snapshot
        return
    with open_plain(path) as file:
        if check is not None and (lies := open_path(file.fileno())) is not None:
            check(lies)
        yield file, lambda: _stamp(file.fileno())


def _stamp(handle: int) -> tuple[int, int]:
    found = os.fstat(handle)
    return found.st_mtime_ns, found.st_size


class _Digesting(io.RawIOBase):
    """Reads on, and digests what was read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = hashlib.sha256()
        self.n_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        self.digest.update(data)
        self.n_bytes += len(data)
        return len(data)

    def drain(self) -> None:
        """Read what is left."""
        while self.read(CHUNK):
            pass


def _decompress(raw: _Digesting, handle: int, path: Location) -> None:
    total = 0
    with gzip.GzipFile(fileobj=cast("BinaryIO", raw), mode="rb") as text:
        while chunk := text.read(CHUNK):
            total += len(chunk)
            if total > max(HARMLESS_BYTES, LARGEST_RATIO * raw.n_bytes) or total > LARGEST_INPUT:
                raise _too_large(path, f"is compressed more than {LARGEST_RATIO} times")
            write_all(handle, chunk)


def _pour(raw: _Digesting, handle: int, path: Location) -> None:
    while chunk := raw.read(CHUNK):
        if raw.n_bytes > LARGEST_INPUT:
            raise _too_large(path, f"has more than {LARGEST_INPUT >> 30} GiB")
        write_all(handle, chunk)


def write_all(handle: int, chunk: bytes) -> None:
    """Write all of a chunk. Raises OSError."""
    left = memoryview(chunk)
    while left:
        left = left[os.write(handle, left) :]


def _too_large(path: Location, finding: str) -> InputError:
    return InputError(finding, where=str(path), hint="Give the table itself, or split it.")
