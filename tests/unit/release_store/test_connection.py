from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from policy.errors import StoreError, UsageError, VerificationFailed
from release_store.checkup import Condition, check_store
from release_store.db import connection
from release_store.db.connection import DATABASE, connect, transaction
from release_store.publishing.locks import locks_in_use
from release_store.store import ReleaseStore
from release_store.verification.verify import verify

HOLDER = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"


def test_a_store_that_another_process_holds_is_refused_by_its_process_id(store: ReleaseStore) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(store.root / DATABASE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with (
            pytest.raises(StoreError, match=f"process {holder.pid} has used the store"),
            connect(store.root, timeout=0.2),
        ):
            pass
        holder.communicate(b"")
    with connect(store.root) as con:
        assert con.execute("SELECT count(*) FROM event").fetchone() == (1,)


def test_a_store_that_is_freed_in_time_is_opened(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(store.root / DATABASE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        slept: list[float] = []

        def free(seconds: float) -> None:
            slept.append(seconds)
            holder.kill()
            holder.wait()

        # The holder ends when it is waited for, and no time goes by.
        monkeypatch.setattr(connection, "time", SimpleNamespace(monotonic=lambda: 0.0, sleep=free))
        with connect(store.root) as con:
            assert con.execute("SELECT 1").fetchone() == (1,)
        assert len(slept) == 1


def test_the_store_s_own_lock_is_held_from_before_the_database_opens_until_after_it_is_closed(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, list[str]]] = []

    def note(moment: str) -> None:
        seen.append((moment, [lock.name for lock in locks_in_use(store.root)]))

    opened, closed = connection._open, connection._close

    def told(path: Path, timeout: float) -> duckdb.DuckDBPyConnection:
        note("opens")
        return opened(path, timeout)

    def told_close(con: duckdb.DuckDBPyConnection, path: Path) -> None:
        closed(con, path)
        note("closed")

    monkeypatch.setattr(connection, "_open", told)
    monkeypatch.setattr(connection, "_close", told_close)
    with connect(store.root), connect(store.root) as inner:
        assert inner.execute("SELECT count(*) FROM event").fetchone() == (1,)
    note("after")
    assert [moment for moment, _ in seen] == ["opens", "opens", "closed", "closed", "after"]
    assert [locks for _, locks in seen] == [[".history"]] * 4 + [[]]


def test_while_another_process_has_that_lock_the_database_is_not_opened(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store.root / "locks" / ".history"
    script = (
        "import filelock, sys; lock = filelock.FileLock(sys.argv[1]); lock.acquire(); print(flush=True);"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        monkeypatch.setattr(connection, "_open", lambda *_: pytest.fail("was opened"))
        with (
            pytest.raises(StoreError, match=f"process {other.pid} has used the store for more than 0.2 s"),
            connect(store.root, timeout=0.2),
        ):
            pass
        other.communicate(b"")
    monkeypatch.undo()
    assert store.n_events() == 1


def test_a_store_of_a_newer_schema_is_refused_in_one_line(store: ReleaseStore) -> None:
    with transaction(store.root) as con:
        con.execute("INSERT INTO schema_migration VALUES (999, 'later', 'now')")
        con.execute("CREATE TABLE later (x INTEGER)")
    with pytest.raises(StoreError, match=r"schema 999") as caught:
        ReleaseStore.open(store.root)
    assert "\n" not in caught.value.message


def test_a_migration_that_breaks_leaves_nothing_behind(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = connection.migrations()
    newer = max(good) + 1
    with monkeypatch.context() as patch:
        broken = {**good, newer: ("broken.sql", "CREATE TABLE half (a INTEGER); SELECT * FROM nowhere")}
        patch.setattr(connection, "_MIGRATIONS", broken)
        with pytest.raises(StoreError, match="CatalogException"), connect(store.root):
            pass
    with connect(store.root) as con:
        tables = {row[0] for row in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        assert "half" not in tables
        assert con.execute("SELECT max(number) FROM schema_migration").fetchone() == (max(good),)


def test_a_migration_is_applied_once_and_keeps_what_is_there(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = connection.migrations()
    newer = max(good) + 1
    sql = "CREATE TABLE added (a INTEGER); INSERT INTO added VALUES (7)"
    monkeypatch.setattr(connection, "_MIGRATIONS", {**good, newer: ("added.sql", sql)})
    for _ in range(2):
        with connect(store.root) as con:
            assert con.execute("SELECT a FROM added").fetchall() == [(7,)]
    assert len(store.events()) == 1


def test_migrations_are_numbered_without_gaps() -> None:
    assert list(connection.migrations()) == list(range(1, len(connection.migrations()) + 1))


def test_a_transaction_that_raises_keeps_nothing(store: ReleaseStore) -> None:
    with pytest.raises(ZeroDivisionError), transaction(store.root) as con:
        con.execute("INSERT INTO store_info VALUES ('a', 'b')").fetchall()[0][0] / 0
    with connect(store.root) as con:
        assert con.execute("SELECT * FROM store_info WHERE name = 'a'").fetchall() == []


def test_an_error_of_the_database_is_told_without_what_was_being_written(store: ReleaseStore) -> None:
    with pytest.raises(StoreError) as caught, transaction(store.root) as con:
        con.execute("INSERT INTO store_info VALUES ('x', 'SECRET'), ('x', 'SECRET')")
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_missing_or_broken_database_is_told(store: ReleaseStore, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no store here") as caught:
        ReleaseStore.open(tmp_path / "elsewhere")
    assert "releasegate init" in caught.value.hint
    (store.root / DATABASE).write_bytes(b"x" * 5000)
    with pytest.raises(StoreError, match="cannot be opened"):
        ReleaseStore.open(store.root)


def test_a_store_is_made_once_and_is_closed_to_others(store: ReleaseStore, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is already a store"):
        ReleaseStore.create(store.root)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(UsageError, match="not an empty folder"):
        ReleaseStore.create(tmp_path / "full")
    assert store.root.stat().st_mode & 0o777 == 0o700
    assert ReleaseStore.open(store.root).store_id == store.store_id


def test_threads_take_turns(store: ReleaseStore) -> None:
    def write(name: str) -> None:
        for _ in range(5):
            store.next_candidate_id("clinic", name)

    threads = [threading.Thread(target=write, args=("2024",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.next_candidate_id("clinic", "2024") == "clinic-2024-c21"


@pytest.mark.parametrize("statement", ["DELETE FROM event", "UPDATE event SET actor = 'x'", "TRUNCATE event"])
def test_the_log_refuses_to_be_changed(store: ReleaseStore, statement: str) -> None:
    with duckdb.connect(str(store.root / DATABASE)) as con, pytest.raises(duckdb.Error, match="append only"):
        con.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM policy",
        "UPDATE policy SET document = '{}'",
        "DELETE FROM gate_result",
        "UPDATE gate_result SET verdict = 'pass'",
        "DELETE FROM decision",
        "UPDATE decision SET person = 'bob'",
        "DELETE FROM release_file",
        "UPDATE release_file SET sha256 = ''",
    ],
)
def test_what_let_a_release_out_refuses_to_be_changed(store: ReleaseStore, statement: str) -> None:
    with duckdb.connect(str(store.root / DATABASE)) as con, pytest.raises(duckdb.Error, match="append only"):
        con.execute(statement)


def test_extensions_are_neither_fetched_nor_loaded_by_themselves(store: ReleaseStore) -> None:
    with connect(store.root) as con:
        found = con.execute(
            "SELECT value FROM duckdb_settings() WHERE name IN "
            "('autoinstall_known_extensions', 'autoload_known_extensions')"
        ).fetchall()
    assert found == [("false",), ("false",)]


FOREIGN = {
    sql: f"holds a {what} that does not belong to the store ({name})"
    for sql, what, name in (
        ("CREATE MACRO error(x) AS NULL", "macro", "error"),
        ("CREATE MACRO duckdb_triggers() AS TABLE SELECT 1", "macro", "duckdb_triggers"),
        ("CREATE VIEW mine AS SELECT 1", "view", "mine"),
        ("CREATE SCHEMA mine", "schema", "mine"),
        ("CREATE TABLE mine (x INTEGER)", "table", "mine"),
    )
}


@pytest.mark.parametrize("sql", FOREIGN)
@pytest.mark.parametrize("writes_back", [True, False])
@pytest.mark.by_day(4)
def test_what_no_migration_made_is_refused_before_anything_is_read(
    store: ReleaseStore, sql: str, writes_back: bool
) -> None:
    assert verify(store) == []  # and so this process has looked at it
    script = "import duckdb, os, sys; c = duckdb.connect(sys.argv[1]); c.execute(sys.argv[2]); "
    leave = "c.close()" if writes_back else "os._exit(0)"
    subprocess.run([sys.executable, "-c", script + leave, str(store.root / DATABASE), sql], check=True)
    with pytest.raises(VerificationFailed, match=re.escape(FOREIGN[sql])):
        store.events()
    (finding,) = verify(store)
    assert FOREIGN[sql] in finding.what
    (wrong,) = [one for one in check_store(store.root) if one.condition is Condition.WRONG]
    assert FOREIGN[sql] in wrong.found


def test_a_macro_hides_no_dropped_trigger(store: ReleaseStore) -> None:
    """By their full names even where nobody looked for macros."""
    with connect(store.root) as con:
        con.execute("CREATE MACRO duckdb_triggers() AS TABLE SELECT 'a' AS trigger_name")
        assert connection.trigger_errors(con) == {}
        con.execute("DROP TRIGGER event_keeps_updates ON event")
        assert "event_keeps_updates" in connection.trigger_errors(con)
