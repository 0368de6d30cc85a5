"""A place where releases run as an agency runs them: a project, a Prefect server with a password, a worker.

The commands are those of docs/operations.md, as text, in bash.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from release_store.store import ReleaseStore
from tests.support.prefect_site import ROOT, PrefectSite
from tests.support.timeouts import HANG_TIMEOUT

PACKAGES = (
    "examples",
    "cli",
    "releasegate",
    "expectations",
    "flows",
    "policy",
    "release_store",
    "reports",
    "services",
    "tasks",
    "web",
)
PORT = "4200"  # of the page; the tests' server has a free one


class Site(PrefectSite):
    """A project to deploy from, and what was started there."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, {})
        self.project = folder / "project"
        for name in PACKAGES:
            shutil.copytree(ROOT / name, self.project / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "prefect.yaml", self.project)
        for name in ("bin", "home", "tmp"):
            (folder / name).mkdir()
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
        for name, module in (("releasegate", "-m cli"), ("prefect", "-m prefect"), ("python", "")):
            script = folder / "bin" / name
            script.write_text(f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n')
            script.chmod(0o755)

    @property
    def store(self) -> ReleaseStore:
        return ReleaseStore.open(self.project / "store")

    # Commands ------------------------------------------------------------------------------------

    def shell(self, line: str, *, code: int = 0, seconds: float = HANG_TIMEOUT) -> str:
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
        """Start a line that stays."""
        self.begin(name, ["bash", "-c", f"exec {self._here(line).removesuffix('&')}"], self.project)

    def pause(self, deployment: str) -> None:
        """Let the schedules of a deployment fire no more; runs that were asked for otherwise stay."""
        found = self.deployments()[deployment]
        for schedule in found["schedules"]:
            path = f"/deployments/{found['id']}/schedules/{schedule['id']}"
            self.ask(path, {"active": False}, method="PATCH")

    def _here(self, line: str) -> str:
        return line.replace(f"127.0.0.1:{PORT}", f"127.0.0.1:{self.port}").replace(
            "prefect server start ", f"prefect server start --port {self.port} "
        )
