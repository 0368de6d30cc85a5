"""Run a policy's query over tables that are loaded already, where it can reach nothing else.

Its process ends with it if it needs more memory or time than it may, whatever it calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

import duckdb

from policy.errors import InputError, TransientFailure
from tasks.intake.columns import display_column
from tasks.intake.database import allowed_memory, memory_hint
from tasks.intake.database_process import DatabaseProcess, ProcessEnded
from tasks.intake.statement import problem_of
from tasks.memory import spill_failure

R = TypeVar("R")

QUERY_SECONDS = 3600.0
HINT_TIME = "Ask for less, or prepare the table beforehand."
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


def in_sandbox(database: DatabaseProcess, query: str, names: Sequence[str], work: Callable[[str], R]) -> R:
    """Return what `work` gives of a policy's query, where nothing can be opened and no setting changed.

    The query reads the tables `names` of the database, which were loaded before. Raises InputError where it
    is none that may run, where it fails, or where it takes longer or needs more than it may; no cell is told.
    """
    finding, hint = "", HINT_QUERY
    failure: TransientFailure | None = None
    try:
        with database.within(QUERY_SECONDS):
            database.execute("SET enable_external_access = false")
            database.execute("SET lock_configuration = true")
            wrong = problem_of(database, query, names)
            if wrong is None:
                return work(query.strip().rstrip(";"))
            finding, hint = wrong
    except duckdb.Error as error:
        failure = spill_failure(error, database)
        finding = query_problem(error, query)
        if isinstance(error, duckdb.InterruptException):
            finding, hint = f"took longer than {QUERY_SECONDS:,.0f} seconds", HINT_TIME
        elif isinstance(error, duckdb.OutOfMemoryException):
            more = memory_hint()
            ended = f" (its process ended: {error})" if isinstance(error, ProcessEnded) else ""
            finding, hint = (
                f"needs more than {allowed_memory()}{ended}",
                f"Ask for less, or {more[0].lower()}{more[1:]}",
            )
    if failure is not None:
        raise failure
    raise InputError(finding, where="source.query", hint=hint)


def query_problem(error: duckdb.Error, query: str) -> str:
    """Tell DuckDB's error by its type and the query's own words; its message may quote cells."""
    words = (found[1] for pattern in OWN_WORDS if (found := pattern.search(str(error))))
    own = next((word for word in words if word in query), None)
    return f"fails ({type(error).__name__}){f' at {display_column(own)}' if own else ''}"
