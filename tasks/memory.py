"""How much memory DuckDB may take, and where it spills: as the store's owner says, for the whole process.

A process works with one store at a time, and each command first lets that store's memory be used.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import duckdb

from policy.errors import TransientFailure
from policy.trusted import TRUSTED_FILE, Memory

if TYPE_CHECKING:
    from tasks.spill_files import SpillRoom

WHOLE_DISK = "1000TB"  # DuckDB does not see how much room the folder has; our files refuse what is too much
_NO_ROOM = ("ENOSPC", "EDQUOT", "EFBIG")
_memory = Memory()
_rooms: WeakKeyDictionary[object, SpillRoom] = WeakKeyDictionary()


def use_memory(memory: Memory) -> None:
    """Let the instances that this process makes from now on take so much memory, and spill there."""
    global _memory  # noqa: PLW0603 -- what the owner allows holds for the process
    _memory = memory


def memory_in_use() -> Memory:
    """Return what the instances of this process may take."""
    return _memory


def set_memory(connection: duckdb.DuckDBPyConnection, memory: Memory) -> None:
    """Hold an instance to its memory. Without a folder nothing is ever written to a disk."""
    if memory.limit is not None:
        connection.execute(f"SET memory_limit = '{memory.limit} bytes'")
    if memory.spill is None:
        connection.execute("SET temp_directory = ''")
        return
    from tasks.spill_files import PROTOCOL, SpillFiles

    files = SpillFiles(memory.spill, memory.spill_limit)
    connection.register_filesystem(files)
    _rooms[connection] = files.room
    connection.execute(f"SET temp_directory = '{PROTOCOL}://files'")
    connection.execute(f"SET max_temp_directory_size = '{WHOLE_DISK}'")


def room_of(instance: object) -> SpillRoom | None:
    """Return the room for the temporary files of an instance; None where it has no folder."""
    return _rooms.get(instance)


def expect_refusals(instance: object, memory: Memory) -> None:
    """Keep a room for an instance that is in another process, to hold why a file was refused there."""
    if memory.spill is not None:
        from tasks.spill_files import SpillRoom

        _rooms[instance] = SpillRoom(memory.spill, memory.spill_limit)


@contextmanager
def memory_errors(memory: Memory, instance: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Say what to do where memory or the disk ends in an instance; other errors pass.

    Raises TransientFailure.
    """
    failure = None
    try:
        yield
    except duckdb.Error as error:
        failure = spill_failure(error, instance) or _memory_failure(error, memory)
        if failure is None:
            raise
    if failure is not None:
        raise failure from None


def mebibytes(n_bytes: int) -> str:
    """Return a size in words."""
    return f"{n_bytes / (1 << 20):,.0f} MiB"


def spill_failure(error: duckdb.Error, instance: object) -> TransientFailure | None:
    """Return what to say of an error that one of ours caused, which DuckDB's text names.

    Nothing of that text is repeated: a query can write it, and put cells into it. Raise what is returned
    outside the handler, so that it does not hold the error.
    """
    room = _rooms.get(instance)
    if room is None or not room.failure:
        return None
    from tasks.spill_files import NO_ROOM_LEFT, SpillFailed

    if SpillFailed.__name__ not in str(error):
        return None
    reason, room.failure = room.failure, ""
    if reason == NO_ROOM_LEFT:
        return TransientFailure(
            f"temporary files need more than {mebibytes(room.limit)}",
            where=f"{TRUSTED_FILE}: spill_limit",
            hint="Ask for less, or give more (without spill_limit: half of the free room), and run it again.",
        )
    finding = f"the system refused a temporary file ({reason})"
    hint = "Check the disk and the permissions of the folder"
    if reason in _NO_ROOM:
        finding, hint = f"the disk has no room for temporary files ({reason})", "Free room on this disk"
    return TransientFailure(
        finding,
        where=str(room.folder),
        hint=f"{hint}, or change spill or memory_limit in {TRUSTED_FILE}; then run it again.",
    )


def _memory_failure(error: duckdb.Error, memory: Memory) -> TransientFailure | None:
    if memory.limit is None or not isinstance(error, duckdb.OutOfMemoryException):
        return None
    more = "Give more" if memory.spill is not None else "Give more, or name a folder as spill"
    return TransientFailure(
        f"{mebibytes(memory.limit)} are too little for a query over the table",
        where=f"{TRUSTED_FILE}: memory_limit",
        hint=f"{more}, and run it again.",
    )
