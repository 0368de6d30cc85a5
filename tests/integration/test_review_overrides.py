"""A review names every override, and takes what was overridden for no failure of its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from release_store.records import GateResult, Verdict
from release_store.verification.verify import verify
from services.observability.notice_channels import COMMAND_VARIABLE
from services.store_review import review_markdown, review_rows, review_store, summary_line
from tasks.risk.evidence import Evidence
from tasks.risk.registry import GATES, Gate
from tests.support import plain_run
from tests.support.at_work import decide, withdraw
from tests.support.front_desk import POLICY, Desk

Capture = pytest.CaptureFixture[str]
RELEASE, SECOND = "clinic-2026Q1-r1", "clinic-2026Q2-r1"
TOO_MUCH = {**POLICY["privacy"], "h_min": 1.585}  # more than three diseases can have

LOOSE = {"ncp": {"max": 1.0}, "suppression": {"max": 1.0}}


@pytest.fixture(scope="module")
def overridden_folder(fresh_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of `clinic` that bob and eve published though `h_min` held it back."""
    folder = tmp_path_factory.mktemp("overridden") / "folder"
    shutil.copytree(fresh_store, folder)
    desk = Desk(folder)
    with mock.patch("services.release.validate_source"):  # which would refuse what no class can hold
        held = plain_run.run(desk.store, desk.policy(privacy=TOO_MUCH, gates=LOOSE), desk.table(), "2026Q1")
    assert [g.gate for g in desk.store.gates(held) if g.verdict is Verdict.FAIL] == ["h_min"]
    for by in ("bob", "eve"):
        decide(desk.store, held, "override", by=by, reason="cnry it cannot wait")
    assert [one.release_id for one in desk.store.releases()] == [RELEASE]
    return folder


@pytest.fixture
def overridden(overridden_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    for name in ("RELEASEGATE_STORE", "RELEASEGATE_SIGNING_KEY", "RELEASEGATE_ACTOR"):
        monkeypatch.delenv(name, raising=False)
    shutil.copytree(overridden_folder, tmp_path, dirs_exist_ok=True, symlinks=True)
    return Desk(tmp_path)


def says(gate: str, verdict: Verdict) -> Gate:
    def ask(_evidence: Evidence) -> GateResult:
        return GateResult(gate, verdict, 1.0, 2.0, ">=", "", 0.0)

    return Gate(ask)


def audited(desk: Desk, capsys: Capture, *words: object, code: int = 0) -> Any:
    assert desk.say("audit", "clinic", "--by", "eve", *words, "--json") == code
    return json.loads(capsys.readouterr().out)


def test_a_gate_that_was_overridden_and_fails_again_is_no_failure_and_is_named(overridden: Desk) -> None:
    found = review_store(overridden.store, by="cyd")
    assert found.ok
    assert verify(overridden.store) == []
    ((release_id, said),) = found.overrides
    assert release_id == RELEASE
    assert said["gates"] == {"h_min": "fail"}
    assert [one["by"] for one in said["by"]] == ["bob", "eve"]
    assert "1 release published by override" in summary_line(found)
    (row,) = review_rows(found)
    assert (row["not passed"], row["overridden"]) == ("", "h_min")
    page = review_markdown(found)
    assert page.startswith("# Audit review: nothing is wrong\n")
    moments = [one["at"][:16].replace("T", " ") for one in said["by"]]
    assert (
        f"## Published by override\n\n- `{RELEASE}`: h_min (fail), "
        f"by bob ({moments[0]}) and eve ({moments[1]}); still not passed: h_min\n"
    ) in page
    assert "cnry" not in page
    (event,) = [one for one in overridden.store.events() if one.action == "series.audited"]
    (told,) = event.payload["releases"]
    assert (told["not_passed"], told["overridden"]) == ([], ["h_min"])


def test_an_override_is_named_also_where_every_gate_passes_now(
    overridden: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(GATES, "h_min", says("h_min", Verdict.PASS))
    found = review_store(overridden.store, by="cyd")
    assert found.ok
    assert f"- `{RELEASE}`: h_min (fail), by bob (" in review_markdown(found)
    assert "still not passed" not in review_markdown(found)
    withdraw(overridden.store, RELEASE, by="bob", reason="wrong")
    assert [name for name, _ in review_store(overridden.store, by="cyd").overrides] == [RELEASE]


@pytest.mark.parametrize(
    ("gate", "verdict"),
    [("k", Verdict.FAIL), ("k", Verdict.UNKNOWN), ("h_min", Verdict.ERROR)],
    ids=["another gate fails", "another gate cannot tell", "the gate that was overridden breaks"],
)
def test_any_other_gate_fails_the_review(
    overridden: Desk, monkeypatch: pytest.MonkeyPatch, capsys: Capture, gate: str, verdict: Verdict
) -> None:
    monkeypatch.setitem(GATES, gate, says(gate, verdict))
    found = review_store(overridden.store, by="cyd")
    assert not found.ok
    assert found.not_passed == [RELEASE]
    (row,) = review_rows(found)
    assert row["not passed"] == gate
    assert f"`{RELEASE}`: h_min (fail), by bob (" in review_markdown(found)
    (release,) = audited(overridden, capsys, code=4)["releases"]
    assert not release["passes"]


def test_a_later_release_is_not_excused_by_the_override_of_an_earlier_one(
    overridden: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    anew = overridden.policy(method={"name": "mondrian", "history": "repair"})  # the first was a single class
    waits = plain_run.run(overridden.store, anew, overridden.table(seed=0), "2026Q2")
    decide(overridden.store, waits, "approve", by="bob", reason="what was overridden is asked no more")
    assert overridden.store.releases()[-1].release_id == SECOND
    monkeypatch.setitem(GATES, "h_min", says("h_min", Verdict.FAIL))
    found = review_store(overridden.store, by="cyd")
    assert found.not_passed == [SECOND]


def test_the_command_tells_it_with_exit_code_0(overridden: Desk, capsys: Capture) -> None:
    (release,) = audited(overridden, capsys)["releases"]
    assert release["passes"]
    assert release["overridden"] == ["h_min"]
    assert release["override"]["gates"] == {"h_min": "fail"}
    assert [sorted(one) for one in release["override"]["by"]] == [["at", "by"]] * 2
    assert overridden.say("audit", "clinic") == 0
    out = capsys.readouterr().out
    assert "by override" in out
    assert f"{RELEASE}: h_min (fail), by bob (" in out
    assert "still not passed: h_min" in out
    assert "would not" not in out
    assert "cnry" not in out


def test_by_another_policy_nothing_is_excused(overridden: Desk, capsys: Capture) -> None:
    stricter = overridden.policy("stricter.yaml", gates=LOOSE, privacy={**TOO_MUCH, "h_min": 1.5849})
    (release,) = audited(overridden, capsys, "--policy", stricter, code=4)["releases"]
    assert release["overridden"] == []
    assert release["override"]["gates"] == {"h_min": "fail"}
    own = overridden.policy("own.yaml", gates=LOOSE, privacy=TOO_MUCH)
    (release,) = audited(overridden, capsys, "--policy", own)["releases"]
    assert release["overridden"] == ["h_min"]


def test_a_store_without_an_override_says_nothing_of_one(desk: Desk) -> None:
    assert plain_run.run(desk.store, desk.policy(), desk.table(), "2026Q1") == RELEASE
    found = review_store(desk.store, by="cyd")
    assert found.overrides == ()
    assert "override" not in review_markdown(found).replace("overridden", "")
    assert "override" not in summary_line(found)


def keeper(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a command keep what it is told, and return the file."""
    file = desk.folder / "told.jsonl"
    monkeypatch.setenv(COMMAND_VARIABLE, f"/bin/sh -c 'cat >> {file}'")
    return file


def kinds(file: Path) -> list[str]:
    lines = file.read_text().splitlines() if file.exists() else []
    return [json.loads(line)["notice"] for line in lines]


def test_what_an_audit_finds_is_told_and_what_was_overridden_is_not(
    overridden: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.observability.notice_channels.prefect_api", lambda: None)
    told = keeper(overridden, monkeypatch)
    assert overridden.say("audit", "clinic") == 0
    assert kinds(told) == []
    monkeypatch.setitem(GATES, "k", says("k", Verdict.FAIL))
    assert overridden.say("audit", "clinic", "--policy", overridden.policy(privacy=TOO_MUCH)) == 4
    assert kinds(told) == []  # a policy that is tried out
    assert overridden.say("audit", "clinic") == 4
    assert kinds(told) == ["releasegate.release.gates-failed"]
    assert json.loads(told.read_text())["not_passed"] == {RELEASE: ["k"]}


@pytest.mark.prefect
def test_the_weekly_review_that_fails_on_gates_alone_is_told(
    prefect_server: None, overridden: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows.audit_review import audit_review

    told = keeper(overridden, monkeypatch)
    monkeypatch.setitem(GATES, "k", says("k", Verdict.FAIL))
    state = audit_review(store=str(overridden.root), return_state=True)
    assert state.is_failed()
    assert kinds(told) == ["releasegate.release.gates-failed"]


@pytest.mark.prefect
def test_the_deployment_completes_and_its_page_names_the_override(
    prefect_server: None, overridden: Desk
) -> None:
    from flows.audit_review import audit_review
    from tests.support.front_desk import artifact

    state = audit_review(store=str(overridden.root), return_state=True)
    assert state.is_completed(), state.message
    assert f"- `{RELEASE}`: h_min (fail), by bob (" in artifact("audit-review")
    (row,) = json.loads(artifact("audit-review-releases"))
    assert row["overridden"] == "h_min"
