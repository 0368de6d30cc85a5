"""A period that has a release gets another only by name and reason, and the first keeps a tombstone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from policy.errors import StoreError
from release_store.canonical import file_digest
from release_store.publishing.publication import recover
from release_store.records import ReleaseState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.support.at_work import agreed, withdraw
from tests.support.store.hand_made import approved, awaiting, publish_one, word
from tests.support.stores import BuiltOnce

TOMBSTONE = "releases/clinic/clinic-2024-r1.superseded.json"


@pytest.fixture
def revised(fresh_store: Path, built_once: BuiltOnce) -> ReleaseStore:
    """A store whose release of 2024 was superseded by a second one."""
    return built_once(fresh_store, revise)


def revise(store: ReleaseStore) -> None:
    publish_one(store, approved(store))
    publish_one(store, approved(store, content="other\n", made_by="eve"))


def test_the_first_is_superseded_with_a_name_and_a_reason(revised: ReleaseStore) -> None:
    first, second = revised.releases()
    assert (first.state, second.state) == (ReleaseState.SUPERSEDED, ReleaseState.PUBLISHED)
    assert revised.last_release_of("clinic", "2024") == second
    (event,) = [one for one in revised.events() if one.action == "release.superseded"]
    assert (event.actor, event.object, event.reason) == ("eve", "clinic-2024-r1", "a row was missing")
    assert event.payload == {
        "release": "clinic-2024-r1",
        "release_state": "superseded",
        "successor": "clinic-2024-r2",
    }
    assert verify(revised) == []


def test_the_first_stays_where_it_was_and_names_its_successor(revised: ReleaseStore) -> None:
    first, _ = revised.releases()
    folder = revised.root / "releases/clinic/clinic-2024-r1"
    assert {path.name: file_digest(path) for path in folder.iterdir()} == first.files
    (event,) = [one for one in revised.events() if one.action == "release.superseded"]
    assert json.loads((revised.root / TOMBSTONE).read_text()) == {
        "release_id": "clinic-2024-r1",
        "series": "clinic",
        "period": "2024",
        "number": 1,
        "published_at": first.published_at.isoformat(timespec="microseconds"),
        "superseded_at": event.at,
        "superseded_by": "eve",
        "successor": "clinic-2024-r2",
        "reason": "a row was missing",
        "files": first.files,
        "event": {"number": event.number, "hash": event.hash},
    }
    assert str((revised.root / "releases/clinic/latest").readlink()) == "clinic-2024-r2"


def test_the_first_stays_in_every_later_comparison(revised: ReleaseStore) -> None:
    names = [release.release_id for release, _ in revised.earlier_classes("clinic")]
    assert names == ["clinic-2024-r1", "clinic-2024-r2"]


@pytest.mark.parametrize(
    ("revision", "finding"),
    [
        ({}, "revises nothing, and the last release of 2024 is clinic-2024-r1"),
        ({"revision": {"of": "clinic-2024-r9", "reason": "why"}}, "revises clinic-2024-r9"),
    ],
)
def test_a_candidate_that_does_not_name_the_last_release_supersedes_nothing(
    store: ReleaseStore, revision: dict[str, object], finding: str
) -> None:
    publish_one(store, approved(store))
    other = approved(store, content="other\n", summary={"n_published": 7, **revision})
    with pytest.raises(StoreError, match=finding):
        publish_one(store, other)
    assert [one.state for one in store.releases()] == [ReleaseState.PUBLISHED]
    assert verify(store) == []


def test_a_revision_of_a_period_without_a_release_is_none(store: ReleaseStore) -> None:
    summary = {"n_published": 7, "revision": {"of": "clinic-2024-r1", "reason": "why"}}
    with pytest.raises(StoreError, match="the last release of 2024 is none"):
        publish_one(store, approved(store, summary=summary))


def test_a_withdrawn_release_is_revised_and_stays_withdrawn(store: ReleaseStore) -> None:
    publish_one(store, approved(store))
    withdraw(store, "clinic-2024-r1", by="eve", reason="a column was not to be public")
    publish_one(store, approved(store, content="other\n"))
    assert [one.state for one in store.releases()] == [ReleaseState.WITHDRAWN, ReleaseState.PUBLISHED]
    assert not (store.root / TOMBSTONE).exists()
    assert verify(store) == []


def test_one_that_is_withdrawn_later_keeps_both_tombstones(revised: ReleaseStore) -> None:
    before = (revised.root / TOMBSTONE).read_bytes()
    withdraw(revised, "clinic-2024-r1", by="eve", reason="a column was not to be public")
    assert (revised.root / TOMBSTONE).read_bytes() == before
    assert (revised.root / "releases/clinic/clinic-2024-r1.withdrawn.json").is_file()
    assert verify(revised) == []


def test_a_revision_can_be_revised(revised: ReleaseStore) -> None:
    waiting = awaiting(revised, content="third\n", made_by="ann")
    agreed(revised, word(waiting), 1)
    publish_one(revised, waiting.candidate_id)
    told = json.loads((revised.root / "releases/clinic/clinic-2024-r2.superseded.json").read_text())
    assert (told["superseded_by"], told["successor"]) == ("ann", "clinic-2024-r3")
    assert verify(revised) == []


@pytest.mark.parametrize("damage", ["missing", "another", "link"])
def test_a_tombstone_that_is_not_there_is_found_and_written_again(
    revised: ReleaseStore, damage: str, tmp_path: Path
) -> None:
    path = revised.root / TOMBSTONE
    content = path.read_bytes()
    path.unlink()
    if damage == "another":
        path.write_bytes(content.replace(b"eve", b"ann"))
    elif damage == "link":
        (tmp_path / "elsewhere").write_bytes(content)
        path.symlink_to(tmp_path / "elsewhere")
    (finding,) = verify(revised)
    assert str(finding.where) == "clinic/clinic-2024-r1.superseded.json"
    assert recover(revised) == [f"{TOMBSTONE}: written again"]
    assert path.read_bytes() == content
    assert not path.is_symlink()
    assert verify(revised) == []


def test_a_tombstone_of_a_release_that_stands_is_found(revised: ReleaseStore) -> None:
    path = revised.root / "releases/clinic/clinic-2024-r2.superseded.json"
    path.write_bytes((revised.root / TOMBSTONE).read_bytes())
    (finding,) = verify(revised)
    assert finding.what == "belongs to no superseded release"
