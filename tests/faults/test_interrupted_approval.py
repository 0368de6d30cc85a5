"""An approved candidate whose publication was undone: `approve` publishes it, by a name and for a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.__main__ import main
from policy.errors import UsageError
from release_store.approval.reviewers import people_path
from release_store.audit import keys
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.faults.small_work import assessed
from tests.support.at_work import agreed, decide, key_of, member, write_people
from tests.support.store.hand_made import awaiting, word


@pytest.fixture
def left_approved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReleaseStore:
    monkeypatch.setenv(keys.KEY_VARIABLE, str(tmp_path / "signing.key"))
    store = ReleaseStore.create(tmp_path / "store")
    write_people(store.root)
    assert assessed(store, "clinic", "2024").state is CandidateState.APPROVED
    return store


@pytest.mark.parametrize(
    ("by", "reason", "finding"),
    [(" ", "why not", "the publication has no name"), ("bob", "", "the publication has no reason")],
)
def test_it_needs_a_name_and_a_reason(
    left_approved: ReleaseStore, capsys: pytest.CaptureFixture[str], by: str, reason: str, finding: str
) -> None:
    logged = left_approved.events()
    with pytest.raises(UsageError, match=finding):
        decide(left_approved, "clinic-2024-c1", "approve", by=by, reason=reason)
    words = ["approve", "clinic-2024-c1", "--by", by, "--reason", reason]
    assert main(["--store", str(left_approved.root), *words]) == 2
    assert capsys.readouterr().err.startswith(f"releasegate: clinic-2024-c1: {finding}\n")
    assert left_approved.releases() == []
    told = left_approved.events()[len(logged) :]
    assert [(event.action, event.reason) for event in told] == [
        ("people.changed", ""),
        ("decision.refused", finding),
        ("decision.refused", finding),
    ]


def test_both_stand_in_the_log(left_approved: ReleaseStore) -> None:
    outcome = decide(left_approved, "clinic-2024-c1", "approve", by="bob", reason="the disk was full")
    assert outcome.state == "published"
    said = {event.action: (event.actor, event.reason) for event in left_approved.events()[-4:]}
    assert said == {
        "log.sealed": ("bob", ""),
        "decision.publish": ("bob", "the disk was full"),
        "publication.started": ("bob", "the disk was full"),
        "release.published": ("bob", "the disk was full"),
    }
    assert verify(left_approved) == []


def test_who_is_asked_for_today_is_counted_anew(left_approved: ReleaseStore) -> None:
    """The file of people asks for two since; one who publishes it is one."""
    path = people_path(left_approved.root)
    path.write_text("approvers_at_least: 2\n" + path.read_text())
    with pytest.raises(UsageError, match="1 of 2 approvals are by people who could give them today"):
        decide(left_approved, "clinic-2024-c1", "approve", by="bob", reason="the disk was full")
    assert left_approved.releases() == []
    assert left_approved.events()[-1].action == "decision.refused"
    outcome = decide(left_approved, "clinic-2024-c1", "reject", by="bob", reason="two are to agree")
    assert outcome.state == "rejected"


@pytest.mark.parametrize(
    ("left", "by", "given"),
    [(("cleo", "dan"), "ann", 1), (("dan",), "ann", 0), (("dan",), "dan", 1), (("cleo", "dan"), "dan", 2)],
)
def test_whoever_was_removed_agrees_to_nothing_and_the_maker_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: tuple[str, ...], by: str, given: int
) -> None:
    monkeypatch.setenv(keys.KEY_VARIABLE, str(tmp_path / "signing.key"))
    store = ReleaseStore.create(tmp_path / "store")
    write_people(store.root)
    record = awaiting(store, approvers=2)
    for name in ("bob", "cleo"):
        agreed(store, word(record, name), 2)
    assert store.candidate(record.candidate_id).state is CandidateState.APPROVED
    write_people(store.root, *(member(name) for name in ("ann", *left)))
    publishing, key = word(record, by, "publish"), key_of(by)
    if given == 2:
        store.allow_publication(publishing, credential=key)
        assert store.events()[-1].action == "decision.publish"
    else:
        with pytest.raises(UsageError, match=f": {given} of 2 approvals are by people"):
            store.allow_publication(publishing, credential=key)
