"""Which period a scheduled run is for, on Prefect's own server: one that is held back keeps its time."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from policy.period import period_at
from tests.support.front_desk import Desk

pytestmark = pytest.mark.usefixtures("prefect_server")
DUE = datetime(2025, 12, 31, 15, 30, tzinfo=UTC)  # 00:30 on 1 January 2026 in Tokyo


@pytest.fixture
def client() -> Any:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as found:
        yield found


def deployed(client: Any, name: str, limit: int | None = None) -> UUID:
    """A deployment of the release flow, of which at most `limit` runs run at once; the others wait."""
    from prefect.client.schemas.objects import ConcurrencyOptions

    from flows.release import release

    options = ConcurrencyOptions(collision_strategy="ENQUEUE") if limit else None
    found: UUID = client.create_deployment(
        client.create_flow(release), name, concurrency_limit=limit, concurrency_options=options
    )
    return found


def due(client: Any, deployment: UUID, at: datetime = DUE, **parameters: str) -> Any:
    from prefect.states import Scheduled

    return client.create_flow_run_from_deployment(
        deployment, parameters=parameters, state=Scheduled(scheduled_time=at)
    )


def test_a_late_run_keeps_the_time_for_which_it_was_scheduled(client: Any) -> None:
    from prefect.states import Late, Pending

    run = due(client, deployed(client, "late"))
    client.set_flow_run_state(run.id, Late(scheduled_time=DUE))
    assert client.set_flow_run_state(run.id, Pending()).status.value == "ACCEPT"
    assert client.read_flow_run(run.id).expected_start_time == DUE


def test_a_run_that_waits_for_its_place_keeps_it_too(client: Any) -> None:
    from prefect.states import Pending

    deployment = deployed(client, "held", limit=1)
    first, second = due(client, deployment), due(client, deployment)
    assert client.set_flow_run_state(first.id, Pending()).status.value == "ACCEPT"
    answer = client.set_flow_run_state(second.id, Pending())
    assert answer.status.value == "REJECT"
    held = client.read_flow_run(second.id)
    assert (held.state.name, held.state_type.value) == ("AwaitingConcurrencySlot", "SCHEDULED")
    assert held.next_scheduled_start_time > DUE  # moved on, and would be of another quarter
    assert held.expected_start_time == DUE


@pytest.mark.parametrize(("zone", "period"), [("Asia/Tokyo", "2025Q4"), ("UTC", "2025Q3")])
def test_the_run_is_for_the_period_of_its_scheduled_time_in_the_policys_zone(
    client: Any, desk: Desk, zone: str, period: str
) -> None:
    from prefect.flow_engine import run_flow
    from prefect.states import Late

    from flows.release import release

    policy, table = desk.policy(timezone=zone), desk.table()
    given = {"policy": str(policy), "input_path": str(table), "store": str(desk.root)}
    run = due(client, deployed(client, f"zone-{period}"), **given)
    client.set_flow_run_state(run.id, Late(scheduled_time=DUE))
    run_flow(release, flow_run=client.read_flow_run(run.id), parameters=given, return_type="state")
    assert [one.period for one in desk.store.releases()] == [period]


def test_a_run_whose_input_is_late_schedules_one_next_look_however_many_ticks_ask(
    client: Any, desk: Desk
) -> None:
    from prefect.client.schemas import filters
    from prefect.flow_engine import run_flow

    from flows.release import release

    now = datetime.now(UTC)
    period = period_at("quarterly", now.date())
    policy = desk.policy(source={"path": "{period}.csv", "wait": {"hours": 5, "every_minutes": 0.05}})
    given = {"policy": str(policy), "store": str(desk.root)}
    deployment = deployed(client, "waits")
    ended = []
    for minutes in (0, 1, 2):
        run = due(client, deployment, now - timedelta(minutes=minutes), **given)
        ended.append(run_flow(release, flow_run=run, parameters=given, return_type="state"))
    assert {(state.name, state.type.value) for state in ended} == {("Completed", "COMPLETED")}
    told = f"waits for the input of {period}: {period}.csv is not there; next check at "
    assert all(state.message.startswith(told) for state in ended)
    of_it = filters.FlowRunFilter(deployment_id=filters.FlowRunFilterDeploymentId(any_=[deployment]))
    looks = [one for one in client.read_flow_runs(flow_run_filter=of_it) if one.state.is_scheduled()]
    following, spare = sorted(looks, key=lambda one: one.expected_start_time)
    every = timedelta(seconds=3)
    assert now + every <= following.expected_start_time <= datetime.now(UTC) + every
    handed_on = {name: following.parameters[name] for name in ("period", "look", "wait_until", "seen")}
    until = (now + timedelta(hours=5)).isoformat(timespec="microseconds")
    assert handed_on == {"period": period, "look": 2, "wait_until": until, "seen": ""}
    assert spare.parameters == {**following.parameters, "look": 3}
    assert spare.expected_start_time > following.expected_start_time
    assert desk.store.n_events() == 1

    # The next look finds it.
    os.utime(desk.table(f"{period}.csv"), (1e9, 1e9))
    run_flow(release, flow_run=following, parameters=following.parameters, return_type="state")
    assert [one.period for one in desk.store.releases()] == [period]


def test_the_last_look_gives_up_once_and_a_later_tick_does_not_wait_again(client: Any, desk: Desk) -> None:
    from prefect.flow_engine import run_flow

    from flows.release import release
    from policy.errors import InputError

    policy = desk.policy(source={"path": "{period}.csv", "wait": {"hours": 1}})
    given = {"policy": str(policy), "store": str(desk.root)}
    deployment = deployed(client, "gives-up")
    for _ in range(2):
        run = due(client, deployment, **given)
        state = run_flow(release, flow_run=run, parameters=given, return_type="state")
        assert state.type.value == "FAILED"
        error = state.result(raise_on_failure=False)
        assert isinstance(error, InputError)
        assert error.exit_code == 3
    events = [one.object for one in desk.store.events() if one.action == "input.missing"]
    assert events == ["clinic/2025Q3"]
