"""Run a policy's query over tables that are loaded already, where it can reach nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from threading import Event, Timer
from typing import TypeVar

import duckdb

from policy.errors import InputError, TransientFailure
from tasks.intake.columns import display_column
from tasks.intake.database import allowed_memory
from tasks.intake.statement import problem_of
from tasks.memory import spill_failure

R = TypeVar("R")

QUERY_SECONDS = 3600.0
HINT_QUERY = "Try the query in DuckDB; the input file is called `input` there."

# Parts of DuckDB's messages that repeat the query's own words. They are told only if they do stand in
# the query, since the same messages can quote cells.
OWN_WORDS = (
    re.compile(r'Referenced column "([^"]+)" not found'),
    re.compile(r'Referenced table "([^"]+)" not found'),
    re.compile(r"(?:Table|Function|Scalar Function|Table Function) with name (\S+) does not exist"),
    re.compile(r'syntax error at or near "([^"]+)"'),
    re.compile(r'No files found that match the pattern "([^"]+)"'),
    re.compile(r"when casting from source column (\w+)"),
)


def in_sandbox(
    connection: duckdb.DuckDBPyConnection, query: str, names: Sequence[str], work: Callable[[str], R]
) -> R:
    """Return what `work` gives of a policy's query, where nothing can be opened and no setting changed.

    The query reads the tables `names` of the connection, which were loaded before. Raises InputError where it
    is none that may run, where it fails, or where it takes longer or needs more than it may; no cell is told.
    """
    finding, hint = "", HINT_QUERY
    failure: TransientFailure | None = None
    interrupted = Event()

    def interrupt() -> None:
        interrupted.set()
        connection.interrupt()

    timer = Timer(QUERY_SECONDS, interrupt)
    timer.daemon = True
    try:
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        wrong = problem_of(connection, query, names)
        if wrong is None:
            timer.start()
            return work(query.strip().rstrip(";"))
        finding, hint = wrong
    except duckdb.Error as error:
        failure = spill_failure(error, connection)
        finding = query_problem(error, query)
        if interrupted.is_set():
            finding, hint = f"took longer than {QUERY_SECONDS:,.0f} seconds", "Ask for less."
        elif isinstance(error, duckdb.OutOfMemoryException):
            finding, hint = f"needs more than {allowed_memory()}", "Ask for less, or allow more memory."
    finally:
        timer.cancel()
    if failure is not None:
        raise failure
    raise InputError(finding, where="source.query", hint=hint)


def query_problem(error: duckdb.Error, query: str) -> str:
    """Tell DuckDB's error by its type and the query's own words; its message may quote cells."""
    words = (found[1] for pattern in OWN_WORDS if (found := pattern.search(str(error))))
    own = next((word for word in words if word in query), None)
    return f"fails ({type(error).__name__}){f' at {display_column(own)}' if own else ''}"
