"""A run of the flow with everybody watching, and one that nobody can watch."""

from __future__ import annotations

import json
import sys
from typing import Any
from unittest import mock

import pytest

from services.observability import lineage, logs
from services.observability.notice_channels import COMMAND_VARIABLE
from tests.support.front_desk import Desk
from tests.support.prefect_site import one_artifact

pytestmark = pytest.mark.usefixtures("prefect_server")
Capture = pytest.CaptureFixture[str]
KEEPER = "import sys, pathlib; p = pathlib.Path(sys.argv[1]); p.open('a').write(sys.stdin.read())"
STAGES = (
    "intake",
    "validation",
    "preprocessing",
    "representation",
    "partitioning",
    "aggregation",
    "repair",
    "recoding",
    "staging",
    "figures",
    "risk gate",
    "report",
    "publication",
)


@pytest.fixture
def watched(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    (desk.folder / "keep.py").write_text(KEEPER)
    keep = f"{sys.executable} '{desk.folder / 'keep.py'}' '{desk.folder / 'told.jsonl'}'"
    monkeypatch.setenv(COMMAND_VARIABLE, keep)
    monkeypatch.setenv(logs.VARIABLE, str(desk.folder / "log.jsonl"))
    monkeypatch.setenv(lineage.VARIABLE, str(desk.folder / "lineage.jsonl"))
    return desk


def read(desk: Desk, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (desk.folder / name).read_text().splitlines()]


def prefect(path: str, body: dict[str, Any]) -> Any:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return client.request("POST", path, json=body).json()  # type: ignore[arg-type]


def test_a_run_that_publishes_is_told_to_everybody_who_watches(watched: Desk, capsys: Capture) -> None:
    desk = watched
    policy = desk.policy(gates={"umr": {"max": 1.0}})
    assert desk.run(policy, desk.table(), "2026Q1", "ann", "--json") == 0
    outcome = json.loads(capsys.readouterr().out)
    release = "clinic-2026Q1-r1"

    assert [one["stage"] for one in outcome["stages"]] == list(STAGES)
    sizes = {one["stage"]: one for one in outcome["stages"]}
    assert sizes["intake"]["rows"] == 400
    assert sizes["risk gate"]["classes"] == outcome["classes"]
    assert sizes["staging"]["bytes"] > 1000
    assert all(one["peak_memory_bytes"] > 10_000_000 for one in outcome["stages"])

    log = read(desk, "log.jsonl")
    events = [line["event"] for line in log]
    assert events[0] == "run.started"
    assert events.count("stage.ended") == len(STAGES)
    (ended,) = [line for line in log if line["event"] == "run.ended"]
    assert (ended["state"], ended["release"], ended["series"]) == ("published", release, "clinic")
    assert ended["seconds"] > 0
    (run_id,) = {line["run"] for line in log if "run" in line}

    start, complete = read(desk, "lineage.jsonl")
    assert (start["eventType"], complete["eventType"]) == ("START", "COMPLETE")
    assert complete["run"]["facets"]["parent"]["run"]["runId"] == run_id
    (source,), (made,) = complete["inputs"], complete["outputs"]
    assert source["name"] == "clinic/input/people.csv"
    assert {one["name"] for one in source["facets"]["schema"]["fields"]} >= {"age", "disease", "ward"}
    digest = desk.store.candidate("clinic-2026Q1-c1").candidate_digest
    assert made["facets"]["version"]["datasetVersion"] == f"{release}:{digest}"
    assert made["outputFacets"]["outputStatistics"]["rowCount"] == 400

    (notice,) = read(desk, "told.jsonl")
    assert notice["text"] == f"{release} is published: 400 of 400 rows."
    assert notice["links"]["run_id"] == run_id

    artifacts = prefect("/artifacts/filter", {"artifacts": {"flow_run_id": {"any_": [run_id]}}})
    table = one_artifact([one for one in artifacts if one["key"] == "stages-clinic"])
    assert [row["stage"] for row in json.loads(table["data"])] == list(STAGES)
    assert "verdict.not_shown" not in events
    keys = ("gates-clinic", "verdict-clinic", "risk-utility-clinic")
    kept = prefect("/artifacts/filter", {"artifacts": {"key": {"any_": keys}}})
    found = {one["key"]: one for one in sorted(kept, key=lambda one: one["created"])}
    assert found["verdict-clinic"]["data"].startswith("# ✓ Published\n")
    assert release in found["verdict-clinic"]["data"]
    assert found["verdict-clinic"]["flow_run_id"] == run_id
    assert found["risk-utility-clinic"]["data"].startswith("data:image/png;base64,")
    sent = [line["channel"] for line in log if line["event"] == "notice.sent"]
    assert sorted(sent) == ["command", "prefect"]


def test_a_candidate_that_is_blocked_has_failed_for_lineage(watched: Desk) -> None:
    assert watched.run(watched.policy(gates={"ncp": {"max": 0.0}}), watched.table()) == 4
    start, end = read(watched, "lineage.jsonl")
    assert end["eventType"] == "FAIL"
    assert end["run"]["facets"]["errorMessage"]["message"] == "blocked by the gates ncp"
    assert end["outputs"] == []
    assert [line["state"] for line in read(watched, "log.jsonl") if "state" in line] == ["blocked"]
    assert [one["failing"] for one in read(watched, "told.jsonl")] == [["ncp"]]
    assert start["run"]["runId"] == end["run"]["runId"]


def test_a_decision_that_publishes_leads_from_the_candidate_to_the_release(watched: Desk) -> None:
    from services.decisions import decide
    from services.outcome import Outcome
    from tests.support.store.hand_made import approved, publish_one

    def published(store: Any, candidate: str, *_: Any) -> Outcome:
        release = publish_one(store, candidate)
        return Outcome("clinic", "2024", "published", candidate, release.release_id)

    candidate = approved(watched.store)
    with mock.patch("services.decisions._decide", published):
        outcome = decide(watched.store, candidate, "approve", by="bea", reason="checked")
    _, end = read(watched, "lineage.jsonl")
    assert end["job"]["name"] == "clinic.decide"
    assert end["inputs"][0]["facets"]["version"]["datasetVersion"].startswith(f"{candidate}:")
    assert end["outputs"][0]["facets"]["version"]["datasetVersion"].startswith(f"{outcome.release_id}:")
    assert read(watched, "log.jsonl")[0]["event"] == "decision.taken"
    assert [one["release"] for one in read(watched, "told.jsonl")] == [outcome.release_id]


def test_a_run_that_breaks_is_told_by_the_kind_of_its_error(watched: Desk) -> None:
    broken = mock.patch("tasks.representation.parts.unit_ranges", side_effect=ValueError("cnryrow"))
    with broken:
        assert watched.run(watched.policy(), watched.table()) == 1
    log = read(watched, "log.jsonl")
    (failed,) = [line for line in log if line["event"] == "stage.failed"]
    assert (failed["stage"], failed["error"], failed["level"]) == (
        "representation",
        "ReleaseGateError",
        "error",
    )
    assert log[-1]["event"] == "run.failed"
    _, end = read(watched, "lineage.jsonl")
    assert end["eventType"] == "FAIL"
    assert end["run"]["facets"]["errorMessage"]["message"] == "ended by ReleaseGateError"
    everything = "".join(path.read_text() for path in watched.folder.glob("*.jsonl"))
    assert "cnryrow" not in everything


def test_a_run_that_is_stopped_is_aborted(watched: Desk) -> None:
    with mock.patch("services.pipeline.prepare_table", side_effect=KeyboardInterrupt):
        assert watched.run(watched.policy(), watched.table()) in (1, 130)
    _, end = read(watched, "lineage.jsonl")
    assert end["eventType"] == "ABORT"
    assert read(watched, "log.jsonl")[-1]["event"] == "run.failed"


def test_a_release_is_made_where_nobody_can_watch_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv(COMMAND_VARIABLE, "/nowhere/at/all")
    monkeypatch.setenv("RELEASEGATE_NOTICE_URL", "http://127.0.0.1:9/hook")
    monkeypatch.setenv(logs.VARIABLE, "/nowhere/log")
    monkeypatch.setenv(lineage.VARIABLE, "http://127.0.0.1:9")
    with mock.patch("flows.runtime.prefect_runtime.create_table_artifact", side_effect=ConnectionError):
        assert desk.run(desk.policy(), desk.table()) == 0
    assert [one.release_id for one in desk.store.releases()] == ["clinic-2026Q1-r1"]
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("releasegate: ")]
    assert sorted(line.split(" (")[0] for line in told if "waits" not in line) == [
        f"releasegate: the lineage could not be sent to {lineage.VARIABLE}: cannot be reached",
        f"releasegate: the log of {logs.VARIABLE} cannot be written",
    ]
    waits = sorted(line.partition(" waits: ")[0] for line in told if "waits" in line)
    assert waits == ["releasegate: a notice by command", "releasegate: a notice by url"]
