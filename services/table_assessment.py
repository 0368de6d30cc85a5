"""How safe is any one table? Measured on its cells alone: no policy, no store, no source, no history."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd

from policy.errors import InputError, UsageError, did_you_mean
from policy.model import INTERVAL_ENDS
from policy.text import number_of, one_spelling
from services.checking.findings import hidden_finding
from services.drafting.steps import MISSING_TOKENS, hidden_rows
from services.drafting.tables import TableCells, table_cells
from tasks.geometry.space import distinct_rows
from tasks.intake.columns import display_column
from tasks.sql import identifier, literal
from tasks.table_measures.measure import AssessedTable, measure_table
from tasks.table_measures.rows import CodedTable
from tasks.types import FloatArray, IntArray


@dataclass(frozen=True)
class TableColumns:
    """Which columns of a table are what, by the options that name them; names alone."""

    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    weight: str | None = None
    household: str | None = None
    person: str | None = None

    def by_option(self) -> Iterator[tuple[str, str]]:
        """Yield each option with a name that it gives."""
        yield from (("--qi", name) for name in self.quasi_identifiers)
        yield from (("--sensitive", name) for name in self.sensitive)
        single = {"--weight": self.weight, "--household": self.household, "--person": self.person}
        yield from ((option, name) for option, name in single.items() if name is not None)


def assess_table(table: Path, columns: TableColumns) -> AssessedTable:
    """Measure a CSV (also .gz) or Parquet file that anybody made.

    Cells are compared as they are written, and missing ones are equal. A quasi-identifier `age` may stand in
    two columns, `age_min` and `age_max`. Raises UsageError where there is no such file, a column is not there
    or has two roles, InputError where the file is no table or a weight is no number over 0. No message holds
    a cell.
    """
    with table_cells(table) as cells:
        named = [name for _, name in columns.by_option() if name in cells.names]
        for name, n_rows in hidden_rows(cells.connection, named).items():
            line = hidden_finding(str(table), name, n_rows).line
            print(f"releasegate: {line}", file=sys.stderr, flush=True)
        groups = _column_groups(columns, cells.names, str(table))
        coded = _coded(cells, columns, groups, str(table))
    try:
        measures = measure_table(coded)
    except ValueError as reason:
        raise InputError(
            str(reason), where=f"{table}: {display_column(str(columns.weight))}", hint="Check the weights."
        ) from None
    return AssessedTable(table.name, groups, measures)


def column_list(option: str, text: str) -> tuple[str, ...]:
    """Return the column names of a comma-separated list; a name with a comma stands in double quotes.

    Raises UsageError for an empty name, and a quote that is not closed.
    """
    try:
        names = tuple(name.strip() for name in next(csv.reader([text], skipinitialspace=True, strict=True)))
    except (csv.Error, StopIteration):
        names = ("",)
    if not names or not all(names):
        raise UsageError("has an empty entry", where=option, hint="Separate the names with commas.")
    return names


def _column_groups(columns: TableColumns, names: Sequence[str], where: str) -> dict[str, tuple[str, ...]]:
    """Return the columns of each quasi-identifier. Raises UsageError as `assess_table` does."""
    missing, groups = dict[str, str](), dict[str, tuple[str, ...]]()
    role_of = dict[str, str]()
    for option, name in columns.by_option():
        ends = tuple(name + end for end in INTERVAL_ENDS)
        if name in names:
            found: tuple[str, ...] = (name,)
        elif option == "--qi" and set(ends) <= set(names):
            found = ends
        else:
            missing[name] = option
            continue
        for column in found:
            if column in role_of:
                other = role_of[column]
                twice = f"twice in {option}" if other == option else f"in {other} and in {option}"
                raise UsageError(
                    f"the column {display_column(column)} is {twice}",
                    where=where,
                    hint="Give each column one role.",
                )
            role_of[column] = option
        if option == "--qi":
            groups[name] = found
    if missing:
        raise _no_such_column(missing, role_of, names, where)
    return groups


def _no_such_column(
    missing: Mapping[str, str], present: Mapping[str, str], names: Sequence[str], where: str
) -> UsageError:
    """Return the error of a column that is not there.

    Names of the file are told only where another column was found: the first line of a file without column
    names is a person's row.
    """
    name, option = next(iter(missing.items()))
    if not present:
        return UsageError(
            f"none of its {number_of(len(names), 'column')} is one that the options name",
            where=where,
            hint="Line 1 must have the names of the columns. Check the names after --qi.",
        )
    free = [each for each in names if each not in present and each.isprintable()]
    quoted = "; put a name with a comma in double quotes, and double the quotes in it"
    return UsageError(
        f"there is no column {display_column(name)}{did_you_mean(name, free)}",
        where=where,
        hint=f"Correct {option}{quoted if any(',' in each for each in free) else ''}.",
    )


def _coded(
    cells: TableCells, columns: TableColumns, groups: Mapping[str, tuple[str, ...]], where: str
) -> CodedTable:
    """Read the columns one by one, and number their cells."""

    def read(name: str) -> pd.Series[str]:
        return _texts(cells, name, where)

    quasi_identifiers = {name: _codes_of([read(each) for each in group]) for name, group in groups.items()}
    sensitive, numbers = dict[str, IntArray](), dict[str, FloatArray]()
    for name in columns.sensitive:
        sensitive[name], found = _values_of(read(name))
        if found is not None:
            numbers[name] = found
    return CodedTable(
        quasi_identifiers,
        sensitive,
        numbers,
        person=None if columns.person is None else _several(read(columns.person)),
        household=None if columns.household is None else _several(read(columns.household)),
        weights=None if columns.weight is None else _weights(cells, columns.weight, where),
    )


def _texts(cells: TableCells, name: str, where: str) -> pd.Series[str]:
    """Return a column's cells as text, in the file's order, missing ones as None."""
    column = identifier(name)
    known = " AND ".join(f"lower({column}) <> {literal(mark)}" for mark in MISSING_TOKENS)
    query = f"SELECT CASE WHEN {known} THEN {column} END FROM cells ORDER BY rowid"
    return _column(cells, query, where)


def _column(cells: TableCells, query: str, where: str) -> pd.Series[Any]:
    try:
        return cells.connection.execute(query).df().iloc[:, 0]
    except duckdb.Error as error:
        problem = type(error).__name__  # its own text may quote a cell
    raise InputError(f"cannot be read as a table ({problem})", where=where, hint="Give a smaller table.")


def _codes_of(columns: Sequence[pd.Series[str]]) -> IntArray:
    """Number the distinct cells of a quasi-identifier, (n,)."""
    return distinct_rows(column.to_numpy() for column in columns)[1]


def _values_of(column: pd.Series[str]) -> tuple[IntArray, FloatArray | None]:
    """Number the values of a sensitive attribute, (n,), and return the numbers that they are, if they are.

    They are where each is a finite number and none a code that begins with 0. Equal numbers are one value,
    and so are texts that look alike.
    """
    codes, texts = pd.factorize(column.map(one_spelling, na_action="ignore"), use_na_sentinel=False)
    known = ~pd.isna(texts)
    numbers = np.full(len(texts), np.nan)
    numbers[known] = pd.to_numeric(pd.Series(texts[known], dtype=object), errors="coerce")
    coded = any(text[:1] == "0" and text[1:2].isdigit() for text in texts[known])
    if coded or not known.any() or not np.isfinite(numbers[known]).all():
        return codes.astype(np.int64), None
    distinct, number = np.unique(numbers, return_inverse=True)  # of several nan one
    return number[codes].astype(np.int64), distinct


def _several(column: pd.Series[str]) -> IntArray | None:
    """Number whose the rows are, (n,); None where each is another's. A row without an entry is its own."""
    codes, texts = pd.factorize(column)
    unknown = codes < 0
    codes = np.where(unknown, len(texts) + np.cumsum(unknown) - 1, codes).astype(np.int64)
    return codes if codes.max() + 1 < len(codes) else None


def _weights(cells: TableCells, name: str, where: str) -> FloatArray:
    query = f"SELECT coalesce(try_cast({identifier(name)} AS DOUBLE), 0) FROM cells ORDER BY rowid"
    found = _column(cells, query, where).to_numpy(dtype=np.float64)
    wrong = int((~(np.isfinite(found) & (found > 0))).sum())
    if wrong:
        raise InputError(
            f"the weight {display_column(name)} is missing or no finite number over 0 in "
            f"{number_of(wrong, 'row')}",
            where=where,
            hint="Correct the weights, or leave --weight out.",
        )
    return found
