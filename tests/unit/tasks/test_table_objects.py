"""Tables from memory: they are read as files are, have one digest, and tell no cell in an error."""

from __future__ import annotations

import datetime as dt
import hashlib
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from test_intake import CANARY, COLUMNS, HEADER, policy, read, written

from policy.errors import InputError, ReleaseGateError, UsageError
from tasks.intake.cell_text import NoCell, cell_text
from tasks.intake.read import read_table
from tasks.intake.table_object import TableObject
from tasks.types import SourceTable

NAMES = HEADER.strip().split(",")
ROWS = [
    ("p1", "Ann", 30.0, "Leeds", "flu", "ok", "Elm"),
    ("p2", "Bob", None, "York", "cold", None, "Oak"),
    ("p3", "Cy", 41.5, "?", "flu", "", "Elm"),
]
LINES = (
    '["id","name","age","city","disease","note"]\n'
    '["p1","Ann","30.0","Leeds","flu","ok"]\n'
    '["p2","Bob",null,"York","cold",null]\n'
    '["p3","Cy","41.5","?","flu",""]'
)


class Stream:
    """What Arrow and Polars hand over, and DuckDB too: an object with Arrow's C stream of its rows."""

    def __init__(self, rows: list[tuple[Any, ...]], types: str = "VARCHAR") -> None:
        self._connection = duckdb.connect()
        kinds = ", ".join(f"{name} {'DOUBLE' if name == 'age' else types}" for name in NAMES)
        self._connection.execute(f"CREATE TABLE t ({kinds})")
        for row in rows:
            self._connection.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(NAMES))})", row)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._connection.table("t").__arrow_c_stream__()


def frame() -> pd.DataFrame:
    return pd.DataFrame(ROWS, columns=NAMES)


def taken(table: object, **source: Any) -> SourceTable:
    return read_table(policy(**source), input_path=TableObject(table), period="2024Q1", base=Path("nowhere"))


def refused(table: object, **source: Any) -> ReleaseGateError:
    """Return the error, which must hold no cell, in itself or in what caused it."""
    with pytest.raises(ReleaseGateError) as caught:
        taken(table, **source)
    error = caught.value
    assert CANARY not in str(error) + repr(error)
    assert error.__cause__ is None
    assert error.__context__ is None
    assert len(str(error).splitlines()) <= 2
    return error


@pytest.mark.parametrize("made", [frame, lambda: Stream(ROWS)], ids=["pandas", "arrow"])
def test_an_object_is_read_as_the_file_with_its_rows(tmp_path: Path, made: Any) -> None:
    file = written(
        tmp_path, HEADER + "p1,Ann,30.0,Leeds,flu,ok,Elm\np2,Bob,,York,cold,,Oak\np3,Cy,41.5,?,flu,,Elm\n"
    )
    found, same = taken(made(), missing=["", "?"]), read(file, missing=["", "?"])
    pd.testing.assert_frame_equal(found.frame, same.frame)
    assert [*found.frame.columns] == COLUMNS
    assert found.identifiers is not None
    assert found.identifiers["name"].tolist() == ["Ann", "Bob", "Cy"]
    assert found.origin == "object"


def test_the_digest_is_that_of_the_rows_as_lines_of_json(tmp_path: Path) -> None:
    expected = hashlib.sha256(LINES.encode()).hexdigest()
    categories = frame().astype({"city": "category", "disease": "category"})
    texts = frame().astype({name: "str" for name in NAMES if name != "age"})
    many_small = pd.concat([frame().iloc[:1], frame().iloc[1:]])
    for table in (
        frame(),
        Stream(ROWS),
        categories,
        texts,
        many_small,
        frame().set_index(np.array([5, 5, 1])),
    ):
        assert taken(table).digest == expected


def test_another_cell_and_another_order_of_rows_have_another_digest() -> None:
    cells = frame().astype(object)
    digests = {taken(frame()).digest, taken(frame().iloc[::-1]).digest}
    for row, column in ((0, "name"), (1, "note"), (2, "note"), (0, "age")):
        other = cells.copy()
        other.loc[row, column] = "7"
        digests.add(taken(other).digest)
    assert len(digests) == 6


def test_a_dropped_column_is_not_read_and_decides_no_digest() -> None:
    strange = frame().assign(street=[{CANARY}, object(), [1, 2]])
    assert taken(strange).digest == taken(frame()).digest
    assert taken(strange).frame.equals(taken(frame()).frame)


@pytest.mark.parametrize(
    ("cells", "texts"),
    [
        (pd.arrays.SparseArray([0, 0, 7]), ["0", "0", "7"]),
        (pd.arrays.SparseArray([np.nan, 0.5, np.nan]), [None, "0.5", None]),
        (pd.arrays.SparseArray(np.array(["a", None, "b"], dtype=object)), ["a", None, "b"]),
        (pd.array([2**62 + 1, None, -1], dtype="Int64"), ["4611686018427387905", None, "-1"]),
        (pd.array([2**64 - 1, None, 0], dtype="UInt64"), ["18446744073709551615", None, "0"]),
        (pd.array([True, None, False], dtype="boolean"), ["true", None, "false"]),
        (pd.array(["a", None, " "], dtype="string"), ["a", None, " "]),
        (pd.Categorical([2**60 + 1, None, 3]), ["1152921504606846977", None, "3"]),
        (
            pd.to_datetime(["2026-01-01T00:00", "2026-01-01T12:00:00.000001", None], format="ISO8601"),
            ["2026-01-01", "2026-01-01 12:00:00.000001", None],
        ),
        (
            pd.to_datetime(["2026-01-01T00:00", "2026-07-01T12:30", None], format="ISO8601").tz_localize(
                "Europe/Berlin"
            ),
            ["2025-12-31 23:00:00+00", "2026-07-01 10:30:00+00", None],
        ),
        (pd.to_timedelta([1, 26, None], unit="h"), ["01:00:00", "1 day 02:00:00", None]),
    ],
)
@pytest.mark.parametrize("query", [None, "SELECT * FROM input"])
def test_a_column_of_each_type_of_pandas_is_read(
    cells: Any, texts: list[str | None], query: str | None
) -> None:
    found = taken(frame().assign(city=cells), query=query).frame["city"]
    assert [None if pd.isna(cell) else cell for cell in found] == texts


def test_a_query_reads_an_object_as_input() -> None:
    found = taken(frame(), query="SELECT * FROM input WHERE city <> 'York'")
    assert found.frame["id"].tolist() == ["p1", "p3"]
    assert found.origin == "object"


@pytest.mark.parametrize("made", [pd.DataFrame, Stream], ids=["pandas", "arrow"])
def test_a_query_reads_dropped_columns_and_the_digest_is_of_them_too(made: Any) -> None:
    moved = [*ROWS[:2], (*ROWS[2][:-1], "Ash")]
    tables = [made(rows) if made is Stream else made(rows, columns=NAMES) for rows in (ROWS, moved)]
    query = "SELECT * REPLACE (street AS city) FROM input"
    first, second = (taken(table, query=query) for table in tables)
    assert first.frame["city"].tolist() == ["Elm", "Oak", "Elm"]
    assert first.digest != second.digest


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, None),
        (pd.NaT, None),
        (pd.NA, None),
        (float("nan"), None),
        (np.float64("nan"), None),
        (Decimal("NaN"), None),
        ("", ""),
        (True, "true"),
        (np.False_, "false"),
        (7, "7"),
        (np.int8(-7), "-7"),
        (0.1, "0.1"),
        (np.float64(3), "3.0"),
        (Decimal("1.50"), "1.50"),
        (dt.date(2024, 2, 29), "2024-02-29"),
        (dt.datetime(2024, 2, 29), "2024-02-29"),  # noqa: DTZ001
        (dt.datetime(2024, 2, 29, 8, 30), "2024-02-29 08:30:00"),  # noqa: DTZ001
        (pd.Timestamp("2024-02-29"), "2024-02-29"),
        (pd.Timestamp("2024-02-29 00:00:00.000000001"), "2024-02-29 00:00:00.000000001"),
        (dt.datetime(2024, 2, 29, tzinfo=dt.UTC), "2024-02-29 00:00:00+00:00"),
        (dt.time(8, 30), "08:30:00"),
        (dt.timedelta(hours=30), "1 day, 6:00:00"),
    ],
)
def test_a_cell_as_text(cell: object, text: str | None) -> None:
    assert cell_text(cell) == text


@pytest.mark.parametrize("cell", [b"x", [1], {}, object(), 1j])
def test_what_is_no_cell_is_refused(cell: object) -> None:
    with pytest.raises(NoCell):
        cell_text(cell)


def test_what_is_no_table_is_refused() -> None:
    for table in (None, [1, 2], "people.csv", {"a": [1]}, np.zeros((2, 2))):
        with pytest.raises(UsageError, match=r"^input: is no table, but "):
            TableObject(table)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (frame().assign(city=[[CANARY], "a", "b"]), "the column 'city' has cells that are no text, number, "),
        (frame().assign(city=[CANARY.encode(), "a", "b"]), "the column 'city' has cells that are no text"),
        (
            frame().assign(city=pd.period_range("2026-01", periods=3, freq="M")),
            "the column 'city' has cells that",
        ),
        (
            frame().assign(city=pd.interval_range(0, 3)),
            "the column 'city' has cells that are no text, number, ",
        ),
        (
            frame().assign(age=[1j, 2j, 3j]),
            "the column 'age' has cells that are no text, number, truth value ",
        ),
        (frame().rename(columns={"age": 3}), "the name of column 3 is no text"),
        (frame().rename(columns={"name": "id"}), "columns 1 and 2 have the same name, 'id'"),
        (frame().rename(columns={"name": " "}), "column 2 has no name"),
        (frame().rename(columns={"city": "town"}), "the column 'city' of the policy's roles is missing"),
        (frame().assign(phone="1"), "the column 'phone' has no role"),
        (pd.DataFrame({CANARY: [1]}), "none of its 1 column is in the roles of the policy"),
        (frame().iloc[:0], "gives no rows"),
        (frame().assign(city=CANARY * 8000), "the column 'city' has a cell of more than 65,536 characters"),
        (frame().assign(city=pd.Series([f"{CANARY}\ud800"] * 3, dtype=object)), "cannot be read ("),
        (frame()["age"].to_frame(), "the column 'id' of the policy's roles is missing"),
    ],
)
def test_a_bad_object_is_refused_in_one_line(table: object, message: str) -> None:
    error = refused(table)
    assert isinstance(error, InputError)
    assert error.where == "input"
    assert error.message.startswith(message)


def test_a_stream_without_a_row_is_refused() -> None:
    assert refused(Stream([])).message == "gives no rows"


def test_a_stream_that_breaks_is_refused_and_tells_nothing_of_it() -> None:
    class Broken:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise ValueError(CANARY)

    assert refused(Broken()).message.startswith("cannot be read (")


class Kinds:
    """A table with a column of each of many types, as a stream of Arrow."""

    def __init__(self) -> None:
        self._connection = duckdb.connect()
        self._connection.execute(
            "CREATE TABLE t AS SELECT * FROM (VALUES "
            "('p1', TIME '01:02:03.5', 30.5::DECIMAL(9, 2), 'b'::ENUM('b', 'a'), INTERVAL '1 month 2 days', "
            "'\\xAA\\x41'::BLOB, TIMESTAMPTZ '2020-01-02 03:04:05+02'), "
            "('p2', NULL, 1e3::DECIMAL(9, 2), 'a', INTERVAL '3 hours', ''::BLOB, NULL)) "
            f"AS v({', '.join(NAMES)})"
        )

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._connection.table("t").__arrow_c_stream__()


def test_a_query_sees_the_types_of_an_object_as_they_are() -> None:
    found = taken(Kinds(), query="SELECT * FROM input")
    same = taken(Kinds())
    pd.testing.assert_frame_equal(found.frame, same.frame)
    assert found.identifiers is not None
    assert same.identifiers is not None
    pd.testing.assert_frame_equal(found.identifiers, same.identifiers)
    kinds = ", ".join(f"typeof({name}) AS {name}" for name in NAMES if name != "age")
    typed = taken(Kinds(), query=f"SELECT {kinds}, age FROM input")
    assert typed.identifiers is not None
    assert typed.identifiers["name"].tolist() == ["TIME", "TIME"]
    assert set(typed.frame["disease"]) == {"INTERVAL"}
