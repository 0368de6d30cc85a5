"""The release flow on Prefect's own server: what it shows there of a run, its stages and their ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from policy.errors import ReleaseGateError, TransientFailure
from tests.support.front_desk import Desk
from tests.support.prefect_site import one_artifact
from tests.support.s3_server import S3

pytestmark = pytest.mark.usefixtures("prefect_server")
Capture = pytest.CaptureFixture[str]


def ask(path: str, body: dict[str, Any]) -> Any:
    """Return the server's answer to a POST."""
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return client.request("POST", path, json=body).json()  # type: ignore[arg-type]


def last_run() -> dict[str, Any]:
    """Return the flow run that began last."""
    found: list[dict[str, Any]] = ask("/flow_runs/filter", {"sort": "START_TIME_DESC", "limit": 1})
    return found[0]


def stages_of(run: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the task runs of a flow run by what their names begin with."""
    rows = ask("/task_runs/filter", {"task_runs": {"flow_run_id": {"any_": [run["id"]]}}})
    return {row["name"].partition(":")[0]: row for row in rows}


@pytest.mark.smoke
def test_a_run_and_its_stages_complete_and_the_gates_are_a_table(desk: Desk) -> None:
    assert desk.run(desk.policy(), desk.table()) == 0
    run = last_run()
    assert (run["state_type"], run["name"]) == ("COMPLETED", "release-2026Q1")
    assert run["state"]["message"] == "clinic-2026Q1-r1 is published"
    stages = stages_of(run)
    assert {"intake", "validation", "repair", "staging", "risk gate", "publication"} <= stages.keys()
    assert {stage["state_type"] for stage in stages.values()} == {"COMPLETED"}
    gates = one_artifact(ask("/artifacts/filter", {"artifacts": {"key": {"any_": ["gates-clinic"]}}}))
    assert {row["verdict"] for row in json.loads(gates["data"])} == {"pass"}
    assert gates["flow_run_id"] == run["id"]


def test_a_table_that_is_an_object_is_read_in_a_stage(desk: Desk, s3: S3) -> None:
    path = desk.folder / "trusted.yaml"
    path.write_text(s3.trusted)
    path.chmod(0o600)
    address = s3.put("flow/people.csv", desk.table().read_bytes())
    assert desk.run(desk.policy(), address) == 0
    assert last_run()["parameters"]["input_path"] == str(address)


def test_a_candidate_that_is_held_back_is_a_run_that_failed(desk: Desk) -> None:
    assert desk.run(desk.policy(gates={"ncp": {"max": 0.0}}), desk.table()) == 4
    run = last_run()
    assert run["state_type"] == "FAILED"
    assert run["state"]["message"].startswith("clinic-2026Q1-c1 is blocked: ")
    assert "publication" not in stages_of(run)


def test_a_stage_that_the_system_refused_is_tried_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from services import candidate_run

    written, tries = candidate_run.write_candidate_report, []

    def refused_once(*args: Any, **named: Any) -> Any:
        tries.append(1)
        if len(tries) == 1:
            raise TransientFailure("the disk was busy")
        return written(*args, **named)

    monkeypatch.setattr(candidate_run, "write_candidate_report", refused_once)
    monkeypatch.setattr("flows.runtime.prefect_runtime.RETRY_SECONDS", 0)
    assert desk.run(desk.policy(), desk.table()) == 0
    assert len(tries) == 2
    assert stages_of(last_run())["report"]["run_count"] == 2


def test_an_unforeseen_exception_is_kept_by_the_server_as_its_kind_alone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def broken(*_: Any) -> Any:
        raise ValueError("CANARY of a person's row")

    monkeypatch.setattr("services.pipeline.prepare_table", broken)
    assert desk.run(desk.policy(), desk.table()) == 1
    out, err = capsys.readouterr()
    run = last_run()
    assert run["state_type"] == "FAILED"
    assert "CANARY" not in out + err + json.dumps(run) + json.dumps(stages_of(run))
    assert "ValueError" in json.dumps(run["state"])


def test_the_exception_that_prefect_gets_has_no_past(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from flows.runtime.local_run import run_release

    def broken(*_: Any) -> Any:
        raise ValueError("CANARY of a person's row")

    monkeypatch.setattr("services.pipeline.prepare_table", broken)
    with pytest.raises(ReleaseGateError) as caught:
        run_release(desk.policy(), store=desk.root, period="2026Q1", input_path=desk.table(), actor="ann")
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert "CANARY" not in repr(vars(caught.value))
