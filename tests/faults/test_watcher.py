"""Prefect's temporary server ends with the command that began it, also with one that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flows.runtime.watcher import servers_of
from tests.support.flow_runs import flows_in_process, patient  # noqa: F401
from tests.support.front_desk import Desk
from tests.support.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[2]
SERVER = "import signal; signal.pause()"  # what stands for one: by its environment and its arguments
COMMAND = """
import os, signal, subprocess, sys
from flows.runtime.watcher import MARK, watch_temporary_server
watch_temporary_server()
watch_temporary_server()
environment = {**os.environ, "PREFECT__SERVER_EPHEMERAL": "1"}
named = [sys.executable, "-c", sys.argv[1], "prefect.server.api.server:create_app"]
servers = [
    subprocess.Popen(named, env=environment),
    subprocess.Popen(named[:-1], env=environment),
    subprocess.Popen(named, env={**environment, MARK: "another"}),
]
print(os.environ[MARK], *(one.pid for one in servers), flush=True)
if sys.argv[2] == "waits":
    signal.pause()
"""

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="it is Linux's")


def alive(number: int) -> bool:
    """Tell whether a process is there and has not ended: nobody may have asked how."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(wanted: Callable[[], bool]) -> bool:
    end = time.monotonic() + HANG_TIMEOUT
    while not wanted() and time.monotonic() < end:
        time.sleep(0.05)
    return wanted()


@pytest.mark.parametrize("way", ["waits", "ends"])
def test_a_server_ends_with_its_command_and_no_other_process_does(way: str) -> None:
    command = subprocess.Popen(
        [sys.executable, "-c", COMMAND, SERVER, way], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert command.stdout is not None
    mark, *numbers = command.stdout.readline().split()
    server, other_kind, of_another = map(int, numbers)
    try:
        if way == "waits":
            assert until(lambda: servers_of(mark) == [server])
            command.send_signal(signal.SIGKILL)
        assert until(lambda: not alive(server))
        assert alive(other_kind)
        assert alive(of_another)
    finally:
        for number in map(int, numbers):
            if alive(number):
                os.kill(number, signal.SIGKILL)
        command.kill()
        command.wait()
        command.stdout.close()


def test_the_temporary_server_of_a_run_that_is_killed_ends(desk: Desk, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)  # whoever reads it waits for ever
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "RELEASEGATE_"))}
    environment |= {"PREFECT_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    words = ["run", str(desk.policy()), "--input", str(pipe), "--period", "2026Q1"]
    run = subprocess.Popen(
        [sys.executable, "-m", "cli", "--store", str(desk.root), *words],
        cwd=ROOT,
        env=environment,
        stderr=subprocess.DEVNULL,
    )

    def servers() -> list[int]:
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    texts = (folder / "environ").read_bytes(), (folder / "cmdline").read_bytes()
                except OSError:
                    continue
                if f"PREFECT_HOME={tmp_path / 'home'}".encode() in texts[0]:
                    found += [int(folder.name)] if b"prefect.server.api.server" in texts[1] else []
        return found

    try:
        assert until(lambda: bool(servers()))
        assert run.poll() is None
        (server,) = servers()
        run.send_signal(signal.SIGKILL)
        run.wait()
        assert until(lambda: not alive(server))
    finally:
        run.kill()
        run.wait()
        for number in servers():
            os.kill(number, signal.SIGKILL)
