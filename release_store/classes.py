"""Equivalence classes in and out of the store, as whole columns."""

from __future__ import annotations

import hashlib
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from policy.errors import StoreError
from release_store.canonical import canonical_json
from release_store.records import EquivalenceClasses, SetCells

_TABLES = ("class_attribute", "class_size", "class_interval", "class_value", "class_set", "class_count")
_WHOLE = -1  # in class_set: the class covers every value, those outside the list too


def write_classes(con: duckdb.DuckDBPyConnection, candidate_id: str, classes: EquivalenceClasses) -> None:
    """Keep `classes` for a candidate, in place of any kept before. Raises StoreError on wrong shapes."""
    _check_shapes(classes)
    delete_classes(con, candidate_id)
    number = np.arange(classes.n_classes, dtype=np.int32)
    attributes: list[tuple[str, int, str]] = []
    values: list[tuple[int, int, str]] = []

    def attribute(kind: str, name: str, names: tuple[str, ...] = ()) -> int:
        position = len(attributes)
        attributes.append((kind, position, name))
        values.extend((position, value_no, value) for value_no, value in enumerate(names))
        return position

    _insert(con, "class_size", candidate_id, {"class": number, "size": classes.size})
    for name, bounds in classes.intervals.items():
        _insert(
            con,
            "class_interval",
            candidate_id,
            {"class": number, "low": bounds[:, 0], "high": bounds[:, 1]},
            attribute("interval", name),
        )
    for name, cells in classes.sets.items():
        class_no, value_no = np.nonzero(cells.member)
        whole = np.flatnonzero(cells.whole)
        columns = {
            "class": np.concatenate([class_no, whole]),
            "value_no": np.concatenate([value_no, np.full(len(whole), _WHOLE)]),
        }
        _insert(con, "class_set", candidate_id, columns, attribute("set", name, cells.values))
    for name, counts in classes.counts.items():
        class_no, value_no = np.nonzero(counts)
        columns = {"class": class_no, "value_no": value_no, "records": counts[class_no, value_no]}
        position = attribute("sensitive", name, classes.sensitive_values[name])
        _insert(con, "class_count", candidate_id, columns, position)
    _insert_rows(con, "class_attribute", candidate_id, attributes, ["kind", "position", "attribute"])
    _insert_rows(con, "class_value", candidate_id, values, ["attribute", "value_no", "value"])


def delete_classes(con: duckdb.DuckDBPyConnection, candidate_id: str) -> None:
    """Forget the classes of a candidate that did not become a release."""
    for table in _TABLES:
        con.execute(f"DELETE FROM {table} WHERE candidate_id = ?", [candidate_id])


def read_classes(con: duckdb.DuckDBPyConnection, candidate_id: str) -> EquivalenceClasses:
    """Return the classes kept for a candidate. Raises StoreError if none are, or if they do not fit."""
    attributes = con.execute(
        "SELECT kind, position, attribute FROM class_attribute WHERE candidate_id = ? ORDER BY position",
        [candidate_id],
    ).fetchall()
    sizes = _columns(con, "class_size", "class, size", candidate_id)
    n = len(sizes["size"])
    if not attributes and n == 0:
        raise StoreError("its equivalence classes are not kept", where=candidate_id)
    size = np.zeros(n, dtype=np.int64)
    names = _value_names(con, candidate_id)
    found = EquivalenceClasses(size, {}, {}, {}, {})
    try:
        size[sizes["class"]] = sizes["size"]
        for kind, position, name in attributes:
            values = names.get(position, ())
            if kind == "interval":
                found.intervals[name] = _read_interval(con, candidate_id, position, n)
            elif kind == "set":
                found.sets[name] = _read_set(con, candidate_id, position, n, values)
            else:
                found.sensitive_values[name] = values
                found.counts[name] = _read_counts(con, candidate_id, position, n, len(values))
    except IndexError:
        raise StoreError("its equivalence classes do not fit together", where=candidate_id) from None
    return found


def classes_digest(classes: EquivalenceClasses) -> str:
    """Return a SHA-256 over every number and name in `classes`."""
    digest = hashlib.sha256()

    def add(label: list[Any], array: NDArray[Any], kind: str) -> None:
        digest.update(canonical_json([*label, list(array.shape)]))
        digest.update(np.ascontiguousarray(array).astype(kind).tobytes())

    add(["size"], classes.size, "<i8")
    for name, bounds in classes.intervals.items():
        # One way to write a missing bound, and one zero.
        add(["interval", name], np.where(np.isnan(bounds), np.nan, bounds + 0.0), "<f8")
    for name, cells in classes.sets.items():
        add(["member", name, list(cells.values)], cells.member, "u1")
        add(["whole", name], cells.whole, "u1")
    for name, counts in classes.counts.items():
        add(["counts", name, list(classes.sensitive_values[name])], counts, "<i8")
    return digest.hexdigest()


def _read_interval(
    con: duckdb.DuckDBPyConnection, candidate_id: str, position: int, n: int
) -> NDArray[np.float64]:
    rows = _columns(con, "class_interval", "class, low, high", candidate_id, position)
    bounds = np.full((n, 2), np.nan)
    bounds[rows["class"], 0] = rows["low"]
    bounds[rows["class"], 1] = rows["high"]
    return bounds


def _read_set(
    con: duckdb.DuckDBPyConnection, candidate_id: str, position: int, n: int, values: tuple[str, ...]
) -> SetCells:
    rows = _columns(con, "class_set", "class, value_no", candidate_id, position)
    member = np.zeros((n, len(values)), dtype=np.bool_)
    whole = np.zeros(n, dtype=np.bool_)
    of_whole = rows["value_no"] == _WHOLE
    whole[rows["class"][of_whole]] = True
    member[rows["class"][~of_whole], rows["value_no"][~of_whole]] = True
    return SetCells(values, member, whole)


def _read_counts(
    con: duckdb.DuckDBPyConnection, candidate_id: str, position: int, n: int, n_values: int
) -> NDArray[np.int64]:
    rows = _columns(con, "class_count", "class, value_no, records", candidate_id, position)
    counts = np.zeros((n, n_values), dtype=np.int64)
    counts[rows["class"], rows["value_no"]] = rows["records"]
    return counts


def _value_names(con: duckdb.DuckDBPyConnection, candidate_id: str) -> dict[int, tuple[str, ...]]:
    rows = con.execute(
        "SELECT attribute, list(value ORDER BY value_no) FROM class_value "
        "WHERE candidate_id = ? GROUP BY attribute",
        [candidate_id],
    ).fetchall()
    return {position: tuple(values) for position, values in rows}


def _columns(
    con: duckdb.DuckDBPyConnection, table: str, columns: str, candidate_id: str, position: int | None = None
) -> dict[str, NDArray[Any]]:
    """Read columns as arrays; a missing number becomes NaN."""
    where, arguments = "candidate_id = ?", [candidate_id]
    query = f"SELECT {columns} FROM {table} WHERE {where}"
    found = (
        con.execute(query, arguments)
        if position is None
        else con.execute(f"{query} AND attribute = ?", [candidate_id, position])
    ).fetchnumpy()
    return {name: _filled(np.ma.asarray(array)) for name, array in found.items()}


def _filled(array: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    return array.filled(np.nan) if array.mask.any() else array.data


def _insert(
    con: duckdb.DuckDBPyConnection,
    table: str,
    candidate_id: str,
    columns: dict[str, NDArray[Any]],
    position: int | None = None,
) -> None:
    frame = pd.DataFrame(columns)
    if position is not None:
        frame.insert(0, "attribute", np.int32(position))
    _insert_frame(con, table, candidate_id, frame)


def _insert_rows(
    con: duckdb.DuckDBPyConnection, table: str, candidate_id: str, rows: list[Any], columns: list[str]
) -> None:
    if rows:
        _insert_frame(con, table, candidate_id, pd.DataFrame(rows, columns=columns))


def _insert_frame(con: duckdb.DuckDBPyConnection, table: str, candidate_id: str, frame: pd.DataFrame) -> None:
    if frame.empty:
        return
    con.register("incoming", frame)
    try:
        names = ", ".join(frame.columns)
        con.execute(
            f"INSERT INTO {table} (candidate_id, {names}) SELECT ?, {names} FROM incoming", [candidate_id]
        )
    finally:
        con.unregister("incoming")


def _check_shapes(classes: EquivalenceClasses) -> None:
    n = classes.n_classes
    fits = (
        n > 0
        and all(bounds.shape == (n, 2) for bounds in classes.intervals.values())
        and all(
            cells.member.shape == (n, len(cells.values)) and cells.whole.shape == (n,)
            for cells in classes.sets.values()
        )
        and classes.counts.keys() == classes.sensitive_values.keys()
        and all(
            counts.shape == (n, len(classes.sensitive_values[name])) and bool((counts >= 0).all())
            for name, counts in classes.counts.items()
        )
    )
    if not fits:
        raise StoreError("there are no equivalence classes, or their arrays do not fit together")
