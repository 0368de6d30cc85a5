"""An S3 store that belongs to an enemy: it answers what a test says, byte by byte."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

from policy.trusted import ObjectStore
from tests.support.s3_server import REGION

TAG = '"7ad5"'
Answer = Callable[[str, tuple[int, int]], Iterable[bytes]]


def head(status: str = "200 OK", **headers: object) -> bytes:
    """Return the head of an answer."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items() if value is not None]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode()


def whole(size: int, **headers: object) -> bytes:
    """Return what an honest store says of an object."""
    of = {"Content_Length": size, "ETag": TAG, "Last_Modified": "Sun, 01 Mar 2026 00:00:00 GMT"}
    return head(**{**of, **headers})


def part(asked: tuple[int, int], size: int, **headers: object) -> bytes:
    """Return the head of a part of an object, as an honest store sends it."""
    first, last = asked[0], min(asked[1], size - 1)
    of = {"Content_Length": last - first + 1, "Content_Range": f"bytes {first}-{last}/{size}", "ETag": TAG}
    return head("206 Partial Content", **{**of, **headers})


@contextmanager
def hostile_store(answer: Answer) -> Iterator[tuple[ObjectStore, list[str]]]:
    """Run the store until the block ends; give what its owner would say of it, and all that is asked.

    `answer` is given the method and the first and last byte that are asked for, and gives what is sent. The
    connection stays open after that.
    """
    ended, asked = Event(), list[str]()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    Thread(target=serve, args=(connection,), daemon=True).start()

        def serve(connection: socket.socket) -> None:
            with suppress(OSError), connection:
                while request := _request(connection):
                    method, target = request.split(" ")[:2]
                    asked.append(f"{method} {target}")
                    place = request.lower().partition("range: bytes=")[2].partition("\r\n")[0].split("-")
                    first, last = map(int, place) if len(place) == 2 else (0, 0)
                    for piece in answer(method, (first, last)):
                        connection.sendall(piece)
                ended.wait()

        Thread(target=accept, daemon=True).start()
        try:
            yield ObjectStore((), f"http://127.0.0.1:{server.getsockname()[1]}", REGION), asked
        finally:
            ended.set()


def _request(connection: socket.socket) -> str:
    found = b""
    while not found.endswith(b"\r\n\r\n"):
        if not (piece := connection.recv(1 << 16)):
            return ""
        found += piece
    return found.decode("latin-1")
