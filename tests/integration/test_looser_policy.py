"""Whoever makes a series' policy looser does not publish by it alone, however the run starts."""

from __future__ import annotations

import json

import pytest

from release_store.records import CandidateState
from services.observability.notice_kinds import notice_of
from tests.support.front_desk import Desk

Capture = pytest.CaptureFixture[str]
C2 = "clinic-2026Q2-c1"
LOOSE = {"privacy": {"k": 2, "e": 1}, "gates": {"ncp": {"max": 1.0}, "suppression": {"max": 1.0}}}
WHY = (
    "looser than clinic-2026Q1-r1: k 2 instead of 5, e 1 instead of 2, gates.ncp.max 1 instead of 0.5, "
    "gates.suppression.max 1 instead of 0.05; 1 approval required"
)


@pytest.mark.enemy("policy author", "publishes a person")
def test_one_operator_cannot_loosen_and_publish(published: Desk, capsys: Capture) -> None:
    table = published.table(seed=2)
    assert published.run(published.policy(**LOOSE), table, "2026Q2") == 5
    assert f"{C2} awaits 1 approval: {WHY}" in capsys.readouterr().out
    assert not (published.root / "releases" / "clinic" / "clinic-2026Q2-r1").exists()
    assert published.say("show", C2) == 0
    assert f"approval  {WHY}" in capsys.readouterr().out
    assert published.say("show", C2, "--json") == 0
    assert json.loads(capsys.readouterr().out)["summary"]["approval"]["needed"] == 1
    assert published.run(published.policy(**LOOSE), table, "2026Q2", "bob") == 5  # the same again
    assert "already awaits approval, with 0 of 1" in capsys.readouterr().out
    assert published.say("approve", C2, "--by", "ann", "--reason", "mine") == 2
    assert published.say("approve", C2, "--by", "bob", "--reason", "agreed by the board") == 0
    assert published.say("verify") == 0
    # What was agreed to is what the next one is compared with; tightening it takes nobody.
    assert published.run(published.policy(), published.table(seed=3), "2026Q3") == 0
    assert published.say("verify") == 0


@pytest.mark.enemy("policy author", "publishes a person")
def test_a_run_that_prefect_starts_is_held_to_the_same(published: Desk) -> None:
    from flows.release import release

    published.table(seed=2)
    outcome = release(
        policy=str(published.policy(**LOOSE)),
        period="2026Q2",
        input_path=str(published.folder / "people.csv"),
        store=str(published.root),
    )
    assert outcome.message == f"{C2} awaits 1 approval: {WHY}"
    assert published.store.candidate(C2).state is CandidateState.AWAITING_APPROVAL
    events = {one.action: one for one in published.store.events()}  # the last of each
    staged, waits = events["candidate.staged"], events["candidate.awaiting_approval"]
    assert staged.payload["summary"]["approval"]["looser"][0] == "k 2 instead of 5"
    notice = notice_of(published.store, waits)
    assert notice.text.endswith(f" It is {WHY}.")
    assert notice.facts["approvers"] == 1
