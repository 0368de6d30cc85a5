"""Short connections to the store's DuckDB file: open, work, close.

One process at a time may have the file open, so nobody keeps it longer than one change takes, and
whoever finds it taken tries again. To make a DuckDB instance takes far longer than to
attach a file, so the instance stays and the file is attached and detached.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import random
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import resources
from pathlib import Path

import duckdb
from filelock import FileLock, Timeout

from policy.errors import StoreError, VerificationFailed
from release_store.acceptance import check_accepted, check_owners
from release_store.canonical import iso, utc_now
from release_store.db.queries import store_info
from release_store.db.shape import (
    MIGRATIONS_TABLE,
    differences,
    schema_mark_error,
    shape_of,
    shape_of_migrations,
)
from release_store.own_places import check_database_files, check_lock, log_of, spill_of
from release_store.publishing.locks import holder, lock_name

DATABASE = "history.duckdb"
LOCK_TIMEOUT = 30.0  # seconds to wait for others, where a caller says nothing
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
# Threads of this process share DuckDB's lock on the file, so they wait for each other here.
_threads: dict[Path, threading.RLock] = {}
_checked: dict[Path, tuple[object, ...]] = {}  # databases as this process left them, with nothing foreign
_depths: dict[Path, int] = {}  # how many connections of this process are open, one in the other
_instances: dict[Path, duckdb.DuckDBPyConnection] = {}  # the last database's, and those that are attached now
_attached: dict[Path, int] = {}  # databases that are attached now, and by how many connections
_inherited: list[duckdb.DuckDBPyConnection] = []  # of the process that this one was forked from
_instances_lock = threading.Lock()
_ATTACHED_AS = "history"
_DAMAGE = (duckdb.IOException, duckdb.InternalException, duckdb.FatalException, duckdb.SerializationException)


class DamagedDatabase(StoreError):
    """The file of the database does not hold what DuckDB wrote."""


def is_damage(error: duckdb.Error) -> bool:
    """Tell whether an error of a query that is right says that the file is damaged."""
    return (type(error) is duckdb.Error or isinstance(error, _DAMAGE)) and not _system_word(str(error))


@contextmanager
def connect(
    root: Path, *, create: bool = False, timeout: float | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the store in `root`, bring its schema up to date, and close it at the end of the block.

    Waits up to `timeout` seconds for another process, or LOCK_TIMEOUT. Raises StoreError if the database is
    missing, taken for longer, unreadable, or newer than this program; VerificationFailed if it is a link, or
    was altered; UsageError for a stranger's store.
    """
    timeout = LOCK_TIMEOUT if timeout is None else timeout
    path = root / DATABASE
    if not create and not path.is_file():
        raise StoreError("the store's database is missing", where=str(path), hint="Restore it from a backup.")
    check_owners(root)
    lock = _threads.setdefault(path.resolve(), threading.RLock())  # one atomic step
    if not lock.acquire(timeout=timeout):
        raise StoreError(
            f"another thread has used the store for more than {timeout:g} s",
            where=str(path),
            hint="Try again.",
        )
    try:
        check_database_files(path)
        with _alone(path.resolve(), timeout) as left, _connection(path, left) as con:
            yield con
    finally:
        lock.release()


@contextmanager
def _connection(path: Path, timeout: float) -> Iterator[duckdb.DuckDBPyConnection]:
    file, checked = path.resolve(), False
    con = _open(file, timeout)
    try:
        known = _checked.get(path) == _stamp(path)  # as this process left it a moment ago
        if not known:
            _check_none(con, path)
            _check_shape(con, path)  # before anything is read from a table, and before it is migrated
        _migrate(con, path)
        yield con
    except duckdb.Error as error:
        # DuckDB's own text may quote what was being written: its kind and the system's word are told.
        if is_damage(error):
            raise DamagedDatabase(
                f"the database is damaged, or was altered ({type(error).__name__})",
                where=str(path),
                hint="Restore it from a backup; `releasegate verify` tells what is lost.",
            ) from None
        raise StoreError(
            f"the database reported an error ({type(error).__name__}{_system_word(str(error))})",
            where=str(path),
            hint="Check the free space and permissions of the disk, then run `releasegate verify`.",
        ) from None
    else:
        checked = True
    finally:
        _close(con, file)
        if checked:
            _checked[path] = _stamp(path)


@contextmanager
def _alone(path: Path, timeout: float) -> Iterator[float]:
    """Keep other processes out from before the database is opened until after it is closed.

    DuckDB's own lock on the file is not enough: where one process closed it while another opened it, a row
    that was committed was once seen to be lost. What is left of the time is yielded. A store whose locks
    cannot be opened, such as a copy to be read, has DuckDB's lock alone. Raises StoreError after `timeout`.
    """
    end = time.monotonic() + timeout
    depth = _depths.get(path, 0)
    lock = None
    place = path.with_name("locks") / ".history"
    check_lock(place)
    if depth == 0 and place.parent.is_dir():
        lock = FileLock(place, poll_interval=0.005, fallback_to_soft=False)
        try:
            lock.acquire(timeout=timeout)
        except Timeout:
            raise _in_use(path, lock_name(holder(Path(lock.lock_file))), timeout) from None
        except (OSError, NotImplementedError):
            lock = None
    _depths[path] = depth + 1
    try:
        yield max(end - time.monotonic(), 0.05)
    finally:
        _depths[path] = depth
        if lock is not None:
            lock.release()


def _system_word(text: str) -> str:
    """Return the system's own words for what went wrong, if they stand in a text of DuckDB's."""
    words = (os.strerror(number) for number in sorted(errno.errorcode))
    return next((f": {word}" for word in words if word in text), "")


@contextmanager
def transaction(
    root: Path, *, create: bool = False, timeout: float | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Like `connect`, in one transaction: all of the block is kept, or nothing of it.

    Raises UsageError too for a store that this account neither made nor accepted.
    """
    with connect(root, create=create, timeout=timeout) as con:
        if is_read_only(con):
            raise StoreError(
                "the store can only be read",
                where=str(root),
                hint="Check the permissions of its folders and files, and that its disk can be written.",
            )
        if not create:
            check_accepted(root, lambda: store_info(con, "store_id"))
        con.execute("BEGIN")
        try:
            yield con
        except BaseException:
            # A database that broke may have rolled back by itself; the first error is the one to tell.
            with contextlib.suppress(duckdb.Error):
                con.execute("ROLLBACK")
            raise
        con.execute("COMMIT")


def migrations() -> dict[int, tuple[str, str]]:
    """Return the numbered migrations in order, as number to (file name, SQL)."""
    folder = resources.files("release_store.db") / "migrations"
    found = sorted((file.name, file) for file in folder.iterdir() if file.name.endswith(".sql"))
    return {int(name.split("_")[0]): (name, file.read_text(encoding="utf-8")) for name, file in found}


_MIGRATIONS = migrations()
# Each read by its full name: a macro could stand in place of a short one.
_FOREIGN = {
    "macro": "SELECT function_name FROM system.main.duckdb_functions() WHERE NOT internal",
    "view": "SELECT view_name FROM system.main.duckdb_views() WHERE NOT internal",
    "schema": "SELECT schema_name FROM system.main.duckdb_schemas() WHERE NOT internal",
}
_ADDED_COLUMN = re.compile(r"ALTER TABLE (\w+) ADD COLUMN (\w+) (\w+)")


def schema_number(con: duckdb.DuckDBPyConnection) -> int:
    """Return the number of the last migration that was applied, 0 for none."""
    try:
        found = con.execute("SELECT max(number) FROM schema_migration").fetchone()
    except duckdb.CatalogException:
        return 0
    return int(found[0]) if found and found[0] is not None else 0


def is_read_only(con: duckdb.DuckDBPyConnection) -> bool:
    """Tell whether the store was opened to read, since it cannot be written."""
    found = con.execute(
        "SELECT readonly FROM duckdb_databases() WHERE database_name = current_database()"
    ).fetchone()
    return bool(found and found[0])


def foreign_log(con: duckdb.DuckDBPyConnection, root: Path) -> Path | None:
    """Return the log beside the database if the database does not read it, on a store that was opened before.

    One that it reads is written back and gone once the database has been closed.
    """
    log = log_of(root / DATABASE)
    return log if not is_read_only(con) and log.is_file() and log.stat().st_size else None


def trigger_errors(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return what is wrong with the triggers, by name: dropped, altered, or not of the migrations."""
    wanted, present = _made_triggers(schema_number(con)), _triggers(con)
    wrong = dict.fromkeys(wanted.keys() - present.keys(), "the trigger is missing")
    for name, found in present.items():
        if name not in wanted:
            wrong[name] = "is a trigger that does not belong to the store"
        elif found != wanted[name]:
            wrong[name] = "the trigger was altered"
    return dict(sorted(wrong.items()))


@cache
def _made_triggers(newest: int) -> dict[str, tuple[str, str]]:
    """Return the triggers that the migrations make up to that number, as this DuckDB writes them."""
    with duckdb.connect(config=_SETTINGS) as con:
        for number, (_, sql) in _MIGRATIONS.items():
            if number <= newest:
                con.execute(sql)
        return _triggers(con)


def _triggers(con: duckdb.DuckDBPyConnection) -> dict[str, tuple[str, str]]:
    rows = con.execute("SELECT trigger_name, table_name, sql FROM system.main.duckdb_triggers()").fetchall()
    return {str(name): (str(table), str(sql)) for name, table, sql in rows}


def _check_none(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise VerificationFailed if there is a macro, a view or a schema: no migration makes one.

    A macro stands in place of a function of the same name, and a view in place of a table: nothing that is
    read beside them can be believed.
    """
    for what, sql in _FOREIGN.items():
        for (name,) in con.execute(sql).fetchall():
            raise _altered(f"holds a {what} that does not belong to the store ({name})", path)


def _check_shape(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise VerificationFailed unless the definitions are those that the migrations made up to its schema."""
    found, made = shape_of(con), tuple(sql for _, sql in _MIGRATIONS.values())
    wrong = schema_mark_error(found, made)
    if wrong is not None:
        raise _altered(wrong, path)
    number = schema_number(con)
    if number > len(made):
        return  # a newer releasegate has others, and `_migrate` refuses it
    for wrong in differences(found, shape_of_migrations(made[:number])):
        raise _altered(wrong, path)


def _altered(finding: str, path: Path) -> VerificationFailed:
    return VerificationFailed(finding, where=str(path), hint="Restore the store from a backup.")


def _stamp(path: Path) -> tuple[object, ...]:
    """Return what is another as soon as anybody writes the database, or the log that DuckDB keeps of it."""
    found: list[object] = []
    for file in (path, log_of(path)):
        try:
            status = file.stat()
            found.append((status.st_ino, status.st_size, status.st_ctime_ns))
        except FileNotFoundError:
            found.append(None)
    return tuple(found)


def _open(path: Path, timeout: float) -> duckdb.DuckDBPyConnection:
    deadline = time.monotonic() + timeout
    pause = 0.005
    while True:
        try:
            return _attach(path)
        except duckdb.Error as error:
            by = _lock_holder(error)
            if by is None:
                if not os.access(path, os.W_OK) or _on_read_only_media(path):
                    return _open_to_read(path)
                raise DamagedDatabase(
                    f"the store's database cannot be opened ({type(error).__name__})",
                    where=str(path),
                    hint="Restore it from a backup.",
                ) from None
            if time.monotonic() > deadline:
                raise _in_use(path, by, timeout) from None
        time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 -- only spreads the retries
        pause = min(pause * 1.5, 0.1)


def _attach(path: Path, options: str = "TYPE duckdb") -> duckdb.DuckDBPyConnection:
    """Attach the database if no other connection of this process has, and return a connection to it."""
    with _instances_lock:
        con = _instance(path).cursor()
        try:
            if not _attached.get(path):
                place = str(path).replace("'", "''")
                con.execute(f"ATTACH '{place}' AS {_ATTACHED_AS} ({options})")
            con.execute(f"USE {_ATTACHED_AS}")
        except duckdb.Error:
            con.close()
            if not _attached.get(path):
                _end_instance(path)  # nothing of a database that cannot be opened stays
            raise
        _attached[path] = _attached.get(path, 0) + 1
    return con


def _close(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Close a connection; the last one of a database writes its log back, and lets others have the file."""
    con.close()
    with _instances_lock:
        _attached[path] -= 1
        if _attached[path]:
            return
        del _attached[path]
        try:
            _instances[path].execute(f"DETACH {_ATTACHED_AS}")
        except duckdb.Error:  # an instance whose disk was full is of no use any more
            _end_instance(path)


def _instance(path: Path) -> duckdb.DuckDBPyConnection:
    """Return the instance in memory that the database is attached to; of others, those in use stay."""
    if path not in _instances:
        for other in [other for other in _instances if not _attached.get(other)]:
            _end_instance(other)
        made = duckdb.connect(config={**_SETTINGS, "temp_directory": str(spill_of(path))})
        made.execute("SET enable_progress_bar = false")
        _instances[path] = made
    return _instances[path]


@atexit.register
def _end_instances() -> None:
    for path in list(_instances):
        _end_instance(path)


def _begin_anew() -> None:
    """Leave the instances of the process that was forked alone: their threads are not in this one."""
    global _instances_lock  # noqa: PLW0603 -- another thread of that process may have had it
    _instances_lock = threading.Lock()
    _inherited.extend(_instances.values())
    _instances.clear()
    _attached.clear()


os.register_at_fork(after_in_child=_begin_anew)


def _end_instance(path: Path) -> None:
    made = _instances.pop(path, None)
    if made is not None:
        made.close()


def _in_use(path: Path, by: str, timeout: float) -> StoreError:
    return StoreError(
        f"{by} has used the store for more than {timeout:g} s",
        where=str(path),
        hint="Wait for that process to end, or stop it, and try again.",
    )


def _on_read_only_media(path: Path) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def _open_to_read(path: Path) -> duckdb.DuckDBPyConnection:
    """Open a store that cannot be written, such as an auditor's copy: reading commands work on it."""
    try:
        return _attach(path, "TYPE duckdb, READ_ONLY")
    except duckdb.Error as error:
        raise DamagedDatabase(
            f"the store's database cannot be opened to read ({type(error).__name__})",
            where=str(path),
            hint="Restore it from a backup, or copy the whole store to a disk that can be written.",
        ) from None


def _lock_holder(error: duckdb.Error) -> str | None:
    """Tell who holds the lock that `error` is about, or None if it is about something else."""
    text = str(error)
    if not isinstance(error, duckdb.IOException) or "lock" not in text.lower():
        return None
    found = re.search(r"PID (\d+)", text)
    return f"process {found[1]}" if found else "another process"


def _migrate(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    present = schema_number(con)
    newest = max(_MIGRATIONS)
    if present > newest:
        raise StoreError(
            f"the store has schema {present}; this releasegate reads schemas up to {newest}",
            where=str(path),
            hint="Use the version of releasegate that wrote it, or a newer one.",
        )
    if present < newest and is_read_only(con):
        _stand_in(con, present, newest)
        return
    for number in range(present + 1, newest + 1):
        name, sql = _MIGRATIONS[number]
        con.execute("BEGIN")
        try:
            con.execute(MIGRATIONS_TABLE)
            con.execute(sql)
            con.execute("INSERT INTO schema_migration VALUES (?, ?, ?)", [number, name, iso(utc_now())])
        except BaseException:
            # A database that broke may have rolled back by itself; the first error is the one to tell.
            with contextlib.suppress(duckdb.Error):
                con.execute("ROLLBACK")
            raise
        con.execute("COMMIT")


def _stand_in(con: duckdb.DuckDBPyConnection, present: int, newest: int) -> None:
    """Let the tables that an older store lacks stand empty beside it, where it cannot be written.

    Without their triggers, as nobody writes to them; a column that one of its tables lacks is NULL.
    """
    lacking: dict[str, str] = {}
    for number in range(present + 1, newest + 1):
        for statement in duckdb.extract_statements(_MIGRATIONS[number][1]):
            sql = statement.query.strip()
            if "CREATE TRIGGER" in sql:
                continue
            added = _ADDED_COLUMN.search(sql)
            if added and (added[1] in lacking or not _is_temporary(con, added[1])):
                table, column, kind = added.groups()
                lacking[table] = f"{lacking.get(table, '')}, NULL::{kind} AS {column}"
                (kept,) = con.execute("SELECT current_database()").fetchone() or ("",)
                sql = (
                    f"CREATE OR REPLACE TEMP VIEW {table} AS "
                    f'SELECT *{lacking[table]} FROM "{kept}".main.{table}'
                )
            con.execute(sql.replace("CREATE TABLE", "CREATE TEMP TABLE"))


def _is_temporary(con: duckdb.DuckDBPyConnection, table: str) -> bool:
    found = con.execute(
        "SELECT count(*) FROM duckdb_tables() WHERE table_name = ? AND temporary", [table]
    ).fetchone()
    return bool(found and found[0])
