"""What people read before they decide has its digest in the log: altered, it is told and not approved."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.errors import VerificationFailed
from release_store.publishing.candidate_report import REPORTED
from release_store.publishing.public_files import candidate_folder
from release_store.records import CandidateRecord, CandidateState
from release_store.store import ReleaseStore
from release_store.verification.verify import notes, verify
from tests.support.at_work import agreed
from tests.support.store.hand_made import K_FAILS, approved, awaiting, publish_one, stage, word

PAGE = b"<!doctype html><title>a candidate</title>\n"
SHOWN = ["data.csv", "datapackage.json", "report.html"]


def read_by_people(store: ReleaseStore, **wanted: int) -> tuple[CandidateRecord, Path]:
    """A candidate that waits, with its report; and its folder."""
    record = awaiting(store, **wanted)
    store.keep_report(record.candidate_id, PAGE, actor="ann")
    return record, candidate_folder(store.root, record.candidate_id)


def blocked(store: ReleaseStore) -> tuple[CandidateRecord, Path]:
    """A candidate that a gate held back, with its report; and its folder."""
    record = stage(store)
    store.record_gates(record.candidate_id, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    store.keep_report(record.candidate_id, PAGE, actor="ann")
    return record, candidate_folder(store.root, record.candidate_id)


def found(store: ReleaseStore) -> dict[str, str]:
    return {one.where: one.what for one in verify(store)}


def test_a_report_is_kept_with_its_digest_and_once(store: ReleaseStore) -> None:
    record, folder = read_by_people(store)
    assert (folder / "report.html").read_bytes() == PAGE
    assert (folder / "report.html").stat().st_mode & 0o777 == 0o600
    store.keep_report(record.candidate_id, PAGE, actor="ann")
    store.keep_report(record.candidate_id, PAGE + b"\n", actor="ann")
    assert [one.action for one in store.events()].count(REPORTED) == 2
    assert verify(store) == []
    assert notes(store) == []


@pytest.mark.enemy("store writer", "publishes a person")
@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("way", ["altered", "removed", "a link", "a folder"])
@pytest.mark.by_day(4)
def test_nobody_approves_what_was_altered_and_verify_tells_it(
    store: ReleaseStore, tmp_path: Path, name: str, way: str
) -> None:
    record, folder = read_by_people(store)
    file = folder / name
    content = file.read_bytes()
    file.unlink()
    if way == "altered":
        file.write_bytes(content + b" ")
    elif way == "a link":
        (tmp_path / "elsewhere").write_bytes(content)
        file.symlink_to(tmp_path / "elsewhere")
    elif way == "a folder":
        file.mkdir()
    (what,) = [one.what for one in verify(store) if one.where == f"{record.candidate_id}/{name}"]
    assert what.startswith(
        {"altered": "differs from the", "removed": "is missing", "a link": "is a symbolic link"}.get(
            way, "is a folder"
        )
    )
    with pytest.raises(VerificationFailed, match=f"changed since its gates ran: {name}"):
        agreed(store, word(record), 1)
    assert store.candidate(record.candidate_id).state is CandidateState.AWAITING_APPROVAL
    agreed(store, word(record, decision="reject"), 1)  # which can always be done
    gone = way == "removed" and name != "report.html"
    assert [one.what for one in verify(store)] == ["is missing, and no purge removed it"] * gone


@pytest.mark.enemy("store writer", "publishes a person")
@pytest.mark.parametrize("name", SHOWN)
def test_nobody_overrides_what_was_altered_and_verify_tells_it(store: ReleaseStore, name: str) -> None:
    record, folder = blocked(store)
    (folder / name).write_text("other\n")
    assert list(found(store)) == [f"{record.candidate_id}/{name}"]
    with pytest.raises(VerificationFailed, match=f"changed since its gates ran: {name}"):
        agreed(store, word(record, decision="override"), 0)
    assert store.candidate(record.candidate_id).state is CandidateState.BLOCKED


@pytest.mark.enemy("store writer", "publishes a person")
def test_a_file_beside_those_that_were_judged_is_found(store: ReleaseStore) -> None:
    record, folder = read_by_people(store)
    (folder / "report2.html").write_text("<p>all is well")
    assert found(store) == {f"{record.candidate_id}/report2.html": "is not part of the candidate"}


def test_a_folder_that_is_gone_is_one_finding(store: ReleaseStore) -> None:
    record, folder = read_by_people(store)
    folder.rename(store.root.parent / "elsewhere")
    assert found(store) == {record.candidate_id: "its folder of staged files is missing"}


def test_files_that_were_taken_away_of_what_does_not_wait_are_found(store: ReleaseStore) -> None:
    record, folder = blocked(store)
    (folder / "data.csv").unlink()
    assert found(store) == {f"{record.candidate_id}/data.csv": "is missing, and no purge removed it"}


def test_a_report_of_an_earlier_releasegate_is_a_note_and_can_be_approved(store: ReleaseStore) -> None:
    record = awaiting(store)
    (candidate_folder(store.root, record.candidate_id) / "report.html").write_bytes(PAGE)
    assert verify(store) == []
    assert [str(one) for one in notes(store)] == [
        f"{record.candidate_id}/report.html: was not compared: the log has no digest of it"
    ]
    assert agreed(store, word(record), 1) is CandidateState.APPROVED


def test_what_is_published_needs_its_staged_files_no_more(store: ReleaseStore) -> None:
    name = approved(store)
    publish_one(store, name)
    (candidate_folder(store.root, name) / "data.csv").unlink()
    assert verify(store) == []
    assert notes(store) == []
