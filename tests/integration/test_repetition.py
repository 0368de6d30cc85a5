"""A tick that comes twice, late, or all at once makes no second release and no second waiting candidate."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from release_store.canonical import utc_now
from release_store.publishing import publication
from release_store.publishing.publication import recover
from release_store.records import CandidateState
from services import repetition
from tests.support.front_desk import Desk

Capture = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[2]
C1, C2 = "clinic-2026Q1-c1", "clinic-2026Q1-c2"
ONE = {"approvers": 1}


def full(*_: object) -> None:
    raise OSError(28, "full")


def states(desk: Desk) -> dict[str, str]:
    return {one.candidate_id: str(one.state) for one in desk.store.candidates()}


def test_a_second_run_leaves_the_candidate_that_waits_alone(desk: Desk, capsys: Capture) -> None:
    policy, table = desk.policy(approval=ONE), desk.table()
    assert desk.run(policy, table) == 5
    logged = desk.store.events()
    capsys.readouterr()
    assert desk.run(policy, table, "2026-Q1", "bob", "--json") == 5
    told = json.loads(capsys.readouterr().out)
    assert (told["state"], told["candidate"]) == ("awaiting_approval", C1)
    assert told["message"] == f"{C1} already awaits approval, with 0 of 1; nothing was done"
    assert desk.store.events() == logged


def test_another_input_or_policy_makes_another_candidate_and_ends_the_first(desk: Desk) -> None:
    assert desk.run(desk.policy(approval=ONE), desk.table()) == 5
    assert desk.run(desk.policy(approval=ONE), desk.table(seed=2)) == 5
    assert states(desk) == {C1: "stale", C2: "awaiting_approval"}
    assert desk.run(desk.policy(approval=ONE, seed=7), desk.table(seed=2)) == 5
    assert states(desk) == {C1: "stale", C2: "stale", "clinic-2026Q1-c3": "awaiting_approval"}
    said = [one.reason for one in desk.store.events() if one.action == "candidate.stale"]
    assert said == [
        f"{C2} takes its place, made of another input",
        "clinic-2026Q1-c3 takes its place, made of another policy",
    ]
    assert desk.say("verify") == 0


def test_one_that_expired_is_made_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    policy, table = desk.policy(approval=ONE | {"expires_days": 0.001}), desk.table()
    assert desk.run(policy, table) == 5
    later = utc_now() + timedelta(minutes=2)
    monkeypatch.setattr("release_store.db.changes.utc_now", lambda: later)
    monkeypatch.setattr(repetition, "utc_now", lambda: later)
    assert desk.run(policy, table) == 5
    assert states(desk) == {C1: "expired", C2: "awaiting_approval"}


def test_one_whose_place_was_taken_is_not_judged_again(desk: Desk, capsys: Capture) -> None:
    assert desk.run(desk.policy(approval=ONE), desk.table()) == 5
    assert desk.run(desk.policy(approval=ONE), desk.table("other.csv", seed=2)) == 5
    assert desk.say("rejudge", C1, "--input", desk.folder / "people.csv") == 2
    assert f"{C1}: {C2} awaits approval for the same period" in capsys.readouterr().err


def test_what_nobody_has_to_approve_is_published_by_the_next_run(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, table = desk.policy(), desk.table()
    with monkeypatch.context() as patch:
        patch.setattr("services.publication.publish", None)  # the run dies after its gates
        assert desk.run(policy, table) == 1
    assert states(desk) == {C1: "approved"}
    assert recover(desk.store) == []
    capsys.readouterr()
    assert desk.run(policy, table) == 0
    assert "clinic-2026Q1-r1 is published; an earlier run had prepared it" in capsys.readouterr().out
    assert states(desk) == {C1: "published"}
    assert desk.say("verify") == 0


def test_what_people_approved_is_left_to_people(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, table = desk.policy(approval=ONE), desk.table()
    assert desk.run(policy, table) == 5
    with monkeypatch.context() as patch:
        patch.setattr(publication, "build_release", full)
        assert desk.say("approve", C1, "--by", "bob", "--reason", "looked at it") != 0
    assert desk.store.candidate(C1).state is CandidateState.APPROVED
    capsys.readouterr()
    assert desk.run(policy, table) == 5
    assert (
        "is approved, but its publication was interrupted; approve it again to publish it"
    ) in capsys.readouterr().out
    assert desk.store.releases() == []
