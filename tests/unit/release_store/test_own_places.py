"""Links, pipes and foreign files where the store has its own: one finding each, nothing written through."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from policy.errors import ReleaseGateError, StoreError, VerificationFailed
from release_store.audit import keys
from release_store.checkup import Condition, check_store
from release_store.db.connection import DATABASE
from release_store.publishing.public_files import CATALOG, candidate_folder
from release_store.publishing.publication import recover
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.support.store.hand_made import approved, awaiting, publish_one, stage

Plant = Callable[[Path, Path], None]


def link(place: Path, outside: Path) -> None:
    place.symlink_to(outside)


def hard_link(place: Path, outside: Path) -> None:
    place.hardlink_to(outside)


def pipe(place: Path, _: Path) -> None:
    os.mkfifo(place)


def folder(place: Path, _: Path) -> None:
    place.mkdir()


def endpoint(place: Path, _: Path) -> None:
    here = Path.cwd()
    os.chdir(place.parent)  # a socket's name is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(place.name)
    finally:
        os.chdir(here)


WORDS = {
    link: "is a symbolic link",
    hard_link: "has another name elsewhere, as a hard link",
    pipe: "is not a regular file",
    folder: "is a folder",
    endpoint: "is not a regular file",
}


def plant(place: Path, way: Plant, outside: Path, content: bytes = b"theirs\n") -> None:
    """Put something else in the place of a file, with what the file held outside, where it had something."""
    outside.write_bytes(place.read_bytes() if place.is_file() else content)
    place.unlink(missing_ok=True)
    way(place, outside)


def told(store: ReleaseStore) -> dict[str, str]:
    return {Path(one.where).name: one.what for one in verify(store)}


@pytest.mark.enemy("store writer", "writes a file")
@pytest.mark.parametrize("way", WORDS)
@pytest.mark.parametrize("name", [".history", "clinic.lock"])
def test_what_is_no_lock_is_found_and_nothing_is_done_under_it(
    store: ReleaseStore, tmp_path: Path, way: Plant, name: str
) -> None:
    outside = tmp_path / "theirs"
    (store.root / "locks" / name).unlink(missing_ok=True)
    plant(store.root / "locks" / name, way, outside, b"a file of somebody else\n")
    assert WORDS[way] in told(store)[name]
    with (
        pytest.raises(VerificationFailed, match="nothing is written through it"),
        store.series_lock("clinic"),
    ):
        store.next_candidate_id("clinic", "2024")
    assert outside.read_bytes() == b"a file of somebody else\n"
    assert WORDS[way] in wrong_in_doctor(store)


@pytest.mark.enemy("store writer", "writes a file")
@pytest.mark.parametrize("way", WORDS)
@pytest.mark.parametrize("name", [f"{DATABASE}.wal", f"{DATABASE}.tmp/duckdb_temp_storage_DEFAULT-0.tmp"])
def test_what_the_database_would_write_through_is_refused_at_once(
    store: ReleaseStore, tmp_path: Path, way: Plant, name: str
) -> None:
    place, outside = store.root / name, tmp_path / "theirs"
    place.parent.mkdir(exist_ok=True)
    plant(place, way, outside, b"a file of somebody else\n")
    with pytest.raises(VerificationFailed, match=f"{WORDS[way]}, which is not the store's own file"):
        store.next_candidate_id("clinic", "2024")
    assert WORDS[way] in told(store)[place.name]
    assert outside.read_bytes() == b"a file of somebody else\n"


@pytest.mark.enemy("store writer", "changes history")
@pytest.mark.parametrize("way", [link, hard_link])
def test_the_database_of_somewhere_else_is_refused(store: ReleaseStore, tmp_path: Path, way: Plant) -> None:
    outside = tmp_path / "theirs"
    plant(store.root / DATABASE, way, outside)
    before = outside.read_bytes()
    with pytest.raises(VerificationFailed, match=WORDS[way]):
        store.next_candidate_id("clinic", "2024")
    assert WORDS[way] in told(store)[DATABASE]
    assert outside.read_bytes() == before


@pytest.mark.enemy("store writer", "writes a file")
@pytest.mark.parametrize("name", ["candidates", "releases", "withdrawn", "locks", "releases/clinic"])
@pytest.mark.parametrize("way", [link, "a file"])
@pytest.mark.by_day(4)
def test_a_folder_that_is_none_is_found_and_nothing_is_written(
    two: ReleaseStore, tmp_path: Path, name: str, way: Plant | str
) -> None:
    place, outside = two.root / name, tmp_path / "theirs"
    if place.exists():
        place.rename(outside)
    else:
        outside.mkdir()
    if way is link:
        place.symlink_to(outside)
    else:
        place.write_text("a file")
    before = sorted(outside.rglob("*"))
    findings = [str(one) for one in verify(two)]
    assert any(one.startswith((f"{name}: is ", f"{two.root / name}: is ")) for one in findings), findings
    with suppress(ReleaseGateError):
        recover(two)  # which has nothing to write
    through = "nothing is written through it"
    with pytest.raises(VerificationFailed, match=through), two.series_lock("clinic"):
        stage(two, period="2026")
    assert sorted(outside.rglob("*")) == before


@pytest.mark.enemy("store writer", "changes history")
@pytest.mark.parametrize("content", [bytes(range(256)) * 20, b"\0", b"a text\n"])
def test_random_bytes_as_the_log_of_the_database_are_found_and_removed(
    two: ReleaseStore, content: bytes
) -> None:
    log = two.root / f"{DATABASE}.wal"
    log.write_bytes(content)
    assert told(two) == {log.name: "is no log that the database can read; what it held may be lost"}
    assert f"{log.name}: removed, the database cannot read it; what it held may be lost" in recover(two)
    assert verify(two) == []


@pytest.mark.enemy("store writer", "writes a file")
@pytest.mark.parametrize("way", WORDS)
def test_what_is_planted_at_a_name_that_can_be_told_before_is_not_written_through(
    two: ReleaseStore, tmp_path: Path, way: Plant
) -> None:
    """The name that a file has before it takes its own."""
    record = awaiting(two, period="2026")
    outside = tmp_path / "theirs"
    folder_of = candidate_folder(two.root, record.candidate_id)
    for place in (two.root / "releases" / f".{CATALOG}.new", folder_of / ".report.html.new"):
        plant(place, way, outside, b"a file of somebody else\n")
    (two.root / "releases" / CATALOG).unlink()
    if way is folder:
        for act in (lambda: recover(two), lambda: two.keep_report(record.candidate_id, b"<p>", actor="ann")):
            with pytest.raises(StoreError, match="is a folder where the store has a file"):
                act()
        return
    recover(two)
    two.keep_report(record.candidate_id, b"<p>", actor="ann")
    assert outside.read_bytes() == b"a file of somebody else\n"
    assert (folder_of / "report.html").read_bytes() == b"<p>"
    assert verify(two) == []


@pytest.mark.enemy("store writer", "changes history")
@pytest.mark.parametrize("way", WORDS)
def test_the_public_key_and_the_catalog_are_files_of_their_own(
    two: ReleaseStore, tmp_path: Path, way: Plant
) -> None:
    for number, path in enumerate((two.root / keys.PUBLIC_KEY_FILE, two.root / "releases" / CATALOG)):
        plant(path, way, tmp_path / f"theirs-{number}")
    findings = told(two)
    assert WORDS[way] in findings[keys.PUBLIC_KEY_FILE]
    if way is not hard_link:  # which a rename takes away; readers see what the history says
        assert WORDS[way] in findings[CATALOG]


@pytest.mark.enemy("store writer", "changes history")
def test_a_candidate_behind_a_link_and_files_with_other_names_are_found(
    store: ReleaseStore, tmp_path: Path
) -> None:
    first, second = awaiting(store, period="2024"), awaiting(store, period="2025")
    behind = candidate_folder(store.root, first.candidate_id)
    behind.rename(tmp_path / "elsewhere")
    behind.symlink_to(tmp_path / "elsewhere")
    shared = candidate_folder(store.root, second.candidate_id) / "data.csv"
    (tmp_path / "theirs").hardlink_to(shared)
    assert [str(one) for one in verify(store)] == [
        f"candidates/{first.candidate_id}: is a symbolic link",
        f"{second.candidate_id}/data.csv: has another name elsewhere, as a hard link",
    ]


def test_the_locks_are_made_again_where_their_folder_is_gone(two: ReleaseStore) -> None:
    for path in (two.root / "locks").iterdir():
        path.unlink()
    (two.root / "locks").rmdir()
    assert verify(two) == []
    publish_one(two, approved(two, period="2026"))
    assert verify(two) == []
    assert (two.root / "locks" / "clinic.lock").is_file()


def wrong_in_doctor(store: ReleaseStore) -> str:
    return " ".join(one.found for one in check_store(store.root) if one.condition is Condition.WRONG)
