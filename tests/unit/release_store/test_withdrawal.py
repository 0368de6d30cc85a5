from __future__ import annotations

import json
import shutil

import pytest
from test_publication import killed_and_recovered

from policy.errors import StoreError, UsageError
from release_store.audit import keys
from release_store.canonical import file_digest
from release_store.checkup import Condition, check_store
from release_store.publishing import withdrawal
from release_store.publishing.public_files import kept_folder
from release_store.publishing.publication import recover
from release_store.records import Release, ReleaseState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.support.at_work import withdraw
from tests.support.store.hand_made import approved, publish_one


def take_down(store: ReleaseStore, release_id: str = "clinic-2025-r1") -> Release:
    return withdraw(store, release_id, by="eve", reason="a column was not to be public")


def seen_ids(store: ReleaseStore) -> set[str]:
    return {release.release_id for release in store.releases()}


def public(store: ReleaseStore) -> list[str]:
    return sorted(path.name for path in (store.root / "releases" / "clinic").iterdir())


def test_a_withdrawn_release_is_not_public_and_kept_whole(two: ReleaseStore) -> None:
    release = take_down(two)
    assert release.state is ReleaseState.WITHDRAWN
    assert public(two) == [
        "clinic-2024-r1",
        "clinic-2024-r1.checkpoint.json",
        "clinic-2025-r1.checkpoint.json",
        "clinic-2025-r1.withdrawn.checkpoint.json",
        "clinic-2025-r1.withdrawn.json",
        "latest",
    ]
    kept = two.root / "withdrawn" / "clinic" / "clinic-2025-r1"
    assert kept_folder(two.root, release) == kept
    assert {path.name: file_digest(path) for path in kept.iterdir()} == release.files
    assert (two.root / "withdrawn").stat().st_mode & 0o077 == 0
    assert verify(two) == []


def test_the_tombstone_says_who_when_and_why_and_holds_no_data(two: ReleaseStore) -> None:
    release = take_down(two)
    (event,) = [one for one in two.events() if one.action == "release.withdrawn"]
    tombstone = json.loads((two.root / "releases/clinic/clinic-2025-r1.withdrawn.json").read_text())
    assert tombstone == {
        "release_id": "clinic-2025-r1",
        "series": "clinic",
        "period": "2025",
        "number": 2,
        "published_at": release.published_at.isoformat(timespec="microseconds"),
        "withdrawn_at": event.at,
        "withdrawn_by": "eve",
        "reason": "a column was not to be public",
        "files": release.files,
        "event": {"number": event.number, "hash": event.hash},
    }
    said = {key: event.payload[key] for key in ("release", "release_state")}
    assert said == {"release": "clinic-2025-r1", "release_state": "withdrawn"}
    assert event.payload.keys() - said.keys() == {"at", "bound", "proof"}


def test_latest_the_catalog_and_a_signed_checkpoint_follow(two: ReleaseStore) -> None:
    take_down(two)
    folder = two.root / "releases" / "clinic"
    assert str((folder / "latest").readlink()) == "clinic-2024-r1"
    (first, second) = json.loads((two.root / "releases/catalog.json").read_text())["series"]["clinic"]
    assert (first["state"], first["path"]) == ("published", "clinic/clinic-2024-r1")
    assert (second["state"], second["path"]) == ("withdrawn", "clinic/clinic-2025-r1.withdrawn.json")
    checkpoint = json.loads((folder / "clinic-2025-r1.withdrawn.checkpoint.json").read_text())
    assert (checkpoint["size"], checkpoint["head"]) == (len(two.events()), two.events()[-1].hash)
    assert keys.signature_holds(checkpoint, keys.read_public_hex(two.root) or "")


def test_the_last_release_can_be_withdrawn_and_then_nothing_is_latest(two: ReleaseStore) -> None:
    take_down(two)
    take_down(two, "clinic-2024-r1")
    assert not [name for name in public(two) if "." not in name]
    assert not (two.root / "releases/clinic/latest").is_symlink()
    assert verify(two) == []


def test_a_withdrawn_release_stays_in_every_later_comparison(two: ReleaseStore) -> None:
    head = two.history_head("clinic")
    take_down(two)
    assert [one.release_id for one, _ in two.earlier_classes("clinic")] == [
        "clinic-2024-r1",
        "clinic-2025-r1",
    ]
    assert two.history_head("clinic") == head
    assert publish_one(two, approved(two, period="2025")).release_id == "clinic-2025-r2"
    assert len(two.earlier_classes("clinic")) == 3


def test_a_superseded_release_can_be_withdrawn(store: ReleaseStore) -> None:
    publish_one(store, approved(store))
    publish_one(store, approved(store, content="other\n"))
    take_down(store, "clinic-2024-r1")
    assert [one.state for one in store.releases()] == [ReleaseState.WITHDRAWN, ReleaseState.PUBLISHED]
    assert str((store.root / "releases/clinic/latest").readlink()) == "clinic-2024-r2"
    assert verify(store) == []


@pytest.mark.parametrize(
    ("release_id", "by", "reason", "finding"),
    [
        ("clinic-2025-r1", " ", "wrong", "the withdrawal has no name"),
        ("clinic-2025-r1", "eve", "\n", "the withdrawal has no reason"),
        ("clinic-2025-r2", "eve", "wrong", "did you mean 'clinic-2025-r1'"),
        ("clinic-2024-r1", "eve", "wrong", "is withdrawn already"),
    ],
)
def test_what_cannot_be_withdrawn_is_refused_and_only_that_is_logged(
    two: ReleaseStore, release_id: str, by: str, reason: str, finding: str
) -> None:
    take_down(two, "clinic-2024-r1")
    before, seen = two.n_events(), public(two)
    with pytest.raises(UsageError, match=finding):
        withdraw(two, release_id, by=by, reason=reason)
    logged = [(one.action, one.object) for one in two.events(before)]
    assert logged == ([("decision.refused", release_id)] if release_id in seen_ids(two) else [])
    assert public(two) == seen
    assert verify(two) == []


def test_a_release_that_was_altered_can_be_withdrawn_too(two: ReleaseStore) -> None:
    (two.root / "releases/clinic/clinic-2025-r1/data.csv").write_text("changed\n")
    take_down(two)
    assert "clinic-2025-r1" not in public(two)
    assert [str(one) for one in verify(two)] == ["clinic-2025-r1/data.csv: differs from the published file"]


def test_a_folder_that_cannot_be_moved_is_moved_by_the_next_run(
    two: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(withdrawal, "move_folder", refused)
        with pytest.raises(StoreError, match="could not be taken down"):
            take_down(two)
    assert two.release("clinic-2025-r1").state is ReleaseState.WITHDRAWN
    assert "clinic-2025-r1: is withdrawn but still public; the next run takes it down" in map(
        str, verify(two)
    )
    assert len(two.earlier_classes("clinic")) == 2
    assert recover(two)[0] == "clinic-2025-r1: withdrawn, and now taken down"
    assert verify(two) == []
    assert recover(two) == []


@pytest.mark.parametrize(
    ("damage", "finding"),
    [
        ("releases/clinic/clinic-2025-r1.withdrawn.json", "does not record what was done"),
        ("releases/clinic/clinic-2025-r1.withdrawn.checkpoint.json", "is not JSON"),
        ("withdrawn/clinic/clinic-2025-r1/data.csv", "differs from the published file"),
        ("releases/clinic/clinic-2024-r1.withdrawn.json", "belongs to no withdrawn release"),
        ("withdrawn/clinic/clinic-2024-r1", "belongs to no withdrawn release"),
        ("releases/clinic/clinic-2025-r1", "is withdrawn but still public; the next run takes it down"),
    ],
)
@pytest.mark.by_day(2)
def test_what_is_changed_about_a_withdrawal_is_found(two: ReleaseStore, damage: str, finding: str) -> None:
    take_down(two)
    path = two.root / damage
    if path.exists():
        path.write_text("{")
    else:
        path.mkdir() if not path.suffix else path.write_text("{}")
    (found,) = verify(two)
    assert finding in str(found)
    assert path.name in found.where or path.parent.name in found.where


def test_a_release_withdrawn_by_a_change_of_the_database_is_found(two: ReleaseStore) -> None:
    from test_verification import change

    change(two, "UPDATE release SET state = 'withdrawn' WHERE release_id = 'clinic-2025-r1'", guarded=())
    assert any("the log does not say by whom" in str(one) for one in verify(two))


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(("append.2", "rename.1", "symlink.1"), marks=pytest.mark.faults, id="some steps"),
        pytest.param((), marks=pytest.mark.nightly, id="every step"),
    ],
)
def test_a_withdrawal_killed_at_any_step_is_finished(two: ReleaseStore, steps: tuple[str, ...]) -> None:
    told = killed_and_recovered(two, "withdraw", *steps)
    for step in told:
        # Before the word was kept nothing has happened; after it, the release is gone from the public place.
        assert ("clinic-2025-r1" in step["folder"]) is (step["after"] == "published"), step
    killed = [step for step in told if step["died_at"]]
    assert killed[0]["after"] == "published"
    assert any("now taken down" in said for step in killed for said in step["said"])
    assert any("written again" in said for step in killed for said in step["said"])


def test_a_withdrawn_folder_that_is_put_back_is_taken_down_again(two: ReleaseStore) -> None:
    take_down(two)
    kept = two.root / "withdrawn/clinic/clinic-2025-r1"
    shutil.copytree(kept, two.root / "releases/clinic/clinic-2025-r1")
    assert any("is withdrawn but still public" in str(one) for one in verify(two))
    assert recover(two) == ["clinic-2025-r1: withdrawn, and now taken down"]
    assert "clinic-2025-r1" not in public(two)
    assert verify(two) == []


def test_a_series_in_use_keeps_nobody_from_settling_another(
    two: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The withdrawal broke off, the catalog is missing, and somebody is at work in another series."""
    publish_one(two, approved(two, series="shop"))
    with monkeypatch.context() as patch:
        patch.setattr(withdrawal, "settle_withdrawals", lambda *_: [])
        patch.setattr(withdrawal, "update_public_index", lambda *_: None)
        take_down(two)
    (two.root / "releases/catalog.json").unlink()
    with two.series_lock("shop", 1):
        told = {check.name: check for check in check_store(two.root)}
        assert recover(two) == []
    assert told["interrupted work"].condition is Condition.MENDED
    assert "clinic-2025-r1" not in public(two)
    assert verify(two) == []


def test_what_is_left_of_a_series_in_use_is_told_and_settled_later(
    two: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(withdrawal, "settle_withdrawals", lambda *_: [])
        patch.setattr(withdrawal, "update_public_index", lambda *_: None)
        take_down(two)
    with two.series_lock("clinic", 1):
        told = [check for check in check_store(two.root) if check.name == "interrupted work"]
    assert {check.condition for check in told} == {
        Condition.FINE,
        Condition.MENDED,
    }  # the catalog is no series'
    assert any("is withdrawn, but was not taken down; its series is in use" in one.found for one in told)
    assert "clinic-2025-r1: withdrawn, and now taken down" in recover(two)
    assert verify(two) == []
