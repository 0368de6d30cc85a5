"""A real Prefect server, worker and deployment of the release flow, to be killed and started again."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
PREFECT = [sys.executable, "-m", "prefect"]


class Site:
    """Processes in groups of their own, in a home of their own; `folder` holds their logs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.api = f"http://127.0.0.1:{self.port}/api"
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "RELEASEGATE_"))},
            "PREFECT_HOME": str(folder / "home"),
            "PREFECT_API_URL": self.api,
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "DO_NOT_TRACK": "1",
            "PREFECT_WORKER_QUERY_SECONDS": "2",
            "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
            "PYTHONPATH": str(ROOT),
        }
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start_server(self) -> None:
        """Start the server, and wait until it answers."""
        self._start("server", "server", "start", "--host", "127.0.0.1", "--port", str(self.port))
        self.until("the server's start", self.healthy)

    def start_worker(self) -> None:
        """Start a worker of the pool."""
        self._start("worker", "worker", "start", "--pool", "release-pool")

    def _start(self, name: str, *arguments: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                [*PREFECT, *arguments],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self, name: str) -> None:
        """Kill a process and all that it started, as when the machine goes down."""
        process = self.running.pop(name)
        for group in {process.pid, *_groups_under(process.pid)}:
            try:
                os.killpg(group, signal.SIGKILL)
            except ProcessLookupError:
                continue
        process.wait()

    def stop(self) -> None:
        """Kill all that is left."""
        for name in list(self.running)[::-1]:
            self.kill(name)

    def prefect(self, *arguments: str) -> str:
        """Carry out a command of Prefect's, and return what it says."""
        done = subprocess.run(
            [*PREFECT, *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def deploy(self, **parameters: str) -> str:
        """Deploy the release flow, one run at a time, and return the deployment's id."""
        file = self.folder / "prefect.yaml"
        one = {
            "name": "faults",
            "entrypoint": "flows/release.py:release",
            "tags": ["releasegate"],
            "parameters": parameters,
            "concurrency_limit": {"limit": 1, "collision_strategy": "ENQUEUE"},
            "schedules": [],
            "work_pool": {"name": "release-pool"},
        }
        pull = [{"prefect.deployments.steps.set_working_directory": {"directory": str(ROOT)}}]
        file.write_text(yaml.safe_dump({"name": "faults", "pull": pull, "deployments": [one]}))
        self.prefect("work-pool", "create", "release-pool", "--type", "process")
        self.prefect("--no-prompt", "deploy", "--all", "--prefect-file", str(file))
        (found,) = self.post("/deployments/filter", {})
        return str(found["id"])

    def run(self, deployment: str, **parameters: str) -> str:
        """Ask for a run now, and return its id."""
        made = self.post(f"/deployments/{deployment}/create_flow_run", {"parameters": parameters})
        return str(made["id"])

    def state(self, run: str) -> dict[str, Any]:
        """Return the state of a run: its type, name and message."""
        with urllib.request.urlopen(f"{self.api}/flow_runs/{run}", timeout=30) as answer:
            found: dict[str, Any] = json.load(answer)["state"]
        return found

    def runs(self, deployment: str) -> list[dict[str, Any]]:
        """Return all runs of a deployment."""
        found: list[dict[str, Any]] = self.post(
            "/flow_runs/filter",
            {"deployments": {"id": {"any_": [deployment]}}, "sort": "EXPECTED_START_TIME_ASC"},
        )
        return found

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Ask the server."""
        request = urllib.request.Request(
            f"{self.api}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def healthy(self) -> bool:
        """Tell whether the server answers."""
        with urllib.request.urlopen(f"{self.api}/health", timeout=5) as answer:
            return bool(answer.status == 200)

    def until(self, what: str, condition: Callable[[], Any], seconds: float = 180) -> Any:
        """Return what `condition` finds, once it does; raise AssertionError with the logs after `seconds`."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                found = condition()
            except OSError:
                found = None
            if found:
                return found
            time.sleep(0.5)
        logs = "\n".join(path.read_text(errors="replace")[-3000:] for path in self.folder.glob("*.log"))
        raise AssertionError(f"{what} did not happen in {seconds} s\n{logs}")


def _groups_under(process: int) -> set[int]:
    """Return the process groups of all that a process started: a worker's runs have groups of their own."""
    parents: dict[int, int] = {}
    groups: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(folder.name)], groups[int(folder.name)] = int(fields[1]), int(fields[2])
    below, found = {process}, set[int]()
    while new := {one for one, parent in parents.items() if parent in below} - below:
        below |= new
    found = {groups[one] for one in below if one in groups}
    return found - {os.getpgrp()}
