"""A place where releases run as an agency runs them: a project, a Prefect server with a password, a worker.

The commands are those of docs/operations.md, as text, in bash. Whatever is started is a process group of its
own, and can be killed with SIGKILL with everything that it has started.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import psutil

from release_store.store import ReleaseStore

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("examples", "expectations", "flows", "policy", "release_store", "tasks")
ENDED = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")
PORT = "4200"  # of the page; the tests' server has a free one
BUSY = 20
T = TypeVar("T")


class Site:
    """A project to deploy from, and what was started there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        for name in PACKAGES:
            shutil.copytree(ROOT / name, self.project / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "prefect.yaml", self.project)
        for name in ("bin", "home", "logs", "tmp"):
            (folder / name).mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        self.address = f"http://127.0.0.1:{self.port}"
        settings = self.project / "examples" / "systemd" / "releasegate.env"
        settings.write_text(self._here(settings.read_text()))
        self.environment = {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(self.project),
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "PREFECT_HOME": str(folder / "prefect"),
            # Only so that the tests wait less. A run that waits must not be looked at before its time.
            "PREFECT_WORKER_QUERY_SECONDS": "2",
            "PREFECT_WORKER_PREFETCH_SECONDS": "0",
            "PREFECT_SERVER_DEPLOYMENTS_CONCURRENCY_SLOT_WAIT_SECONDS": "5",
            "PREFECT_LOGGING_LEVEL": "INFO",  # so that there are logs to search for canaries
        }
        for name, module in (("releasegate", "-m flows"), ("prefect", "-m prefect"), ("python", "")):
            script = folder / "bin" / name
            script.write_text(f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n')
            script.chmod(0o755)
        self._kept: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def store(self) -> ReleaseStore:
        return ReleaseStore.open(self.project / "store")

    # Commands ------------------------------------------------------------------------------------

    def shell(self, line: str, *, code: int = 0, seconds: float = 180) -> str:
        """Run a line of a page, keep what it exports, and return what it printed on both streams."""
        kept = self.folder / "environment"
        done = subprocess.run(
            ["bash", "-c", f"{self._here(line)}\ncode=$?; env -0 > '{kept}'; exit $code"],
            cwd=self.project,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        with (self.folder / "logs" / "shell.log").open("a") as log:
            log.write(f"$ {line}\n{done.stdout}{done.stderr}")
        assert done.returncode == code, f"{line}\n{done.returncode}\n{done.stdout}{done.stderr}"
        pairs = (pair.partition("=") for pair in kept.read_text().split("\0") if pair)
        self.environment = {name: value for name, _, value in pairs if name not in ("_", "SHLVL", "PWD")}
        return done.stdout + done.stderr

    def keep(self, line: str, name: str) -> None:
        """Start a line that stays, in a process group of its own."""
        with (self.folder / "logs" / f"{name}.log").open("ab") as log:
            self._kept[name] = subprocess.Popen(
                ["bash", "-c", f"exec {self._here(line).removesuffix('&')}"],
                cwd=self.project,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self, name: str) -> int:
        """Kill with SIGKILL what was started under a name, and all that it has started; return how many."""
        process = self._kept.pop(name)
        if process.poll() is not None:
            return 0
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        for one in family:  # a run is in a group of its own
            with contextlib.suppress(ProcessLookupError):
                os.killpg(os.getpgid(one.pid), signal.SIGKILL)
        process.wait()
        return len(family)

    def listens(self, name: str) -> set[str]:
        """Return the addresses at which what was started under a name, or a child of it, listens."""
        family = [psutil.Process(self._kept[name].pid)]
        family += family[0].children(recursive=True)
        found = (connection for one in family for connection in one.net_connections("inet"))
        return {connection.laddr.ip for connection in found if connection.status == psutil.CONN_LISTEN}

    def close(self) -> None:
        """Kill everything."""
        for name in list(self._kept):
            self.kill(name)

    def _here(self, line: str) -> str:
        return line.replace(f"127.0.0.1:{PORT}", f"127.0.0.1:{self.port}").replace(
            "prefect server start ", f"prefect server start --port {self.port} "
        )

    # The server ----------------------------------------------------------------------------------

    def ask(
        self,
        path: str,
        body: dict[str, Any] | None = None,
        *,
        password: bool = True,
        method: str | None = None,
    ) -> Any:
        """Return the server's answer to a GET, or where there is a body to a POST or another method."""
        secret = base64.b64encode(self.environment.get("PREFECT_API_AUTH_STRING", "").encode()).decode()
        headers = {"Content-Type": "application/json"} | (
            {"Authorization": f"Basic {secret}"} if password else {}
        )
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address}/api{path}", data, headers, method=method)
        for _ in range(BUSY):
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    text = answer.read()
                    return json.loads(text) if text else None
            except urllib.error.HTTPError as error:
                if error.code != 503:  # its database is busy: ask again, as Prefect's own client does
                    raise
            time.sleep(1)
        raise AssertionError(f"{path}: the server was busy {BUSY} times")

    def healthy(self) -> bool:
        return bool(self.ask("/health"))

    def deployments(self) -> dict[str, dict[str, Any]]:
        return {found["name"]: found for found in self.ask("/deployments/filter", {})}

    def runs(self, deployment: str, state: str | None = None) -> list[dict[str, Any]]:
        """Return the runs of a deployment, the first scheduled first."""
        chosen: dict[str, Any] = {"deployments": {"name": {"any_": [deployment]}}, "sort": "START_TIME_ASC"}
        if state is not None:
            chosen["flow_runs"] = {"state": {"type": {"any_": [state]}}}
        found: list[dict[str, Any]] = self.ask("/flow_runs/filter", chosen)
        return found

    def start(self, deployment: str, parameters: dict[str, Any], scheduled: str | None = None) -> str:
        """Make a run of a deployment, for a time in the past if one is given, and return its id."""
        body: dict[str, Any] = {"parameters": parameters}
        if scheduled is not None:
            body["state"] = {"type": "SCHEDULED", "state_details": {"scheduled_time": scheduled}}
        known = self.deployments()[deployment]["id"]
        return str(self.ask(f"/deployments/{known}/create_flow_run", body)["id"])

    def pause(self, deployment: str) -> None:
        """Let the schedules of a deployment fire no more; runs that were asked for otherwise stay."""
        found = self.deployments()[deployment]
        for schedule in found["schedules"]:
            path = f"/deployments/{found['id']}/schedules/{schedule['id']}"
            self.ask(path, {"active": False}, method="PATCH")

    def ended(self, run_id: str) -> dict[str, Any] | None:
        """Return a run if it has ended."""
        found: dict[str, Any] = self.ask(f"/flow_runs/{run_id}")
        return found if found["state_type"] in ENDED else None

    def until(self, what: str, condition: Callable[[], T | None], seconds: float = 300) -> T:
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
