"""SQLite databases: a table or view is read as a CSV file with its cells is; nothing else is done there."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from test_intake import CANARY, HEADER, ROW, read, refused, written

from policy.errors import InputError, UsageError
from tasks.intake import copied_rows, sqlite_file

NAMES = HEADER.strip()
TABLE = f"CREATE TABLE visits ({NAMES})"
ROWS = [
    "INSERT INTO visits VALUES ('p1', 'Ann', 30, 'Leeds', 'flu', 'ok', x'00ff')",
    "INSERT INTO visits VALUES ('p2', 'Bob', NULL, 'York', 'cold', '', NULL)",
    "INSERT INTO visits VALUES ('p3', 'Cy', 41.5, '?', 'flu', 7, 1)",
]


def database(folder: Path, *statements: str, name: str = "t.sqlite") -> Path:
    path = folder / name
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for one in statements:
            connection.execute(one)
    return path


def visits(folder: Path, *more: str) -> Path:
    return database(folder, TABLE, *ROWS, *more)


def test_a_table_is_read_as_the_file_with_its_cells(tmp_path: Path) -> None:
    path = visits(tmp_path)
    before = path.read_bytes()
    lines = ROW + "p2,Bob,,York,cold,,\np3,Cy,41.5,?,flu,7,1\n"
    same = read(written(tmp_path, HEADER + lines), missing=["", "?"])
    found = read(path, missing=["", "?"])
    pd.testing.assert_frame_equal(found.frame, same.frame)
    assert found.digest == hashlib.sha256(before).hexdigest()
    assert (found.origin, path.read_bytes()) == ("t.sqlite", before)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["t.csv", "t.sqlite"]


def test_the_table_or_view_is_named_or_the_only_one(tmp_path: Path) -> None:
    columns = NAMES.replace("city", "upper(city) AS city")
    view = f"CREATE VIEW adults AS SELECT {columns} FROM visits WHERE age > 40"
    path = visits(tmp_path, view)
    assert read(path, table="adults").frame["id"].tolist() == ["p3"]
    assert len(read(path, table="visits").frame) == 3
    assert str(refused(path, tmp_path)) == (
        f"{path}: has 2 tables: 'visits', 'adults'\n  Name one of them as source.table."
    )
    assert refused(path, tmp_path, table="visit").message == "has no table 'visit' (did you mean 'visits'?)"
    assert refused(path, tmp_path, table="sqlite_master").message == "has no table 'sqlite_master'"


def test_a_query_is_of_duckdb_and_its_inputs_are_the_tables_of_their_names(tmp_path: Path) -> None:
    path = visits(
        tmp_path,
        "UPDATE visits SET street = 'Elm'",
        "CREATE TABLE cities (code, long)",
        "INSERT INTO cities VALUES ('Leeds', 'City of Leeds')",
    )
    query = "SELECT i.* EXCLUDE (city), long AS city FROM input i JOIN cities ON i.city = code"
    found = read(path, table="visits", inputs={"cities": "t.sqlite"}, query=query)
    assert found.frame[["id", "city"]].to_numpy().tolist() == [["p1", "City of Leeds"]]


@pytest.mark.parametrize(
    ("selected", "message"),
    [
        ("random() AS age", "has a view that calls random()"),
        ("strftime('%Y', 'now') AS age", "has a view that calls strftime()"),
        ("date() AS age", "has a view that calls date()"),
        ("CURRENT_DATE AS age", "has a view that calls current_date()"),
        (f"load_extension('{CANARY}') AS age", "cannot be read (OperationalError)"),
        ("sqlite_version() AS age", "has a view that calls sqlite_version()"),
        ("(SELECT file FROM pragma_database_list) AS age", "cannot be read (OperationalError)"),
        ("(SELECT x FROM gone) AS age", "cannot be read (OperationalError)"),
    ],
)
def test_a_view_that_does_more_than_read_tables_is_refused(
    tmp_path: Path, selected: str, message: str
) -> None:
    columns = NAMES.replace("age", selected)
    path = visits(tmp_path, f"CREATE VIEW v AS SELECT {columns} FROM visits")
    assert refused(path, tmp_path, table="v").message == message


@pytest.mark.parametrize(
    "sql",
    [
        f"CREATE VIEW v AS ATTACH '{CANARY}.db' AS other",
        "CREATE TABLE v AS PRAGMA writable_schema = on",
    ],
)
def test_a_schema_that_was_written_by_hand_attaches_nothing(tmp_path: Path, sql: str) -> None:
    path = visits(tmp_path, f"CREATE VIEW v AS SELECT {NAMES} FROM visits")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = on")
        connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'v'", [sql])
    files = sorted(one.name for one in tmp_path.iterdir())
    error = refused(path, tmp_path, table="v")
    assert isinstance(error, InputError)
    assert error.message.startswith("cannot be read (")
    assert sorted(one.name for one in tmp_path.iterdir()) == files


def test_what_follows_a_view_in_the_schema_is_not_carried_out(tmp_path: Path) -> None:
    path = visits(tmp_path, f"CREATE VIEW v AS SELECT {NAMES} FROM visits")
    sql = f"CREATE VIEW v AS SELECT {NAMES} FROM visits; ATTACH '{tmp_path}/other.db' AS other"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = on")
        connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'v'", [sql])
    assert len(read(path, table="visits").frame) == 3
    assert len(read(path, table="v").frame) == 3
    assert [one.name for one in tmp_path.iterdir()] == ["t.sqlite"]


def test_the_guard_itself_refuses_all_but_reading(tmp_path: Path) -> None:
    """What SQLite would stop by itself is stopped here too."""
    with closing(sqlite3.connect(visits(tmp_path), isolation_level=None)) as connection:
        guard = sqlite_file._Guard(connection)
        for statement in (
            f"ATTACH '{tmp_path}/other.db' AS other",
            "PRAGMA query_only = OFF",
            "DELETE FROM visits",
            "CREATE TABLE other (a)",
            "SELECT load_extension('x')",
            "SELECT file FROM pragma_database_list",
            "BEGIN",
        ):
            guard.refused = ""
            with pytest.raises(sqlite3.DatabaseError):
                connection.execute(statement).fetchall()
            assert guard.refused in ("does more than read tables", "calls load_extension()"), statement
        assert len(connection.execute("SELECT upper(city) FROM visits").fetchall()) == 3


def test_a_view_without_an_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copied_rows, "STATEMENT_SECONDS", 0.2)
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    path = visits(
        tmp_path, f"CREATE VIEW v AS SELECT {NAMES.replace('age', f'({endless}) AS age')} FROM visits"
    )
    assert refused(path, tmp_path, table="v").message == "took longer than 0 seconds"


@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_changes_beside_the_file_are_not_overlooked(tmp_path: Path, end: str) -> None:
    path = visits(tmp_path)
    beside = tmp_path / f"t.sqlite{end}"
    beside.write_bytes(b"")
    assert len(read(path).frame) == 3
    beside.write_bytes(b"x")
    error = refused(path, tmp_path)
    assert error.message == f"has changes beside it that are not in the file yet ('{beside.name}')"
    link = tmp_path / "link.sqlite"
    link.symlink_to(path)
    assert refused(link, tmp_path).message == error.message


def test_a_database_that_used_a_write_ahead_log_and_was_closed_is_read(tmp_path: Path) -> None:
    path = visits(tmp_path, "PRAGMA journal_mode = WAL", "DELETE FROM visits WHERE id = 'p1'")
    assert path.read_bytes()[18:20] == b"\2\2"
    assert read(path).frame["id"].tolist() == ["p2", "p3"]


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    whole = visits(tmp_path).read_bytes()
    cases = {
        b"": "the file is empty",
        (HEADER + CANARY).encode(): "is not a SQLite database",
        whole[:100]: "cannot be read (DatabaseError)",
        whole[:4096] + b"\xff" * 4096: "cannot be read (DatabaseError)",
    }
    for content, message in cases.items():
        assert refused(written(tmp_path, content, "t.db"), tmp_path).message == message
    assert refused(
        database(tmp_path, "CREATE VIRTUAL TABLE v USING fts5(a)"), tmp_path, table="v"
    ).message == ("has no table 'v'")


def test_cells_that_are_no_text_and_columns_without_a_role_are_refused(tmp_path: Path) -> None:
    for cell, message in (
        (f"x'{CANARY.encode().hex()}'", "the column 'city' has cells that are no text, number, "),
        (f"CAST(x'ff' || '{CANARY}' AS TEXT)", "cannot be read (OperationalError)"),
        (f"'{CANARY}' || printf('%.*c', 70000, 'x')", "the column 'city' has a cell of more than 65,536"),
    ):
        path = visits(tmp_path, f"UPDATE visits SET city = {cell} WHERE id = 'p2'")
        assert refused(path, tmp_path).message.startswith(message)
    path = visits(tmp_path, "ALTER TABLE visits ADD COLUMN phone")
    assert refused(path, tmp_path).message == "the column 'phone' has no role"
    assert refused(visits(tmp_path, "DELETE FROM visits"), tmp_path).message == "gives no rows"


def test_a_table_is_only_named_for_a_database(tmp_path: Path) -> None:
    error = refused(written(tmp_path, HEADER + ROW), tmp_path, table="visits")
    assert isinstance(error, UsageError)
    assert str(error).startswith("source.table: names a table, but t.csv is read as csv")
