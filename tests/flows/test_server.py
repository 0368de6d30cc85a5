"""The deployments of prefect.yaml against a real Prefect server, pool and worker, in a home of their own."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PREFECT = [sys.executable, "-m", "prefect"]

pytestmark = [pytest.mark.prefect, pytest.mark.slow]


class Server:
    """A server on a free port, and a copy of the project that is deployed from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        shutil.copytree(ROOT / "examples", self.project / "examples")
        for name in ("flows", "tasks", "policy", "release_store", "expectations"):
            shutil.copytree(ROOT / name, self.project / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "prefect.yaml", self.project / "prefect.yaml")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.api = f"http://127.0.0.1:{self.port}/api"
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")},
            "PREFECT_HOME": str(folder / "home"),
            "PREFECT_API_URL": self.api,
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "DO_NOT_TRACK": "1",
            "PREFECT_WORKER_QUERY_SECONDS": "2",
            "PYTHONPATH": str(self.project),
        }
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, *arguments: str) -> None:
        with (self.folder / f"{arguments[0]}.log").open("wb") as log:
            self._running.append(
                subprocess.Popen(
                    [*PREFECT, *arguments], cwd=self.project, env=self.environment, stdout=log, stderr=log
                )
            )

    def prefect(self, *arguments: str) -> str:
        done = subprocess.run(
            [*PREFECT, *arguments],
            cwd=self.project,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def post(self, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(
            f"{self.api}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def runs(self, deployment_id: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.post(
            "/flow_runs/filter", {"deployments": {"id": {"any_": [deployment_id]}}}
        )
        return found

    def until(self, what: str, condition: Any, seconds: float = 120) -> Any:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                found = condition()
            except OSError:
                found = None
            if found:
                return found
            time.sleep(1)
        logs = "\n".join(path.read_text(errors="replace")[-3000:] for path in self.folder.glob("*.log"))
        raise AssertionError(f"{what} did not happen in {seconds} s\n{logs}")

    def healthy(self) -> bool:
        with urllib.request.urlopen(f"{self.api}/health", timeout=5) as answer:
            return bool(answer.status == 200)

    def stop(self) -> None:
        for process in reversed(self._running):
            process.terminate()
        for process in self._running:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("server"))
    try:
        made.start("server", "start", "--host", "127.0.0.1", "--port", str(made.port))
        made.until("the server's start", made.healthy)
        made.prefect("work-pool", "create", "release-pool", "--type", "process")
        made.prefect("--no-prompt", "deploy", "--all")
        yield made
    finally:
        made.stop()


def deployments(server: Server) -> dict[str, dict[str, Any]]:
    return {found["name"]: found for found in server.post("/deployments/filter", {})}


def test_both_deployments_are_there_and_the_scheduled_one_yields_runs(server: Server) -> None:
    found = deployments(server)
    assert set(found) == {"scheduled-release", "manual-release"}
    scheduled = found["scheduled-release"]["id"]
    runs = server.until("a scheduled run", lambda: server.runs(scheduled))
    assert {run["state_type"] for run in runs} == {"SCHEDULED"}
    assert server.runs(found["manual-release"]["id"]) == []


def test_a_worker_carries_out_a_manual_release_and_shows_its_gates(server: Server) -> None:
    from examples.register.generate import generate, write
    from release_store.store import ReleaseStore

    tables = write(server.project / "data", generate(quarters=("2026Q1",), n=2_000))
    policy = server.project / "examples" / "policies" / "register.yaml"
    policy.write_text(policy.read_text().replace("name: ae-lrhma", "name: mondrian").replace("0.60", "1.0"))
    store = ReleaseStore.create(server.project / "store")
    server.start("worker", "start", "--pool", "release-pool")
    server.prefect(
        "deployment",
        "run",
        "release/manual-release",
        "-p",
        "policy=examples/policies/register.yaml",
        "-p",
        "period=2026Q1",
        "-p",
        f"input_path={tables[0]}",
    )
    manual = deployments(server)["manual-release"]["id"]
    ended = ("COMPLETED", "FAILED", "CRASHED")
    run = server.until(
        "the end of the manual run",
        lambda: next((r for r in server.runs(manual) if r["state_type"] in ended), None),
        240,
    )
    assert run["state_type"] == "COMPLETED", run["state"]
    assert [release.period for release in store.releases()] == ["2026Q1"]
    artifacts = server.post("/artifacts/filter", {})
    tables_shown = [a for a in artifacts if a["key"] == "gates-regional-health-register"]
    assert len(tables_shown) == 1
    rows = json.loads(tables_shown[0]["data"])
    assert {row["verdict"] for row in rows} == {"pass"}
    tasks = server.post("/task_runs/filter", {})
    names = {task["name"].partition("-")[0] for task in tasks}
    assert any(name.startswith("intake: read the period's table") for name in names), names
