"""A Postgres server that belongs to an enemy learns no password, and stops nobody's work."""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Iterable
from itertools import repeat
from pathlib import Path

import pytest

from policy.errors import ReleaseGateError
from policy.postgres_address import PostgresTable
from tasks.intake import postgres as client
from tasks.intake.sealed import sealed
from tests.support import hostile_postgres as wire
from tests.support.hostile_postgres import Answer, hostile_postgres

CELL, PASSWORD = "zebra-4711", "canarypassword"


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An account with a password and no other settings of Postgres."""
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PGPASSWORD", PASSWORD)


def refused(address: PostgresTable, capfd: pytest.CaptureFixture[str]) -> ReleaseGateError:
    """Return why the table cannot be read; nothing of what the server says is told or printed."""
    with pytest.raises(ReleaseGateError) as caught, sealed(address):
        pass
    error = caught.value
    assert error.where == str(address)
    assert error.hint
    assert "\n" not in error.message
    assert error.__cause__ is error.__context__ is None
    assert CELL not in f"{error}{capfd.readouterr()}"
    return error


def test_an_honest_server_is_read(capfd: pytest.CaptureFixture[str]) -> None:
    with hostile_postgres({}) as (address, _), sealed(address) as found, found.open() as file:
        assert file.read() == b'a\n"1"\n'


def once(*parts: bytes) -> Answer:
    return lambda: [b"".join([*parts, wire.READY])]


ANSWERS: dict[str, dict[str, Answer]] = {
    "a file is asked for": {"COPY": once(wire.COPY_IN)},
    "both ways": {"COPY": once(wire.COPY_BOTH)},
    "rows in place of a copy": {"COPY": once(wire.columns("a"), wire.row(CELL), wire.DONE)},
    "a copy in place of rows": {
        "pg_class": once(wire.COPY_OUT, wire.copied(CELL), wire.message(b"c"), wire.DONE)
    },
    "nothing in place of rows": {"pg_class": once(wire.DONE)},
    "an empty statement": {"is_superuser": once(wire.message(b"I"))},
    "an error with a cell": {"COPY": once(wire.error(CELL))},
    "an error with a cell, in the midst": {"COPY": once(wire.COPY_OUT, wire.copied("a\n"), wire.error(CELL))},
    "an error of a kind that is none": {"COPY": once(wire.error(CELL, CELL[:5]))},
    "a notice with a cell": {"COPY": once(wire.notice(CELL), wire.error(CELL))},
    "a notification": {
        "pg_class": once(wire.message(b"A", struct.pack("!I", 1) + b"x\0y\0"), wire.error(CELL))
    },
    "a negative length": {"pg_class": lambda: [b"T" + struct.pack("!i", -1)]},
    "a cell of a negative length": {
        "pg_class": once(wire.columns("oid"), wire.message(b"D", struct.pack("!Hi", 1, -7)), wire.DONE)
    },
    "more cells than columns": {"pg_class": once(wire.columns("oid"), wire.row("1", "2", "3"), wire.DONE)},
    "a number that is none": {"pg_class": once(wire.columns("oid", kind=20), wire.row(CELL), wire.DONE)},
    "another number": {"pg_class": once(wire.columns("oid", kind=1700), wire.row("NaN"), wire.DONE)},
    "a document": {"pg_class": once(wire.columns("oid", kind=114), wire.row("[" * 100_000), wire.DONE)},
    "a name that is a number": {
        "pg_attribute": once(wire.columns("name", "oid", kind=20), wire.row("1", "25"), wire.DONE)
    },
    "rows without columns": {"pg_attribute": once(wire.columns(), wire.row(), wire.DONE)},
    "no kind of message": {"pg_class": lambda: [b"\xff" * 100]},
    "a row that is too long": {
        "COPY": lambda: [wire.COPY_OUT, wire.copied("x" * ((2 << 20) + 1)), *repeat(wire.copied("x"), 9)]
    },
    "a superuser": {"is_superuser": once(wire.columns("x"), wire.row("on"), wire.DONE)},
    "an encoding that is none": {"greeting": lambda: [wire.GREETING.replace(b"UTF8", b"XXXX")]},
}  # fmt: skip


@pytest.mark.enemy("server of a table", "learns a value")
@pytest.mark.parametrize("what", ANSWERS)
def test_what_no_postgres_sends_ends_in_one_line(what: str, capfd: pytest.CaptureFixture[str]) -> None:
    with hostile_postgres(ANSWERS[what]) as (address, heard):
        refused(address, capfd)
    assert PASSWORD.encode() not in heard


def endless(*before: bytes, then: bytes) -> Answer:
    def parts() -> Iterable[bytes]:
        yield b"".join(before)
        yield from repeat(then)

    return parts


@pytest.mark.enemy("server of a table", "stops the work")
@pytest.mark.parametrize("word", ["pg_class", "pg_attribute", "is_superuser"])
def test_rows_without_end_are_not_gathered(word: str, capfd: pytest.CaptureFixture[str]) -> None:
    cells = {"pg_class": ("1",), "pg_attribute": ("a", "25"), "is_superuser": ("off",)}[word]
    names = ("name", "oid")[: len(cells)]
    answer = endless(wire.columns(*names), then=wire.row(*cells) * 100)
    with hostile_postgres({word: answer}) as (address, _):
        assert refused(address, capfd).message == "the server sends what no Postgres does"


SLOW: dict[str, dict[str, Answer]] = {
    "nothing": {"pg_class": list},
    "a part of a message": {"pg_class": lambda: [b"T\0\0"]},
    "a part of a row": {"COPY": lambda: [wire.COPY_OUT, b"d" + struct.pack("!I", 1 << 20) + b"x"]},
    "notices without end": {"pg_class": endless(then=wire.notice(CELL))},
    "rows without end": {"COPY": endless(wire.COPY_OUT, wire.copied("a\n"), then=wire.copied('"1"\n') * 99)},
    "empty rows without end": {"COPY": endless(wire.COPY_OUT, then=wire.copied("") * 1000)},
}  # fmt: skip


@pytest.mark.enemy("server of a table", "stops the work")
@pytest.mark.parametrize("what", SLOW)
def test_a_server_that_never_ends_is_left(
    what: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "READ_SECONDS", 1)
    monkeypatch.setattr(client, "SLACK_SECONDS", 0)
    with hostile_postgres(SLOW[what]) as (address, _):
        assert "took longer than" in refused(address, capfd).message


@pytest.mark.enemy("server of a table", "stops the work")
@pytest.mark.parametrize("said", [b"", b"R", b"R\0\0\0\x08"], ids=["nothing", "a byte", "a part"])
def test_a_greeting_that_never_ends_is_left(said: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    with hostile_postgres({"greeting": lambda: [said]}, connect_seconds=1) as (address, _):
        assert refused(address, capfd).message == "the server does not answer"


def asks(method: int, salt: bytes = b"") -> dict[str, Answer]:
    return {"greeting": lambda: [wire.message(b"R", struct.pack("!I", method) + salt)]}


@pytest.mark.enemy("other account", "learns a value")
@pytest.mark.parametrize("sslmode", ["", "disable", "allow", "prefer"])
def test_no_password_is_told_to_who_is_at_the_port_of_a_server(
    sslmode: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with hostile_postgres(asks(3), sslmode=sslmode) as (address, heard):
        error = refused(address, capfd)
    assert error.message.startswith("asks for the password as it is")
    assert PASSWORD.encode() not in heard


@pytest.mark.enemy("other account", "learns a value")
@pytest.mark.parametrize("mode", [0o700, 0o777, 0o1777])
def test_a_socket_where_everybody_can_make_one_is_told_no_password(
    mode: int, capfd: pytest.CaptureFixture[str]
) -> None:
    with tempfile.TemporaryDirectory(prefix="pg") as name:  # a socket's path is short
        folder = Path(name)
        folder.chmod(mode)
        with hostile_postgres(asks(3), connect_seconds=1, folder=folder) as (address, heard):
            error = refused(address, capfd)
    told = PASSWORD.encode() in heard
    assert told == (mode == 0o700)
    assert error.message.startswith(
        "the server does not answer" if told else "asks for the password as it is"
    )


@pytest.mark.enemy("server of a table", "learns a value")
@pytest.mark.parametrize("method", [5, 7, 9, 10, 99], ids=["md5", "gss", "sspi", "scram", "unknown"])
def test_no_method_of_the_server_makes_it_tell_the_password(
    method: int, capfd: pytest.CaptureFixture[str]
) -> None:
    salt = {5: b"salt", 10: b"SCRAM-SHA-256\0\0"}.get(method, b"")
    with hostile_postgres(asks(method, salt), connect_seconds=1) as (address, heard):
        refused(address, capfd)
    assert PASSWORD.encode() not in heard
