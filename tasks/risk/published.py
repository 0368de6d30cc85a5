"""Read the equivalence classes from a staged or published file, trusting nothing but its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd

from policy.errors import VerificationFailed
from policy.model import ReleasePolicy
from policy.recoding import Form
from release_store.records import EquivalenceClasses, SetCells
from tasks import duck
from tasks.preprocessing.prepare import column_texts
from tasks.recoding.labels import Labels, labels_of, read_cell
from tasks.sql import identifier
from tasks.types import FloatArray, IntArray


def read_classes(file: Path, policy: ReleasePolicy) -> EquivalenceClasses:
    """Group the published rows by equal cells of all quasi-identifiers that are not noised.

    Classes are numbered in the order of their cells. Raises VerificationFailed where the columns are not
    those of the policy, a cell is none that a release can have, or the file is no Parquet.
    """
    roles = policy.roles
    keys = cell_keys(policy)
    expected = list(policy.published_columns())
    try:
        cells, size, values, counts = _read_rows(file, expected, keys, policy)
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        # DuckDB's own text may quote what it read, so only its kind is told.
        raise VerificationFailed(
            f"cannot be read as Parquet ({type(error).__name__})",
            where=str(file),
            hint="Run the period again.",
        ) from None
    intervals: dict[str, FloatArray] = {}
    sets: dict[str, SetCells] = {}
    replaced = frozenset(name for name in roles.quasi_identifiers if policy.form(name) is Form.REPLACED)
    for name in roles.quasi_identifiers:
        if policy.form(name) is Form.NOISED:
            continue
        if name in roles.numeric:
            ends = [name, name] if name in replaced else [f"{name}_min", f"{name}_max"]
            bounds = cells[ends].to_numpy(dtype=np.float64)
            if not (np.isfinite(bounds).all() and (bounds[:, 0] <= bounds[:, 1]).all()):
                raise VerificationFailed(
                    f"the column '{name}' has a cell that is not an interval",
                    where=str(file),
                    hint="Run the period again.",
                )
            intervals[name] = bounds
        else:
            sets[name] = _set_cells(cells[name], file, name, labels_of(policy, name))
    return EquivalenceClasses(size, intervals, sets, values, counts, replaced)


def cell_keys(policy: ReleasePolicy) -> list[str]:
    """Return the published columns whose equal cells make a class."""
    return list(policy.cell_columns(Form.CONTAINS, Form.REPLACED))


def row_classes(file: Path, policy: ReleasePolicy) -> IntArray:
    """Return the class of each row in the file's own order, (m,), as `read_classes` numbers them."""
    listed = ", ".join(identifier(c) for c in cell_keys(policy)) or "0"
    with duck.connection() as con:
        found = con.execute(
            f"SELECT dense_rank() OVER (ORDER BY {listed}) - 1 AS class_number "
            "FROM read_parquet(?, file_row_number=true) ORDER BY file_row_number",
            [str(file)],
        ).fetchnumpy()
    return np.asarray(found["class_number"], dtype=np.int64)


def row_values(file: Path, policy: ReleasePolicy) -> tuple[dict[str, tuple[str, ...]], IntArray]:
    """Return the texts of each sensitive attribute and kept column, and the rows' codes into them, (m, s)."""
    texts: dict[str, tuple[str, ...]] = {}
    codes = []
    for name in (*policy.roles.sensitive, *policy.roles.kept):
        code, texts[name] = column_texts(_column(file, name), policy.source.missing_label)
        codes.append(code)
    return texts, np.column_stack(codes)


def same_rows(file: Path, frame: pd.DataFrame) -> bool:
    """Tell whether a staged file holds the rows of `frame`, in their order. One column at a time."""
    return all(_alike(_column(file, str(name)), frame[name]) for name in frame.columns)


def _column(file: Path, name: str) -> pd.Series[Any]:
    """Return the cells of a column in the file's order."""
    with duck.connection() as con:
        return con.execute(
            f"SELECT {identifier(name)} AS cell FROM read_parquet(?, file_row_number=true) "
            "ORDER BY file_row_number",
            [str(file)],
        ).df()["cell"]


def _alike(one: pd.Series[Any], other: pd.Series[Any]) -> bool:
    if len(one) != len(other):
        return False
    if pd.api.types.is_numeric_dtype(one) and pd.api.types.is_numeric_dtype(other):
        ours, theirs = one.to_numpy(dtype=np.float64), other.to_numpy(dtype=np.float64)
        return np.array_equal(ours, theirs, equal_nan=True)
    missing = one.isna().to_numpy()
    known = one.to_numpy(dtype=object)[~missing] == other.to_numpy(dtype=object)[~missing]
    return bool(np.array_equal(missing, other.isna().to_numpy()) and np.all(known))


def _read_rows(
    file: Path, expected: list[str], keys: list[str], policy: ReleasePolicy
) -> tuple[pd.DataFrame, IntArray, dict[str, tuple[str, ...]], dict[str, IntArray]]:
    """Return the cells and the size of every class, and its counts of every sensitive value."""
    with duck.connection() as con:
        columns = [
            r[0] for r in con.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(file)]).fetchall()
        ]
        if columns != expected:
            raise VerificationFailed(
                "its columns are not the published columns of the policy",
                where=str(file),
                hint="Run the period again.",
            )
        # Cells get names of our own: a column of the file may be called as one of ours.
        own = {name: f"cell_{number}" for number, name in enumerate(keys)}
        listed = ", ".join(own.values())
        named = ", ".join(f"{identifier(name)} AS {cell}" for name, cell in own.items())
        # Where every quasi-identifier is noised, all rows are one class.
        grouped = f"GROUP BY {listed}" if keys else "HAVING count(*) > 0"
        con.execute(
            f"CREATE TEMP TABLE classes AS SELECT row_number() OVER (ORDER BY {listed or '1'}) - 1 "
            f"AS class_number, * FROM (SELECT {listed + ',' if keys else ''} count(*) AS size "
            f"FROM (SELECT {named or '1'} FROM read_parquet(?)) {grouped})",
            [str(file)],
        )
        cells = pd.DataFrame({name: _class_cells(con, cell) for name, cell in own.items()}, copy=False)
        size = _class_cells(con, "size").to_numpy(dtype=np.int64)
        same = (
            " AND ".join(f"c.{cell} IS NOT DISTINCT FROM d.{identifier(name)}" for name, cell in own.items())
            or "true"
        )
        counts: dict[str, IntArray] = {}
        values: dict[str, tuple[str, ...]] = {}
        for name in policy.roles.sensitive:
            found = con.execute(
                f"SELECT c.class_number AS class_number, d.{identifier(name)} AS value, count(*) AS n "
                f"FROM read_parquet(?) d JOIN classes c ON {same} GROUP BY ALL",
                [str(file)],
            ).df()
            column = found["value"]
            if pd.api.types.is_numeric_dtype(column) and np.isinf(column.astype(float)).any():
                raise VerificationFailed(
                    f"the column '{name}' has a value that is not a finite number",
                    where=str(file),
                    hint="Run the period again.",
                )
            values[name], counts[name] = _count_matrix(found, len(size), policy.source.missing_label)
    return cells, size, values, counts


def _class_cells(con: duckdb.DuckDBPyConnection, name: str) -> pd.Series[Any]:
    """Return one column of the classes in their order; of texts those that are equal are kept once."""
    column = con.execute(f"SELECT {identifier(name)} AS cell FROM classes ORDER BY class_number").df()["cell"]
    return column if pd.api.types.is_numeric_dtype(column) else column.astype("category")


def _count_matrix(
    found: pd.DataFrame, n_classes: int, missing_label: str
) -> tuple[tuple[str, ...], IntArray]:
    codes, names = column_texts(found["value"], missing_label)
    matrix = np.zeros((n_classes, len(names)), dtype=np.int64)
    np.add.at(matrix, (found["class_number"].to_numpy(), codes), found["n"].to_numpy())
    return names, matrix


def _set_cells(column: pd.Series[str], file: Path, name: str, labels: Labels | None) -> SetCells:
    codes, texts = pd.factorize(column)
    try:
        if (codes < 0).any():
            raise ValueError("an empty cell")
        read = [read_cell(str(text), labels) for text in texts]
    except ValueError:
        raise VerificationFailed(
            f"the column '{name}' has a cell that is not a set of values",
            where=str(file),
            hint="Run the period again.",
        ) from None
    domain = tuple(sorted({value for values in read if values is not None for value in values}))
    rank = {value: i for i, value in enumerate(domain)}
    member = np.zeros((len(read), len(domain)), dtype=bool)
    whole = np.zeros(len(read), dtype=bool)
    for i, values in enumerate(read):
        if values is None:
            member[i] = whole[i] = True
        else:
            member[i, [rank[value] for value in values]] = True
    return SetCells(domain, member[codes], whole[codes])


def people_counted(
    file: Path,
    policy: ReleasePolicy,
    classes: EquivalenceClasses,
    person: IntArray,
    groups: Mapping[str, IntArray],
) -> EquivalenceClasses:
    """Return the classes of `file` with people counted: once a class, and once a class and sensitive value.

    `person` (m,) tells whose each row of the file is, in its order. Of an attribute in `groups` (n_values,),
    a person counts once for all values of a group. Raises ValueError where the file has not
    the rows of `classes`. O(m log m).
    """
    number = row_classes(file, policy)
    if len(number) != len(person) or not np.array_equal(
        np.bincount(number, minlength=classes.n_classes), classes.size
    ):
        raise ValueError("the staged file changed after its classes were read")
    whose = pd.factorize(person)[0].astype(np.int64)
    both = number * (int(whose.max(initial=0)) + 1) + whose
    distinct, first = np.unique(both, return_index=True)
    size = np.bincount(number[first], minlength=classes.n_classes)
    counts: dict[str, IntArray] = {}
    for name, values in classes.sensitive_values.items():
        codes, names = column_texts(_column(file, name), policy.source.missing_label)
        if names != values:
            raise ValueError("the staged file changed after its classes were read")
        n_values = len(values)
        if name in groups:
            codes, n_values = groups[name][codes], int(groups[name].max()) + 1
        place = np.searchsorted(distinct, both)
        once = np.unique(place * n_values + codes)
        counts[name] = np.bincount(
            number[first][once // n_values] * n_values + once % n_values,
            minlength=classes.n_classes * n_values,
        ).reshape(classes.n_classes, n_values)
    return replace(classes, size=size, counts=counts)


def units_of_values(
    file: Path, policy: ReleasePolicy, classes: EquivalenceClasses, whose: IntArray
) -> dict[str, IntArray]:
    """Return how many of those whom `whose` (m,) rows of `file` are have each sensitive value, (n_values,).

    Each counts once for a value, in however many classes. O(m log m).
    """
    found = {}
    whose = pd.factorize(whose)[0].astype(np.int64)
    for name, values in classes.sensitive_values.items():
        codes, names = column_texts(_column(file, name), policy.source.missing_label)
        if names != values or len(codes) != len(whose):
            raise ValueError("the staged file changed after its classes were read")
        once = np.unique(whose * len(values) + codes)
        found[name] = np.bincount(once % len(values), minlength=len(values))
    return found


def read_rows(
    file: Path, policy: ReleasePolicy, person: IntArray | None = None
) -> tuple[pd.DataFrame, dict[str, tuple[str, ...]]]:
    """Return how many published rows of each class have which sensitive values together.

    With `person` (m,), whose each row of the file is in its order, people are counted.

    Columns `class_number`, as `read_classes` numbers them, `value_0`, `value_1`, ... one code a sensitive
    attribute, `noised_0`, ... one number a noised quasi-identifier, and `rows`; and the texts that the codes
    stand for, in the order of `read_classes`. The file is one that `read_classes` has read.
    """
    roles = policy.roles
    noised = list(policy.cell_columns(Form.NOISED))
    listed = ", ".join(identifier(c) for c in cell_keys(policy)) or "0"
    # The attributes get names of their own: a column of the file may be called as one of ours.
    named = [f"{identifier(name)} AS value_{i}" for i, name in enumerate(roles.sensitive)]
    named += [f"{identifier(name)} AS noised_{i}" for i, name in enumerate(noised)]
    values = ", ".join(named)
    counted, whose = ("count(*)", "NULL") if person is None else ("count(DISTINCT whose)", "person")
    with duck.connection() as con:
        n_rows = 0 if person is None else len(person)
        con.register("people", pd.DataFrame({"number": np.arange(n_rows), "person": person}))
        joined = "" if person is None else "JOIN people ON file_row_number = number"
        found = con.execute(
            f"SELECT * EXCLUDE (whose), {counted} AS n_rows FROM (SELECT dense_rank() OVER "
            f"(ORDER BY {listed}) - 1 AS class_number, {values}, {whose} AS whose "
            f"FROM read_parquet(?, file_row_number=true) {joined}) GROUP BY ALL ORDER BY ALL",
            [str(file)],
        ).df()
    made = pd.DataFrame({"class_number": found["class_number"], "rows": found["n_rows"]})
    texts: dict[str, tuple[str, ...]] = {}
    for i, name in enumerate(roles.sensitive):
        made[f"value_{i}"], texts[name] = column_texts(found[f"value_{i}"], policy.source.missing_label)
    for i in range(len(noised)):
        made[f"noised_{i}"] = found[f"noised_{i}"].to_numpy(dtype=np.float64)
    return made, texts


def read_texts(
    file: Path, policy: ReleasePolicy, person: IntArray | None = None
) -> dict[str, dict[str, int]]:
    """Return the distinct texts of every column that is published as it is, and how many rows have each.

    With `person` (m,), whose each row of the file is in its order, people are counted. The file is one that
    `read_classes` has read. Numbers are written as the CSV has them.
    """
    if person is not None:
        return {
            name: _by_person(_column(file, name), person, policy.source.missing_label)
            for name in (*policy.roles.sensitive, *policy.roles.kept)
        }
    found: dict[str, dict[str, int]] = {}
    with duck.connection() as con:
        for name in (*policy.roles.sensitive, *policy.roles.kept):
            counted = f"SELECT {identifier(name)} AS value, count(*) AS n FROM read_parquet(?)"
            rows = con.execute(f"{counted} GROUP BY ALL ORDER BY ALL", [str(file)]).df()
            codes, texts = column_texts(rows["value"], policy.source.missing_label)
            counts = np.bincount(codes, weights=rows["n"].to_numpy(), minlength=len(texts))
            found[name] = dict(zip(texts, counts.astype(np.int64).tolist(), strict=True))
    return found


def _by_person(column: pd.Series[Any], person: IntArray, missing_label: str) -> dict[str, int]:
    """Return how many people have each text of a column."""
    codes, texts = column_texts(column, missing_label)
    whose = pd.factorize(person)[0].astype(np.int64)
    once = np.unique(whose * max(len(texts), 1) + codes)
    counts = np.bincount(once % max(len(texts), 1), minlength=len(texts))
    return dict(zip(texts, counts.tolist(), strict=True))
