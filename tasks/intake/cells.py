"""The cells of a table in a database of its own, to count in: read as a run reads them, without a frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb

from expectations.number_text import NUMBER
from policy.errors import InputError
from policy.model import ReleasePolicy
from tasks.intake import lengths
from tasks.intake.database import own_database
from tasks.intake.expressions import column_expression, is_native, numeric_columns
from tasks.intake.lengths import check_lengths
from tasks.intake.load import (
    HINT_QUOTES,
    INPUT,
    Files,
    check_count,
    checked_text,
    file_problem,
    files_of,
    load_file,
    rejected_row,
    select_file,
)
from tasks.intake.query import in_sandbox
from tasks.intake.sealed import sealed
from tasks.intake.source import TableSource
from tasks.memory import spill_failure
from tasks.sql import identifier, literal

TABLE = "releasegate_cells"
LONGEST_DATE = 40  # characters that are looked at of a column that a run does not read


@dataclass(frozen=True)
class Cells:
    """A table in the table `TABLE` of a connection: those of the roles' columns that it has.

    Numbers of a native type are DOUBLE, all else is VARCHAR, and NULL is missing. `names` are all columns of
    the input; of the dropped ones, cells are cut to LONGEST_DATE characters.
    """

    connection: duckdb.DuckDBPyConnection
    where: str
    names: tuple[str, ...]
    native: frozenset[str]
    rows: int

    def has(self, column: str | None) -> bool:
        """Tell whether the input has a column."""
        return column in self.names

    def all(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query over `TABLE`."""
        return self.connection.execute(query, list(parameters)).fetchall()

    def one(self, query: str, parameters: Sequence[object] = ()) -> tuple[Any, ...]:
        """Return the only row of an aggregate over `TABLE`."""
        return self.all(query, parameters)[0]

    def number(self, column: str) -> str:
        """Return the SQL of a column's numbers, NULL where a cell is missing or is no finite number."""
        name = identifier(column)
        if column in self.native:
            return f"CASE WHEN isfinite({name}) THEN {name} END"
        cast = f"try_cast(ltrim(trim({name}), '+') AS DOUBLE)"
        return f"CASE WHEN regexp_full_match({name}, {literal(NUMBER)}) AND isfinite({cast}) THEN {cast} END"


@contextmanager
def cells_of(source: TableSource, policy: ReleasePolicy) -> Iterator[Cells]:
    """Read the table of `source`; what is counted of it is good inside the `with`.

    Files are sealed, parsed and bounded as in a run, and a query runs in the same sandbox. Repeated rows are
    left out if the policy says so. Raises InputError where it cannot be read; no cell is told. O(bytes).
    """
    with ExitStack() as opened:
        files: Files = {
            name: (file, opened.enter_context(sealed(file.path, file.check, file.objects)))
            for name, file in files_of(source).items()
        }
        connection = opened.enter_context(own_database())
        if source.query is None:
            names, native = _load_whole(connection, files, policy)
        else:
            for name, (file, table) in files.items():
                load_file(connection, name, file, table, policy)
            names, native = in_sandbox(
                connection,
                source.query,
                [*files],
                lambda query: _create(connection, f"(\n{query}\n)", policy, "source.query"),
            )
        if policy.source.duplicates == "removed":
            _remove_repeated(connection, names, policy)
        rows = connection.execute(f"SELECT count(*) FROM {TABLE}").fetchall()[0][0]
        yield Cells(connection, source.where, tuple(names), native, int(rows))


def _load_whole(
    connection: duckdb.DuckDBPyConnection, files: Files, policy: ReleasePolicy
) -> tuple[list[str], frozenset[str]]:
    """Read the table's own file into `TABLE`."""
    file, table = files[INPUT]
    text = checked_text(file, table, policy, own=False)
    finding, hint, failure = "", HINT_QUOTES, None
    try:
        connection.execute(f"CREATE VIEW {INPUT} AS {select_file(file, table, text, policy)}")
        created = _create(connection, INPUT, policy, table.shown)
        finding = rejected_row(connection, table, policy) if text else ""
    except duckdb.Error as error:
        failure = spill_failure(error, connection)
        finding, hint = file_problem(error, table, text)
    if failure is not None:
        raise failure
    if finding:
        raise InputError(finding, where=table.shown, hint=hint)
    rows = connection.execute(f"SELECT count(*) FROM {TABLE}").fetchall()[0][0]
    check_count(table, text, int(rows))
    return created


def _create(
    connection: duckdb.DuckDBPyConnection, relation: str, policy: ReleasePolicy, where: str
) -> tuple[list[str], frozenset[str]]:
    """Make `TABLE` of a relation; return all of its columns, and those that are native numbers."""
    found = connection.sql(f"SELECT * FROM {relation}")
    types = dict(zip(found.columns, map(str, found.types), strict=True))
    roles = policy.roles
    wanted = [name for name in (*roles.columns_read(), *roles.identifiers) if name in types]
    native = frozenset(n for n in wanted if n in numeric_columns(roles) and is_native(types[n]))
    selected = [
        f"CASE WHEN NOT isnan({identifier(n)}) THEN CAST({identifier(n)} AS DOUBLE) END AS {identifier(n)}"
        if n in native and types[n] in ("FLOAT", "DOUBLE")
        else column_expression(policy, n, types[n])
        for n in wanted
    ]
    dates = [
        f"left(CAST({identifier(n)} AS VARCHAR), {LONGEST_DATE}) AS {identifier(n)}"
        for n in roles.dropped
        if n in types and types[n].startswith(("VARCHAR", "DATE", "TIMESTAMP"))
    ]
    columns = selected + dates or ["NULL AS nothing"]
    rows = f"SELECT {', '.join(columns)} FROM {relation} LIMIT {lengths.MOST_ROWS + 1}"
    if relation == INPUT:  # a small file of Parquet may hold much
        texts = [name for name in wanted if name not in native]
        check_lengths(connection, f"(SELECT {', '.join(selected)} FROM {relation})", texts, where)
        connection.execute(f"CREATE TEMP TABLE {TABLE} AS {rows}")
    else:  # a query runs once
        connection.execute(f"CREATE TEMP TABLE {TABLE} AS {rows}")
        check_lengths(connection, TABLE, [name for name in wanted if name not in native], where)
    return list(types), native


def _remove_repeated(
    connection: duckdb.DuckDBPyConnection, names: Sequence[str], policy: ReleasePolicy
) -> None:
    """Delete each row that equals the row before it in every column that a run reads."""
    read = [n for n in (*policy.roles.columns_read(), *policy.roles.identifiers) if n in names]
    same = " AND ".join(
        f"{identifier(n)} IS NOT DISTINCT FROM lag({identifier(n)}) OVER (ORDER BY rowid)" for n in read
    )
    repeated = f"SELECT rowid AS place, rowid > 0 AND {same} AS same FROM {TABLE}"
    connection.execute(f"DELETE FROM {TABLE} WHERE rowid IN (SELECT place FROM ({repeated}) WHERE same)")
