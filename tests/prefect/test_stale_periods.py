"""A period that the approval of an earlier one made stale runs again by itself, on Prefect's own server."""

from __future__ import annotations

from typing import Any

import pytest

from release_store.records import CandidateState
from tests.support.front_desk import Desk

pytestmark = pytest.mark.usefixtures("prefect_server")
Capture = pytest.CaptureFixture[str]
STALE = "clinic-2026Q2-c1"


@pytest.fixture
def client() -> Any:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as found:
        yield found


def scheduled(client: Any, deployment: Any) -> list[Any]:
    from prefect.client.schemas import filters

    of_it = filters.FlowRunFilter(deployment_id=filters.FlowRunFilterDeploymentId(any_=[deployment]))
    return [one for one in client.read_flow_runs(flow_run_filter=of_it) if one.state.is_scheduled()]


def approved(desk: Desk, candidate: str, capsys: Capture) -> Any:
    """The state of the flow by which bob approves a candidate with a signed line."""
    from flows.decision import decide_release

    capsys.readouterr()
    assert desk.say("sign", "approve", candidate, "--by", "bob", "--reason", "looked at it") == 0
    return decide_release(
        candidate=candidate,
        candidate_digest=desk.store.candidate(candidate).candidate_digest,
        decision="approve",
        by="bob",
        reason="looked at it",
        signature=capsys.readouterr().out.strip(),
        store=str(desk.root),
        return_state=True,
    )


def test_a_period_that_an_approval_made_stale_runs_again_once(
    client: Any, desk: Desk, capsys: Capture
) -> None:
    from prefect.flow_engine import run_flow

    from flows.release import release
    from flows.runtime.rerun import run_again

    policy = desk.policy(approval={"approvers": 1}, source={"path": "{period}.csv"})
    desk.table("2026Q1.csv")
    desk.table("2026Q2.csv", seed=2)
    deployment = client.create_deployment(client.create_flow(release), "stale")
    for period in ("2026Q1", "2026Q2"):
        given = {"policy": str(policy), "store": str(desk.root), "period": period}
        run = client.create_flow_run_from_deployment(deployment, parameters=given)
        state = run_flow(release, flow_run=run, parameters=given, return_type="state")
        assert state.message == f"clinic-{period}-c1 awaits 1 approval"
    assert not scheduled(client, deployment)

    state = approved(desk, "clinic-2026Q1-c1", capsys)
    again = f"{STALE} is stale, and its period 2026Q2 runs again"
    assert state.message == f"clinic-2026Q1-r1 is published; {again}"
    stale = desk.store.candidate(STALE)
    assert stale.state is CandidateState.STALE
    (run,) = scheduled(client, deployment)
    assert run.parameters == {"policy": str(policy), "store": str(desk.root), "period": "2026Q2"}
    assert run_again(desk.store, stale) == again  # asked twice, it runs once
    assert [one.id for one in scheduled(client, deployment)] == [run.id]

    state = run_flow(release, flow_run=run, parameters=run.parameters, return_type="state")
    assert state.message == "clinic-2026Q2-c2 awaits 1 approval"
    assert not scheduled(client, deployment)
    state = approved(desk, "clinic-2026Q2-c2", capsys)
    assert state.message == "clinic-2026Q2-r1 is published"

    desk.table("2026Q2.csv").unlink()  # without its input, a person has to run it
    told = run_again(desk.store, stale)
    assert told == (
        f"{STALE} is stale, and no deployment can run its period again: "
        "releasegate run POLICY --period 2026Q2"
    )
