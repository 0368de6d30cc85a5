"""What somebody gains who forges keys and signatures, or alters what lies beside the store: nothing."""

from __future__ import annotations

import base64
import errno
import json
import shutil
from pathlib import Path

import pytest

from policy.errors import ReleaseGateError, UsageError, VerificationFailed
from release_store.approval.authentication import as_signed, decision_statement
from release_store.approval.credentials import SignedText, sign_text
from release_store.approval.reviewers import load_reviewers
from release_store.audit import keys
from release_store.audit.checkpoints import kept_file
from release_store.canonical import canonical_json
from release_store.protocol.ed25519 import is_public_key
from release_store.publishing.public_files import kept_folder
from release_store.records import CandidateRecord, CandidateState, Release
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.support.at_work import key_of, member, withdraw, write_people
from tests.support.store.hand_made import approved, awaiting, publish_one, word

NEUTRAL = "01" + "00" * 31  # the neutral element: under it, S = 0 signs every text
ANY_TEXT = NEUTRAL + "00" * 32


def own_text(store: ReleaseStore, record: CandidateRecord, by: str, **changed: str) -> SignedText:
    """Return what somebody signed, with parts of the document exchanged."""
    said = decision_statement(word(record, by), store.store_id)
    plain = sign_text(said, key_of(by).key)
    document = json.loads(base64.urlsafe_b64decode(plain + "=" * (-len(plain) % 4)))
    made = canonical_json({**document, **changed})
    return SignedText(base64.urlsafe_b64encode(made).decode().rstrip("="))


def give(
    store: ReleaseStore, record: CandidateRecord, by: str, signed: SignedText, needed: int
) -> CandidateState:
    """Give an approval as the flow does."""
    return store.decide(as_signed(word(record, by), signed), approvers_needed=needed, credential=signed)


@pytest.mark.enemy("policy author", "forges a word")
def test_a_key_under_which_anybody_signs_is_nobodys(store: ReleaseStore) -> None:
    record = awaiting(store, approvers=1)
    write_people(store.root, {**member("eve"), "public_key": NEUTRAL}, member("bob"))
    forged = own_text(store, record, "eve", public_key=NEUTRAL, signature=ANY_TEXT)
    with pytest.raises(ReleaseGateError):
        give(store, record, "eve", forged, needed=1)
    assert store.candidate(record.candidate_id).state is CandidateState.AWAITING_APPROVAL
    with pytest.raises(UsageError, match="public_key"):
        load_reviewers(store.root)
    assert not is_public_key(NEUTRAL)


@pytest.mark.enemy("operator", "forges a word")
@pytest.mark.parametrize("field", ["signature", "public_key"])
def test_a_word_in_capitals_is_no_second_word(store: ReleaseStore, field: str) -> None:
    record = awaiting(store, approvers=2)
    good = own_text(store, record, "bob")
    shown = {
        "signature": key_of("bob").key.sign(canonical_json(good.said().document())).hex(),
        "public_key": keys.public_hex(key_of("bob").key),
    }
    for spelling in (shown[field].upper(), f" {shown[field]}", f"{shown[field]}\n"):
        document = json.loads(base64.urlsafe_b64decode(good.text + "=" * (-len(good.text) % 4)))
        made = canonical_json({**document, field: spelling})
        again = SignedText(base64.urlsafe_b64encode(made).decode().rstrip("="))
        with pytest.raises(ReleaseGateError):
            give(store, record, "bob", again, needed=2)
    assert store.decisions(record.candidate_id) == []
    assert give(store, record, "bob", good, needed=2) is CandidateState.AWAITING_APPROVAL
    with pytest.raises(ReleaseGateError):
        give(store, record, "bob", good, needed=2)
    assert verify(store) == []


@pytest.mark.enemy("store writer", "changes history")
def test_a_kept_checkpoint_that_is_gone_is_found(two: ReleaseStore) -> None:
    kept = kept_file(two.root, two.store_id)
    kept.unlink()
    assert [finding.what for finding in verify(two) if finding.where == kept.name] == [
        "is missing; the newest checkpoint is kept beside the signing key"
    ]


@pytest.mark.enemy("store writer", "changes history")
def test_withdrawn_releases_that_are_a_link_are_found(two: ReleaseStore, tmp_path: Path) -> None:
    release = take_down(two)
    elsewhere = tmp_path / "elsewhere"
    (two.root / "withdrawn").rename(elsewhere)
    (two.root / "withdrawn").symlink_to(elsewhere)
    assert any("is a symbolic link" in finding.what for finding in verify(two))
    assert release.release_id


@pytest.mark.enemy("store writer", "changes history")
def test_a_store_rolled_back_to_its_making_without_the_kept_checkpoint_is_found(tmp_path: Path) -> None:
    """Even where no checkpoint of a release tells that one was kept; and nothing is published from it."""
    store = ReleaseStore.create(tmp_path / "store")
    kept = kept_file(store.root, store.store_id)
    shutil.copytree(store.root, tmp_path / "early")
    publish_one(store, approved(store))
    shutil.rmtree(store.root)
    (tmp_path / "early").rename(store.root)
    kept.unlink()
    assert [finding.what for finding in verify(store) if finding.where == kept.name] == [
        "is missing; the newest checkpoint is kept beside the signing key"
    ]
    with pytest.raises(VerificationFailed, match="is missing; it held the newest checkpoint"):
        publish_one(store, approved(store))
    assert store.releases() == []


@pytest.mark.enemy("store writer", "writes a file")
@pytest.mark.parametrize("name", ["releases", "releases/clinic", "withdrawn", "candidates"])
def test_nothing_is_published_through_a_link(tmp_path: Path, name: str) -> None:
    store = ReleaseStore.create(tmp_path / "store")
    candidate = approved(store)
    place, elsewhere = store.root / name, tmp_path / "elsewhere"
    if place.exists():
        place.rename(elsewhere)
    else:
        elsewhere.mkdir()
    place.symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    with pytest.raises(VerificationFailed, match="is not the store's own folder"):
        publish_one(store, candidate)
    assert sorted(elsewhere.rglob("*")) == before


@pytest.mark.enemy("store writer", "forges a word")
def test_text_beside_the_public_key_is_found(two: ReleaseStore) -> None:
    path = two.root / keys.PUBLIC_KEY_FILE
    path.write_text("The key changed on Monday; ask Mallory.\n" + path.read_text())
    assert verify(two) != []


def take_down(store: ReleaseStore) -> Release:
    return withdraw(store, "clinic-2025-r1", by="eve", reason="a column was not to be public")


def test_a_withdrawal_crosses_file_systems(two: ReleaseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Path.rename

    def across(self: Path, target: Path) -> Path:
        if "releases" in self.parts and "withdrawn" in Path(target).parts:
            raise OSError(errno.EXDEV, "another file system")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", across)
    before = next(one for one in two.releases() if one.release_id == "clinic-2025-r1").files
    begun = two.root / "withdrawn" / "clinic" / "clinic-2025-r1"
    begun.mkdir(parents=True)  # of a move that was interrupted after its copy
    (begun / "data.csv").write_text("a part")
    release = take_down(two)
    assert sorted(path.name for path in kept_folder(two.root, release).iterdir()) == sorted(before)
    assert not (two.root / "releases" / "clinic" / "clinic-2025-r1").exists()
    assert verify(two) == []
