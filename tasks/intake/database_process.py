"""A database in a process of its own, whose memory and time are bounded, whatever a file or a query does.

DuckDB's `memory_limit` counts its buffers alone, and an interruption counts between two of its steps alone:
one call of a function can take any memory and time. Therefore files are read, and a policy's query runs, in
a process of its own, which the system ends where it needs more than it may. Rows come back in Parquet, in a
file in memory, whose columns are held against those that are expected.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import duckdb

from policy.trusted import Memory
from tasks.intake.child_process import STATEMENT_SECONDS, ChildProcess, Ended, TookTooLong, copied
from tasks.intake.database import own_database
from tasks.intake.lengths import MEMORY_SHARE, VECTOR, memory_bytes, memory_share
from tasks.memory import expect_refusals, memory_in_use, room_of
from tasks.sql import literal

if TYPE_CHECKING:
    import pandas as pd  # `check` does without it


class ProcessEnded(duckdb.OutOfMemoryException):
    """The process ended by the signal that the text names: nearly always for want of memory."""


class Answer:
    """The rows of a statement."""

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows = rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows."""
        return self._rows

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the first row."""
        return self._rows[0] if self._rows else None


class Columns:
    """The columns of a query, which did not run."""

    def __init__(self, columns: list[str], types: list[str]) -> None:
        self.columns, self.types = columns, types


class DatabaseProcess:
    """A database in memory, in a process that ends with this object.

    It opens the sealed `files` (descriptors) under the paths that they have here, and has nothing else that
    is open in this process. Where it ends by itself, the statement raises ProcessEnded; where it took too
    long, duckdb.InterruptException.
    """

    def __init__(self, files: Collection[int] = (), memory: Memory | None = None) -> None:
        """Start it. Raises TransientFailure where the system lets no process start."""
        self.memory = memory = memory or memory_in_use()
        self._ends: float | None = None
        self._rows = os.memfd_create("rows", os.MFD_CLOEXEC)
        begun = {
            "memory": [memory.limit, None if memory.spill is None else str(memory.spill), memory.spill_limit],
            "room": memory_share(memory),
            "rows": self._path,
            "rows_room": int(MEMORY_SHARE * memory_bytes()),
        }
        try:
            self._process = ChildProcess([*files, self._rows], begun)
        except BaseException:
            os.close(self._rows)
            raise
        expect_refusals(self, memory)

    def __enter__(self) -> DatabaseProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _path(self) -> str:
        return f"/proc/self/fd/{self._rows}"

    def execute(self, query: str, parameters: Sequence[object] | None = None) -> Answer:
        """Run a statement. Raises duckdb.Error, whose text may hold a cell."""
        found = self._ask({"do": "execute", "query": query, "parameters": parameters})
        return Answer([tuple(row) for row in found["rows"]])

    def sql(self, query: str) -> Columns:
        """Return the columns of a query, which does not run."""
        found = self._ask({"do": "columns", "query": query})
        return Columns(found["columns"], found["types"])

    def kinds_of_statements(self, query: str) -> list[str]:
        """Return the kind of each statement of a text, as `duckdb.StatementType` calls it."""
        return [str(one) for one in self._ask({"do": "statements", "query": query})["kinds"]]

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Let all that is asked inside the `with` take so long together; more ends the process."""
        self._ends = time.monotonic() + seconds
        self._ask({"do": "seconds", "seconds": seconds})
        try:
            yield
        finally:
            self._ends = None
        if self._process.is_running:
            self._ask({"do": "seconds", "seconds": None})

    def chunks(
        self, source: str, selection: str, kinds: Mapping[str, str], vectors: int
    ) -> Iterator[pd.DataFrame]:
        """Give the rows of a relation in its order, so many of DuckDB's vectors at once.

        `kinds` are DuckDB's types of the columns of the selection. The rows are copied before they are read,
        so that nobody changes them meanwhile. Raises duckdb.Error, also where they have other columns.
        """
        self.execute(
            f"COPY (SELECT {selection} FROM {source}) TO {literal(self._path)} "
            f"(FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE {vectors * VECTOR}, USE_TMP_FILE false)"
        )
        handle = copied(self._rows, "chunks")
        os.truncate(self._rows, 0)
        try:
            with own_database(self.memory) as connection:
                rows = f"FROM read_parquet({literal(f'/proc/self/fd/{handle}')}, hive_partitioning = false)"
                relation = connection.sql(rows)
                if dict(zip(relation.columns, map(str, relation.types), strict=True)) != dict(kinds):
                    raise duckdb.InvalidInputException("other columns than were asked for")
                connection.execute(rows)
                while len(chunk := connection.fetch_df_chunk(vectors)):
                    yield chunk
        finally:
            os.close(handle)

    def close(self) -> None:
        """End the process and whatever it started, and give its memory back."""
        self._process.end()
        if self._rows >= 0:
            os.close(self._rows)
            self._rows = -1

    def _ask(self, message: Mapping[str, object]) -> dict[str, Any]:
        left = STATEMENT_SECONDS
        if self._ends is not None:
            left = min(left, self._ends - time.monotonic())
        failure: duckdb.Error
        try:
            found = self._process.ask(message, left)
        except TookTooLong:
            failure = duckdb.InterruptException("too late")
        except Ended as error:
            failure = ProcessEnded(str(error))
        else:
            if "error" not in found:
                return found
            room = room_of(self)
            if room is not None and "refused" in found:
                room.failure, room.limit = str(found["refused"]), int(found["limit"])
            kind = getattr(duckdb, str(found["error"]), duckdb.Error)
            is_one = isinstance(kind, type) and issubclass(kind, duckdb.Error)
            failure = (kind if is_one else duckdb.Error)(str(found["text"]))
        raise failure
