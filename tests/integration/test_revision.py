"""`run --revise`: another release of a period, by name and reason, beside the one that it replaces."""

from __future__ import annotations

import json

import pytest

from policy.errors import UsageError
from release_store.records import ReleaseState
from release_store.summary import Revision
from services.revision import resolve_revision
from tests.support.at_work import withdraw
from tests.support.front_desk import Desk

Capture = pytest.CaptureFixture[str]
WHY = "three rows were of another ward"


def complaint(capsys: Capture) -> str:
    """The error, without the stages that are told as they begin."""
    return capsys.readouterr().err.split("releasegate: ")[-1]


def test_a_revision_supersedes_by_name_and_reason(published: Desk, capsys: Capture) -> None:
    table = published.table("mended.csv")
    text = table.read_text().replace("p00399,", "p99999,")  # one person's key was wrong
    table.write_text(text)
    assert published.run(published.policy(), table, "2026Q1", "eve", "--revise", WHY, "--json") == 0
    assert json.loads(capsys.readouterr().out)["release"] == "clinic-2026Q1-r2"
    first, second = published.store.releases()
    assert (first.state, second.state) == (ReleaseState.SUPERSEDED, ReleaseState.PUBLISHED)
    assert second.summary.revision == Revision("clinic-2026Q1-r1", WHY)
    manifest = json.loads((published.root / "releases/clinic/clinic-2026Q1-r2/manifest.json").read_text())
    assert manifest["summary"]["revision"]["reason"] == WHY
    assert published.say("show", "clinic-2026Q1-r1") == 0
    assert f"superseded  eve: {WHY}" in capsys.readouterr().out
    assert published.say("verify") == 0


def test_a_revision_that_waits_for_people_is_made_once_and_supersedes_when_they_agree(
    published: Desk, capsys: Capture
) -> None:
    policy, table = published.policy(approval={"approvers": 1}), published.table("mended.csv")
    table.write_text(table.read_text().replace("p00399,", "p99999,"))
    words = ("2026-Q1", "eve", "--revise", WHY)  # another spelling of the same period
    assert published.run(policy, table, *words) == 5
    assert published.run(policy, table, *words) == 5
    assert "clinic-2026Q1-c2 already awaits approval" in capsys.readouterr().out
    assert [one.candidate_id for one in published.store.waiting_for("clinic", "2026Q1")] == [
        "clinic-2026Q1-c2"
    ]
    (pairwise,) = [one for one in published.store.gates("clinic-2026Q1-c2") if one.gate == "pairwise"]
    assert "from 1 earlier release (" in pairwise.detail  # the one that it is to replace
    assert published.say("approve", "clinic-2026Q1-c2", "--by", "bob", "--reason", "looked at it") == 0
    first, second = published.store.releases()
    assert (first.state, second.state) == (ReleaseState.SUPERSEDED, ReleaseState.PUBLISHED)
    assert published.run(policy, table, "2026-Q1") == 0
    assert "clinic-2026Q1-r2 is published already; nothing was done" in capsys.readouterr().out
    assert published.say("verify") == 0


def test_a_revision_is_compared_with_what_it_replaces(published: Desk, capsys: Capture) -> None:
    """Other values of the same people, beside the first ones, would pin some: a gate holds it back."""
    rough = published.policy(method={"name": "mondrian", "history": "blind"})
    other = published.table("other.csv", seed=2)
    assert published.run(rough, other, "2026Q1", "eve", "--revise", WHY) == 4
    assert "pairwise" in capsys.readouterr().out
    assert [one.state for one in published.store.releases()] == [ReleaseState.PUBLISHED]


@pytest.mark.parametrize(
    ("period", "by", "reason", "finding"),
    [
        ("2026Q1", "eve", " ", "the revision has no reason"),
        ("2026Q1", None, WHY, "the revision has no name"),
        ("2026Q1", " ", WHY, "the revision has no name"),
        ("2026Q2", "eve", WHY, "the period has no release to revise"),
    ],
)
def test_a_revision_without_name_reason_or_release_is_none(
    published: Desk, period: str, by: str | None, reason: str, finding: str
) -> None:
    with pytest.raises(UsageError, match=finding):
        resolve_revision(published.store, "clinic", period, by=by, revise=reason)


def test_the_system_user_does_not_revise(published: Desk, capsys: Capture) -> None:
    words = ("run", published.policy(), "--input", published.table(), "--period", "2026Q1")
    assert published.say(*words, "--revise", WHY) == 2
    assert complaint(capsys) == "clinic 2026Q1: the revision has no name\n  Say who revises it.\n"
    assert len(published.store.candidates()) == 1


def test_a_withdrawn_period_is_released_again_only_by_name_and_reason(
    published: Desk, capsys: Capture
) -> None:
    withdraw(published.store, "clinic-2026Q1-r1", by="bob", reason="a leak")
    assert published.run(published.policy(), published.table()) == 2
    assert complaint(capsys).splitlines() == [
        "clinic 2026Q1: clinic-2026Q1-r1 of this period was withdrawn",
        "  Run `releasegate restore clinic-2026Q1-r1`, or add --revise REASON and --by NAME.",
    ]
    assert published.run(published.policy(), published.table(), "2026Q1", "eve", "--revise", WHY) == 0
    states = [one.state for one in published.store.releases()]
    assert states == [ReleaseState.WITHDRAWN, ReleaseState.PUBLISHED]
    assert published.say("verify") == 0


def test_a_period_that_another_run_revised_meanwhile_is_not_revised_blindly(
    published: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from services import release

    seen = release.resolve_revision
    answers = iter([lambda found: found, lambda found: type(found)("clinic-2026Q1-r2", found.reason)])
    monkeypatch.setattr(release, "resolve_revision", lambda *a, **k: next(answers)(seen(*a, **k)))
    assert published.run(published.policy(), published.table(), "2026Q1", "eve", "--revise", WHY) == 4
    assert "the period was revised by another run in the meantime" in complaint(capsys)
    assert len(published.store.releases()) == 1
