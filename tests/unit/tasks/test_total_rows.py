"""A row of totals at the end of a table is refused by every command, and a value of the policy is not."""

from __future__ import annotations

import csv
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import openpyxl
import pandas as pd
import pytest
from test_encodings import said_by_each, said_by_each_policy
from test_intake import policy, read, refused, written

from policy.errors import InputError
from services.drafting.tables import load_tables
from tasks.intake.database import own_database
from tasks.intake.read import read_table
from tasks.intake.table_object import TableObject
from tasks.intake.total_row import listed_values

HEADER = ("id", "name", "age", "city", "disease", "note", "street")
ROWS = [(f"p{i}", f"n{i}", str(20 + i), "Leeds", "flu", "x", "s") for i in range(8)]
SAID = (
    "its last row, row 9 below the names, is a total of the others, and no person's. Remove that row; if it "
    "is a person's, list its value in the policy's roles."
)


def total(word: str, at: int) -> tuple[str, ...]:
    """A row that has a word in one column, numbers in another, and nothing else."""
    return tuple(word if place == at else "228" if place == 2 else "" for place in range(len(HEADER)))


def table(folder: Path, rows: list[tuple[str, ...]], name: str) -> Path:
    path = folder / name
    if name.endswith(".csv"):
        with path.open("w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows([HEADER, *rows])
    elif name.endswith(".xlsx"):
        workbook = openpyxl.Workbook()
        assert workbook.active is not None
        for row in [HEADER, *rows]:
            workbook.active.append(row)
        workbook.save(path)
    elif name.endswith(".sqlite"):
        with closing(sqlite3.connect(path)) as con, con:
            con.execute(f"CREATE TABLE t ({', '.join(HEADER)})")
            con.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(HEADER))})", rows)
    else:
        frame = pd.DataFrame(rows, columns=list(HEADER))
        with duckdb.connect() as con:
            con.register("rows", frame)
            con.execute(f"COPY (FROM rows) TO '{path}'")
    return path


@pytest.mark.parametrize(
    ("word", "at"),
    [
        *(("Total", at) for at in (0, 1, 3, 4, 5, 6)),
        *((word, 0) for word in ("Gesamt", "Total general", "SUMME: ", "Итого", "Total (n = 8)", "合計")),
    ],
)
@pytest.mark.by_day(4)
def test_every_command_refuses_it(tmp_path: Path, word: str, at: int) -> None:
    path = table(tmp_path, [*ROWS, total(word, at)], "t.csv")
    assert {*said_by_each(path, tmp_path).values()} == {f"{path}: {SAID}"}


def test_in_parquet_too(tmp_path: Path) -> None:
    path = table(tmp_path, [*ROWS, total("Total", 0)], "t.parquet")
    assert {*said_by_each(path, tmp_path).values()} == {f"{path}: {SAID}"}


@pytest.mark.parametrize("name", ["t.xlsx", "t.sqlite"])
def test_in_a_sheet_and_a_database_too(tmp_path: Path, name: str) -> None:
    path = table(tmp_path, [*ROWS, total("Total", 1)], name)
    assert {*said_by_each_policy(path, tmp_path).values()} == {f"{path}: {SAID}"}
    with own_database() as con, pytest.raises(InputError, match="is a total of the others"):
        load_tables(con, [path])


def test_in_a_frame_and_in_a_query_too_but_for_one_that_leaves_it_out(tmp_path: Path) -> None:
    rows = [*ROWS, total("Total", 0)]
    given = TableObject(pd.DataFrame(rows, columns=list(HEADER)))
    with pytest.raises(InputError, match="is a total of the others"):
        read_table(policy(), input_path=given, period="2026", base=tmp_path)
    path = table(tmp_path, rows, "t.csv")
    said = said_by_each_policy(path, tmp_path, query="SELECT * FROM input")
    assert {*said.values()} == {f"source.query: {SAID}"}
    assert len(read(path, query="SELECT * FROM input WHERE id <> 'Total'").frame) == len(ROWS)


def test_each_part_is_looked_at(tmp_path: Path) -> None:
    table(tmp_path, ROWS, "a.csv")
    other = [(f"q{row[0]}", f"m{row[1]}", *row[2:]) for row in ROWS]
    second = table(tmp_path, [*other, total("Total", 0)], "b.csv")
    assert str(refused(None, tmp_path, path=["a.csv", "b.csv"])).startswith(f"{second}: its last row, row 9")


def test_a_line_of_blanks_after_it_and_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    lines = [",".join(row) for row in (HEADER, *ROWS, total("Total", 0))]
    path = written(tmp_path, "\r\n".join(lines) + "\r\n\r\n")
    assert {*said_by_each(path, tmp_path).values()} == {f"{path}: {SAID}"}


def test_a_value_that_other_rows_have_too_is_none(tmp_path: Path) -> None:
    path = table(tmp_path, [(*row[:4], "total", *row[5:]) for row in ROWS], "t.csv")
    assert len(read(path).frame) == len(ROWS)
    with own_database() as con:
        load_tables(con, [path])


def test_a_value_that_the_policy_lists_is_none(tmp_path: Path) -> None:
    path = table(tmp_path, [*ROWS, ("p9", "n9", "30", "Leeds", "total", "x", "s")], "t.csv")
    assert "is a total of the others" in str(refused(path, tmp_path))
    roles = policy().roles
    disease = roles.sensitive["disease"].model_copy(update={"values": ("flu", "total")})
    listed = policy().model_copy(
        update={"roles": roles.model_copy(update={"sensitive": {"disease": disease}})}
    )
    assert listed_values(listed.roles) == {"disease": ("flu", "total")}
    assert len(read_table(listed, input_path=path, period="2026", base=tmp_path).frame) == len(ROWS) + 1
