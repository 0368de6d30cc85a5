"""A receiver that is slow, or never ends, holds nobody longer than the limit of one delivery."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from policy.errors import TransientFailure
from release_store.records import CandidateState
from services.observability.lineage import VARIABLE, Lineage
from services.observability.notice_channels import COMMAND_VARIABLE, SECRET_VARIABLE, URL_VARIABLE
from services.observability.notice_delivery import pending_counts, register_channels, send_due
from services.observability.web import request_json
from tests.support.front_desk import Desk
from tests.support.store.hand_made import K_FAILS, stage
from tests.support.timeouts import HANG_TIMEOUT

LIMIT = 0.4  # seconds, which are over before any receiver here ends
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
DRIPS = {
    "never answers": (b"", b""),
    "drips its head": (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x"),
    "drips its body": (HEAD + b"Content-Length: 100000\r\n\r\n", b" "),
    "drips chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "drips a redirect": (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\nX-Slow: ", b"x"),
}


@contextmanager
def dripping(first: bytes, drop: bytes) -> Iterator[int]:
    """Answer each connection with `first`, and then with `drop` until the block ends; yield the port.

    A call that returns in the block was given up, since no answer ends before. One that was not fails.
    """
    ended = threading.Event()
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0.05)
    threads: list[threading.Thread] = []
    hung: list[str] = []

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.sendall(first)
            for _ in range(int(HANG_TIMEOUT / 0.05)):
                if ended.wait(0.05):
                    return
                connection.sendall(drop)
            hung.append("a call waits for the answer's end")

    def serve() -> None:
        while not ended.is_set():
            with suppress(TimeoutError):
                connection, _ = server.accept()
                threads.append(threading.Thread(target=answer, args=(connection,)))
                threads[-1].start()

    serving = threading.Thread(target=serve)
    serving.start()
    try:
        yield server.getsockname()[1]
    finally:
        ended.set()
        serving.join()
        for thread in threads:
            thread.join()
        server.close()
    assert hung == []


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (COMMAND_VARIABLE, URL_VARIABLE, SECRET_VARIABLE, "PREFECT_API_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("services.observability.notice_channels.prefect_api", lambda: None)
    monkeypatch.setattr("services.observability.notice_channels.TIMEOUT", LIMIT)


def blocked(desk: Desk, period: str = "2024") -> None:
    record = stage(desk.store, period=period)
    desk.store.record_gates(record.candidate_id, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")


@pytest.mark.parametrize(
    ("scheme", "drip"), [*(("http", drip) for drip in DRIPS), ("https", "never answers")]
)
def test_one_exchange_ends_at_its_limit_however_slowly_the_server_answers(scheme: str, drip: str) -> None:
    with dripping(*DRIPS[drip]) as port, pytest.raises(TransientFailure, match="took more than"):
        request_json(f"{scheme}://127.0.0.1:{port}/", {"a": 1}, timeout=LIMIT)


@pytest.mark.parametrize("drip", ["drips its head", "drips its body"])
def test_a_dripping_server_holds_the_lock_of_notices_no_longer_than_one_delivery(
    drip: str, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dripping(*DRIPS[drip]) as port:
        monkeypatch.setenv(URL_VARIABLE, f"http://127.0.0.1:{port}/")
        register_channels(desk.store)
        for period in ("2024", "2025"):
            blocked(desk, period)
        sent = send_due(desk.store)
        assert sent.problems == [f"a notice by url waits: the address took more than {LIMIT:g} s"]
        assert pending_counts(desk.store) == {"url": 2}
        with desk.store.notices_lock(timeout=0.0):
            pass


def test_prefects_server_is_given_no_longer_either(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from prefect.client import orchestration

    get_client = orchestration.get_client

    def patient(settings: dict[str, Any], **options: Any) -> Any:
        assert settings == {"timeout": LIMIT}
        return get_client({"timeout": HANG_TIMEOUT}, **options)  # of each read: it must not be what ends it

    monkeypatch.setattr(orchestration, "get_client", patient)
    with dripping(*DRIPS["drips its head"]) as port:
        monkeypatch.setattr(
            "services.observability.notice_channels.prefect_api", lambda: f"http://127.0.0.1:{port}/api"
        )
        register_channels(desk.store)
        blocked(desk)
        (problem,) = send_due(desk.store).problems
        assert problem == f"a notice by prefect waits: Prefect's server took more than {LIMIT:g} s"


def test_a_command_is_ended_with_its_children(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time is over once the child has said that it is there; the pipe that it holds open ends with it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    said = f"import os, signal; pipe = open({str(pipe)!r}, 'w'); print(os.getpid(), file=pipe, flush=True)"
    script = tmp_path / "slow.py"
    script.write_text(
        "import signal, subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', {said + '; signal.pause()'!r}])\n"
        "signal.pause()\n"
    )
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    children: list[int] = []

    class Overdue(subprocess.Popen[bytes]):
        def communicate(self, input: bytes | None = None, timeout: float | None = None) -> Any:  # noqa: A002
            assert timeout == LIMIT
            assert can_be_read(reader)
            children.append(int(os.read(reader, 100)))
            return super().communicate(input, timeout=0.01)

    monkeypatch.setattr("subprocess.Popen", Overdue)
    monkeypatch.setenv(COMMAND_VARIABLE, f"{sys.executable} '{script}'")
    register_channels(desk.store)
    blocked(desk)
    try:
        sent = send_due(desk.store)
        assert sent.problems == [f"a notice by command waits: the command took more than {LIMIT:g} s"]
        assert len(children) == 1
        assert can_be_read(reader), "the child is there still"
        assert os.read(reader, 100) == b""
    finally:
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        os.close(reader)


def can_be_read(pipe: int) -> bool:
    """Wait until something is in a pipe, or until its last writer has ended."""
    return bool(select.select([pipe], [], [], HANG_TIMEOUT)[0])


def test_a_call_spends_no_more_than_its_patience_on_a_delivery(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.observability.notice_channels.TIMEOUT", HANG_TIMEOUT)
    monkeypatch.setattr(
        "services.observability.notice_delivery.time", SimpleNamespace(monotonic=lambda: 0.0)
    )  # none is spent before
    with dripping(*DRIPS["never answers"]) as port:
        monkeypatch.setenv(URL_VARIABLE, f"http://127.0.0.1:{port}/")
        register_channels(desk.store)
        blocked(desk)
        (problem,) = send_due(desk.store, patience=LIMIT).problems
        assert problem == f"a notice by url waits: the address took more than {LIMIT:g} s"


def test_whoever_else_sends_notices_is_waited_for_no_longer_than_the_patience(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(COMMAND_VARIABLE, "/bin/true")
    register_channels(desk.store)
    blocked(desk)
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with desk.store.notices_lock():
            inside.set()
            leave.wait(HANG_TIMEOUT)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(HANG_TIMEOUT)
    try:
        (problem,) = send_due(desk.store, patience=LIMIT).problems
        assert problem.endswith(f"has been sending notices for more than {LIMIT:g} s")
    finally:
        leave.set()
        thread.join()


@pytest.mark.parametrize("slow", ["server", "pipe"])
def test_lineage_holds_a_run_no_longer_than_its_limit(
    slow: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import openlineage.client.transport.file  # noqa: F401 -- takes seconds, and the limit is for what it sends

    monkeypatch.setattr("services.observability.lineage._LIMIT", LIMIT)
    with dripping(*DRIPS["drips its head"]) as port:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        monkeypatch.setenv(VARIABLE, f"http://127.0.0.1:{port}/" if slow == "server" else str(pipe))
        reader = threading.Timer(HANG_TIMEOUT, lambda: pipe.open("rb").close())  # a call that waits ends
        reader.start()
        Lineage("clinic.release").start()
        reader.cancel()
    why = f"took more than {LIMIT:g} s" if slow == "server" else "TimeoutError"
    assert f"could not be sent to RELEASEGATE_OPENLINEAGE: {why}" in capsys.readouterr().err
    if slow == "pipe":  # let the one who waits for a reader go
        with suppress(OSError), pipe.open("rb"):
            pass
