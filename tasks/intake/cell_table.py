"""The cells of a table in a database of its own, to count in: read as a run reads them, without a frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from expectations.number_text import NUMBER
from policy.model import ReleasePolicy
from tasks.intake import lengths
from tasks.intake.cell_text import BEGINNING
from tasks.intake.columns import check_names_differ, check_same_columns
from tasks.intake.csv_file import CsvText
from tasks.intake.database import Database
from tasks.intake.database_process import DatabaseProcess
from tasks.intake.expressions import column_expression, is_native, numeric_columns
from tasks.intake.lengths import cell_too_long, check_lengths, check_rows
from tasks.intake.load import (
    INPUT,
    Opened,
    column_types,
    from_file,
    handles,
    load_files,
    opened_files,
    rows_in,
)
from tasks.intake.query import in_sandbox
from tasks.intake.repeated_people import RepeatedPeople, repeated_in
from tasks.intake.source import TableSource
from tasks.intake.total_row import check_no_total, last_of_relation, listed_values
from tasks.sql import identifier, literal

TABLE = "releasegate_cells"
_VALUES = "releasegate_values"


@dataclass(frozen=True)
class Cells:
    """A table in the table `TABLE` of a connection: those of the roles' columns that it has.

    Numbers of a native type are DOUBLE, all else is VARCHAR, and NULL is missing. `names` are all columns of
    the input; of the dropped ones, cells are cut to BEGINNING characters. `texts` are the numbers of
    different texts of columns whose texts stand for other values, and `repeated` what shows that people have
    several rows, by the place of the rows.
    """

    connection: Database
    where: str
    names: tuple[str, ...]
    native: frozenset[str]
    rows: int
    texts: Mapping[str, int] = field(default_factory=dict)
    repeated: Sequence[tuple[str, RepeatedPeople]] = ()

    def has(self, column: str | None) -> bool:
        """Tell whether the input has a column."""
        return column in self.names

    def all(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query over `TABLE`."""
        return self.connection.execute(query, list(parameters)).fetchall()

    def one(self, query: str, parameters: Sequence[object] = ()) -> tuple[Any, ...]:
        """Return the only row of an aggregate over `TABLE`."""
        return self.all(query, parameters)[0]

    def different_texts(self, column: str) -> int:
        """Return how many different texts a column has in the input."""
        if column in self.texts:
            return self.texts[column]
        return int(self.one(f"SELECT count(DISTINCT {identifier(column)}) FROM {TABLE}")[0])

    def number(self, column: str) -> str:
        """Return the SQL of a column's numbers, NULL where a cell is missing or is no finite number."""
        name = identifier(column)
        if column in self.native:
            return f"CASE WHEN isfinite({name}) THEN {name} END"
        cast = f"try_cast(ltrim(trim({name}), '+') AS DOUBLE)"
        return f"CASE WHEN regexp_full_match({name}, {literal(NUMBER)}) AND isfinite({cast}) THEN {cast} END"


@contextmanager
def cells_of(source: TableSource, policy: ReleasePolicy) -> Iterator[Cells]:
    """Read the files or the query of `source`; what is counted of them is good inside the `with`.

    Files are sealed, parsed and bounded as in a run, and a query runs in the same sandbox. Texts are read by
    the steps of the policy, and as the values for which they stand. Repeated rows are left out if the policy
    says so. Raises InputError where the table cannot be read; no cell is told. O(bytes).
    """
    with (
        opened_files(source, policy.roles.dropped) as files,
        DatabaseProcess(handles(files)) as connection,
    ):
        if source.query is None:
            columns = _of_parts(connection, files[INPUT], policy)
        else:
            load_files(connection, files, policy)
            columns = in_sandbox(
                connection, source.query, [*files], lambda query: _of_query(connection, query, policy)
            )
        _check_cells(connection, columns.texts, source.where)
        texts = _put_values(connection, columns)
        if policy.source.duplicates == "removed":
            _remove_repeated(connection, columns)
        rows = rows_in(connection, TABLE)
        names, repeated = tuple(columns.types), columns.repeated
        yield Cells(connection, source.where, names, columns.native, rows, texts, repeated)


@dataclass(frozen=True)
class _Columns:
    """The columns of an input, with DuckDB's types, and how they are read."""

    types: dict[str, str]
    policy: ReleasePolicy
    repeated: list[tuple[str, RepeatedPeople]] = field(default_factory=list)

    @cached_property
    def wanted(self) -> list[str]:
        """Those that a run reads."""
        roles = self.policy.roles
        return [name for name in (*roles.columns_read(), *roles.identifiers) if name in self.types]

    @cached_property
    def dropped(self) -> list[str]:
        """Those that it does not read."""
        return [name for name in self.policy.roles.dropped if name in self.types]

    @cached_property
    def native(self) -> frozenset[str]:
        """Those that hold numbers of DuckDB's types."""
        numeric = numeric_columns(self.policy.roles)
        return frozenset(name for name in self.wanted if name in numeric and is_native(self.types[name]))

    @property
    def texts(self) -> list[str]:
        """Those that a run reads as text."""
        return [name for name in self.wanted if name not in self.native]

    def of_wanted(self) -> dict[str, str]:
        """Return the types of the columns that a run reads, and the names alone of the others."""
        return {name: kind if name in self.wanted else "" for name, kind in self.types.items()}

    @property
    def selection(self) -> str:
        """The SQL of all columns of `TABLE`."""
        beginnings = [f"{_beginning(name)} AS {identifier(name)}" for name in self.dropped]
        cells = [f"{self._cell(name)} AS {identifier(name)}" for name in self.wanted]
        return ", ".join([*cells, *beginnings]) or "NULL AS nothing"

    def _cell(self, name: str) -> str:
        cell = column_expression(self.policy, name, self.types[name])
        return f"CASE WHEN NOT isnan({cell}) THEN {cell} END" if name in self.native else cell


def _beginning(name: str) -> str:
    """Return the SQL of the first BEGINNING characters of a cell; so many bytes are no more characters."""
    text = f"CAST({identifier(name)} AS VARCHAR)"
    return f"CASE WHEN strlen({text}) <= {BEGINNING} THEN {text} ELSE left({text}, {BEGINNING}) END"


def _of_parts(connection: Database, parts: Sequence[Opened], policy: ReleasePolicy) -> _Columns:
    """Read the files of a table into `TABLE`, one after the other."""
    columns: _Columns | None = None
    for opened in parts:
        columns = _of_part(connection, opened, policy, columns, parts)
    assert columns is not None  # noqa: S101 -- a table has at least one file
    return columns


def _of_part(
    connection: Database,
    opened: Opened,
    policy: ReleasePolicy,
    first: _Columns | None,
    parts: Sequence[Opened],
) -> _Columns:
    """Read a file into `TABLE`; return the columns of the first one."""
    where = opened[1].shown

    def copied(select: str, text: CsvText | None) -> tuple[_Columns, int]:
        connection.execute(f"CREATE OR REPLACE VIEW {INPUT} AS {select}")
        own = _Columns(column_types(connection, f"FROM {INPUT}"), policy)
        if first is not None:
            check_same_columns(own.of_wanted(), first.of_wanted(), where, parts[0][1].shown)
        if text is None or policy.source.line_breaks:  # a small file of Parquet may hold much
            check_lengths(connection, f"(SELECT {own.selection} FROM {INPUT})", own.texts, where)
        rows = f"SELECT {own.selection} FROM {INPUT} LIMIT {lengths.MOST_REPEATED_ROWS + 1}"
        if first is None:
            before = 0
            connection.execute(f"CREATE TEMP TABLE {TABLE} AS {rows}")
        else:
            before = rows_in(connection, TABLE)
            connection.execute(f"INSERT INTO {TABLE} BY NAME {rows}")
        total = rows_in(connection, TABLE)
        check_rows(total, where, lengths.MOST_REPEATED_ROWS)
        columns = first or own
        part = f"(FROM {TABLE} WHERE rowid >= {before})"
        columns.repeated.extend(repeated_in(connection, part, [*own.types], policy, where, len(parts)))
        return columns, total - before

    return from_file(connection, opened, policy, copied, check_names=check_names_differ)


def _of_query(connection: Database, query: str, policy: ReleasePolicy) -> _Columns:
    """Read the rows of a query into `TABLE`; it runs once."""
    found = connection.sql(f"SELECT * FROM (\n{query}\n)")
    columns = _Columns(dict(zip(found.columns, map(str, found.types), strict=True)), policy)
    rows = f"SELECT {columns.selection} FROM (\n{query}\n) LIMIT {lengths.MOST_ROWS + 1}"
    connection.execute(f"CREATE TEMP TABLE {TABLE} AS {rows}")
    check_lengths(connection, TABLE, columns.texts, "source.query")
    n_rows = rows_in(connection, TABLE)
    check_rows(n_rows, "source.query")
    last = last_of_relation(connection, columns.wanted, TABLE, n_rows)
    check_no_total(connection, TABLE, last, n_rows, "source.query", listed_values(policy.roles))
    columns.repeated.extend(repeated_in(connection, TABLE, [*columns.types], policy, "source.query"))
    return columns


def _check_cells(connection: Database, texts: Sequence[str], where: str) -> None:
    """Raise InputError where a cell of the columns `texts` is too long."""
    if not texts:
        return
    longest = ", ".join(f"max(length({identifier(name)}))" for name in texts)
    (found,) = connection.execute(f"SELECT {longest} FROM {TABLE}").fetchall()
    for name, length in zip(texts, found, strict=True):
        if (length or 0) > lengths.LONGEST_CELL:
            raise cell_too_long(name, where)


def _put_values(connection: Database, columns: _Columns) -> dict[str, int]:
    """Put the value for which a text stands in its place, each different text looked at once.

    Returns how many different texts such columns had.
    """
    texts: dict[str, int] = {}
    for name, qi in columns.policy.roles.categorical.items():
        if not qi.reads or name not in columns.wanted:
            continue
        column = identifier(name)
        found = connection.execute(f"SELECT DISTINCT {column} FROM {TABLE} WHERE {column} IS NOT NULL")
        values = {text: qi.value(text) for (text,) in found.fetchall()}
        texts[name] = len(values)
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {_VALUES} AS "
            "SELECT unnest(?::VARCHAR[]) AS written, unnest(?::VARCHAR[]) AS value",
            [list(values), list(values.values())],
        )
        connection.execute(
            f"UPDATE {TABLE} SET {column} = {_VALUES}.value FROM {_VALUES} "
            f"WHERE {TABLE}.{column} = {_VALUES}.written AND {_VALUES}.value != {_VALUES}.written"
        )
    return texts


def _remove_repeated(connection: Database, columns: _Columns) -> None:
    """Delete each row that equals the row before it in every column that a run reads."""
    same = " AND ".join(
        f"{identifier(n)} IS NOT DISTINCT FROM lag({identifier(n)}) OVER (ORDER BY rowid)"
        for n in columns.wanted
    )
    repeated = f"SELECT rowid AS place, rowid > 0 AND {same or 'false'} AS same FROM {TABLE}"
    connection.execute(f"DELETE FROM {TABLE} WHERE rowid IN (SELECT place FROM ({repeated}) WHERE same)")
