"""Two stores that share one signing key: what was signed for one proves nothing of the other."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from policy.errors import VerificationFailed
from release_store.audit import keys
from release_store.audit.checkpoints import kept_file
from release_store.evidence.bundle import write_evidence
from release_store.evidence.examine import examine
from release_store.person_key import PERSON_KEY_VARIABLE, hashed_people, person_key
from release_store.publishing.public_files import checkpoint_file
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.support.at_work import write_people
from tests.support.store.hand_made import approved, publish_one

NAMES = ("clinic", "clinic-2024-r1")


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[ReleaseStore, ReleaseStore]:
    """Two stores under one key, each with a release of the same name."""
    monkeypatch.setenv(keys.KEY_VARIABLE, str(tmp_path / "one.key"))
    monkeypatch.delenv(PERSON_KEY_VARIABLE, raising=False)
    stores = [ReleaseStore.create(tmp_path / name / "store") for name in ("first", "second")]
    for store in stores:
        write_people(store.root)
        publish_one(store, approved(store))
    return stores[0], stores[1]


def test_each_keeps_a_checkpoint_of_its_own(pair: tuple[ReleaseStore, ReleaseStore]) -> None:
    one, other = pair
    assert kept_file(one.root, one.store_id) != kept_file(other.root, other.store_id)
    assert [verify(store) for store in pair] == [[], []]


@pytest.mark.enemy("store writer", "changes history")
def test_the_checkpoint_of_one_store_is_none_of_the_other(
    pair: tuple[ReleaseStore, ReleaseStore], tmp_path: Path
) -> None:
    one, other = pair
    theirs = checkpoint_file(one.root, *NAMES)
    assert [found.what for found in verify(other, checkpoint=theirs)] == ["belongs to a different store"]
    shutil.copy(theirs, checkpoint_file(other.root, *NAMES))
    assert [found.what for found in verify(other)] == ["belongs to a different store"]
    with pytest.raises(VerificationFailed):
        write_evidence(other, NAMES[1], tmp_path / "out.zip")


@pytest.mark.enemy("store writer", "changes history")
def test_what_one_store_keeps_beside_the_key_does_not_stand_for_the_other(
    pair: tuple[ReleaseStore, ReleaseStore],
) -> None:
    one, other = pair
    shutil.copy(kept_file(one.root, one.store_id), kept_file(other.root, other.store_id))
    assert [found.what for found in verify(other)] == ["belongs to a different store"]
    with pytest.raises(VerificationFailed, match="is not a checkpoint that this store's key signed"):
        publish_one(other, approved(other, period="2025"))
    assert len(other.releases()) == 1


@pytest.mark.enemy("store writer", "changes history")
def test_a_bundle_of_one_store_is_not_taken_for_the_other(
    pair: tuple[ReleaseStore, ReleaseStore], tmp_path: Path
) -> None:
    one, other = pair
    bundle = write_evidence(one, NAMES[1], tmp_path / "one.zip")
    trusted = keys.read_public_hex(other.root)
    assert trusted == json.loads(checkpoint_file(one.root, *NAMES).read_bytes())["public_key"]
    report = examine(bundle, trusted, checkpoint_file(other.root, *NAMES))
    assert [found.what for found in report.findings] == ["belongs to a different store"]


@pytest.mark.enemy("other account", "writes a file")
@pytest.mark.parametrize("way", ["a link", "a file"])
def test_a_bundle_is_not_written_through_what_was_planted_beside_it(
    pair: tuple[ReleaseStore, ReleaseStore], tmp_path: Path, way: str
) -> None:
    theirs, beside = tmp_path / "theirs", tmp_path / ".out.zip.new"
    theirs.write_bytes(b"a file of somebody else")
    beside.symlink_to(theirs) if way == "a link" else beside.hardlink_to(theirs)
    write_evidence(pair[0], NAMES[1], tmp_path / "out.zip")
    assert theirs.read_bytes() == b"a file of somebody else"
    assert not (tmp_path / "out.zip").is_symlink()


@pytest.mark.enemy("auditor", "learns a value")
def test_two_stores_hash_one_person_alike_only_under_one_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(keys.KEY_VARIABLE, raising=False)
    monkeypatch.delenv(PERSON_KEY_VARIABLE, raising=False)
    hashes = []
    for number, named in enumerate(("", "", "shared.key", "shared.key")):
        monkeypatch.setenv(PERSON_KEY_VARIABLE, str(tmp_path / named)) if named else None
        store = ReleaseStore.create(tmp_path / f"{number}" / "store")
        found = hashed_people(person_key(store.root) or b"", "person", [("ann", 0)])
        hashes.append((found.fingerprint, found.hashes))
    own, another, shared, alike = hashes
    assert len({own, another, shared}) == 3
    assert shared == alike
