"""The evidence of a withdrawn release holds no rows unless somebody asks for them, and verifies."""

from __future__ import annotations

from pathlib import Path

import pytest

from release_store.audit import keys
from release_store.evidence.bundle import write_evidence
from release_store.evidence.examine import examine
from release_store.evidence.findings import Report
from release_store.store import ReleaseStore
from tests.support.at_work import restore, withdraw
from tests.support.store.bundles import forged, put_together, taken_apart
from tests.support.stores import BuiltOnce

NAME = "clinic-2025-r1"
ROWS = "release/data.csv"


@pytest.fixture
def taken_down(two_releases_folder: Path, built_once: BuiltOnce) -> ReleaseStore:
    """A store whose last release was withdrawn."""
    return built_once(two_releases_folder, take_down)


def take_down(two: ReleaseStore) -> None:
    withdraw(two, NAME, by="eve", reason="a column was not to be public")


def judged(store: ReleaseStore, bundle: Path) -> Report:
    return examine(bundle, keys.read_public_hex(store.root))


@pytest.mark.enemy("reader", "learns a value")
def test_the_evidence_of_a_withdrawn_release_holds_no_rows(taken_down: ReleaseStore, tmp_path: Path) -> None:
    members = taken_apart(write_evidence(taken_down, NAME, tmp_path / "b.zip"))
    assert [name for name in members if name.startswith("release/")] == [
        "release/datapackage.json",
        "release/manifest.json",
    ]
    assert not any(b"20,29" in data for data in members.values())  # the row
    assert "its rows and its report are not in this bundle" in members["README.txt"].decode()


def test_without_rows_it_verifies_and_says_what_was_not_looked_at(
    taken_down: ReleaseStore, tmp_path: Path
) -> None:
    report = judged(taken_down, write_evidence(taken_down, NAME, tmp_path / "b.zip"))
    assert report.findings == []
    assert report.notes[:2] == [
        f"{NAME} was published, and is withdrawn now",
        "not in the bundle, so not looked at: data.csv; their digests are in the log",
    ]
    assert report.summary.startswith(f"{NAME}: 2 files and ")


def test_with_rows_it_says_that_they_are_not_to_be_passed_on(
    taken_down: ReleaseStore, tmp_path: Path
) -> None:
    out = write_evidence(taken_down, NAME, tmp_path / "b.zip", with_rows=True)
    members = taken_apart(out)
    assert ROWS in members
    assert "THE RELEASE WAS WITHDRAWN" in members["README.txt"].decode()
    report = judged(taken_down, out)
    assert report.findings == []
    assert "the bundle holds rows of a withdrawn release: do not pass them on" in report.notes


def test_an_altered_row_in_it_is_found(taken_down: ReleaseStore, tmp_path: Path) -> None:
    members = taken_apart(write_evidence(taken_down, NAME, tmp_path / "b.zip", with_rows=True))
    members[ROWS] += b"1,2\n"
    (finding,) = judged(taken_down, put_together(tmp_path / "c.zip", members)).findings
    assert str(finding) == "release/data.csv: differs from the published file"


def test_rows_are_missing_where_the_release_stands(two: ReleaseStore, tmp_path: Path) -> None:
    members = taken_apart(write_evidence(two, NAME, tmp_path / "b.zip"))
    del members[ROWS]
    (finding,) = judged(two, put_together(tmp_path / "c.zip", members)).findings
    assert str(finding) == "release/data.csv: is missing, though the release is not withdrawn"


@pytest.mark.parametrize("name", ["release/manifest.json", "release/datapackage.json"])
def test_what_holds_no_rows_is_never_left_out(taken_down: ReleaseStore, tmp_path: Path, name: str) -> None:
    members = taken_apart(write_evidence(taken_down, NAME, tmp_path / "b.zip"))
    del members[name]
    assert name in str(judged(taken_down, put_together(tmp_path / "c.zip", members)).findings[0])


def test_a_withdrawal_that_no_checkpoint_signs_excuses_nothing(
    taken_down: ReleaseStore, tmp_path: Path
) -> None:
    members = taken_apart(write_evidence(taken_down, NAME, tmp_path / "b.zip"))
    signing = keys.load_key(taken_down.root)
    stands = forged(
        members,
        lambda told: told.event("release.withdrawn")["payload"].update(release_state="published"),
        signing,
    )
    report = judged(taken_down, put_together(tmp_path / "c.zip", stands))
    assert "release/data.csv: is missing, though the release is not withdrawn" in map(str, report.findings)


def test_the_evidence_of_a_restored_release_shows_both_words_and_holds_the_rows(
    taken_down: ReleaseStore, tmp_path: Path
) -> None:
    restore(taken_down, NAME, by="eve", reason="it was withdrawn by mistake")
    report = examine(write_evidence(taken_down, NAME, tmp_path / "a.zip"))
    assert report.findings == []
    number = taken_down.n_events()
    assert f"event {number}: eve restored it after a withdrawal" in report.notes
    assert not any("was published, and is" in note for note in report.notes)


def test_a_restoration_on_the_word_of_the_maker_is_found(taken_down: ReleaseStore, tmp_path: Path) -> None:
    restore(taken_down, NAME, by="eve", reason="it was withdrawn by mistake")
    members = taken_apart(write_evidence(taken_down, NAME, tmp_path / "b.zip"))
    forge = forged(
        members,
        lambda told: told.event("release.restored").update(actor="Ann"),
        keys.load_key(taken_down.root),
    )
    report = judged(taken_down, put_together(tmp_path / "c.zip", forge))
    assert "is a decision by the person who made the release" in [one.what for one in report.findings]
