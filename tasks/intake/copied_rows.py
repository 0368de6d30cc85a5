"""One sheet of a workbook, or one table of a SQLite database, as text: read in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from policy import errors
from policy.errors import InputError, ReleaseGateError
from policy.trusted import Memory
from tasks.intake.child_process import STATEMENT_SECONDS, ChildProcess, Ended, TookTooLong
from tasks.intake.database import allowed_memory, memory_hint
from tasks.intake.lengths import MEMORY_SHARE, memory_bytes, memory_share
from tasks.intake.sealed import seal
from tasks.intake.sealed_file import HARMLESS_BYTES, LARGEST_RATIO, SealedFile
from tasks.intake.source import Format
from tasks.memory import memory_in_use

COPIED: tuple[Format, ...] = ("excel", "sqlite")
_REFUSALS = {"InputError": errors.InputError, "UsageError": errors.UsageError}


@contextmanager
def copied_rows(
    table: SealedFile,
    kind: Format,
    named: str | None,
    alias: str,
    *,
    prefix: str = "source.",
    unread: Collection[str] = (),
    memory: Memory | None = None,
) -> Iterator[SealedFile]:
    """Copy a sheet or a table into sealed memory, which is gone after the `with`: see `write_rows`.

    It is the one `named`, else the one called `alias`, else the only one. Raises as `excel_rows`,
    `sqlite_rows` and `write_rows`, and InputError where that takes more memory or time than it may, or the
    rows are longer than a table of this size is.
    """
    memory = memory or memory_in_use()
    room = min(int(MEMORY_SHARE * memory_bytes()), max(HARMLESS_BYTES, LARGEST_RATIO * table.size))
    rows = os.memfd_create("rows", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    path = f"/proc/self/fd/{rows}"
    failure: ReleaseGateError | None = None
    try:
        process = ChildProcess([table.handle, rows], {"room": memory_share(memory), "rows_room": room})
        try:
            asked = {
                "kind": kind,
                "table": [table.shown, str(table.path), table.size],
                "part": [named, alias, prefix],
                "unread": [*unread],
                "rows": path,
            }
            found = process.ask(asked, STATEMENT_SECONDS)
            failure = _failure(found, table.shown, memory, room)
        except TookTooLong:
            finding = f"took longer than {STATEMENT_SECONDS:,.0f} seconds"
            failure = InputError(finding, where=table.shown, hint="Split it, or write a view into a table.")
        except Ended as error:
            failure = _too_large(table.shown, memory, f" (its process ended: {error})")
        finally:
            process.end()
        if failure is None:
            try:
                seal(rows)
            except OSError as error:  # something that the process began still writes
                failure = InputError(
                    f"cannot be read ({type(error).__name__})",
                    where=table.shown,
                    hint="Find out where the file is from.",
                )
        if failure is not None:
            raise failure
        n_rows = found.get("rows")
        yield SealedFile(table.shown, Path(path), table.digest, os.fstat(rows).st_size, n_rows)
    finally:
        os.close(rows)


def _failure(found: dict[str, object], where: str, memory: Memory, room: int) -> ReleaseGateError | None:
    """Return what an answer says to be wrong."""
    refused, kind = found.get("refused"), found.get("error")
    if isinstance(refused, list) and len(refused) == 4:
        name, finding, place, hint = refused
        return _REFUSALS.get(str(name), InputError)(str(finding), where=place, hint=hint)
    if kind == "EFBIG":
        hint = "Give the table alone, as CSV or Parquet."
        return InputError(f"has more than {room >> 20:,} MiB as text", where=where, hint=hint)
    if kind == "MemoryError":
        return _too_large(where, memory)
    if not isinstance(found.get("rows"), int):
        hint = "The file may be damaged: export it again."
        return InputError(f"cannot be read ({kind})", where=where, hint=hint)
    return None


def _too_large(where: str, memory: Memory, how: str = "") -> InputError:
    return InputError(f"needs more than {allowed_memory(memory)}{how}", where=where, hint=memory_hint())
