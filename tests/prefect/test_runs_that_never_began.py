"""A run whose worker died before the run began is shown as crashed by the example's second automation."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import yaml

from tests.faults.site import ROOT, Site
from tests.support.front_desk import Desk
from tests.support.timeouts import HANG_TIMEOUT

SOON = 10  # seconds, the fewest that Prefect takes; nothing else has to happen in them


def test_a_run_that_stays_pending_is_marked_as_crashed_and_one_that_begins_is_not(
    tmp_path: Path, desk: Desk
) -> None:
    document = yaml.safe_load((ROOT / "examples/crashed-runs.yaml").read_text())
    _, never_began = document["automations"]
    assert never_began["trigger"]["after"] == ["prefect.flow-run.Pending"]

    def watch_for(seconds: float, name: str) -> None:
        """Have runs marked that stay pending for so long."""
        trigger = {**never_began["trigger"], "within": seconds}
        file = tmp_path / "automation.yaml"
        file.write_text(yaml.safe_dump({"automations": [{**never_began, "name": name, "trigger": trigger}]}))
        site.prefect("automation", "create", "--from-file", str(file))

    site = Site(tmp_path)
    try:
        site.start_server()
        watch_for(HANG_TIMEOUT, "a run that begins")
        site.deploy("pending", policy=str(desk.policy()), store=str(desk.root))
        known = site.deployments()["pending"]["id"]
        site.ask(f"/deployments/{known}", {"concurrency_limit": 2}, method="PATCH")  # both have their turn
        begun, stuck = (site.start("pending", {"period": period}) for period in ("2026Q1", "2026Q2"))

        def told(run: str, *states: str) -> None:
            for state in states:  # as a worker and a run do
                site.ask(f"/flow_runs/{run}/set_state", {"state": {"type": state}})
            assert site.run(run)["state_type"] == states[-1]

        def counted(run: str) -> list[int]:
            """How many expected events Prefect has counted for a run, once it waits for some."""
            database = f"file:{tmp_path / 'home/prefect.db'}?mode=ro"
            asked = "SELECT count FROM automation_bucket WHERE bucketing_key LIKE ?"
            with contextlib.closing(sqlite3.connect(database, HANG_TIMEOUT, uri=True)) as known:
                return [count for (count,) in known.execute(asked, (f"%{run}%",))]

        told(begun, "PENDING")
        # An event that overtakes the one before it is set aside for up to 15 minutes.
        site.until("the wait for the run's beginning", lambda: counted(begun))
        told(begun, "RUNNING")
        site.until("the beginning", lambda: counted(begun) != [0])
        watch_for(SOON, "a run that does not begin")
        told(stuck, "PENDING")
        site.until("the crash", lambda: site.run(stuck)["state_type"] == "CRASHED")
        assert site.run(begun)["state_type"] == "RUNNING"
        told(begun, "COMPLETED")
        assert "did not begin for twenty minutes" in site.run(stuck)["state"]["message"]
    finally:
        site.close()
