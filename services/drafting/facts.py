"""Names, counts and bounds of a table's columns: all that a drafted policy is guessed from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import cast

import duckdb
import pandas as pd

from policy.location import Location
from policy.model import Source
from services.drafting.codes import code_of, lost_zeros
from services.drafting.linkage import Linkage, link_tables
from services.drafting.order import order_of
from services.drafting.rounding import bands, least_rounding
from services.drafting.sentinels import Sentinels, find_sentinels
from services.drafting.spreadsheet import changed_bands
from services.drafting.steps import Steps, is_number, replace_cells, tidy
from services.drafting.tables import NO_STORE, InputOptions, Loaded, load_tables
from tasks.intake.column_words import words_of
from tasks.intake.database import own_database
from tasks.intake.repeated_people import RepeatedPeople, people_among
from tasks.intake.whose_rows import SeveralRows, several_rows
from tasks.risk.attacks.leaks import LongValues, holding, plain_text
from tasks.risk.attacks.personal_numbers import kinds_in
from tasks.sql import identifier, literal

LOOKED_AT = 5000  # distinct values of a column that are looked at one by one
MARKS_AMONG = 1000  # of them, at equal distances, those in which marks of people are looked for
MARKED = 0.1  # share of them from which a column is one of such marks
MOST_SINGLE = (
    0.05  # of a table's rows that may have a rounded number alone: a quarter of what `unique` allows
)
FEW_TO_LIST = 50  # values of a column whose order and spellings are looked at
_MONTH, _YEAR, _TO = r"(?:0?[1-9]|1[0-2])", r"(?:1[89]|2[01])\d\d", r"(?:[-/]|\. ?)"
DATE = re.compile(
    rf"(?:\d{{4}}{_TO}\d{{1,2}}{_TO}\d{{1,2}}|\d{{1,2}}{_TO}\d{{1,2}}{_TO}(?:\d{{4}}|\d{{2}})"
    rf"|{_MONTH}[-/.]{_YEAR}|{_YEAR}[-/.]{_MONTH}|{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
    r"|\d{1,2}\.?[ /.-]?[^\W\d_]{3,9}\.?[ ,/.-]{0,2}\d{2,4}|[^\W\d_]{3,9}\.? \d{1,2},? \d{4})(?!\d)"
)


@dataclass(frozen=True)
class ColumnFacts:
    """What is counted of a column, in all tables together; missing cells are left out of all but `rows`.

    `order` and `spellings` hold values, and are for quasi-identifiers only.
    """

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
    dates: bool = False  # every known value begins with a date, or most are dates in `date_format`
    repeats: bool = False  # some value is in several rows of one table
    in_tables: tuple[tuple[int, int], ...] = ()  # of each table: distinct values, and known cells
    largest_missing_share: float = 0.0  # the largest share of rows of a table without a value
    date_format: str | None = None  # of the file's dates, the commonest; as read, all are yyyy-mm-dd
    years: tuple[int, int] | None = None  # of the dates
    all_dates: bool = False  # every known value is a date, as it is read
    code: str | None = None  # `postal`, `icd-10`, `occupation` or `prefix`: beginnings group its values
    lost_zeros: int | None = None  # digits of a postal code of which some values have fewer
    order: tuple[str, ...] | None = None  # of at most 50 values
    spellings: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # bands a spreadsheet may have changed
    sentinels: Sentinels | None = None  # numbers that may say "unknown"
    unread_amounts: bool = False  # texts such as "$1,000" and "500 EUR", which no query reads
    money: bool = False  # amounts with a currency, which are read as numbers
    short_codes: bool = False  # codes of ICD-10, of which only the first characters are read

    @property
    def missing_share(self) -> float:
        """The share of rows without a value."""
        return 1 - self.known / self.rows

    @property
    def densest(self) -> tuple[int, int]:
        """The distinct values and the known cells of the table in which values repeat least."""
        return max(self.in_tables, key=lambda one: one[0] / max(one[1], 1), default=(0, 0))

    @property
    def distinct_share(self) -> float:
        """Of the known cells of a table, the largest share of distinct values."""
        distinct, known = self.densest
        return distinct / max(known, 1)

    @property
    def unique(self) -> bool:
        """Whether every row of a table has its own value."""
        return self.known == self.rows and not self.repeats


@dataclass(frozen=True)
class TableFacts:
    """How tables are written and what their columns hold."""

    rows: int
    columns: tuple[ColumnFacts, ...]
    steps: Steps
    connection: duckdb.DuckDBPyConnection
    sizes: tuple[int, ...]  # rows of each table
    number: str  # the column of `cells` with the number of each row's table
    loaded: Loaded

    @property
    def tables(self) -> int:
        """How many tables there are."""
        return len(self.sizes)

    @property
    def fewest_rows(self) -> int:
        """The rows of the smallest table."""
        return min(self.sizes)

    @property
    def source(self) -> Source:
        """How the files and their cells are read."""
        return self.steps.source

    @property
    def delimiter(self) -> str:
        """What separates the cells of the files."""
        return self.source.delimiter

    @property
    def encoding(self) -> str:
        """The encoding of the files."""
        return self.source.encoding

    @property
    def missing(self) -> tuple[str, ...]:
        """The ways in which the tables say that a value is unknown."""
        return self.source.missing

    def linkage(self, name: str) -> Linkage:
        """Return how far the column `name`, unique in each table, links the rows of consecutive tables."""
        others = [one.name for one in self.columns if one.name != name and one.distinct > 1]
        return link_tables(self.connection, name, self.number, others)

    def several_rows(self, name: str) -> SeveralRows:
        """Return how alike the rows with the same value of a column are."""
        others = [one.name for one in self.columns]
        return several_rows(
            lambda query: self.connection.execute(query).fetchall(), "cells", name, others, self.number
        )

    def people_among(
        self, names: Sequence[str], known: Sequence[str], k: int = 1, accepted: Sequence[str] = ()
    ) -> list[RepeatedPeople]:
        """Return which columns are people with several rows in some table, for certain, or two of them."""
        of_table = f"(SELECT * FROM cells WHERE {identifier(self.number)} ="
        found: dict[tuple[str, ...], RepeatedPeople] = {}
        for place in range(self.tables):
            for one in people_among(self.connection, f"{of_table} {place})", names, known, k, accepted):
                if one.certain:
                    found.setdefault(one.columns, one)
        return [*found.values()]

    def common_shares(self, name: str, n: int, key: str | None = None) -> tuple[float, ...]:
        """Return the shares of a table's rows that have its commonest value, or one of its two commonest, and
        so on to `n`, each of the table where it is largest; a missing value counts as one.

        With a `key`, the first share is that of the people who have the value in some row, if it is larger.
        """
        cell, table = identifier(name), identifier(self.number)
        found = self.connection.execute(
            f"""
            SELECT max(share) FROM (
                SELECT rank, sum(c) OVER (PARTITION BY t ORDER BY rank) / total AS share FROM (
                    SELECT t, c, sum(c) OVER (PARTITION BY t) AS total,
                           row_number() OVER (PARTITION BY t ORDER BY c DESC) AS rank
                    FROM (SELECT {table} AS t, count(*) AS c FROM cells GROUP BY {table}, {cell})
                )
            ) WHERE rank <= {n} GROUP BY rank ORDER BY rank
            """
        ).fetchall()
        shares = tuple(share for (share,) in found)
        shares += (1.0,) * (n - len(shares))
        return shares if key is None else (max(shares[0], self._share_of_people(name, key)), *shares[1:])

    def _share_of_people(self, name: str, key: str) -> float:
        cell, table = identifier(name), identifier(self.number)
        people = f"SELECT {table} AS t, count(DISTINCT {identifier(key)}) AS n FROM cells GROUP BY {table}"
        query = f"SELECT max(a.n / b.n) FROM ({people}, {cell}) AS a JOIN ({people}) AS b USING (t)"
        return float(self.connection.execute(query).fetchall()[0][0])

    def people_of_several_values(self, name: str, key: str) -> int:
        """Return how many people of a table have several values of a column, a missing one included."""
        cell, table = identifier(name), identifier(self.number)
        query = f"""
            SELECT count(*) FROM (
                SELECT 1 FROM cells GROUP BY {table}, {identifier(key)}
                HAVING count(DISTINCT coalesce({cell}, '')) > 1
            )
            """
        return int(self.connection.execute(query).fetchall()[0][0])

    def share_without(self, name: str, values: Sequence[str]) -> float:
        """Return the share of the rows that have another value of a column than these."""
        column, listed = identifier(name), ", ".join(map(literal, values))
        query = f"SELECT count(*) FILTER ({column} NOT IN ({listed})) / count(*) FROM cells"
        return float(self.connection.execute(query).fetchall()[0][0])

    def middle_range(self, name: str) -> float:
        """Return a numeric column's range without the tenth at each end, where it is least in a table."""
        number = is_number(identifier(name), self.source)
        query = f"""
            SELECT min(high - low) FROM (
                SELECT quantile_cont({number}, 0.9) AS high, quantile_cont({number}, 0.1) AS low
                FROM cells GROUP BY {identifier(self.number)}
            )
            """
        found = self.connection.execute(query).fetchall()[0][0]
        return float(found or 0.0)

    def has_blanks(self, name: str) -> bool:
        """Tell whether some value of a column has a blank inside, as words have and codes do not."""
        blanks = f"regexp_matches({identifier(name)}, '\\s')"
        return bool(self.connection.execute(f"SELECT bool_or({blanks}) FROM cells").fetchall()[0][0])

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


@contextmanager
def table_facts(
    table: Location, *more: Location, options: InputOptions | None = None
) -> Iterator[TableFacts]:
    """Read tables with the same columns, and count; good inside the `with`.

    Raises UsageError where there is no such file or its kind is unknown, InputError where one cannot be
    read as a table of at least one row, or lacks a column that another has. No message holds a cell.
    """
    with own_database(NO_STORE) as con:
        loaded = load_tables(con, [table, *more], options)
        steps = tidy(con, loaded)
        steps = _with_short_codes(con, loaded, steps)
        number = identifier(loaded.number)
        sizes = con.execute(f"SELECT count(*) FROM cells GROUP BY {number} ORDER BY {number}").fetchall()
        rows = sum(size for (size,) in sizes)
        yield TableFacts(
            rows=rows,
            columns=tuple(
                replace(
                    _column(con, name, rows, loaded, steps.source),
                    unread_amounts=name in steps.unread_amounts,
                    money=name in steps.money,
                    short_codes=name in steps.shortened,
                )
                for name in loaded.names
            ),
            steps=steps,
            connection=con,
            sizes=tuple(size for (size,) in sizes),
            number=loaded.number,
            loaded=loaded,
        )


def with_rounded(
    facts: TableFacts, names: Sequence[str], *, in_bands: bool, kept: bool = False
) -> TableFacts:
    """Return the facts with numbers that hardly repeat rounded, so that few are in one row of a table; or in
    bands, as a number by which people can be found again in the next table has to be. `kept` tells of
    numbers that repeat that most people keep.
    """
    steps, con, source = facts.steps, facts.connection, facts.source
    cells = {name: is_number(identifier(name), source) for name in names}
    found = {
        name: replace(rounding, kept=kept)
        for name, sql in cells.items()
        if (rounding := bands(con, sql) if in_bands else least_rounding(con, sql, facts.number)) is not None
    }
    exact = {name: steps.replaced.get(name, cells[name]) for name in found}
    read = {name: one.sql(exact[name]) for name, one in found.items()}
    replace_cells(con, {name: f"CAST({one.sql(cells[name])} AS VARCHAR)" for name, one in found.items()})
    return replace(
        facts,
        steps=replace(steps, replaced={**steps.replaced, **read}, rounded=found, exact=exact),
        columns=tuple(
            replace(_column(con, one.name, facts.rows, facts.loaded, facts.source), money=one.money)
            if one.name in found
            else one
            for one in facts.columns
        ),
    )


def _with_short_codes(con: duckdb.DuckDBPyConnection, loaded: Loaded, steps: Steps) -> Steps:
    """Read codes of ICD-10 that hardly repeat by so many of their first characters that few are left."""
    short: dict[str, int] = {}
    for name in loaded.names:
        column = identifier(name)
        rows = f"FROM cells WHERE {column} IS NOT NULL"
        # Most columns are none by their first values.
        first = [row[0] for row in con.execute(f"SELECT {column} {rows} LIMIT {FEW_TO_LIST}").fetchall()]
        if code_of(words_of(name), first) != "icd-10":
            continue
        values = [row[0] for row in con.execute(f"SELECT DISTINCT {column} {rows}").fetchall()]
        of_table = (
            f"SELECT count(DISTINCT {column}) AS n, count(*) AS m {rows} GROUP BY {identifier(loaded.number)}"
        )
        share = _row(con, f"SELECT max(n / m) FROM ({of_table})")[0]
        if share > 0.5 and len(values) > FEW_TO_LIST and code_of(words_of(name), values) == "icd-10":
            lengths = (n for n in (3, 2, 1) if len({one[:n] for one in values}) <= FEW_TO_LIST)
            short[name] = next(lengths, 1)
    cut = {name: f"left({identifier(name)}, {length})" for name, length in short.items()}
    replace_cells(con, cut)
    return replace(steps, replaced={**steps.replaced, **cut}, shortened=short)


def _column(
    con: duckdb.DuckDBPyConnection, name: str, rows: int, loaded: Loaded, source: Source
) -> ColumnFacts:
    column = identifier(name)
    con.execute(
        f"CREATE OR REPLACE TEMP TABLE of_column AS SELECT {column} AS v, {identifier(loaded.number)} AS t, "
        "count(*) AS n FROM cells GROUP BY ALL"
    )
    known, distinct, most, numbers, whole, coded, low, high = _row(
        con,
        f"""
        SELECT coalesce(sum(n), 0), count(*), coalesce(max(n), 0), coalesce(sum(n) FILTER (x IS NOT NULL), 0),
               coalesce(sum(n) FILTER (x = floor(x)), 0),
               coalesce(sum(n) FILTER (regexp_matches(v, '^0[0-9]')), 0), min(x), max(x)
        FROM (
            SELECT v, n, {is_number("v", source)} AS x
            FROM (SELECT v, sum(n) AS n FROM of_column WHERE v IS NOT NULL GROUP BY v)
        )
        """,
    )
    tables = con.execute(
        "SELECT count(v), coalesce(sum(n) FILTER (v IS NOT NULL), 0), sum(n) FROM of_column "
        "GROUP BY t ORDER BY t"
    ).fetchall()
    numeric = known > 0 and numbers == known and coded == 0
    looked_at = [
        row[0]
        for row in con.execute(
            f"SELECT DISTINCT v FROM of_column WHERE v IS NOT NULL ORDER BY ALL LIMIT {LOOKED_AT}"
        ).fetchall()
    ]
    some = looked_at[:: max(1, len(looked_at) // MARKS_AMONG)]
    marks = {kind: n for kind, n in kinds_in(some).items() if n > MARKED * len(some)}
    few = looked_at if len(looked_at) <= FEW_TO_LIST and not numeric else []
    date_format = source.dates.get(name, (None,))[0]
    words = words_of(name)
    code, order = code_of(words, looked_at), order_of(few)
    years, all_dates = (None, False) if numeric or not known else _years(con, column)
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
        dates=known > 0 and (date_format is not None or all(map(DATE.match, looked_at))),
        repeats=any(different < cells for different, cells, _ in tables),
        in_tables=tuple((different, cells) for different, cells, _ in tables),
        largest_missing_share=max(1 - cells / size for _, cells, size in tables),
        date_format=date_format,
        years=years if date_format or all_dates else None,
        all_dates=all_dates,
        code=None if code == "prefix" and order else code,  # `1950-1959`, `1960-1969` begin alike
        lost_zeros=lost_zeros(words, looked_at),
        order=order,
        spellings=changed_bands(few),
        sentinels=find_sentinels(con, column, source) if numeric else None,
    )


def _years(con: duckdb.DuckDBPyConnection, column: str) -> tuple[tuple[int, int] | None, bool]:
    """Return the first and the last year of a column's dates, and whether all its cells are yyyy-mm-dd."""
    text = f"CASE WHEN regexp_matches({column}, '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}') THEN {column} END"
    years = f"year(try_cast({text} AS TIMESTAMP))"
    query = f"SELECT min({years}), max({years}), count({years}) = count({column}) FROM cells"
    first, last, complete = con.execute(query).fetchall()[0]
    return (None, False) if first is None else ((first, last), complete)


def _row(con: duckdb.DuckDBPyConnection, query: str) -> tuple[float, ...]:
    row = con.execute(query).fetchone()
    assert row is not None  # noqa: S101 -- an aggregate always has one row
    return cast("tuple[float, ...]", row)
