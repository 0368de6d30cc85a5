"""How long a connection is held for its client, by a clock that goes on when it is told to."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from uvicorn.config import Config
from uvicorn.server import ServerState

from release_store.store import ReleaseStore
from tests.support.web_clients import ORIGIN, Clock
from web.app import make_app
from web.connections import Connection, connection_of
from web.settings import Settings

HOST = ORIGIN.partition("://")[2]
HEAD = f"POST /login HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 9\r\n\r\n".encode()


@dataclass
class Timer:
    """Something that is due at a time, unless it is cancelled."""

    due: float
    call: Callable[[], None]
    is_cancelled: bool = False

    def cancel(self) -> None:
        """Let it never be called."""
        self.is_cancelled = True


@dataclass
class Loop:
    """A loop that calls what is due when its clock goes on, and runs no task."""

    clock: Clock
    timers: list[Timer] = field(default_factory=list)

    def time(self) -> float:
        """Return the seconds of its clock."""
        return self.clock()

    def call_later(self, delay: float, call: Callable[..., None]) -> Timer:
        """Keep something to call after `delay` seconds."""
        self.timers.append(Timer(self.time() + delay, call))
        return self.timers[-1]

    def create_task(self, task: Any) -> Any:
        """Run nothing of a task: the application never answers."""
        task.close()
        return _Task()

    def go_on(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.now += seconds
        for timer in [one for one in self.timers if one.due <= self.time()]:
            self.timers.remove(timer)
            if not timer.is_cancelled:
                timer.call()


class _Task:
    def add_done_callback(self, call: object) -> None:
        """Keep nothing: it is never done."""


class Transport:
    """The server's end of a connection: what was written to it, and how it ended."""

    def __init__(self) -> None:
        self.written, self.closed, self.aborted = b"", False, False

    def get_extra_info(self, name: str) -> Any:
        """Return where the client is."""
        return ("127.0.0.1", 1) if name == "peername" else None

    def write(self, data: bytes) -> None:
        """Keep what is written."""
        self.written += data

    def is_closing(self) -> bool:
        """Tell whether it was closed."""
        return self.closed

    def close(self) -> None:
        """Close it, once all is sent."""
        self.closed = True

    def abort(self) -> None:
        """Close it at once."""
        self.closed = self.aborted = True


class Served:
    """A server without a socket: its connections, and its clock."""

    def __init__(self, root: Path, clock: Clock, most: int) -> None:
        settings = Settings(root, (ORIGIN,), clock, most_connections=most)
        self.loop, self.state, self.kind = Loop(clock), ServerState(), connection_of(settings)
        self.config = Config(
            make_app(settings), http=self.kind, ws="none", lifespan="off", log_config=None, interface="asgi3"
        )

    def connect(self, *data: bytes) -> tuple[Connection, Transport]:
        """Return a new connection over which a client sent something."""
        made, transport = self.kind(self.config, self.state, {}, cast(Any, self.loop)), Transport()
        made.connection_made(cast(Any, transport))
        for each in data:
            made.data_received(each)
        return made, transport


@pytest.fixture
def server(store: ReleaseStore, clock: Clock) -> Served:
    return Served(store.root, clock, most=3)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RELEASEGATE_LOG", str(tmp_path / "log.jsonl"))
    return tmp_path / "log.jsonl"


def refused_in(log: Path) -> list[tuple[str, int]]:
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [(line["error"], line["status"]) for line in lines]


@pytest.mark.enemy("other account", "stops the work")
@pytest.mark.parametrize(
    "sent", [HEAD[:1], HEAD[:-2], HEAD, HEAD + b"signed="], ids=lambda sent: f"{len(sent)} bytes"
)
def test_a_request_that_comes_byte_by_byte_is_refused_when_its_time_is_up(
    server: Served, log: Path, sent: bytes
) -> None:
    connection, transport = server.connect(sent)
    server.loop.go_on(9.0)
    connection.data_received((HEAD + b"signed=ab")[len(sent) :][:1])
    assert not transport.is_closing()
    server.loop.go_on(1.0)
    assert transport.is_closing()
    assert transport.written.startswith(b"HTTP/1.1 408 ")
    assert b"did not arrive in time" in transport.written
    assert b"frame-ancestors 'none'" in transport.written
    assert refused_in(log) == [("TooSlow", 408)]


def test_who_asks_for_nothing_is_left_without_a_word(server: Served, log: Path) -> None:
    _, transport = server.connect()
    server.loop.go_on(10.0)
    assert (transport.closed, transport.written, refused_in(log)) == (True, b"", [])


def test_the_work_on_a_whole_request_has_no_limit_of_time(server: Served) -> None:
    _, transport = server.connect(HEAD + b"signed=ab")
    server.loop.go_on(3_600.0)
    assert not transport.closed


@pytest.mark.enemy("other account", "stops the work")
def test_who_does_not_read_is_cut_off(server: Served) -> None:
    connection, transport = server.connect(HEAD + b"signed=ab")
    connection.pause_writing()
    server.loop.go_on(29.0)
    connection.resume_writing()
    connection.pause_writing()
    server.loop.go_on(29.0)
    assert not transport.closed
    server.loop.go_on(1.0)
    assert transport.aborted


def test_a_connection_that_cannot_be_closed_in_peace_is_cut_off(server: Served) -> None:
    _, transport = server.connect(b"no request\r\n\r\n")
    assert transport.closed
    server.loop.go_on(30.0)
    assert transport.aborted


def test_a_connection_that_is_gone_is_waited_for_no_more(server: Served) -> None:
    connection, transport = server.connect(b"G")
    connection.connection_lost(None)
    server.loop.go_on(60.0)
    assert transport.written == b""


@pytest.mark.enemy("other account", "stops the work")
def test_the_one_that_has_waited_longest_makes_room(server: Served, log: Path) -> None:
    _, at_work = server.connect(HEAD + b"signed=ab")
    server.loop.go_on(1.0)
    _, slow = server.connect(HEAD)
    server.loop.go_on(1.0)
    _, silent = server.connect()
    _, new = server.connect(b"G")
    assert [one.closed for one in (at_work, slow, silent, new)] == [False, True, False, False]
    assert slow.written.startswith(b"HTTP/1.1 503 ")
    assert refused_in(log) == [("TooManyConnections", 503)]
    _, newer = server.connect()  # the one that was closed is still there, and is cut off
    assert (slow.aborted, silent.closed, newer.closed) == (True, False, False)


def test_where_all_are_at_work_the_new_one_is_refused(server: Served) -> None:
    others = [server.connect(HEAD + b"signed=ab")[1] for _ in range(3)]
    _, new = server.connect()
    assert new.closed
    assert not any(one.closed for one in others)


NO_REQUESTS = (
    b"\0\1\2\r\n\r\n",
    b"GET /\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
    b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000,
    b"\x16\x03\x01\0\xc8\x01\0\0\xc4\x03\x03" + b"x" * 70_000,  # TLS
)


def test_what_is_no_request_is_refused_with_a_page_and_in_the_log(server: Served, log: Path) -> None:
    for sent in NO_REQUESTS:
        connection, transport = server.connect(sent)
        assert transport.written.startswith(b"HTTP/1.1 400 "), sent[:80]
        assert b"not a request that the server understands" in transport.written
        assert b"frame-ancestors 'none'" in transport.written
        assert transport.closed
        connection.connection_lost(None)
    assert refused_in(log) == [("BadRequest", 400)] * len(NO_REQUESTS)
    assert "Host" not in log.read_text()
