"""A Postgres server of a session, which listens on a Unix socket alone."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from policy.postgres_address import PostgresTable

REQUIRED = "RELEASEGATE_POSTGRES"  # "required" where its absence is a failure
DATABASE = "clinic"
OWNER, READER, NAMELESS, PROVEN = "owner", "reader", "nobody_at_all", "proven"
PASSWORD = "canarypassword"  # noqa: S105 -- of PROVEN, and nowhere to be found
_ACCOUNTS = f"local all {PROVEN} scram-sha-256\nlocal all {NAMELESS} reject\nlocal all all trust\n"
_USERS = (
    f"CREATE ROLE {READER} LOGIN",
    f"CREATE ROLE {PROVEN} LOGIN PASSWORD '{PASSWORD}'",
    f"CREATE DATABASE {DATABASE}",
)
_EMPTY = (
    "DROP SCHEMA IF EXISTS public, clinic CASCADE",
    "CREATE SCHEMA public",
    f"GRANT USAGE ON SCHEMA public TO {READER}, {PROVEN}",
    f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO {READER}, {PROVEN}",
)


@dataclass(frozen=True)
class Postgres:
    """The server: the folder of its socket, and a database whose owner may do everything."""

    folder: Path

    def table(self, name: str, **parts: Any) -> PostgresTable:
        """Return the address of a table, for a user who may only read."""
        schema, _, table = name.rpartition(".")
        parts = {"user": READER, **({"schema": schema} if schema else {}), **parts}
        return PostgresTable(str(self.folder), DATABASE, table, **parts)

    @property
    def trusted(self) -> str:
        """What `trusted.yaml` says of the database."""
        return f"postgres: ['{self.table('')}']\n"

    def execute(self, *statements: Any, database: str = DATABASE) -> None:
        """Carry out statements as the owner."""
        with self.connected(database) as connection:
            for one in statements:
                connection.execute(one)

    def connected(self, database: str = DATABASE) -> Any:
        """Return a connection of the owner, without a transaction."""
        import psycopg

        return psycopg.connect(host=str(self.folder), dbname=database, user=OWNER, autocommit=True)

    def copy(self, table: Path, name: str) -> None:
        """Make a table of texts from a CSV file."""
        header = table.read_text().splitlines()[0]
        columns = ", ".join(f'"{one}" text' for one in header.split(","))
        with self.connected() as connection:
            connection.execute(f"CREATE TABLE {name} ({columns})")
            with connection.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv, HEADER)") as copy:
                copy.write(table.read_bytes())


def _programs() -> Path | None:
    """Return the folder of the server's programs: Debian has them outside of PATH."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else [*Path("/usr/lib/postgresql").glob("*/bin")]
    return max(folders, default=None)


def _account() -> list[str]:
    """Return the words before a command that another account runs: the server refuses root."""
    return ["setpriv", "--reuid=nobody", "--clear-groups"] if os.getuid() == 0 else []


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    """The server of a session; without Postgres its tests are skipped, or fail where it is required."""
    programs = _programs()
    if programs is None:
        word = "no Postgres here: apt-get install postgresql"
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(f"{REQUIRED} is required, and there is {word}")
        pytest.skip(word)
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # a socket's path is short
    if os.getuid() == 0:
        os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
    data = folder / "data"

    def say(program: str, *words: str) -> None:
        command = [*_account(), str(programs / program), "-D", str(data), *words]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)

    settings = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off -c shared_buffers=16MB"
    say("initdb", "--username", OWNER, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
    (data / "pg_hba.conf").write_text(_ACCOUNTS)
    say("pg_ctl", "-w", "-l", str(folder / "log"), "-o", settings, "start")
    server = Postgres(folder)
    server.execute(*_USERS, database="postgres")
    yield server
    say("pg_ctl", "-w", "-m", "immediate", "stop")
    shutil.rmtree(folder)


@pytest.fixture
def postgres(postgres_server: Postgres, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Postgres:
    """The server with an empty database, and an account that has no settings of Postgres."""
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    postgres_server.execute(*_EMPTY)
    return postgres_server
