"""A database in memory for one table that somebody else wrote, and for a query over it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import duckdb

from policy.trusted import TRUSTED_FILE, Memory
from tasks.memory import mebibytes, memory_in_use, set_memory


class Answer(Protocol):
    """The rows of a statement."""

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row."""

    def fetchall(self) -> list[Any]:
        """Return all rows."""


class Columns(Protocol):
    """The columns of a query."""

    @property
    def columns(self) -> list[str]:
        """Their names."""

    @property
    def types(self) -> Sequence[object]:
        """DuckDB's types, whose text names them."""


class Database(Protocol):
    """A database of DuckDB: a connection of this process, or one in a process of its own."""

    def execute(self, query: str, parameters: Any = None) -> Answer:
        """Run a statement."""

    def sql(self, query: str) -> Columns:
        """Tell the columns of a query, which does not run."""


MEMORY_LIMIT = "50%"  # of the machine's, where the store's owner sets no limit


def allowed_memory(memory: Memory | None = None) -> str:
    """Return in words how much memory such a database may take."""
    limit = (memory or memory_in_use()).limit
    return f"{MEMORY_LIMIT} of the memory" if limit is None else f"the {mebibytes(limit)} of memory_limit"


def memory_hint() -> str:
    """Return how to make room for a table in such a database."""
    memory = memory_in_use()
    if memory.limit is None:
        return "Free memory" + ("." if memory.spill else f", or name a folder as spill in {TRUSTED_FILE}.")
    more = f"Give more as memory_limit in {TRUSTED_FILE}"
    return more + ("." if memory.spill else ", or name a folder as spill there.")


def own_database(memory: Memory | None = None) -> duckdb.DuckDBPyConnection:
    """Open a database of its own, which loads no extension and writes nothing readable to a disk.

    Its times are of UTC, whatever the zone of the machine.
    `memory` is what it may take; without it, what this process uses.
    """
    connection = duckdb.connect(
        config={
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,  # a query sees its inputs, not this process's variables
            "memory_limit": MEMORY_LIMIT,
        }
    )
    set_memory(connection, memory or memory_in_use())
    connection.execute("SET enable_progress_bar = false; SET TimeZone = 'UTC'")
    return connection
