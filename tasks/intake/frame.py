"""Build the frame of a table from DuckDB's chunks: numbers as float64, all else as text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from expectations.numbers import as_numbers
from policy.errors import InputError
from policy.model import ReleasePolicy
from tasks.intake.columns import display_column
from tasks.intake.lengths import LONGEST_CELL, cell_too_long, check_lengths
from tasks.sql import identifier, text_or_missing

NATIVE_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")
LARGEST_POOL = 100_000
ROWS_AT_ONCE = 100_000
MOST_ROWS = 50_000_000
MOST_VALUES = 50_000  # of a categorical attribute
CHUNK_BYTES = 128 << 20  # of text, at most, so that a table of long cells is read in small parts
VECTOR = 2_048  # rows, as DuckDB hands them out
MOST_VECTORS = 50


class FrameBuilder:
    """Collects the chunks of all columns that are not dropped: the identifiers in a frame of their own."""

    def __init__(self, policy: ReleasePolicy, types: dict[str, str], where: str) -> None:
        """Take DuckDB's type of each column of the input, which messages call `where`."""
        roles = policy.roles
        self._where = where
        self._categorical = {
            *roles.categorical,
            *(name for name, one in roles.sensitive.items() if one.type == "categorical"),
        }
        self._wanted = [
            *([] if roles.key is None else [roles.key]),
            *roles.quasi_identifiers,
            *roles.sensitive,
            *roles.kept,
        ]
        self.identifiers = roles.identifiers
        self.names = [*self._wanted, *self.identifiers]
        self.numeric = {*roles.numeric, *(n for n, a in roles.sensitive.items() if a.type == "numeric")}
        self.native = {n for n in self.numeric if types[n].removeprefix("U").startswith(NATIVE_NUMBERS)}
        self.n_rows = 0
        self._types = types
        self._missing = policy.source.missing
        self._parts: dict[str, list[NDArray[Any]]] = {name: [] for name in self.names}
        self._pools: dict[str, dict[str, str]] = {name: {} for name in self.names}

    @property
    def selection(self) -> str:
        """The SQL expressions of the wanted columns, in their order."""
        return ", ".join(map(self._expression, self.names))

    def _expression(self, name: str) -> str:
        column, kind = identifier(name), self._types[name]
        if name in self.native:
            return f"CAST({column} AS DOUBLE) AS {column}"
        if kind in ("FLOAT", "DOUBLE"):
            return f"CASE WHEN NOT isnan({column}) THEN CAST({column} AS VARCHAR) END AS {column}"
        if self._missing and (kind == "VARCHAR" or kind.startswith("ENUM")):
            return text_or_missing(name, self._missing)
        return f"CAST({column} AS VARCHAR) AS {column}"

    def longest_row(self, connection: duckdb.DuckDBPyConnection, source: str) -> int:
        """Return the bytes of text in the longest row of the relation `source`: `check_lengths`."""
        texts = [name for name in self.names if name not in self.native]
        return check_lengths(connection, f"(SELECT {self.selection} FROM {source})", texts, self._where)

    def add(self, chunk: pd.DataFrame) -> None:
        """Take the next rows. Equal texts are kept once, so that a cell of few values costs one pointer."""
        self.n_rows += len(chunk)
        if self.n_rows > MOST_ROWS:
            raise InputError(
                f"gives more than {MOST_ROWS:,} rows",
                where=self._where,
                hint="Split the table, or select less.",
            )
        for name in self.names:
            column = chunk[name]
            values = (
                column.to_numpy(np.float64)
                if name in self.native
                else _pooled(column, self._pools[name], cell_too_long(name, self._where))
            )
            if name in self._categorical and len(self._pools[name]) > MOST_VALUES:
                raise InputError(
                    f"the column {display_column(name)} has more than {MOST_VALUES:,} different values",
                    where=self._where,
                    hint="Group its values in the input, or drop it (roles.dropped).",
                )
            self._parts[name].append(values)

    def frame(self) -> pd.DataFrame:
        """Return key, quasi-identifiers, sensitive and kept columns; they are no longer in the builder."""
        return self._taken(self._wanted)

    def identifying(self) -> pd.DataFrame:
        """Return the identifiers as text, in the same rows; they are no longer in the builder."""
        return self._taken(self.identifiers)

    def _taken(self, names: Iterable[str]) -> pd.DataFrame:
        columns: dict[str, Any] = {}
        for name in names:
            values = np.concatenate(self._parts.pop(name))
            if name in self.native:
                columns[name] = values
            else:
                text = pd.Series(values, dtype="str")
                columns[name] = _number_or_text(text) if name in self.numeric else text
        return pd.DataFrame(columns, copy=False)


def vectors_of(longest_row: int) -> int:
    """Return how many of DuckDB's vectors are read at a time, by the bytes of the longest row."""
    return min(MOST_VECTORS, max(1, CHUNK_BYTES // (VECTOR * max(longest_row, 1))))


def frame_digest(frame: pd.DataFrame) -> str:
    """Return the SHA-256 of the frame as CSV: UTF-8, LF, names first, missing cells empty."""
    digest = hashlib.sha256()
    for start in range(0, len(frame), ROWS_AT_ONCE):
        part = frame.iloc[start : start + ROWS_AT_ONCE]
        digest.update(part.to_csv(index=False, header=start == 0, lineterminator="\n").encode())
    return digest.hexdigest()


def _pooled(column: pd.Series, pool: dict[str, str], too_long: InputError) -> NDArray[np.object_]:
    codes, found = pd.factorize(column)
    distinct = np.asarray(found, dtype=object)
    if max(map(len, distinct), default=0) > LONGEST_CELL:
        raise too_long
    values = np.empty(len(distinct) + 1, dtype=object)
    if len(pool) > LARGEST_POOL:  # such a column, a key for one, hardly repeats: a pool would only cost
        values[:-1] = distinct
    else:
        values[:-1] = [pool.setdefault(text, text) for text in distinct]
    values[-1] = np.nan  # code -1 is a missing value
    return values[codes]


def _number_or_text(text: pd.Series) -> Any:
    numbers = as_numbers(text)
    return numbers if np.array_equal(np.isnan(numbers), text.isna().to_numpy()) else text
