"""A database in memory for one table that somebody else wrote, and for a query over it."""

from __future__ import annotations

import duckdb

MEMORY_LIMIT = "50%"  # of the machine's


def own_database() -> duckdb.DuckDBPyConnection:
    """Open a database of its own, which loads no extension and writes nothing to a disk."""
    connection = duckdb.connect(
        config={
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,  # a query sees its inputs, not this process's variables
            "temp_directory": "",  # rows are never spilled to a disk
            "memory_limit": MEMORY_LIMIT,
        }
    )
    connection.execute("SET enable_progress_bar = false")
    return connection
