"""A candidate whose files or policy were damaged before people decided: never published, and never stuck."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from cli.__main__ import main
from policy.errors import PolicyError
from release_store.audit import keys
from release_store.publishing.public_files import candidate_folder
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.faults.small_work import MAKER, assessed
from tests.support.at_work import key_file, write_people

Capture = pytest.CaptureFixture[str]
NAME = "clinic-2024-c1"
FILES = ("data.csv", "data.parquet", "datapackage.json")
DAMAGE = (b"no table", b"", b"PAR1 cut PAR1", None)
ONE_CASE = {("data.csv", None), ("data.parquet", b"PAR1 cut PAR1"), ("datapackage.json", b"")}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReleaseStore:
    monkeypatch.setenv(keys.KEY_VARIABLE, str(tmp_path / "signing.key"))
    made = ReleaseStore.create(tmp_path / "store")
    write_people(made.root)
    return made


def say(store: ReleaseStore, word: str, by: str) -> int:
    key = str(key_file(store.root.parent, by))
    return main(["--store", str(store.root), word, NAME, "--by", by, "--reason", "seen", "--key", key])


def state(store: ReleaseStore) -> CandidateState:
    return store.candidate(NAME).state


def complaint(capsys: Capture) -> list[str]:
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        pytest.param(*one, marks=pytest.mark.faults if one in ONE_CASE else pytest.mark.nightly)
        for one in product(FILES, DAMAGE)
    ],
)
def test_no_word_is_taken_on_files_that_changed(
    store: ReleaseStore, capsys: Capture, file: str, damage: bytes | None
) -> None:
    assessed(store, "clinic", "2024", approvers=1)
    path = candidate_folder(store.root, NAME) / file
    content = path.read_bytes()
    path.unlink() if damage is None else path.write_bytes(damage)
    assert say(store, "approve", "bob") == 6
    assert complaint(capsys) == [
        f"releasegate: {NAME}: changed since its gates ran: {file}",
        "  Restore the files, or reject the candidate and run the period again.",
    ]
    assert (state(store), store.decisions(NAME)) == (CandidateState.AWAITING_APPROVAL, [])
    refused = store.events()[-1]
    assert (refused.action, refused.actor) == ("decision.refused", "bob")
    assert refused.reason == f"changed since its gates ran: {file}"
    assert [finding.where for finding in verify(store)] == [f"{NAME}/{file}"]
    path.write_bytes(content)
    assert say(store, "approve", "bob") == 0
    assert verify(store) == []


def test_an_approved_candidate_whose_files_changed_is_refused_and_can_be_rejected(
    store: ReleaseStore, capsys: Capture
) -> None:
    assessed(store, "clinic", "2024")
    (candidate_folder(store.root, NAME) / "data.parquet").write_bytes(b"no table")
    assert say(store, "approve", "bob") == 6
    assert "changed since its gates ran: data.parquet" in complaint(capsys)[0]
    assert store.events()[-1].action == "publication.refused"
    assert state(store) is CandidateState.APPROVED
    assert say(store, "reject", MAKER) == 2
    assert complaint(capsys)[0] == f"releasegate: {NAME}: {MAKER} made it, and cannot decide on it"
    assert say(store, "reject", "bob") == 0
    assert state(store) is CandidateState.REJECTED
    assert store.releases() == []
    assert verify(store) == []
    assert assessed(store, "clinic", "2024").candidate_id == "clinic-2024-c2"


@pytest.mark.parametrize("approvers", [0, 1])
def test_a_candidate_whose_policy_cannot_be_read_is_not_approved_and_can_be_rejected(
    store: ReleaseStore, capsys: Capture, monkeypatch: pytest.MonkeyPatch, approvers: int
) -> None:
    assessed(store, "clinic", "2024", approvers=approvers)

    def unreadable(_document: object) -> None:
        raise PolicyError("the stored policy cannot be read (ValidationError)")

    monkeypatch.setattr("services.decisions.policy_from_document", unreadable)
    assert say(store, "approve", "bob") == 2
    assert "the stored policy cannot be read" in complaint(capsys)[0]
    assert say(store, "reject", "bob") == 0
    assert state(store) is CandidateState.REJECTED
    assert verify(store) == []
