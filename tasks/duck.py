"""DuckDB in memory, to read and write files: one instance a process, since to make one takes long."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import duckdb

from policy.trusted import Memory
from tasks.memory import memory_errors, memory_in_use, set_memory

# By their number of threads, and what memory they may take.
_instances: dict[tuple[int | None, Memory], duckdb.DuckDBPyConnection] = {}
_inherited: list[duckdb.DuckDBPyConnection] = []  # of the process that this one was forked from
_lock = Lock()


@contextmanager
def connection(threads: int | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a connection to an empty database in memory, with `threads` threads or as many as there are cores.

    What is made in it must be temporary: it goes with the connection. Raises TransientFailure where the
    memory that the store's owner allows, or the disk for what it does not hold, is too small.
    """
    memory = memory_in_use()
    with _lock:
        for earlier in [one for one in _instances if one[1] != memory]:
            del _instances[earlier]  # it goes with the last connection to it
        if (threads, memory) not in _instances:
            _instances[threads, memory] = _instance(threads, memory)
        instance = _instances[threads, memory]
        con = instance.cursor()
    try:
        with memory_errors(memory, instance):
            yield con
    finally:
        con.close()


def _instance(threads: int | None, memory: Memory) -> duckdb.DuckDBPyConnection:
    """Make an instance that loads no extension, and that remembers nothing of a file that it has read."""
    made = duckdb.connect()
    set_memory(made, memory)
    made.execute("SET autoinstall_known_extensions=false; SET autoload_known_extensions=false")
    made.execute("SET enable_external_file_cache=false; SET enable_progress_bar=false; SET TimeZone='UTC'")
    if threads is not None:
        made.execute(f"SET threads={threads}")
    return made


@atexit.register
def _close() -> None:
    while _instances:
        _instances.popitem()[1].close()


def _begin_anew() -> None:
    """Leave the instances of the process that was forked alone: their threads are not in this one."""
    global _lock  # noqa: PLW0603 -- another thread of that process may have had it
    _lock = Lock()
    _inherited.extend(_instances.values())
    _instances.clear()


os.register_at_fork(after_in_child=_begin_anew)
