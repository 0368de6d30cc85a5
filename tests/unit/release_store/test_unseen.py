"""What verify could not look at is a note, beside findings too; and what is said of a damaged database."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from cli.__main__ import main
from release_store.audit import keys
from release_store.audit.checkpoints import kept_file
from release_store.db.connection import DATABASE
from release_store.person_key import fingerprint_of, person_key, person_key_path
from release_store.publishing.public_files import checkpoint_file
from release_store.records import PersonHashes
from release_store.store import ReleaseStore
from release_store.verification.verify import notes, verify
from tests.support.store.hand_made import awaiting

NOT_COMPARED = "that the public key in the store is its public half was not compared"


def told(store: ReleaseStore) -> dict[str, str]:
    return {one.where: one.what for one in notes(store)}


@pytest.mark.parametrize("way", ["gone", "no key", "read by others"])
def test_a_signing_key_that_is_not_at_hand_is_a_note(two: ReleaseStore, way: str) -> None:
    path = keys.key_path(two.root)
    assert notes(two) == []
    if way == "gone":
        path.unlink()
    elif way == "read by others":
        path.chmod(0o644)
    else:
        path.write_text("no key\n")
    assert verify(two) == []
    assert told(two)[str(path)].endswith(NOT_COMPARED)
    kept_file(two.root, two.store_id).unlink()
    if way == "gone":
        assert verify(two) == []  # it may have moved with the key
        assert "nor that the log goes on from the checkpoint" in told(two)[str(path)]


@pytest.mark.parametrize("way", ["gone", "another", "too short"])
def test_a_key_of_people_that_is_not_theirs_is_a_note(store: ReleaseStore, way: str) -> None:
    path = person_key_path(store.root)
    people = PersonHashes(fingerprint_of(person_key(store.root) or b"", "person"), ("0" * 64,), (0,))
    record = awaiting(store, people=people)
    path.unlink()
    if way != "gone":
        path.write_bytes(os.urandom(32) if way == "another" else b"short")
        path.chmod(0o600)
    assert verify(store) == []
    assert {
        "gone": "the key of people is missing; the hashes of people of 1 candidate were compared",
        "another": f"is another key than that of {record.candidate_id}, whose people",
        "too short": "the key of people has 5 bytes",
    }[way] in told(store)[str(path)]


def test_notes_are_told_beside_findings(two: ReleaseStore, capsys: pytest.CaptureFixture[str]) -> None:
    keys.key_path(two.root).unlink()
    (two.root / "releases/clinic/clinic-2025-r1/data.csv").unlink()
    assert main(["--store", str(two.root), "verify"]) == 6
    finding, note = capsys.readouterr().out.splitlines()
    assert finding == "clinic-2025-r1/data.csv: is missing"
    assert note.startswith("note: ")
    assert main(["--store", str(two.root), "verify", "--json"]) == 6
    shown = json.loads(capsys.readouterr().out)
    assert [len(shown[name]) for name in ("findings", "notes")] == [1, 1]


@pytest.mark.enemy("store writer", "stops the work")
@pytest.mark.parametrize(
    ("text", "lost"), [(b"flu", "does not give back: classes"), (b"store.created", "give back: the log;")]
)
def test_a_damaged_database_is_one_finding_with_what_is_lost_and_the_mend(
    two: ReleaseStore, text: bytes, lost: str
) -> None:
    path = two.root / DATABASE
    path.write_bytes(path.read_bytes().replace(text, text.upper()))
    (finding,) = map(str, verify(two))
    assert lost in finding
    assert finding.endswith("restore it from a backup")


@pytest.mark.enemy("store writer", "stops the work")
@pytest.mark.parametrize("place", [0, 4096 * 2 + 100])
def test_a_database_whose_head_is_gone_is_a_finding_of_the_command(
    two: ReleaseStore, capsys: pytest.CaptureFixture[str], place: int
) -> None:
    path = two.root / DATABASE
    data = path.read_bytes()
    path.write_bytes(data[:place] + b"\0" * 8000 + data[place + 8000 :])
    assert main(["--store", str(two.root), "verify"]) == 6
    shown = capsys.readouterr()
    assert shown.err == ""
    (line,) = shown.out.splitlines()
    assert str(path) in line
    assert "estore it from a backup" in line


@pytest.mark.enemy("store writer", "changes history")
def test_a_checkpoint_in_the_place_of_another_is_one_finding(two: ReleaseStore) -> None:
    """Whichever comes first by its name; the one that was copied is where it belongs."""
    first, second = (checkpoint_file(two.root, "clinic", f"clinic-{year}-r1") for year in (2024, 2025))
    for one, other in ((first, second), (second, first)):
        kept = other.read_bytes()
        shutil.copy(one, other)
        assert [str(found) for found in verify(two)] == [f"clinic/{other.name}: belongs to another release"]
        other.write_bytes(kept)
    assert verify(two) == []


def test_a_store_copied_or_only_read_verifies_clean(two: ReleaseStore, tmp_path: Path) -> None:
    shutil.copytree(two.root, tmp_path / "copy" / "store", symlinks=True, copy_function=shutil.copyfile)
    assert verify(ReleaseStore.open(tmp_path / "copy" / "store")) == []
