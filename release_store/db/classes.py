"""Equivalence classes in and out of the store, as whole columns."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from policy.errors import StoreError
from release_store.records import EquivalenceClasses, SetCells

if TYPE_CHECKING:
    import pandas as pd

_TABLES = ("class_attribute", "class_size", "class_interval", "class_value", "class_set", "class_count")
_LONG = {
    "class_size": "class, size",
    "class_interval": "attribute, class, low, high",
    "class_set": "attribute, class, value_no",
    "class_count": "attribute, class, value_no, records",
}
_REPLACED = "replaced_"  # before the kind of an attribute whose cells stand in place of people's values
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
            attribute(_kind("interval", name, classes), name),
        )
    for name, cells in classes.sets.items():
        class_no, value_no = np.nonzero(cells.member)
        whole = np.flatnonzero(cells.whole)
        columns = {
            "class": np.concatenate([class_no, whole]),
            "value_no": np.concatenate([value_no, np.full(len(whole), _WHOLE)]),
        }
        position = attribute(_kind("set", name, classes), name, cells.values)
        _insert(con, "class_set", candidate_id, columns, position)
    for name, counts in classes.counts.items():
        class_no, value_no = np.nonzero(counts)
        columns = {"class": class_no, "value_no": value_no, "records": counts[class_no, value_no]}
        position = attribute("sensitive", name, classes.sensitive_values[name])
        _insert(con, "class_count", candidate_id, columns, position)
    _insert_rows(con, "class_attribute", candidate_id, attributes, ["kind", "position", "attribute"])
    _insert_rows(con, "class_value", candidate_id, values, ["attribute", "value_no", "value"])


def _kind(kind: str, name: str, classes: EquivalenceClasses) -> str:
    return _REPLACED + kind if name in classes.replaced else kind


def delete_classes(con: duckdb.DuckDBPyConnection, candidate_id: str) -> None:
    """Forget the classes of a candidate that did not become a release."""
    for table in _TABLES:
        con.execute(f"DELETE FROM {table} WHERE candidate_id = ?", [candidate_id])


def read_classes(con: duckdb.DuckDBPyConnection, candidate_id: str) -> EquivalenceClasses:
    """Return the classes kept for a candidate. Raises StoreError if none are, or if they do not fit."""
    return KeptClasses(con, [candidate_id]).of(candidate_id)


def class_numbers(con: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Return how many classes are kept for each candidate."""
    return dict(con.execute("SELECT candidate_id, count(*) FROM class_size GROUP BY candidate_id").fetchall())


class KeptClasses:
    """The classes of several candidates, read with one query a table."""

    def __init__(self, con: duckdb.DuckDBPyConnection, candidate_ids: Sequence[str]) -> None:
        self._place = {name: place for place, name in enumerate(candidate_ids)}
        wanted = list(candidate_ids)
        self._attributes: dict[str, list[tuple[str, int, str]]] = {}
        for name, *attribute in con.execute(
            "SELECT candidate_id, kind, position, attribute FROM class_attribute "
            "WHERE candidate_id IN (SELECT unnest(?)) ORDER BY candidate_id, position",
            [wanted],
        ).fetchall():
            self._attributes.setdefault(name, []).append((attribute[0], attribute[1], attribute[2]))
        self._values: dict[str, dict[int, tuple[str, ...]]] = {}
        for name, position, numbers, values in con.execute(
            "SELECT candidate_id, attribute, list(value_no ORDER BY value_no), "
            "list(value ORDER BY value_no) FROM class_value "
            "WHERE candidate_id IN (SELECT unnest(?)) GROUP BY candidate_id, attribute",
            [wanted],
        ).fetchall():
            whole = numbers == list(range(len(numbers)))
            self._values.setdefault(name, {})[position] = tuple(values) if whole else ()
        self._rows = {table: _Rows(con, table, columns, wanted) for table, columns in _LONG.items()}

    def of(self, candidate_id: str) -> EquivalenceClasses:
        """Return one candidate's classes. Raises StoreError if none are kept, or if they do not fit."""
        place = self._place[candidate_id]
        attributes = self._attributes.get(candidate_id, [])
        if [position for _, position, _ in attributes] != list(range(len(attributes))):
            raise StoreError("its equivalence classes are inconsistent", where=candidate_id)
        names = self._values.get(candidate_id, {})
        try:
            sizes = self._rows["class_size"].of(place)
            n = len(sizes["size"])
            if not attributes and n == 0:
                raise StoreError("its equivalence classes are not kept", where=candidate_id)
            size = np.zeros(n, dtype=np.int64)
            size[sizes["class"]] = sizes["size"]
            replaced = frozenset(name for kind, _, name in attributes if kind.startswith(_REPLACED))
            found = EquivalenceClasses(size, {}, {}, {}, {}, replaced)
            for written, position, name in attributes:
                values = names.get(position, ())
                kind = written.removeprefix(_REPLACED)
                if kind == "interval":
                    found.intervals[name] = _interval(self._rows["class_interval"].of(place, position), n)
                elif kind == "set":
                    found.sets[name] = _set(self._rows["class_set"].of(place, position), n, values)
                elif kind != "sensitive":
                    raise StoreError("its equivalence classes are inconsistent", where=candidate_id)
                else:
                    found.sensitive_values[name] = values
                    rows = self._rows["class_count"].of(place, position)
                    found.counts[name] = _counts(rows, n, len(values))
        except IndexError:
            raise StoreError("its equivalence classes are inconsistent", where=candidate_id) from None
        return found


class _Rows:
    """The columns of one long table for several candidates, sorted by candidate."""

    def __init__(
        self, con: duckdb.DuckDBPyConnection, table: str, columns: str, candidate_ids: list[str]
    ) -> None:
        found = con.execute(
            f"SELECT place, {columns} FROM {table} "
            "JOIN (SELECT unnest(?) AS candidate_id, unnest(?) AS place) USING (candidate_id) ORDER BY place",
            [candidate_ids, list(range(len(candidate_ids)))],
        ).fetchnumpy()
        self._columns = {name: _filled(np.ma.asarray(array)) for name, array in found.items()}
        self._starts = np.searchsorted(self._columns.pop("place"), np.arange(len(candidate_ids) + 1))

    def of(self, place: int, position: int | None = None) -> dict[str, NDArray[Any]]:
        """Return the columns of one candidate, or of one of its attributes; a missing number is NaN."""
        start, end = self._starts[place], self._starts[place + 1]
        rows = {name: column[start:end] for name, column in self._columns.items()}
        if (rows["class"] < 0).any() or ("value_no" in rows and (rows["value_no"] < _WHOLE).any()):
            raise IndexError  # NumPy would count from the end
        if position is None:
            return rows
        chosen = rows.pop("attribute") == position
        return {name: column[chosen] for name, column in rows.items()}


def classes_digest(classes: EquivalenceClasses) -> str:
    """Return a SHA-256 over every number and name in `classes`."""
    digest = hashlib.sha256()

    def add(label: list[Any], array: NDArray[Any], kind: str) -> None:
        # Names and whole numbers only, which Python writes as canonical JSON has them.
        label_text = json.dumps([*label, list(array.shape)], ensure_ascii=False, separators=(",", ":"))
        digest.update(label_text.encode())
        digest.update(np.ascontiguousarray(array).astype(kind).tobytes())

    add(["size"], classes.size, "<i8")
    for name, bounds in classes.intervals.items():
        # One way to write a missing bound, and one zero.
        add([_kind("interval", name, classes), name], np.where(np.isnan(bounds), np.nan, bounds + 0.0), "<f8")
    for name, cells in classes.sets.items():
        add([_kind("member", name, classes), name, list(cells.values)], cells.member, "u1")
        add(["whole", name], cells.whole, "u1")
    for name, counts in classes.counts.items():
        add(["counts", name, list(classes.sensitive_values[name])], counts, "<i8")
    return digest.hexdigest()


def _interval(rows: dict[str, NDArray[Any]], n: int) -> NDArray[np.float64]:
    bounds = np.full((n, 2), np.nan)
    bounds[rows["class"], 0] = rows["low"]
    bounds[rows["class"], 1] = rows["high"]
    return bounds


def _set(rows: dict[str, NDArray[Any]], n: int, values: tuple[str, ...]) -> SetCells:
    member = np.zeros((n, len(values)), dtype=np.bool_)
    whole = np.zeros(n, dtype=np.bool_)
    of_whole = rows["value_no"] == _WHOLE
    whole[rows["class"][of_whole]] = True
    member[rows["class"][~of_whole], rows["value_no"][~of_whole]] = True
    return SetCells(values, member, whole)


def _counts(rows: dict[str, NDArray[Any]], n: int, n_values: int) -> NDArray[np.int64]:
    if (rows["value_no"] < 0).any():
        raise IndexError
    counts = np.zeros((n, n_values), dtype=np.int64)
    counts[rows["class"], rows["value_no"]] = rows["records"]
    return counts


def _filled(array: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    return array.filled(np.nan) if array.mask.any() else array.data


def _insert(
    con: duckdb.DuckDBPyConnection,
    table: str,
    candidate_id: str,
    columns: dict[str, NDArray[Any]],
    position: int | None = None,
) -> None:
    import pandas as pd

    frame = pd.DataFrame(columns)
    if position is not None:
        frame.insert(0, "attribute", np.int32(position))
    _insert_frame(con, table, candidate_id, frame)


def _insert_rows(
    con: duckdb.DuckDBPyConnection, table: str, candidate_id: str, rows: list[Any], columns: list[str]
) -> None:
    import pandas as pd

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
        raise StoreError("there are no equivalence classes, or their arrays are inconsistent")
