"""A real Prefect server, worker and deployment of the release flow, to be killed and started again."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import yaml

from tests.support.prefect_site import PREFECT, ROOT, PrefectSite
from tests.support.timeouts import HANG_TIMEOUT


class Site(PrefectSite):
    """A server, a worker and one deployment, in a home of their own."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, {})
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "RELEASEGATE_"))},
            "RELEASEGATE_TRUST": os.environ["RELEASEGATE_TRUST"],
            "PREFECT_HOME": str(folder / "home"),
            "PREFECT_API_URL": f"{self.address}/api",
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "DO_NOT_TRACK": "1",
            "PREFECT_WORKER_QUERY_SECONDS": "2",
            "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
            "PYTHONPATH": str(ROOT),
        }

    @property
    def serverless(self) -> dict[str, str]:
        """The environment of a command that no server is named for."""
        return {name: value for name, value in self.environment.items() if name != "PREFECT_API_URL"}

    def start_server(self) -> None:
        """Start the server, and wait until it answers."""
        self.begin("server", [*PREFECT, "server", "start", "--host", "127.0.0.1", "--port", self.port])
        self.until("the server's start", self.healthy)

    def start_worker(self) -> None:
        """Start a worker of the pool."""
        self.begin("worker", [*PREFECT, "worker", "start", "--pool", "release-pool"])

    def prefect(self, *arguments: str) -> str:
        """Carry out a command of Prefect's, and return what it says."""
        done = subprocess.run(
            [*PREFECT, *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=HANG_TIMEOUT,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def deploy(self, name: str, **parameters: str) -> None:
        """Deploy the release flow under a name, one run at a time."""
        file = self.folder / "prefect.yaml"
        one = {
            "name": name,
            "entrypoint": "flows/release.py:release",
            "tags": ["releasegate"],
            "parameters": parameters,
            "concurrency_limit": {"limit": 1, "collision_strategy": "ENQUEUE"},
            "schedules": [],
            "work_pool": {"name": "release-pool"},
        }
        pull = [{"prefect.deployments.steps.set_working_directory": {"directory": str(ROOT)}}]
        file.write_text(yaml.safe_dump({"name": "faults", "pull": pull, "deployments": [one]}))
        self.prefect("work-pool", "create", "release-pool", "--type", "process", "--overwrite")
        self.prefect("--no-prompt", "deploy", "--all", "--prefect-file", str(file))
