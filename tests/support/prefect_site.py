"""A real Prefect server and what works for it: processes to ask, to kill with SIGKILL and to start again.

Whatever is started is a process group of its own, and is killed with everything that it has started.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import psutil

from tests.support.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).resolve().parents[2]
PREFECT = [sys.executable, "-m", "prefect"]
ENDED = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")
BUSY = 600
T = TypeVar("T")


def one_artifact(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the only artifact among those found: of one run, under one key, with one content.

    Prefect's client sends an artifact again if a busy server does not answer in time, and the server then
    keeps it twice.
    """
    assert found, "no artifact"
    different = {(one["flow_run_id"], one["key"], one["data"]) for one in found}
    assert len(different) == 1, f"{len(different)} different artifacts"
    return found[0]


class PrefectSite:
    """A port, an environment for the commands, and the processes; `folder/logs` holds their words."""

    def __init__(self, folder: Path, environment: dict[str, str], word: str = "") -> None:
        # The socket stays bound and never listens: the server may listen at its port, also when it is
        # started again, and no connection or other server of this machine is given that port in between.
        self._bound = socket.socket()
        self._bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._bound.bind(("127.0.0.1", 0))
        self.port = str(self._bound.getsockname()[1])
        self.folder = folder
        self.address = f"http://127.0.0.1:{self.port}"
        self.environment = environment
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self._word = word
        (folder / "logs").mkdir(parents=True, exist_ok=True)

    @property
    def word(self) -> str:
        """What the server asks of whoever asks it."""
        return self._word or self.environment.get("PREFECT_API_AUTH_STRING", "")

    # Processes -----------------------------------------------------------------------------------

    def begin(self, name: str, command: Sequence[str], folder: Path = ROOT) -> None:
        """Start a command that stays."""
        with (self.folder / "logs" / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                command, cwd=folder, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )

    def kill(self, name: str) -> int:
        """Kill what was started under a name, and all that it has started; return how many."""
        process = self.running.pop(name)
        if process.poll() is not None:
            return 0
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        for one in family:  # a run is in a group of its own
            with contextlib.suppress(ProcessLookupError):
                os.killpg(os.getpgid(one.pid), signal.SIGKILL)
        process.wait()
        return len(family)

    def close(self) -> None:
        """Kill everything, the last that was started first, and give the port back."""
        for name in list(self.running)[::-1]:
            self.kill(name)
        self._bound.close()

    def listens(self, name: str) -> set[str]:
        """Return the addresses at which what was started under a name, or a child of it, listens."""
        family = [psutil.Process(self.running[name].pid)]
        family += family[0].children(recursive=True)
        found = (connection for one in family for connection in one.net_connections("inet"))
        return {connection.laddr.ip for connection in found if connection.status == psutil.CONN_LISTEN}

    # The server ----------------------------------------------------------------------------------

    def ask(
        self,
        path: str,
        body: dict[str, Any] | list[Any] | None = None,
        *,
        password: bool = True,
        method: str | None = None,
    ) -> Any:
        """Return the server's answer to a GET, or where there is a body to a POST or another method."""
        headers = {"Content-Type": "application/json"}
        if password and self.word:
            headers["Authorization"] = f"Basic {base64.b64encode(self.word.encode()).decode()}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address}/api{path}", data, headers, method=method)
        for _ in range(BUSY):
            try:
                with urllib.request.urlopen(request, timeout=HANG_TIMEOUT) as answer:
                    text = answer.read().decode()
                    is_json = answer.headers.get_content_type() == "application/json"
                return json.loads(text) if is_json and text else text
            except urllib.error.HTTPError as error:
                if error.code != 503:  # its database is busy: ask again, as Prefect's own client does
                    raise
            except TimeoutError:
                continue
            time.sleep(1)
        raise AssertionError(f"{path}: the server was busy {BUSY} times")

    def healthy(self) -> bool:
        """Tell whether the server answers."""
        return bool(self.ask("/health"))

    def deployments(self) -> dict[str, dict[str, Any]]:
        """Return the deployments by their names."""
        return {found["name"]: found for found in self.ask("/deployments/filter", {})}

    def start(self, deployment: str, parameters: dict[str, Any], scheduled: str | None = None) -> str:
        """Make one run of a deployment, for a time in the past if one is given, and return its id."""
        # Whoever asks again, since no answer came, makes no second run.
        body: dict[str, Any] = {"parameters": parameters, "idempotency_key": str(uuid.uuid4())}
        if scheduled is not None:
            body["state"] = {"type": "SCHEDULED", "state_details": {"scheduled_time": scheduled}}
        known = self.deployments()[deployment]["id"]
        return str(self.ask(f"/deployments/{known}/create_flow_run", body)["id"])

    def run(self, run_id: str) -> dict[str, Any]:
        """Return what the server knows of a run."""
        found: dict[str, Any] = self.ask(f"/flow_runs/{run_id}")
        return found

    def ended(self, run_id: str) -> dict[str, Any] | None:
        """Return a run if it has ended."""
        found = self.run(run_id)
        return found if found["state_type"] in ENDED else None

    def runs(self, deployment: str, state: str | None = None) -> list[dict[str, Any]]:
        """Return the runs of a deployment, the first scheduled first."""
        chosen: dict[str, Any] = {
            "deployments": {"name": {"any_": [deployment]}},
            "sort": "EXPECTED_START_TIME_ASC",
        }
        if state is not None:
            chosen["flow_runs"] = {"state": {"type": {"any_": [state]}}}
        found: list[dict[str, Any]] = self.ask("/flow_runs/filter", chosen)
        return found

    def until(self, what: str, condition: Callable[[], T | None], seconds: float = HANG_TIMEOUT) -> T:
        """Return the first true answer of `condition`; fail with the ends of the logs where none comes."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                found = condition()
                if found:
                    return found
            time.sleep(0.5)
        logs = "\n".join(
            f"{path.name}:\n{path.read_text(errors='replace')[-3000:]}"
            for path in (self.folder / "logs").glob("*.log")
        )
        raise AssertionError(f"{what} did not happen in {seconds} s\n{logs}")
