"""A worker, its runs and the server killed with -9: Prefect shows what died, the next run does the work."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from release_store.verification.verify import verify
from tests.faults.site import Site
from tests.support.front_desk import Desk


def deployed(site: Site, desk: Desk, name: str) -> str:
    wait = {"hours": 1, "every_minutes": 0.1, "settled_seconds": 2}
    policy = desk.policy(source={"path": "{period}.csv", "wait": wait})
    site.deploy(name, policy=str(policy), store=str(desk.root))
    return name


def state_type(site: Site, run: str) -> str:
    return str(site.run(run)["state_type"])


def aged(path: Path) -> Path:
    os.utime(path, (1e9, 1e9))
    return path


def test_a_run_killed_with_its_worker_is_shown_as_crashed_and_makes_room(site: Site, desk: Desk) -> None:
    deployment = deployed(site, desk, "crash")
    site.prefect("automation", "create", "--from-file", "examples/crashed-runs.yaml")
    given = {"period": "2026Q1", "input_path": str(aged(desk.table()))}
    site.start_worker()
    with desk.store.series_lock("clinic"):  # a run waits for it before its verdict
        stuck = site.start(deployment, given)
        site.until("the run's start", lambda: state_type(site, stuck) == "RUNNING")
        following = site.start(deployment, given)
        site.until("its first word", lambda: site.ask("/events/filter", heartbeats_of(stuck))["events"])
        turn = "AwaitingConcurrencySlot"
        site.until("the next run's turn", lambda: site.run(following)["state_name"] == turn)
        site.kill("worker")
    assert state_type(site, stuck) == "RUNNING"
    site.until("the crash", lambda: state_type(site, stuck) == "CRASHED")
    assert "Nothing was heard of this run" in site.run(stuck)["state"]["message"]
    site.start_worker()
    site.until("the next run", lambda: state_type(site, following) == "COMPLETED")
    site.kill("worker")
    assert [one.release_id for one in desk.store.releases()] == ["clinic-2026Q1-r1"]
    assert verify(desk.store) == []


def heartbeats_of(run: str) -> dict[str, object]:
    """What is asked of the server for a run's words that it is alive, without which it cannot fall silent."""
    names, runs = ["prefect.flow-run.heartbeat"], [f"prefect.flow-run.{run}"]
    return {"filter": {"event": {"name": names}, "resource": {"id": runs}}}


@pytest.mark.nightly
def test_waiting_outlives_server_and_worker(own_site: Site, desk: Desk) -> None:
    site = own_site
    deployment = deployed(site, desk, "waiting")
    site.start_worker()
    first = site.start(deployment, {"period": "2026-Q2"})
    site.until("the end of the first look", lambda: state_type(site, first) == "COMPLETED")
    assert "waits for the input of 2026Q2: 2026Q2.csv is not there" in site.run(first)["state"]["message"]
    assert desk.store.last_release_of("clinic", "2026Q2") is None
    site.kill("worker")
    site.kill("server")
    aged(desk.table("2026Q2.csv", seed=2))
    site.start_server()
    # A look that had begun died with the worker, and has the one turn: it is ended now, not in ten minutes.
    for state in ("PENDING", "RUNNING"):
        for run in site.runs(deployment, state):
            site.ask(f"/flow_runs/{run['id']}/set_state", {"state": {"type": "CRASHED"}, "force": True})
    site.start_worker()
    site.until("the release", lambda: desk.store.last_release_of("clinic", "2026Q2"))
    looks = [one for one in site.runs(deployment) if one["parameters"].get("period") in ("2026-Q2", "2026Q2")]
    assert len(looks) >= 2
    site.until("the end of the run", lambda: verify(desk.store) == [])
