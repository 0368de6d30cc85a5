"""Tables and views of a Postgres server: one is read whole, in one snapshot, and nothing is written there.

The server sends the rows as CSV, in the order of their own text, so that the same rows are the same bytes.
The password is that of the account that runs the command: from PGPASSWORD, `~/.pgpass` or a service file.
"""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, TypeVar, cast

from policy.errors import InputError, ReleaseGateError, TransientFailure, UsageError
from policy.postgres_address import TLS_MODES, PostgresTable
from tasks.intake.rows import LONGEST_LINE, MISSING

T = TypeVar("T")
READ_SECONDS = 3600
LOCK_SECONDS = 60
SLACK_SECONDS = 60  # after which this process ends what the server should have ended
MOST_COLUMNS = 2000  # Postgres has at most 1,600
_PART_BYTES = 1 << 20
# What the text of cells depends on, and how long the server works or waits. An empty search path: no function
# of the database stands in for one of Postgres's own.
_SETTINGS = {
    "search_path": "",
    "datestyle": "ISO",
    "timezone": "UTC",
    "intervalstyle": "iso_8601",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "lc_monetary": "C",
    "statement_timeout": f"{READ_SECONDS}s",
    "lock_timeout": f"{LOCK_SECONDS}s",
    "idle_in_transaction_session_timeout": f"{READ_SECONDS}s",
}
# Tables, their partitions, views, and tables that the server itself reads from elsewhere.
_KINDS = ["r", "p", "v", "m", "f"]
_FIND = """
SELECT c.oid::bigint FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND c.relkind::text = ANY (%s)
"""
# The columns that the account may read, with the type that is under their domains.
_COLUMNS = """
WITH RECURSIVE typed AS (
    SELECT a.attnum, a.attname, t.oid, t.typtype, t.typbasetype
    FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = %(table)s AND a.attnum > 0 AND NOT a.attisdropped
    AND pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT')
  UNION ALL
    SELECT b.attnum, b.attname, t.oid, t.typtype, t.typbasetype
    FROM typed b JOIN pg_catalog.pg_type t ON t.oid = b.typbasetype WHERE b.typtype = 'd'
)
SELECT attname::text, oid::bigint FROM typed WHERE typtype <> 'd' ORDER BY attnum
"""
# Numbers of types that every Postgres has (pg_type.dat).
_WITH_NAN = (700, 701, 1700)  # float4, float8, numeric
_TIMESTAMP = 1114

_SUPERUSER = (
    "the user is a superuser of the server, with whose rights a view would run",
    "Name a user in the address who may read the table and nothing else.",
)
_NO_TABLE = ("no such table or view", "Correct the address; without a schema, it is that of public.")
_FORBIDDEN = ("this account may not read it", "Let the owner of the table grant SELECT to the user.")
_TOO_LONG = (
    f"took longer than {READ_SECONDS:,} seconds, or was cancelled",
    "Write the rows of the view into a table.",
)
_OTHER = ("the server sends what no Postgres does", "Ask whoever runs the database.")
_LONG_ROW = (
    f"a row has more than {LONGEST_LINE:,} bytes",
    "Leave the column out in a view, or shorten its texts.",
)
_CLEARTEXT = (
    "asks for the password as it is, over a connection whose other end is not proven",
    "Use scram-sha-256 in pg_hba.conf of the server, or sslmode=verify-full.",
)
_LOCKED = ("somebody else has locked the table", "Run again later.")
_NO_PASSWORD = ("asks for a password, and none is given", "Put it into ~/.pgpass or PGPASSWORD.")
_REFUSED = ("refuses the user, the password or the database", "Check them, and pg_hba.conf of the server.")
_NO_TLS = (
    "has no TLS, or a certificate that is not trusted",
    "Name the file of its authority in PGSSLROOTCERT, or `system`; sslmode=require checks no certificate.",
)
_NO_ANSWER = ("the server does not answer", "Check the host, the port and the connection.")
# Words of the client and of the server's refusals, which have no code.
_OF_TLS = ("SSL", "certificate")
_OF_REFUSALS = ("does not exist", "pg_hba", "password", "authentication", "permission")


def table_exists(address: PostgresTable) -> bool:
    """Tell whether the server has the table or view. Raises as `open_table`."""
    with _session(address) as cursor:
        return _run(lambda: _table(cursor, address), address) is not None


@contextmanager
def open_table(address: PostgresTable) -> Iterator[BinaryIO]:
    r"""Open a table or view as CSV in UTF-8, once from its start to its end.

    The first record has the names of the columns; \N is missing, and every other cell is in quotes. Cells are
    the texts of Postgres: dates in ISO 8601, a timestamp at midnight as its date, true and false. Rows are
    sorted by their cells. Opening and reading raise UsageError without the extra `postgres`, or where the
    server refuses the account; InputError where there is no such table or the account may not read it; and
    TransientFailure where the server does not answer. They name the address, and hold no cell.
    """
    with _session(address) as cursor, ExitStack() as opened:
        query = _run(lambda: _query(cursor, address), address)
        copy = _run(lambda: opened.enter_context(cursor.copy(query)), address)
        opened.callback(cursor.connection.close)  # before the copy is ended: a server may send on for ever
        yield cast("BinaryIO", _Reader(copy, address))


class _Reader(io.RawIOBase):
    """The bytes of a table; what goes wrong is raised as an error of ours."""

    def __init__(self, copy: Any, address: PostgresTable) -> None:
        self._copy = copy
        self._address = address
        self._held = memoryview(b"")
        self._is_done = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._held:
            self._held = memoryview(self._next())
        n_bytes = min(len(buffer), len(self._held))
        buffer[:n_bytes] = self._held[:n_bytes]
        self._held = self._held[n_bytes:]
        return n_bytes

    def _next(self) -> bytes:
        """Return some rows, or nothing at the end; the server sends them one by one."""
        rows: list[bytes] = []
        n_bytes = 0
        while not self._is_done and n_bytes < _PART_BYTES:
            row = bytes(_run(self._copy.read, self._address))
            if len(row) > LONGEST_LINE:
                raise _told(_LONG_ROW, self._address)
            self._is_done = not row
            rows.append(row)
            n_bytes += len(row)
        return b"".join(rows)


@contextmanager
def _session(address: PostgresTable) -> Iterator[Any]:
    """Begin a transaction that reads one snapshot and cannot write, and return a cursor of it."""
    with closing(_connected(address)) as connection:
        connection.isolation_level = _client().IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        cursor = connection.cursor()
        settings = ", ".join("set_config(%s, %s, true)" for _ in _SETTINGS)
        words = [word for pair in _SETTINGS.items() for word in pair]
        _run(lambda: _rows(cursor, f"SELECT {settings}", words, 1), address)
        rights = "SELECT current_setting('is_superuser')"
        if _run(lambda: _rows(cursor, rights, None, 1), address) != [("off",)]:
            raise UsageError(_SUPERUSER[0], where=str(address), hint=_SUPERUSER[1])
        yield cursor


def _run(work: Callable[[], T], address: PostgresTable) -> T:
    """Return what the work gives. Raises our errors in place of the client's."""
    failure: ReleaseGateError | None = None
    try:
        return work()
    except (ReleaseGateError, MemoryError):
        raise
    except (_client().Error, UnicodeError) as error:
        failure = _failure(error, address)
    except Exception:  # of a value of another type than was asked for
        failure = _told(_OTHER, address)
    raise failure


def _rows(cursor: Any, query: str, words: Any, most: int) -> list[tuple[Any, ...]]:
    """Return what a query gives, one row after the other: a server may send more than fits into memory."""
    found: list[tuple[Any, ...]] = []
    for row in cursor.stream(query, words):
        if len(found) == most:
            cursor.connection.close()
            raise ValueError("more rows than were asked for")
        found.append(row)
    return found


def _client() -> Any:
    """Return psycopg. Raises UsageError without the extra `postgres`."""
    try:
        import psycopg
    except ImportError:
        raise UsageError(
            "needs the package psycopg, which is not installed",
            where="postgresql://",
            hint="Install it in the version of requirements.lock: pip install '.[postgres]'.",
        ) from None
    return psycopg


def _connected(address: PostgresTable) -> Any:
    client = _client()
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)  # its warnings repeat words of the server
    failure: ReleaseGateError | None = None
    try:
        connection = client.connect(
            host=address.host,
            hostaddr="",  # given, so that no PGHOSTADDR or service file names another machine
            port=address.port,
            dbname=address.database,
            **({"user": address.user} if address.user else {}),
            sslmode=address.tls,
            connect_timeout=address.connect_seconds,
            client_encoding="UTF8",
            application_name="releasegate",
            keepalives_idle=30,
            keepalives_interval=10,
            keepalives_count=3,
            tcp_user_timeout=60_000,
            **_asked_of_the_server(address),
        )
        connection.wait = _in_time(connection.wait, monotonic() + READ_SECONDS + SLACK_SECONDS)
        return connection
    except client.Error as error:
        failure = _unconnected(error, address)
    raise failure


def _asked_of_the_server(address: PostgresTable) -> dict[str, str]:
    """Return what keeps the password from whoever is at this address without a proof that they may be."""
    proven = address.tls in TLS_MODES[1:]
    if address.host.startswith("/"):
        try:
            proven = not Path(address.host).stat().st_mode & 0o002
        except OSError:  # there is no socket either
            proven = False
    return {} if proven or "PGREQUIREAUTH" in os.environ else {"require_auth": "!password"}


def _in_time(wait: Callable[..., Any], end: float) -> Callable[..., Any]:
    """Return a `wait` of the client that ends at `end`, whatever the server does: its own limits are its."""
    client = _client()

    def waited(steps: Generator[Any, Any, Any], timeout: float | None = None) -> Any:
        left = end - monotonic()
        try:
            if left > 0:
                return wait(steps, timeout=left if timeout is None else min(left, timeout))
        except client.OperationalError:
            if monotonic() < end:
                raise
        raise client.errors.QueryCanceled

    return waited


def _unconnected(error: Any, address: PostgresTable) -> ReleaseGateError:
    """Return why there is no connection; the server has seen no query, and its text is not repeated."""
    connection, text = getattr(error, "pgconn", None), str(error)
    if connection is not None and connection.needs_password:
        told = _NO_PASSWORD
    elif "requested a cleartext password" in text:
        told = _CLEARTEXT
    elif "FATAL" in text and any(word in text for word in _OF_REFUSALS):
        told = _REFUSED
    elif any(word in text for word in _OF_TLS):
        told = _NO_TLS
    else:
        finding, hint = _NO_ANSWER
        return TransientFailure(finding, where=str(address), hint=hint)
    finding, hint = told
    return UsageError(finding, where=str(address), hint=hint)


def _table(cursor: Any, address: PostgresTable) -> int | None:
    """Return Postgres's number of the table or view, None where there is none."""
    found = _rows(cursor, _FIND, [address.schema, address.table, _KINDS], 1)
    return int(found[0][0]) if found else None


def _query(cursor: Any, address: PostgresTable) -> Any:
    """Return the statement that sends the rows. Of the address, it holds quoted names alone."""
    from psycopg.sql import SQL, Identifier

    table = _table(cursor, address)
    if table is None:
        raise _told(_NO_TABLE, address)
    columns = _rows(cursor, _COLUMNS, {"table": table}, MOST_COLUMNS)
    if not columns:
        raise _told(_FORBIDDEN, address)
    cells = SQL(", ").join(
        SQL("{} AS {}").format(_cell(Identifier(name), kind), Identifier(name)) for name, kind in columns
    )
    # By the bytes of the texts, whatever the language of the database.
    order = SQL(", ").join(SQL('{} COLLATE pg_catalog."C"').format(Identifier(name)) for name, _ in columns)
    return SQL(
        "COPY (SELECT * FROM (SELECT {} FROM {}) AS rows ORDER BY {}) TO STDOUT "
        f"(FORMAT csv, HEADER, FORCE_QUOTE *, NULL '{MISSING}', ENCODING 'UTF8')"
    ).format(cells, Identifier(address.schema, address.table), order)


def _cell(column: Any, kind: int) -> Any:
    from psycopg.sql import SQL

    if kind == _TIMESTAMP:
        text = "CASE WHEN isfinite({0}) AND {0}::time = time '00:00' THEN {0}::date::text ELSE {0}::text END"
    elif kind in _WITH_NAN:
        text = "nullif({0}::text, 'NaN')"
    else:
        text = "{0}::text"
    return SQL(text).format(column)


def _failure(error: Any, address: PostgresTable) -> ReleaseGateError:
    """Return one of our errors for one of the server, whose text can quote cells."""
    from psycopg import errors

    kinds = (
        (errors.InsufficientPrivilege, _FORBIDDEN),
        (errors.UndefinedTable, _NO_TABLE),
        (errors.QueryCanceled, _TOO_LONG),
    )
    for kind, told in kinds:
        if isinstance(error, kind):
            return _told(told, address)
    where = str(address)
    if isinstance(error, errors.LockNotAvailable):
        return TransientFailure(_LOCKED[0], where=where, hint=_LOCKED[1])
    code = getattr(error, "sqlstate", None)
    if code is None and not isinstance(error, UnicodeError):  # no word of the server: the connection broke
        return TransientFailure(_NO_ANSWER[0], where=where, hint=_NO_ANSWER[1])
    finding = f"cannot be read ({type(error).__name__})"
    hint = "Ask whoever runs the database; a view may call what it may not use."
    if code and code[:2] in ("08", "40", "53", "57", "58"):  # of the connection, the server, its machine
        return TransientFailure(finding, where=where, hint=hint)
    return InputError(finding, where=where, hint=hint)


def _told(what: tuple[str, str], address: PostgresTable) -> InputError:
    finding, hint = what
    return InputError(finding, where=str(address), hint=hint)
