"""Build the frame of a table from DuckDB's chunks: numbers as float64, all else as text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from expectations.numbers import are_doubles, as_numbers, exact_text, number_text
from policy.categorical import CategoricalQuasiIdentifier
from policy.errors import InputError
from policy.model import ReleasePolicy
from tasks.intake import lengths
from tasks.intake.columns import check_same_columns, display_column
from tasks.intake.database import Database
from tasks.intake.expressions import column_expression, is_native, limit_of_doubles, numeric_columns
from tasks.intake.lengths import LONGEST_CELL, cell_too_long, check_lengths, check_rows
from tasks.sql import identifier
from tasks.types import Doubt, IntArray, code_type

LARGEST_POOL = 100_000
FIRST_ROWS = 1_000_000  # that tell whether a table has few different rows
ROWS_AT_ONCE = 100_000
ROWS = "releasegate_rows"  # the column of distinct rows that says how many rows each stands for


class FrameBuilder:
    """Collects the chunks of all columns that are not dropped: the identifiers in a frame of their own.

    Where it has `distinct` rows alone, a chunk's last column says how many rows each stands for.
    """

    def __init__(self, policy: ReleasePolicy, types: dict[str, str], where: str) -> None:
        """Take DuckDB's type of each column of the input, which messages call `where`."""
        roles = policy.roles
        self._where = where
        self._categorical = {
            *roles.categorical,
            *(name for name, one in roles.sensitive.items() if one.type == "categorical"),
        }
        self._sensitive = {*roles.sensitive}
        self._read = {name: qi for name, qi in roles.categorical.items() if qi.reads}
        self._wanted = roles.columns_read()
        self.identifiers = roles.identifiers
        self.names = [*self._wanted, *self.identifiers]
        self.numeric = numeric_columns(roles)
        self.native = {name for name in self.numeric if is_native(types[name])}
        self.n_rows = 0
        self._types = types
        self.distinct = False
        self.doubts: list[Doubt] = []
        self._most_rows = lengths.MOST_ROWS
        self._rows: list[IntArray] = []
        self._policy = policy
        self._expressions = {name: self._expression(name) for name in self.names}
        self._parts: dict[str, list[NDArray[Any]]] = {name: [] for name in self.names}
        self._pools: dict[str, dict[str, int]] = {name: {} for name in self.names}

    def _expression(self, name: str) -> str:
        exact = name in self.numeric and name not in self.native
        cell = column_expression(self._policy, name, self._types[name], exact=exact)
        return f"{cell} AS {identifier(name)}"

    def keep_digits(self, connection: Database, source: str) -> None:
        """Read sensitive numbers of a relation as texts if doubles may not hold them. O(n) a wide column."""
        limits = {
            name: limit
            for name in self._sensitive & self.native
            if (limit := limit_of_doubles(self._types[name])) is not None
        }
        if not limits:
            return
        sizes = ", ".join(f"max(abs(CAST({identifier(name)} AS DOUBLE)))" for name in limits)
        found = connection.execute(f"SELECT {sizes} FROM {source}").fetchone() or ()
        for (name, limit), size in zip(limits.items(), found, strict=True):
            if size is not None and size >= limit:
                self.native.remove(name)
                self._expressions[name] = self._expression(name)
                # Rows of files before have doubles that are the numbers.
                self._parts[name] = [_number_texts(part) for part in self._parts[name]]

    def begin_file(self, types: dict[str, str], where: str) -> None:
        """Take the next rows from the file `where`. Raises InputError where its columns have other types."""
        check_same_columns(
            {name: types[name] for name in self.names},
            {name: self._types[name] for name in self.names},
            where,
            self._where,
        )
        self._where = where

    @property
    def selection(self) -> str:
        """The SQL expressions of the wanted columns, in their order."""
        return ", ".join(self._expressions[name] for name in self.names)

    def repeats(self, connection: Database, source: str) -> bool:
        """Tell whether a relation has 1,000,000 rows, and at most half of the first ones differ."""
        first = f"FROM {source} LIMIT {FIRST_ROWS}"
        number = connection.execute(f"SELECT count(*) FROM (SELECT 1 {first})").fetchone()
        if number is None or number[0] < FIRST_ROWS:
            return False
        distinct = f"SELECT DISTINCT * FROM (SELECT {self.selection} {first})"
        different = connection.execute(f"SELECT count(*) FROM ({distinct})").fetchone()
        return different is not None and 2 * int(different[0]) <= FIRST_ROWS

    def count_distinct(self, connection: Database, source: str, into: str, most: int) -> int:
        """Put the different rows of a relation into the table `into`, and last how many rows each stands for.

        DuckDB spills what its memory does not hold. Returns the bytes of text in the longest row; raises
        InputError as `check_lengths`. Of more than `most` rows, `add` refuses the table.
        """
        self._most_rows = most
        rows = f"SELECT {self.selection} FROM {source} LIMIT {most + 1}"
        counted = f"SELECT *, count(*) AS {ROWS} FROM ({rows}) GROUP BY ALL"
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {into} AS {counted}")
        return check_lengths(connection, into, self._columns_of_text, self._where)

    def longest_row(self, connection: Database, source: str) -> int:
        """Return the bytes of text in the longest row of the relation `source`: `check_lengths`."""
        return check_lengths(
            connection, f"(SELECT {self.selection} FROM {source})", self._columns_of_text, self._where
        )

    @property
    def kinds(self) -> dict[str, str]:
        """DuckDB's types of the columns of a chunk, by their names."""
        own = {name: "DOUBLE" if name in self.native else "VARCHAR" for name in self.names}
        return {**own, ROWS: "BIGINT"} if self.distinct else own

    @property
    def _columns_of_text(self) -> list[str]:
        return [name for name in self.names if name not in self.native]

    def add(self, chunk: pd.DataFrame) -> None:
        """Take the next rows. Equal texts are kept once: a cell of few values costs one to four bytes."""
        if self.distinct:
            self._rows.append(chunk.iloc[:, -1].to_numpy(dtype=np.int64))
            self.n_rows += int(self._rows[-1].sum())
            check_rows(self.n_rows, self._where, self._most_rows)
            check_rows(sum(map(len, self._rows)), self._where, called="different rows")
        else:
            self.n_rows += len(chunk)
            check_rows(self.n_rows, self._where)
        for name in self.names:
            column = chunk[name]
            values = (
                column.to_numpy(np.float64)
                if name in self.native
                else _coded(column, self._pools[name], cell_too_long(name, self._where))
            )
            if name in self._categorical and len(self._pools[name]) > lengths.MOST_VALUES:
                raise InputError(
                    f"the column {display_column(name)} has more than {lengths.MOST_VALUES:,} different "
                    "values",
                    where=self._where,
                    hint="Group its values in the input, or drop it (roles.dropped).",
                )
            self._parts[name].append(values)

    def frame(self) -> pd.DataFrame:
        """Return the columns of the roles but for identifiers; they are no longer in the builder.

        A column of few texts is a categorical one, whose categories have the order of their first rows.
        """
        return self._taken(self._wanted)

    def rows(self) -> IntArray | None:
        """Return how many rows each row of the frame stands for, (d,); None: one."""
        return np.concatenate(self._rows) if self.distinct else None

    def identifying(self) -> pd.DataFrame:
        """Return the identifiers as text, in the same rows; they are no longer in the builder."""
        return self._taken(self.identifiers)

    def _taken(self, names: Iterable[str]) -> pd.DataFrame:
        columns: dict[str, Any] = {}
        for name in names:
            parts = self._parts.pop(name)
            if name in self.native:
                columns[name] = np.concatenate(parts)
            else:
                text = _texts(parts, self._pools.pop(name))
                if name in self._read:
                    text = _values_of(text, self._read[name])
                columns[name] = (
                    _number_or_text(text, is_published=name in self._sensitive)
                    if name in self.numeric
                    else text
                )
        return pd.DataFrame(columns, copy=False)


def frame_digest(frame: pd.DataFrame) -> str:
    """Return the SHA-256 of the frame as CSV: UTF-8, LF, names first, missing cells empty."""
    digest = hashlib.sha256()
    for start in range(0, len(frame), ROWS_AT_ONCE):
        part = frame.iloc[start : start + ROWS_AT_ONCE]
        digest.update(part.to_csv(index=False, header=start == 0, lineterminator="\n").encode())
    return digest.hexdigest()


def _coded(column: pd.Series, pool: dict[str, int], too_long: InputError) -> NDArray[Any]:
    """Return the place of each text in `pool`, -1 for a missing one; the texts where the pool is full.

    New texts are added to the pool until it has more than LARGEST_POOL.
    """
    codes, found = pd.factorize(column)
    distinct = np.asarray(found, dtype=object)
    if max(map(len, distinct), default=0) > LONGEST_CELL:
        raise too_long
    if len(pool) > LARGEST_POOL:  # such a column, a key for one, hardly repeats: a pool would only cost
        return np.append(distinct, np.nan)[codes]
    places = [pool.setdefault(text, len(pool)) for text in distinct]
    return np.array([*places, -1], dtype=code_type(len(pool)))[codes]


def _texts(parts: list[NDArray[Any]], pool: dict[str, int]) -> pd.Series:
    """Put the parts of a column together."""
    if all(part.dtype != object for part in parts):
        codes = np.concatenate(parts)
        return pd.Series(pd.Categorical.from_codes(codes, pd.Index([*pool], dtype="str")), copy=False)
    known = np.array([*pool, np.nan], dtype=object)
    values = np.concatenate([part if part.dtype == object else known[part] for part in parts])
    return pd.Series(values, dtype="str")


def _values_of(text: pd.Series, qi: CategoricalQuasiIdentifier) -> pd.Series:
    """Return the values that texts (n,) stand for, each different text looked at once."""
    codes, found = pd.factorize(text)
    values = pd.Index([qi.value(str(one)) for one in found], dtype="str")
    place, distinct = pd.factorize(values)
    return pd.Series(
        pd.Categorical.from_codes(np.append(place, -1)[codes], pd.Index(distinct, dtype="str")), copy=False
    )


def _number_texts(numbers: NDArray[np.float64]) -> NDArray[Any]:
    """Return numbers (n,) as texts, NaN where one is missing."""
    codes, found = pd.factorize(numbers)
    return np.array([*map(number_text, found), np.nan], dtype=object)[codes]


def _number_or_text(text: pd.Series, *, is_published: bool) -> Any:
    """Return numbers where all texts are some; of a column that is published, only if doubles hold them all.

    Else exact numbers are texts, one of equal ones.
    """
    numbers = as_numbers(text)
    if not np.array_equal(np.isnan(numbers), text.isna().to_numpy()):
        return text
    if not is_published:
        return numbers
    codes, found = pd.factorize(text)
    if are_doubles(found):
        return numbers
    place, distinct = pd.factorize(pd.Index([exact_text(one) for one in found], dtype="str"))
    return pd.Series(
        pd.Categorical.from_codes(np.append(place, -1)[codes], pd.Index(distinct, dtype="str")), copy=False
    )
