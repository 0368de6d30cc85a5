"""docs/operations.md names the deployments of prefect.yaml, and its commands bring them up."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import docs_pages
import pytest
import yaml

PAGE = docs_pages.ROOT / "docs" / "operations.md"


def _deployments() -> list[dict[str, Any]]:
    document = yaml.safe_load((docs_pages.ROOT / "prefect.yaml").read_text(encoding="utf-8"))
    return list(document["deployments"])


def _commands() -> list[list[str]]:
    lines = [line for block in docs_pages.blocks(PAGE) for line in block.text.splitlines()]
    return [line.split()[1:] for line in lines if line.startswith("prefect ")]


def test_every_deployment_is_described_and_no_other() -> None:
    rows = docs_pages.table(docs_pages.section(PAGE, "Deployments"))
    assert [docs_pages.code(row[0]) for row in rows] == [one["name"] for one in _deployments()]


@pytest.mark.slow
@pytest.mark.prefect
def test_the_commands_of_the_page_bring_up_a_server_with_its_deployments(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/api"
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")},
        "PREFECT_HOME": str(tmp_path),
        "PREFECT_API_URL": url,
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }
    server, *middle, worker = _commands()
    assert server[:2] == ["server", "start"]
    assert worker[:2] == ["worker", "start"]
    log = tmp_path / "log.txt"
    with _running(server, environment, log):
        _until(lambda: _asked(f"{url}/health") is True, log)
        for command in middle:
            done = subprocess.run(
                [sys.executable, "-m", "prefect", *command],
                cwd=docs_pages.ROOT,
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
        found = _asked(f"{url}/deployments/filter", {})
        assert {one["name"] for one in found} == {one["name"] for one in _deployments()}
        with _running(worker, environment, log):
            _until(lambda: len(_asked(f"{url}/work_pools/release-pool/workers/filter", {})) == 1, log)


@contextmanager
def _running(command: list[str], environment: dict[str, str], log: Path) -> Iterator[None]:
    with log.open("a") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "prefect", *command],
            cwd=docs_pages.ROOT,
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=30)


def _until(holds: Any, log: Path, seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if holds():
                return
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(0.5)
    pytest.fail(log.read_text(encoding="utf-8")[-2000:])


def _asked(url: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})  # noqa: S310 -- our own
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 -- loopback
        return json.load(answer)
