"""Names, counts and bounds of a table's columns: all that a drafted policy is guessed from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import duckdb
import pandas as pd

from policy.errors import InputError, UsageError
from policy.trusted import Memory
from tasks.intake.columns import check_distinct
from tasks.intake.database import allowed_memory, own_database
from tasks.intake.lengths import check_lengths
from tasks.intake.lines import LONGEST_LINE, count_records
from tasks.intake.sealed import SealedFile, sealed
from tasks.intake.source import SUFFIXES
from tasks.intake.text import DELIMITERS, LONGEST_HEADER, check_text, read_header
from tasks.risk.attacks.leaks import LongValues, holding, plain_text
from tasks.risk.attacks.personal_numbers import kinds_in
from tasks.sql import identifier, literal

# Ways to write that a value is unknown. "None" is left out: it often says "nothing", which is a value.
MISSING_TOKENS = ("", "?", "NA", "N/A", "NULL", "null", "NaN", "nan", ".")
Encoding = Literal["utf-8", "latin-1"]
NO_STORE = Memory()  # a draft is made without a store, whose owner could limit its memory
LOOKED_AT = 5000  # distinct values of a column in which marks of people are looked for
MARKED = 0.1  # share of them from which a column is one of such marks
DATE = re.compile(
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})"
    r"|(?:1[89]|2[01])\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
    r"|\d{1,2}\.?[ /.-]?[^\W\d_]{3,9}\.?[ ,/.-]{0,2}\d{2,4}|[^\W\d_]{3,9}\.? \d{1,2},? \d{4})(?!\d)"
)


@dataclass(frozen=True)
class ColumnFacts:
    """What is counted of a column; missing cells are left out of all but `rows`."""

    name: str
    rows: int
    known: int
    distinct: int
    most: int  # rows with the most frequent value
    numeric: bool  # every known value is a finite number, none is a code with leading zeros
    integer: bool
    low: float
    high: float
    marks: tuple[str, ...] = ()  # what over a tenth of the distinct values hold, such as "email"
    dates: bool = False  # every known value begins with a date

    @property
    def missing_share(self) -> float:
        """The share of rows without a value."""
        return 1 - self.known / self.rows


@dataclass(frozen=True)
class TableFacts:
    """How a table is written and what its columns hold."""

    rows: int
    columns: tuple[ColumnFacts, ...]
    delimiter: str
    encoding: Encoding
    missing: tuple[str, ...]
    connection: duckdb.DuckDBPyConnection

    def holders(self, name: str, others: Sequence[str]) -> set[str]:
        """Return those of the columns `others` of which some value holds a value of the column `name`."""
        values = LongValues(pd.Series([plain_text(value) for value in self.values(name)], dtype=object))
        texts = {other: [plain_text(value) for value in self.values(other)] for other in others}
        return {other for other in others if holding(texts[other], values).any()}

    def values(self, name: str) -> tuple[str, ...]:
        """Return the distinct values of a column, sorted; ask for quasi-identifiers only."""
        column = identifier(name)
        query = f"SELECT DISTINCT {column} FROM cells WHERE {column} IS NOT NULL ORDER BY ALL"
        return tuple(row[0] for row in self.connection.execute(query).fetchall())


@dataclass(frozen=True)
class TableCells:
    """A table that no policy describes: its cells as text, in the table `cells` of `connection`."""

    names: tuple[str, ...]
    rows: int
    delimiter: str
    encoding: Encoding
    connection: duckdb.DuckDBPyConnection


@contextmanager
def table_facts(table: Path) -> Iterator[TableFacts]:
    """Read a CSV (also .gz) or Parquet file and count; the facts are good inside the `with`.

    Raises as `table_cells` does. No message holds a cell.
    """
    with table_cells(table) as cells:
        con = cells.connection
        missing = _blank_missing(con, cells.names)
        columns = tuple(_column(con, name, cells.rows) for name in cells.names)
        yield TableFacts(cells.rows, columns, cells.delimiter, cells.encoding, missing, con)


@contextmanager
def table_cells(table: Path) -> Iterator[TableCells]:
    """Read a CSV (also .gz) or Parquet file; the cells are there inside the `with`.

    Raises UsageError where there is no such file or its kind is unknown, InputError where it cannot be
    read as a table of at least one row. No message holds a cell.
    """
    if not table.exists() or table.is_dir():
        raise UsageError("no such file", where=str(table), hint="Give the path of a CSV or Parquet file.")
    kind = next((SUFFIXES[suffix] for suffix in SUFFIXES if table.name.lower().endswith(suffix)), None)
    if kind is None:
        raise UsageError(
            f"the file type '{table.suffix}' is not supported",
            where=str(table),
            hint=f"Give a file named {', '.join(SUFFIXES)}.",
        )
    with sealed(table) as copy:
        yield from _cells(copy, kind)


def _cells(table: SealedFile, kind: str) -> Iterator[TableCells]:
    delimiter = ","
    encoding: Encoding = "utf-8"
    file = literal(str(table.path))
    if kind == "parquet":
        reader = f"read_parquet({file}, hive_partitioning = false)"
    else:
        encoding = _encoding(table)
        delimiter, header = _header(table, encoding)
        columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in header)
        reader = (
            f"read_csv({file}, columns = {{{columns}}}, auto_detect = false, header = true, "
            f"delim = {literal(delimiter)}, quote = '\"', escape = '\"', strict_mode = true, "
            f"encoding = '{encoding}', max_line_size = {2 * LONGEST_LINE}, compression = 'none', "
            "hive_partitioning = false)"
        )
    with own_database(NO_STORE) as con:
        _load(con, reader, table, bounded=kind == "parquet")
        con.execute("SET enable_external_access = false")
        names = tuple(row[0] for row in con.execute("DESCRIBE cells").fetchall())
        rows = int(_row(con, "SELECT count(*) FROM cells")[0])
        if not rows:
            raise InputError("the table has no rows", where=table.shown, hint="Give a table with rows.")
        yield TableCells(names, rows, delimiter, encoding, con)


def _load(con: duckdb.DuckDBPyConnection, reader: str, table: SealedFile, *, bounded: bool) -> None:
    """Create the table `cells`, all text; `bounded` if a small file may hold much of it."""
    problem = ""
    try:
        cells = f"(SELECT columns(*)::VARCHAR FROM {reader})"
        if bounded:
            names = [row[0] for row in con.execute(f"DESCRIBE SELECT * FROM {reader}").fetchall()]
            check_lengths(con, cells, names, table.shown)
        con.execute(f"CREATE TABLE cells AS FROM {cells}")
    except duckdb.OutOfMemoryException:
        problem = f"needs more than {allowed_memory(NO_STORE)}"
    except duckdb.Error as error:
        # DuckDB's own message may quote a line of the file.
        problem = type(error).__name__
    if problem:
        raise InputError(
            f"cannot be read as a table ({problem})",
            where=table.shown,
            hint="Check that it is complete, and that every line of a CSV file has as many cells as line 1.",
        )


def _encoding(table: SealedFile) -> Encoding:
    """Return UTF-8 where the text is that, else Latin-1, which any text is."""
    try:
        check_text(table, "utf-8")
    except InputError:
        check_text(table, "latin-1")
        return "latin-1"
    return "utf-8"


def _header(table: SealedFile, encoding: Encoding) -> tuple[str, list[str]]:
    """Return the delimiter that cuts the first line into most columns, and their names."""
    with table.text(encoding) as text:
        line = re.sub('"[^"]*"', "", text.readline(LONGEST_HEADER))
    delimiter = max(DELIMITERS, key=line.count)
    names = read_header(table, encoding, delimiter)
    # The first line of a file without names is a person's row, which must not be told.
    if any(re.fullmatch(r"[-+]?[0-9][0-9.]*", name.strip()) for name in names):
        raise InputError(
            "line 1 has numbers: it seems to be a row, not the names of the columns",
            where=table.shown,
            hint="Put the columns' names in line 1.",
        )
    check_distinct(names, table.shown, tell=False)
    # The drafted policy refuses line breaks inside of values until somebody allows them.
    count_records(table, line_breaks=True)
    return delimiter, names


def _blank_missing(con: duckdb.DuckDBPyConnection, names: Sequence[str]) -> tuple[str, ...]:
    """Set cells that say "unknown" to null; return the ways in which the table says it."""
    tokens = ", ".join(map(literal, MISSING_TOKENS))
    found: set[str] = {""}
    for name in names:
        column = identifier(name)
        query = f"SELECT DISTINCT {column} FROM cells WHERE {column} IN ({tokens})"
        found.update(row[0] for row in con.execute(query).fetchall())
        con.execute(f"UPDATE cells SET {column} = NULL WHERE {column} IN ({tokens})")
    return tuple(token for token in MISSING_TOKENS if token in found)


def _column(con: duckdb.DuckDBPyConnection, name: str, rows: int) -> ColumnFacts:
    column = identifier(name)
    known, distinct, numbers, whole, coded, low, high = _row(
        con,
        f"""
        SELECT count(v), count(DISTINCT v), count(x), count(*) FILTER (x = floor(x)),
               count(*) FILTER (regexp_matches(v, '^0[0-9]')), min(x), max(x)
        FROM (
            SELECT {column} AS v,
                   CASE WHEN isfinite(try_cast({column} AS DOUBLE)) THEN try_cast({column} AS DOUBLE) END AS x
            FROM cells
        )
        """,
    )
    most = _row(
        con, f"SELECT max(n) FROM (SELECT count(v) AS n FROM (SELECT {column} AS v FROM cells) GROUP BY v)"
    )[0]
    numeric = known > 0 and numbers == known and coded == 0
    looked_at = [
        row[0]
        for row in con.execute(
            f"SELECT DISTINCT {column} FROM cells WHERE {column} IS NOT NULL ORDER BY ALL LIMIT {LOOKED_AT}"
        ).fetchall()
    ]
    marks = {kind: n for kind, n in kinds_in(looked_at).items() if n > MARKED * len(looked_at)}
    return ColumnFacts(
        name=name,
        rows=rows,
        known=int(known),
        distinct=int(distinct),
        most=int(most),
        numeric=numeric,
        integer=numeric and whole == known,
        low=low if numeric else 0.0,
        high=high if numeric else 0.0,
        marks=tuple(sorted(marks, key=lambda kind: -marks[kind])),
        dates=known > 0 and all(map(DATE.match, looked_at)),
    )


def _row(con: duckdb.DuckDBPyConnection, query: str) -> tuple[float, ...]:
    row = con.execute(query).fetchone()
    assert row is not None  # noqa: S101 -- an aggregate always has one row
    return cast("tuple[float, ...]", row)
