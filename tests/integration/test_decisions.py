"""People decide on candidates from the command line: who may, on what, and what comes of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from release_store.records import CandidateState
from tests.support.front_desk import Desk
from tests.support.plain_prefect import plain_prefect

Capture = pytest.CaptureFixture[str]
STALE = "stale: the series has a new release, or the period a new candidate, since its gates ran"
CANDIDATE = "clinic-2026Q1-c1"


@pytest.fixture(scope="module")
def waiting_folder(fresh_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose store holds one candidate that waits for one approval, made by ann."""
    folder = tmp_path_factory.mktemp("waiting") / "folder"
    shutil.copytree(fresh_store, folder)
    desk = Desk(folder)
    with plain_prefect():
        assert desk.run(desk.policy(approval={"approvers": 1}), desk.table()) == 5
    return folder


@pytest.fixture
def waiting(waiting_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.delenv("RELEASEGATE_SIGNING_KEY", raising=False)
    shutil.copytree(waiting_folder, tmp_path, dirs_exist_ok=True, symlinks=True)
    return Desk(tmp_path)


def decide(desk: Desk, word: str, by: str, reason: str = "seen", candidate: str = CANDIDATE) -> int:
    return desk.say(word, candidate, "--by", by, "--reason", reason)


def state(desk: Desk) -> CandidateState:
    return desk.store.candidate(CANDIDATE).state


def test_a_candidate_that_waits_publishes_nothing_and_tells_the_next_step(
    desk: Desk, capsys: Capture
) -> None:
    assert desk.run(desk.policy(approval={"approvers": 1}), desk.table()) == 5
    shown = capsys.readouterr().out
    assert f"{CANDIDATE} awaits 1 approval" in shown
    assert f"next: releasegate approve {CANDIDATE} --by NAME --reason TEXT" in shown
    assert state(desk) is CandidateState.AWAITING_APPROVAL
    assert list((desk.root / "releases").iterdir()) == []


@pytest.mark.enemy("operator", "gains a role")
def test_who_made_it_cannot_approve_it(waiting: Desk, capsys: Capture) -> None:
    assert decide(waiting, "approve", "Ann") == 2
    assert capsys.readouterr().err.splitlines() == [
        f"releasegate: {CANDIDATE}: Ann made it, and cannot decide on it",
        "  Ask somebody else.",
    ]
    assert state(waiting) is CandidateState.AWAITING_APPROVAL


def test_another_person_approves_and_so_publishes_it(waiting: Desk, capsys: Capture) -> None:
    assert decide(waiting, "approve", "bob", "looked at the gates") == 0
    assert capsys.readouterr().out == "clinic-2026Q1-r1 is published\n"
    release = waiting.root / "releases/clinic/clinic-2026Q1-r1"
    manifest = json.loads((release / "manifest.json").read_text())
    assert [(one["by"], one["reason"]) for one in manifest["decisions"]] == [("bob", "looked at the gates")]
    staged = waiting.root / "candidates" / CANDIDATE / "data.parquet"
    assert (release / "data.parquet").read_bytes() == staged.read_bytes()
    assert waiting.say("verify") == 0
    capsys.readouterr()
    assert waiting.say("show", "clinic-2026Q1-r1", "--json") == 0
    assert [one["by"] for one in _document(capsys)["decisions"]] == ["bob"]


def test_a_rejected_candidate_stays_rejected(waiting: Desk, capsys: Capture) -> None:
    assert decide(waiting, "reject", "bob", "too coarse") == 0
    assert capsys.readouterr().out == f"{CANDIDATE} is rejected\n"
    assert decide(waiting, "approve", "eve") == 2
    assert "is rejected, and only a candidate that awaits approval can be approved" in capsys.readouterr().err
    assert state(waiting) is CandidateState.REJECTED
    assert waiting.store.releases() == []


@pytest.mark.parametrize(
    ("by", "reason", "finding"),
    [
        ("bob", "  ", "the decision has no reason"),
        ("bob", "", "the decision has no reason"),
        ("", "ok", "the decision has no name"),
    ],
)
def test_a_decision_has_a_name_and_a_reason(
    waiting: Desk, capsys: Capture, by: str, reason: str, finding: str
) -> None:
    assert decide(waiting, "approve", by, reason) == 2
    told = capsys.readouterr().err.splitlines()
    assert told[0] == f"releasegate: {CANDIDATE}: {finding}"
    assert len(told) == 2
    assert state(waiting) is CandidateState.AWAITING_APPROVAL


@pytest.mark.parametrize("word", ["approve", "reject"])
def test_a_candidate_that_is_not_there_cannot_be_decided_on(
    waiting: Desk, capsys: Capture, word: str
) -> None:
    assert decide(waiting, word, "bob", candidate="clinic-2026Q1-c9") == 2
    told = capsys.readouterr().err.splitlines()
    assert "clinic-2026Q1-c9" in told[0]
    assert len(told) <= 2


def test_a_release_in_between_makes_the_candidate_stale(waiting: Desk, capsys: Capture) -> None:
    quick = waiting.policy("quick.yaml")
    assert waiting.run(quick, waiting.table(seed=2), "2026Q2") == 0
    capsys.readouterr()
    assert state(waiting) is CandidateState.STALE
    assert decide(waiting, "approve", "bob") == 4
    assert capsys.readouterr().err.splitlines() == [
        f"releasegate: {CANDIDATE}: {STALE}",
        f"  Run `releasegate rejudge {CANDIDATE}`, and decide on the new candidate.",
    ]
    assert state(waiting) is CandidateState.STALE
    assert [release.period for release in waiting.store.releases()] == ["2026Q2"]
    assert waiting.say("verify") == 0


def test_an_approval_says_how_to_run_a_period_that_it_makes_stale(waiting: Desk, capsys: Capture) -> None:
    later = waiting.policy(approval={"approvers": 1})
    assert waiting.run(later, waiting.table(seed=2), "2026Q2") == 5
    capsys.readouterr()
    assert decide(waiting, "approve", "bob") == 0
    command = "releasegate run POLICY --period 2026Q2 --input TABLE"
    assert capsys.readouterr().out.splitlines() == [
        "clinic-2026Q1-r1 is published",
        f"clinic-2026Q2-c1 is stale now; run its period again: {command}",
    ]


@pytest.mark.enemy("store writer", "publishes a person")
def test_files_that_changed_after_the_gates_are_not_published(waiting: Desk, capsys: Capture) -> None:
    staged = waiting.root / "candidates" / CANDIDATE / "data.csv"
    staged.write_text(staged.read_text() + "1,2,3,4,Aix,flu,a\n")
    assert decide(waiting, "approve", "bob") == 6
    told = capsys.readouterr().err.splitlines()
    assert told[0].endswith(": changed since its gates ran: data.csv")
    assert len(told) == 2
    assert waiting.store.releases() == []


def test_two_approvals_are_of_two_people(desk: Desk, capsys: Capture) -> None:
    assert desk.run(desk.policy(approval={"approvers": 2}), desk.table()) == 5
    capsys.readouterr()
    assert decide(desk, "approve", "bob") == 5
    assert capsys.readouterr().out == f"{CANDIDATE} has 1 of 2 approvals\n"
    assert decide(desk, "approve", "Bob ") == 2
    assert "has decided on it before" in capsys.readouterr().err
    assert desk.store.releases() == []
    assert decide(desk, "approve", "eve") == 0
    assert [one.by for one in desk.store.decisions(CANDIDATE)] == ["bob", "eve"]
    assert len(desk.store.releases()) == 1


def test_an_approval_as_json_tells_the_release(waiting: Desk, capsys: Capture) -> None:
    assert waiting.say("approve", CANDIDATE, "--by", "bob", "--reason", "seen", "--json") == 0
    found = _document(capsys)
    assert (found["state"], found["candidate"], found["release"]) == (
        "published",
        CANDIDATE,
        "clinic-2026Q1-r1",
    )


def _document(capsys: Capture) -> Any:
    return json.loads(capsys.readouterr().out)
