"""A server that speaks as Postgres does, and belongs to an enemy: it answers what a test says."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

from policy.postgres_address import PostgresTable

Answer = Callable[[], Iterable[bytes]]
_ASKS_FOR_TLS = (struct.pack("!I", 80877103), struct.pack("!I", 80877104))  # the second one for GSS
TEXT = 25  # Postgres's number of its type of texts


def message(kind: bytes, body: bytes = b"") -> bytes:
    """Return a message of the server."""
    return kind + struct.pack("!I", len(body) + 4) + body


def columns(*names: str, kind: int = TEXT) -> bytes:
    """Return the description of columns of one type."""
    each = b"".join(name.encode() + b"\0" + struct.pack("!IHIhih", 0, 0, kind, -1, -1, 0) for name in names)
    return message(b"T", struct.pack("!H", len(names)) + each)


def row(*cells: str) -> bytes:
    """Return a row of texts."""
    each = b"".join(struct.pack("!i", len(cell.encode())) + cell.encode() for cell in cells)
    return message(b"D", struct.pack("!H", len(cells)) + each)


def error(text: str, code: str = "XX000") -> bytes:
    """Return an error with a text."""
    fields = (b"SERROR", b"VERROR", b"C" + code.encode(), b"M" + text.encode())
    return message(b"E", b"\0".join(fields) + b"\0\0")


def notice(text: str) -> bytes:
    """Return a notice with a text."""
    return message(b"N", b"\0".join((b"SWARNING", b"VWARNING", b"C01000", b"M" + text.encode())) + b"\0\0")


COPY_OUT = message(b"H", struct.pack("!BH", 0, 1) + bytes(2))
COPY_IN = message(b"G", struct.pack("!BH", 0, 1) + bytes(2))
COPY_BOTH = message(b"W", struct.pack("!BH", 0, 1) + bytes(2))
DONE = message(b"C", b"SELECT 1\0")
READY = message(b"Z", b"T")
GREETING = (
    message(b"R", struct.pack("!I", 0))
    + message(b"S", b"client_encoding\0UTF8\0")
    + message(b"S", b"server_version\x0018.0\0")
    + message(b"K", struct.pack("!II", 1, 1))
    + message(b"Z", b"I")
)


def copied(*rows: str) -> bytes:
    """Return the rows of a copy."""
    return b"".join(message(b"d", one.encode()) for one in rows)


_HONEST: dict[str, bytes] = {
    "set_config": columns("set_config") + row("") + DONE,
    "is_superuser": columns("current_setting") + row("off") + DONE,
    "pg_class": columns("oid", kind=20) + row("1") + DONE,
    "pg_attribute": columns("name", "oid") + row("a", "25") + DONE,
    "COPY": COPY_OUT + copied("a\n", '"1"\n') + message(b"c") + DONE,
}


@contextmanager
def hostile_postgres(
    answers: Mapping[str, Answer],
    sslmode: str = "disable",
    connect_seconds: int = 10,
    folder: Path | None = None,
) -> Iterator[tuple[PostgresTable, bytearray]]:
    """Run the server until the block ends; give the address of a table there, and all bytes that come.

    `answers` are what it sends to a statement that has the word; `greeting` is to the first message of a
    connection. An answer that ends has all to be sent: what says that the server is ready is not added. With
    a `folder`, the server listens on a socket there.
    """
    ended, heard = Event(), bytearray()
    with socket.socket(socket.AF_INET if folder is None else socket.AF_UNIX) as server:
        server.bind(("127.0.0.1", 0) if folder is None else f"{folder}/.s.PGSQL.5432")
        server.listen()

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    Thread(target=serve, args=(connection,), daemon=True).start()

        def serve(connection: socket.socket) -> None:
            with suppress(OSError), connection:
                _talk(connection, answers, heard)
                ended.wait()

        Thread(target=accept, daemon=True).start()
        try:
            there = PostgresTable("127.0.0.1", "clinic", "cells", user="reader", sslmode=sslmode)
            there = replace(there, connect_seconds=connect_seconds)
            if folder is None:
                yield replace(there, port=server.getsockname()[1]), heard
            else:
                yield replace(there, host=str(folder)), heard
        finally:
            ended.set()


def _talk(connection: socket.socket, answers: Mapping[str, Answer], heard: bytearray) -> None:
    while True:
        (length,) = struct.unpack("!I", _exactly(connection, 4, heard))
        if _exactly(connection, length - 4, heard) not in _ASKS_FOR_TLS:
            break
        connection.sendall(b"N")
    for part in answers.get("greeting", lambda: [GREETING])():
        connection.sendall(part)
    said = b""
    while True:
        kind = _exactly(connection, 1, heard)
        (length,) = struct.unpack("!I", _exactly(connection, 4, heard))
        said += _exactly(connection, length - 4, heard)
        if kind not in b"QSf":
            continue
        statement, said = said.decode(errors="replace"), b""
        if kind == b"S":
            connection.sendall(message(b"1") + message(b"2"))
        word = next((word for word in (*answers, *_HONEST) if word in statement), "")
        if word in answers:
            for part in answers[word]():
                connection.sendall(part)
        else:
            connection.sendall(_HONEST.get(word, message(b"C", b"BEGIN\0")) + READY)


def _exactly(connection: socket.socket, number: int, heard: bytearray) -> bytes:
    found = b""
    while len(found) < number:
        part = connection.recv(number - len(found))
        if not part:
            raise OSError
        found += part
        heard += part
    return found
