"""What a command says of a Prefect server that is not there, before it does anything."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.runtime import server_check
from policy.errors import TransientFailure, UsageError

HINT = "Correct PREFECT_API_URL (`prefect config view` shows it), or start the server."


class _Answer(BaseHTTPRequestHandler):
    """Answers every request with the server's status."""

    def do_GET(self) -> None:
        status: int = self.server.status  # type: ignore[attr-defined]
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def answering(status: int) -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Answer)
    server.status = status  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def check(address: str) -> None:
    with temporary_settings({PREFECT_API_URL: f"{address}/api"}):
        server_check.check_server()


def test_a_server_that_answers_is_there() -> None:
    with answering(200) as address:
        check(address)


def test_another_service_is_not_prefects() -> None:
    with answering(404) as address, pytest.raises(UsageError) as caught:
        check(address)
    said = f"the server at {address} answers with status 404: it is not Prefect's, or not ready"
    assert (caught.value.where, caught.value.message, caught.value.hint) == ("PREFECT_API_URL", said, HINT)


def test_nobody_at_the_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(TransientFailure) as caught:
        check(address)
    assert caught.value.message == f"no Prefect server answers at {address} (ConnectError)"


def test_a_server_that_takes_the_connection_and_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_check, "ANSWERS_WITHIN", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(TransientFailure) as caught:
            check(address)
    assert caught.value.message == f"no Prefect server answers at {address} (ReadTimeout)"


@pytest.mark.parametrize("address", ["nonsense", "https://exa mple", "ftp://host", "http://", "http://h:x"])
def test_what_is_no_address(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PREFECT_API_URL, "value", lambda: address)
    with pytest.raises(UsageError, match="is no address of a server"):
        server_check.check_server()


def test_a_password_in_the_address_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(503) as address, pytest.raises(UsageError) as caught:
        check(address.replace("//", "//ada:secret@"))
    assert "secret" not in str(caught.value)
