"""A receiver that is slow, or never ends, holds nobody longer than the limit of one delivery."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from front_desk import Desk

from flows.lineage import VARIABLE, Lineage
from flows.notice_channels import COMMAND_VARIABLE, SECRET_VARIABLE, URL_VARIABLE
from flows.notices import begin, due, send_due
from flows.web import talk
from policy.errors import TransientFailure
from release_store.records import CandidateState
from tests.release_store.hand_made import K_FAILS, stage

LIMIT = 0.4
ENOUGH = 3.0  # seconds in which a call with that limit has ended, on a slow machine too
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
    """Answer each connection with `first`, and then with `drop` for ever; yield the port."""
    ended = threading.Event()
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0.05)
    threads: list[threading.Thread] = []

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.sendall(first)
            while not ended.wait(0.05):
                connection.sendall(drop)

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


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (COMMAND_VARIABLE, URL_VARIABLE, SECRET_VARIABLE, "PREFECT_API_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("flows.notice_channels.prefect_api", lambda: None)
    monkeypatch.setattr("flows.notice_channels.TIMEOUT", LIMIT)


def blocked(desk: Desk, period: str = "2024") -> None:
    record = stage(desk.store, period=period)
    desk.store.record_gates(record.candidate_id, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("drip", DRIPS)
def test_one_exchange_ends_at_its_limit_however_slowly_the_server_answers(scheme: str, drip: str) -> None:
    with dripping(*DRIPS[drip]) as port:
        begun = time.monotonic()
        with pytest.raises(TransientFailure):
            talk(f"{scheme}://127.0.0.1:{port}/", {"a": 1}, timeout=LIMIT)
        assert time.monotonic() - begun < ENOUGH


@pytest.mark.parametrize("drip", ["drips its head", "drips its body"])
def test_a_dripping_server_holds_the_lock_of_notices_no_longer_than_one_delivery(
    drip: str, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dripping(*DRIPS[drip]) as port:
        monkeypatch.setenv(URL_VARIABLE, f"http://127.0.0.1:{port}/")
        begin(desk.store)
        for period in ("2024", "2025"):
            blocked(desk, period)
        begun = time.monotonic()
        sent = send_due(desk.store)
        assert time.monotonic() - begun < ENOUGH
        assert sent.problems == [f"a notice by url waits: the address took more than {LIMIT:g} s"]
        assert due(desk.store) == {"url": 2}
        with desk.store.notices_lock(timeout=0.0):
            pass


def test_prefects_server_is_given_no_longer_either(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    import prefect.client.orchestration  # noqa: F401 -- takes seconds, which are not those that are measured

    with dripping(*DRIPS["drips its head"]) as port:
        monkeypatch.setattr("flows.notice_channels.prefect_api", lambda: f"http://127.0.0.1:{port}/api")
        begin(desk.store)
        blocked(desk)
        begun = time.monotonic()
        (problem,) = send_due(desk.store).problems
        assert time.monotonic() - begun < ENOUGH
        assert problem == f"a notice by prefect waits: Prefect's server took more than {LIMIT:g} s"


def test_a_command_is_ended_with_its_children(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "children"
    child = f"import os, pathlib, time; pathlib.Path({str(started)!r}).write_text(str(os.getpid()))"
    script = tmp_path / "slow.py"
    script.write_text(
        "import subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', {child + '; time.sleep(60)'!r}])\n"
        "time.sleep(60)\n"
    )
    monkeypatch.setattr("flows.notice_channels.TIMEOUT", 2.0)
    monkeypatch.setenv(COMMAND_VARIABLE, f"{sys.executable} '{script}'")
    begin(desk.store)
    blocked(desk)
    begun = time.monotonic()
    assert send_due(desk.store).problems == ["a notice by command waits: the command took more than 2 s"]
    assert time.monotonic() - begun < 2.0 + ENOUGH
    assert started.exists()
    assert is_gone(int(started.read_text()))


def is_gone(process: int) -> bool:
    """Tell whether a process has ended, within a moment; one that nobody waited for counts as ended."""
    for _ in range(40):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state in "ZX":
            return True
        time.sleep(0.05)
    os.kill(process, signal.SIGKILL)
    return False


def test_a_call_spends_no_more_than_its_patience_on_a_delivery(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.notice_channels.TIMEOUT", 30.0)
    with dripping(*DRIPS["never answers"]) as port:
        monkeypatch.setenv(URL_VARIABLE, f"http://127.0.0.1:{port}/")
        begin(desk.store)
        blocked(desk)
        begun = time.monotonic()
        assert send_due(desk.store, patience=LIMIT).problems
        assert time.monotonic() - begun < ENOUGH


def test_whoever_else_sends_notices_is_waited_for_no_longer_than_the_patience(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(COMMAND_VARIABLE, "/bin/true")
    begin(desk.store)
    blocked(desk)
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with desk.store.notices_lock():
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(30)
    try:
        begun = time.monotonic()
        assert len(send_due(desk.store, patience=LIMIT).problems) == 1
        assert time.monotonic() - begun < ENOUGH
    finally:
        leave.set()
        thread.join()


@pytest.mark.parametrize("slow", ["server", "pipe"])
def test_lineage_holds_a_run_no_longer_than_its_limit(
    slow: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import openlineage.client.transport.file
    import openlineage.client.transport.http  # noqa: F401 -- takes seconds, which are not those that are measured

    monkeypatch.setattr("flows.lineage._LIMIT", LIMIT)
    with dripping(*DRIPS["drips its head"]) as port:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        monkeypatch.setenv(VARIABLE, f"http://127.0.0.1:{port}/" if slow == "server" else str(pipe))
        begun = time.monotonic()
        Lineage("clinic.release").start()
        assert time.monotonic() - begun < ENOUGH
    assert "was not taken (TimeoutError)" in capsys.readouterr().err
    if slow == "pipe":  # let the one who waits for a reader go
        with suppress(OSError), pipe.open("rb"):
            pass
