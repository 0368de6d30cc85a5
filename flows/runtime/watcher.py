"""Prefect's temporary server ends with the command that began it, however that command ends.

A command that is killed with -9 stops nothing itself, and the server would listen on for ever. A small
process beside the command reads from a pipe on which nothing ever comes: its end is the command's end. Then
it ends the server that carries the command's mark in its environment. This file is run alone: it imports
nothing of the package. Linux only, where the environment of one's own processes can be read.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

MARK = "_RELEASEGATE_COMMAND_MARK"  # set by a command for what it begins, and by nobody else
_PROCESSES = Path("/proc")
_SERVER = b"prefect.server.api.server"
_EPHEMERAL = b"PREFECT__SERVER_EPHEMERAL=1"
_PATIENCE = 5.0  # seconds until a server that was asked to end is killed

_watchers: list[subprocess.Popen[bytes]] = []  # of this process: one at most


def watch_temporary_server() -> None:
    """Let a temporary server that this process begins from now on end with it; a second call does nothing."""
    if _watchers or not (_PROCESSES / "self" / "environ").is_file():
        return
    mark = secrets.token_hex(16)
    os.environ[MARK] = mark
    command = [sys.executable, "-I", "-S", str(Path(__file__).resolve()), mark]
    _watchers.append(
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={MARK: mark, "PATH": os.environ.get("PATH", os.defpath)},  # none of the command's secrets
            start_new_session=True,  # an interrupt from the keyboard is not for it
        )
    )
    # Before Prefect's own, which stops the server: what is registered first is called last.
    atexit.register(_let_go, _watchers[-1])


def _let_go(watcher: subprocess.Popen[bytes]) -> None:
    if watcher.stdin is not None:
        watcher.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        watcher.wait(2 * _PATIENCE)


def servers_of(mark: str) -> list[int]:
    """Return the processes that are temporary servers of the command with that mark."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for folder in _PROCESSES.iterdir():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):  # another's, or one that has ended meanwhile
            environment = (folder / "environ").read_bytes().split(b"\0")
            ours = wanted in environment and _EPHEMERAL in environment
            if ours and _SERVER in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


def end_servers(mark: str) -> None:
    """End those servers, and kill those that do not end when asked."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        for number in servers_of(mark):
            with contextlib.suppress(OSError):
                os.kill(number, sign)
        until = time.monotonic() + _PATIENCE
        while servers_of(mark) and time.monotonic() < until:
            time.sleep(0.1)


if __name__ == "__main__":
    sys.stdin.buffer.read()  # until the command has ended
    end_servers(sys.argv[1])
