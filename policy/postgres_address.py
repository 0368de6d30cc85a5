"""The address of a table or view of a Postgres server, without a password."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from policy.errors import UsageError

SCHEMES = ("postgresql", "postgres")
DEFAULT_PORT = 5432
DEFAULT_SCHEMA = "public"
DEFAULT_CONNECT_SECONDS = 10
MOST_CONNECT_SECONDS = 60
LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
LOCAL_MODES = ("disable", "allow", "prefer")  # of sslmode: rows may travel without TLS
TLS_MODES = ("require", "verify-ca", "verify-full")
_PARAMETERS = ("table", "sslmode", "connect_timeout")
_LONGEST_NAME = 63  # bytes, of Postgres
_SERVER = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^:\[\]]+))(?::([0-9]{1,5}))?")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|[0-9a-f:.]+")
_SOCKET = re.compile(r"(/[\w.-]+)+")
_NAME = re.compile(r"[\w.@$+-]+(?: [\w.@$+-]+)*")
_HINT = "Write postgresql://USER@HOST:PORT/DATABASE?table=SCHEMA.TABLE."


@dataclass(frozen=True)
class PostgresTable:
    """A table or view of a Postgres database; without a `table`, all of them.

    `host` is a name, an IP address, or the folder of a Unix socket.
    """

    host: str
    database: str
    table: str = ""
    schema: str = DEFAULT_SCHEMA
    user: str = ""
    port: int = DEFAULT_PORT
    sslmode: str = ""
    connect_seconds: int = DEFAULT_CONNECT_SECONDS

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else quote(self.host, safe="")
        user = f"{quote(self.user, safe='')}@" if self.user else ""
        port = "" if self.port == DEFAULT_PORT else f":{self.port}"
        written = [("table", self.name)] if self.table else []
        written += [("sslmode", self.sslmode)] if self.sslmode else []
        if self.connect_seconds != DEFAULT_CONNECT_SECONDS:
            written.append(("connect_timeout", str(self.connect_seconds)))
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in written)
        base = f"{SCHEMES[0]}://{user}{host}{port}/{quote(self.database, safe='')}"
        return f"{base}?{query}" if query else base

    @property
    def name(self) -> str:
        """The schema and the table."""
        return f"{self.schema}.{self.table}"

    @property
    def tls(self) -> str:
        """The `sslmode` of the connection: the server's certificate is checked, but on this machine."""
        return self.sslmode or (LOCAL_MODES[-1] if self.is_local else TLS_MODES[-1])

    @property
    def is_local(self) -> bool:
        """Tell whether the server is on this machine."""
        return self.host in LOCAL_HOSTS or self.host.startswith("/")

    def is_of(self, database: PostgresTable) -> bool:
        """Tell whether the table is of a database, which is reached in the same way as the same user."""
        return replace(self, table="", schema=DEFAULT_SCHEMA) == database


def is_postgres(written: str) -> bool:
    """Tell by its scheme whether an address is of Postgres."""
    return written.partition("://")[0] in SCHEMES


def postgres_table(written: str, where: str) -> PostgresTable:
    """Return the table that an address names; `where` names the field or the option of it.

    Raises UsageError. The message repeats nothing of the address but the name of a parameter.
    """
    found = postgres_database(written, where)
    if not found.table:
        raise UsageError("names a database and no table", where=where, hint=_HINT)
    return found


def postgres_database(written: str, where: str) -> PostgresTable:
    """Return the database of an address, with its table if it names one. Raises as `postgres_table`."""
    try:
        parts = urlsplit(written if written.isprintable() else "")
    except ValueError:
        raise _invalid(where) from None
    user, _, server = parts.netloc.rpartition("@")
    if ":" in user:
        raise UsageError(
            "holds a password, which other users of the machine could read",
            where=where,
            hint="Remove it from the address, and put it into ~/.pgpass or PGPASSWORD.",
        )
    found = _SERVER.fullmatch(server)
    port = int(found[3] or DEFAULT_PORT) if found else 0
    if found is None or not 0 < port < 1 << 16 or parts.fragment or "#" in written:
        raise _invalid(where)
    host = found[1] or unquote(found[2])
    if not (_SOCKET if host.startswith("/") else _HOST).fullmatch(host):
        raise UsageError("has no valid host after postgresql://", where=where, hint=_HINT)
    user, database = unquote(user), unquote(parts.path[1:])
    if not _NAME.fullmatch(database) or (user and not _NAME.fullmatch(user)):
        raise UsageError("has a name of a user or a database that is not read", where=where, hint=_HINT)
    given = _parameters(parts.query, where)
    schema, dot, table = given.get("table", "").rpartition(".")
    if any(not _is_name(one) for one in (table, schema) if one) or (dot and not schema):
        raise UsageError("has a name of a table that is not read", where=where, hint=_HINT)
    address = PostgresTable(
        host,
        database,
        table,
        schema or DEFAULT_SCHEMA,
        user,
        port,
        given.get("sslmode", ""),
        _seconds(given.get("connect_timeout", str(DEFAULT_CONNECT_SECONDS)), where),
    )
    _check_tls(address, where)
    return address


def _parameters(query: str, where: str) -> dict[str, str]:
    try:
        given = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), max_num_fields=10)
    except ValueError:
        raise _invalid(where) from None
    names = [name for name, _ in given]
    unknown = next((name for name in names if name not in _PARAMETERS), None)
    if unknown is not None:
        told = f"'{unknown}'" if re.fullmatch(r"[a-z_]{1,30}", unknown) else "of another name"
        raise UsageError(
            f"has a parameter {told}, which is not read",
            where=where,
            hint=f"Only these are read: {', '.join(_PARAMETERS)}.",
        )
    if len(set(names)) < len(names):
        raise UsageError("has a parameter twice", where=where, hint="Write each parameter once.")
    return dict(given)


def _invalid(where: str) -> UsageError:
    return UsageError("is not a valid address of Postgres", where=where, hint=_HINT)


def _is_name(text: str) -> bool:
    return text.isprintable() and '"' not in text and 0 < len(text.encode(errors="replace")) <= _LONGEST_NAME


def _seconds(text: str, where: str) -> int:
    if not re.fullmatch(r"[0-9]{1,2}", text) or not 0 < int(text) <= MOST_CONNECT_SECONDS:
        raise UsageError(
            "has a connect_timeout that is not a number of seconds",
            where=where,
            hint=f"Give 1 to {MOST_CONNECT_SECONDS}.",
        )
    return int(text)


def _check_tls(address: PostgresTable, where: str) -> None:
    allowed = (*LOCAL_MODES, *TLS_MODES) if address.is_local else TLS_MODES
    if address.sslmode and address.sslmode not in allowed:
        raise UsageError(
            "has an sslmode that is not allowed for this host",
            where=where,
            hint=f"Give one of {', '.join(allowed)}, or leave it out for {replace(address, sslmode='').tls}.",
        )
