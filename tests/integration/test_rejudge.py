"""`rejudge`: the files of a stale candidate beside the history as it is now, decided on anew."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from release_store.approval import decisions
from release_store.records import CandidateState, Verdict
from release_store.summary import Reassessment
from tests.support.at_work import withdraw
from tests.support.front_desk import Desk, people
from tests.support.plain_prefect import plain_prefect

Capture = pytest.CaptureFixture[str]
ALL_THREE = {"k": 5, "e": 3}
C1, C2 = "clinic-2026Q1-c1", "clinic-2026Q1-c2"


def complaint(capsys: Capture) -> list[str]:
    """The error, without the stages that are told as they begin."""
    return capsys.readouterr().err.split("releasegate: ")[-1].splitlines()


def state(desk: Desk, candidate: str) -> CandidateState:
    return desk.store.candidate(candidate).state


@pytest.fixture(scope="module")
def stale_folder(fresh_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose first candidate, made by ann, became stale since 2026Q2 was published."""
    folder = tmp_path_factory.mktemp("stale") / "folder"
    shutil.copytree(fresh_store, folder)
    desk = Desk(folder)
    with plain_prefect():
        # All three diseases stand in every class, so that no two classes share under two. With the wards,
        # which are kept, two releases that do not know of each other would pin somebody.
        asked = {"privacy": ALL_THREE, "gates": {"worlds": {"kept": "accept"}}}
        assert desk.run(desk.policy(approval={"approvers": 1}, **asked), desk.table()) == 5
        quick = desk.policy("quick.yaml", **asked)
        assert desk.run(quick, desk.table("later.csv", seed=0), "2026Q2") == 0
    assert state(desk, C1) is CandidateState.STALE
    return folder


@pytest.fixture
def stale(stale_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.delenv("RELEASEGATE_SIGNING_KEY", raising=False)
    shutil.copytree(stale_folder, tmp_path, dirs_exist_ok=True, symlinks=True)
    return Desk(tmp_path)


def again(desk: Desk, *words: object, table: str = "people.csv", candidate: str = C1) -> int:
    return desk.say("rejudge", candidate, "--input", desk.folder / table, *words)


def test_the_same_files_are_judged_beside_the_history_of_now_and_decided_on_anew(
    stale: Desk, capsys: Capture
) -> None:
    assert again(stale, "--by", "cyd", "--json") == 5
    told = json.loads(capsys.readouterr().out)
    assert told["candidate"] == C2
    first, second = stale.store.candidate(C1), stale.store.candidate(C2)
    assert second.candidate_digest == first.candidate_digest
    assert stale.store.files(C2) == stale.store.files(C1)
    assert second.history_head == stale.store.history_head("clinic") != first.history_head
    assert second.summary.reassessment == Reassessment(C1, "cyd")
    (pairwise,) = [gate for gate in stale.store.gates(C2) if gate.gate == "pairwise"]
    assert "from 1 earlier release (" in pairwise.detail
    assert stale.say("show", C2) == 0
    assert f"assessed  again by cyd, from {C1}\n" in capsys.readouterr().out
    (before,) = [gate for gate in stale.store.gates(C1) if gate.gate == "pairwise"]
    assert "nothing to compare with" in before.detail
    assert stale.store.decisions(C2) == []
    assert stale.say("verify") == 0


def test_who_made_the_files_still_cannot_decide_on_them(stale: Desk, capsys: Capture) -> None:
    assert again(stale, "--by", "cyd") == 5
    assert stale.say("approve", C2, "--by", "ann", "--reason", "mine") == 2
    assert "ann made it, and cannot decide on it" in capsys.readouterr().err
    assert stale.say("approve", C2, "--by", "bob", "--reason", "looked at it") == 0
    assert [one.period for one in stale.store.releases()] == ["2026Q2", "2026Q1"]
    assert stale.say("verify") == 0


def test_another_table_is_refused(stale: Desk, capsys: Capture) -> None:
    assert again(stale, table="later.csv") == 2
    told = complaint(capsys)
    assert told[0].startswith("later.csv: is not the candidate's table")
    assert len(told) == 2
    assert len(stale.store.candidates()) == 2


def test_files_that_changed_since_are_not_judged_again(stale: Desk, capsys: Capture) -> None:
    path = stale.root / "candidates" / C1 / "data.csv"
    path.write_text(path.read_text() + "1,2,3,4,Aix,flu,a\n")
    assert again(stale) == 6
    assert "differs from the assessed file" in complaint(capsys)[0]
    assert len(stale.store.candidates()) == 2
    assert stale.say("verify") == 6


def test_another_file_is_refused_by_its_digest_whatever_its_columns(stale: Desk, capsys: Capture) -> None:
    (stale.folder / "other.csv").write_text("a,b\n1,2\n")
    assert again(stale, table="other.csv") == 2
    assert complaint(capsys) == [
        "other.csv: is not the candidate's table: its digest differs",
        f"  Give the table of {C1} with --input, or run the period again.",
    ]


def test_a_table_with_tabs_is_judged_again(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    people().to_csv(desk.folder / "people.tsv", sep="\t", index=False)
    policy = desk.policy(approval={"approvers": 1, "expires_days": 1})
    assert desk.run(policy, desk.folder / "people.tsv") == 5
    monkeypatch.setattr(decisions, "utc_now", lambda: datetime.now(UTC) + timedelta(days=2))
    assert desk.say("approve", C1, "--by", "bob", "--reason", "late") == 4
    monkeypatch.undo()
    assert again(desk, table="people.tsv") == 5


def test_only_a_stale_or_expired_candidate_is_judged_again(stale: Desk, capsys: Capture) -> None:
    assert again(stale, candidate="clinic-2026Q2-c1", table="later.csv") == 2
    assert complaint(capsys) == [
        "clinic-2026Q2-c1: is published; only a stale or expired candidate can be assessed again",
        "  Withdraw the release, or revise it: `releasegate run` with --revise REASON.",
    ]
    assert again(stale, candidate="clinic-2026Q9-c1") == 2
    assert "no candidate 'clinic-2026Q9-c1'" in complaint(capsys)[0]


def test_a_period_that_has_a_release_since_is_revised_instead(stale: Desk, capsys: Capture) -> None:
    assert stale.run(stale.folder / "quick.yaml", stale.table("people.csv"), "2026Q1", "eve") == 0
    withdraw(stale.store, "clinic-2026Q1-r1", by="eve", reason="no matter")
    assert again(stale) == 2
    assert "clinic-2026Q1-r1 has been published for its period since" in complaint(capsys)[0]


def test_an_expired_candidate_is_judged_again(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert desk.run(desk.policy(approval={"approvers": 1, "expires_days": 1}), desk.table()) == 5
    monkeypatch.setattr(decisions, "utc_now", lambda: datetime.now(UTC) + timedelta(days=2))
    assert desk.say("approve", C1, "--by", "bob", "--reason", "late") == 4
    assert f"Run `releasegate rejudge {C1}`." in capsys.readouterr().err
    monkeypatch.undo()
    assert state(desk, C1) is CandidateState.EXPIRED
    assert again(desk) == 5
    assert desk.say("approve", C2, "--by", "bob", "--reason", "in time") == 0


def test_files_that_do_not_stand_beside_the_history_of_now_are_blocked(desk: Desk, capsys: Capture) -> None:
    """Classes of the second period were cut without regard for the first: exact reasoning pins somebody."""
    assert desk.run(desk.policy(approval={"approvers": 1}), desk.table()) == 5
    rough = desk.policy("rough.yaml", method={"name": "mondrian", "history": "blind"})
    assert desk.run(rough, desk.table("later.csv", seed=2), "2026Q2") == 0
    capsys.readouterr()
    assert again(desk) == 4
    failing = {one.gate for one in desk.store.gates(C2) if one.verdict is Verdict.FAIL}
    assert "worlds" in failing
    assert f"{C2} is blocked: " in capsys.readouterr().out
    assert state(desk, C2) is CandidateState.BLOCKED
