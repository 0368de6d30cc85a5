"""An approved candidate whose publication was undone: `approve` publishes it, by a name and for a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.__main__ import main
from policy.errors import UsageError
from release_store import keys
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from release_store.verification import verify
from tests.at_work import decide, write_people
from tests.faults.small_work import assessed


@pytest.fixture
def left_approved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReleaseStore:
    monkeypatch.setenv(keys.KEY_VARIABLE, str(tmp_path / "signing.key"))
    store = ReleaseStore.create(tmp_path / "store")
    write_people(store.root)
    assert assessed(store, "clinic", "2024").state is CandidateState.APPROVED
    return store


@pytest.mark.parametrize(
    ("by", "reason", "finding"),
    [(" ", "why not", "a publication has a name"), ("bob", "", "a publication has a reason")],
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
    said = {event.action: (event.actor, event.reason) for event in left_approved.events()[-3:]}
    assert said == {
        "decision.publish": ("bob", "the disk was full"),
        "publication.started": ("bob", "the disk was full"),
        "release.published": ("bob", "the disk was full"),
    }
    assert verify(left_approved) == []
