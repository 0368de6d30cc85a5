"""Every number, date and text of CSV, Parquet, Excel, SQLite, Postgres and frames is read without loss."""

from __future__ import annotations

import csv
import datetime as dt
import io
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policy.location import Location
from policy.model import ReleasePolicy
from policy.text import INVISIBLE
from tasks.intake.read import read_table
from tasks.intake.table_object import TableObject
from tests.support.postgres_server import Postgres

Rows = Sequence[Mapping[str, Any]]
made = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12
) | st.sampled_from(
    [
        "",
        " ",
        " a ",
        'a,"b"',
        "a\nb",
        "a\r\nb",
        "a\rb",
        "007",
        "1e3",
        "NaN",
        "\\N",
        "'",
        "\u00a0x",
        *INVISIBLE,
    ]
)
integers = st.integers(-(2**63), 2**63 - 1) | st.sampled_from(
    [2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 0]
)
decimals = st.decimals(-(10**20), 10**20, places=7) | st.sampled_from(
    [Decimal("1.1000000"), Decimal("-0E-7")]
)
floats = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [-0.0, 0.1, 5e-324, 1e22, 1.5e300]
)
dates = st.dates(dt.date(1, 1, 1))
days = st.dates(dt.date(1900, 3, 1))
times = st.datetimes(dt.datetime(1000, 1, 1), dt.datetime(9999, 1, 1))  # noqa: DTZ001
zoned = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1), timezones=st.just(dt.UTC))  # noqa: DTZ001
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "text": texts,
    "integer": integers,
    "decimal": decimals,
    "float": floats,
    "truth": st.booleans(),
    "date": dates,
    "time": times,
    "zoned": zoned,
}
KINDS = {  # of DuckDB and Postgres
    "integer": "BIGINT",
    "decimal": "DECIMAL(38, 7)",
    "float": "DOUBLE PRECISION",
    "truth": "BOOLEAN",
    "date": "DATE",
    "time": "TIMESTAMP",
    "zoned": "TIMESTAMPTZ",
}


def rows_of(**columns: st.SearchStrategy[Any]) -> st.SearchStrategy[Rows]:
    """Make rows with a cell of each column, some of them missing."""
    return st.lists(
        st.fixed_dictionaries({name: st.none() | cells for name, cells in columns.items()}),
        min_size=1,
        max_size=8,
    )


def read(
    given_: Location | TableObject, names: Sequence[str], folder: Path, **source: Any
) -> dict[str, list[Any]]:
    """Return the cells of columns as they are read, None for missing ones."""
    policy = ReleasePolicy.model_validate(
        {
            "series": "s",
            "source": {"missing": [], "line_breaks": True, **source},
            "roles": {
                "quasi_identifiers": {"age": {"type": "integer", "bounds": [0, 110]}},
                "sensitive": {"disease": {"stability": "stable"}},
                "kept": list(names),
            },
        }
    )
    frame = read_table(policy, input_path=given_, period="1", base=folder).frame
    return {name: [None if pd.isna(cell) else str(cell) for cell in frame[name]] for name in names}


def table(rows: Rows) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return names and rows with the columns of the roles, too. Postgres sorts by the first column."""
    names = sorted(rows[0])
    cells = [(10 + place, "flu", *(row[name] for name in names)) for place, row in enumerate(rows)]
    return ["age", "disease", *names], cells


def columns(names: Sequence[str], **kinds: str) -> str:
    """Return the columns of a table in SQL."""
    kinds = {"age": "INT", "disease": "TEXT", "text": "TEXT", **kinds}
    return ", ".join(f'"{name}" {kinds[name]}' for name in names)


WRITTEN: dict[str, Callable[[Any], str]] = {
    "text": str,
    "integer": str,
    "huge": str,
    "truth": lambda value: str(value).lower(),
    "date": dt.date.isoformat,
}


def check_cells(found: Mapping[str, list[Any]], rows: Rows) -> None:
    """Hold the texts that were read against those of the cells; of doubles and times, their values."""
    for name, cells in found.items():
        given_ = [row[name] for row in rows]
        assert [cell is None for cell in cells] == [value is None for value in given_], name
        for cell, value in zip(cells, given_, strict=True):
            if value is None:
                continue
            if name == "float":
                assert float(cell).hex() == value.hex(), (name, cell)
            elif name == "decimal":  # no format but Python's own has -0
                read_, exponent = Decimal(cell), value.as_tuple().exponent
                assert (read_, read_.as_tuple().exponent) == (value, exponent), (name, cell)
            elif name in ("time", "zoned"):
                assert dt.datetime.fromisoformat(cell) == value, (name, cell)
            else:
                assert cell == WRITTEN[name](value), name


@made
@given(rows=rows_of(text=texts, other=texts), encoding=st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_texts_of_csv(tmp_path: Path, rows: Rows, encoding: str) -> None:
    names, cells = table(rows)
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([names, *cells])
    path = tmp_path / "t.csv"
    path.write_bytes(text.getvalue().encode(encoding))
    found = read(path, ["text", "other"], tmp_path, encoding=encoding)
    assert found == {name: [row[name] or "" for row in rows] for name in ("text", "other")}


@made
@given(data=st.data(), encoding=st.sampled_from(["windows-1252", "latin-1", "iso-8859-2", "koi8-r", "cp850"]))
def test_letters_of_each_single_byte(tmp_path: Path, data: st.DataObject, encoding: str) -> None:
    known = "".join(bytes([byte]).decode(encoding, "ignore") for byte in range(0xA0, 0x100))
    words = data.draw(
        st.lists(st.text(st.sampled_from(known), min_size=1, max_size=8), min_size=1, max_size=8)
    )
    path = tmp_path / "t.csv"
    text = "age,disease,text\n" + "".join(f"30,flu,{word}\n" for word in words)
    path.write_bytes(text.encode(encoding))
    assert read(path, ["text"], tmp_path, encoding=encoding) == {"text": words}


@made
@given(rows=rows_of(**CELLS))
def test_cells_of_parquet(tmp_path: Path, rows: Rows) -> None:
    names, cells = table(rows)
    path = tmp_path / "t.parquet"
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"CREATE TABLE t ({columns(names, **KINDS)})")
        marks = ", ".join("?" for _ in names)
        connection.executemany(f"INSERT INTO t VALUES ({marks})", cells)
        connection.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    check_cells(read(path, names[2:], tmp_path), rows)


@made
@given(
    rows=rows_of(
        text=st.text(
            st.characters(min_codepoint=32, exclude_categories=["Cs", "Cn", "Co"]), min_size=1, max_size=12
        ),
        integer=st.integers(-(10**15), 10**15),  # openpyxl writes 15 digits
        float=st.floats(-9e15, 9e15).map(lambda value: float(f"{value:.15g}") + 0.0),
        truth=st.booleans(),
        date=days,
        time=st.datetimes(dt.datetime(1900, 3, 1), dt.datetime(9999, 1, 1)).map(  # noqa: DTZ001
            lambda value: value.replace(microsecond=0)
        ),
    )
)
def test_cells_of_a_workbook(tmp_path: Path, rows: Rows) -> None:
    names, cells = table(rows)
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (names, *cells):
        sheet.append(row)
    for row_of_cells in sheet.iter_rows(min_row=2):
        for cell in row_of_cells:
            if cell.data_type == "f":
                cell.data_type = "s"  # a text that begins with =
    path = tmp_path / "t.xlsx"
    book.save(path)
    check_cells(read(path, names[2:], tmp_path), rows)


@made
@given(
    rows=rows_of(text=texts, integer=integers, float=floats.map(lambda value: value + 0.0))
)  # it has no -0.0
def test_cells_of_sqlite(tmp_path: Path, rows: Rows) -> None:
    names, cells = table(rows)
    path = tmp_path / "t.sqlite"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE t ({columns(names, integer='INT', float='REAL')})")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", cells)
        connection.commit()
    check_cells(read(path, names[2:], tmp_path), rows)


@made
@given(rows=rows_of(**CELLS))
def test_cells_of_postgres(tmp_path: Path, postgres: Postgres, rows: Rows) -> None:
    names, cells = table(rows)
    with postgres.connected() as connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute(f"CREATE TABLE t ({columns(names, **KINDS)})")
        with connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO t VALUES ({', '.join('%s' for _ in names)})", cells)
    check_cells(read(postgres.table("t"), names[2:], tmp_path), rows)


@made
@given(rows=rows_of(**CELLS, huge=st.integers(-(10**40), 10**40)), typed=st.booleans())
def test_cells_of_a_frame(tmp_path: Path, rows: Rows, typed: bool) -> None:
    """`typed` columns have pandas' own types; the others hold Python's objects."""
    names, cells = table(rows)
    frame = pd.DataFrame(cells, columns=names, dtype=object)
    if typed:
        kinds = {
            "text": "string",
            "integer": "Int64",
            "float": "Float64",
            "truth": "boolean",
            "time": "datetime64[us]",
            "zoned": "datetime64[us, UTC]",
        }
        frame = frame.astype(kinds)
    check_cells(read(TableObject(frame), names[2:], tmp_path), rows)
