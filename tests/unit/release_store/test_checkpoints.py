"""Nothing is signed unless the log goes on from what was signed; each checkpoint is of its release."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from policy.errors import UsageError, VerificationFailed
from release_store.audit import checkpoints, keys
from release_store.audit.checkpoints import kept_file
from release_store.publishing import public_index as announcement
from release_store.publishing.publication import recover
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.faults.alterations import _rechained, _write_log, unguarded
from tests.support.store.hand_made import approved, publish_one


def checkpoint(store: ReleaseStore, name: str) -> Path:
    return store.root / "releases/clinic" / f"{name}.checkpoint.json"


def rewrite(store: ReleaseStore) -> None:
    """Change the first candidate's maker, with fresh hashes, and take all checkpoints away."""
    events = store.events()
    events[1].payload["more"] = 1
    _write_log(store.root, _rechained(events))
    for path in store.root.glob("releases/*/*.checkpoint.json"):
        path.unlink()


def signed(store: ReleaseStore) -> list[Path]:
    return list(store.root.glob("releases/*/*.checkpoint.json"))


def found(store: ReleaseStore) -> dict[str, str]:
    return {finding.where: finding.what for finding in verify(store)}


def test_a_rewritten_log_is_not_signed_by_the_real_key(two: ReleaseStore) -> None:
    candidate_id = approved(two, period="2026")
    rewrite(two)
    with pytest.raises(VerificationFailed, match="does not continue the newest checkpoint"):
        recover(two)
    with pytest.raises(VerificationFailed, match="does not continue the newest checkpoint"):
        publish_one(two, candidate_id)
    assert signed(two) == []
    assert not (two.root / "releases/clinic/clinic-2026-r1").exists()
    assert kept_file(two.root, two.store_id).name in found(two)


def test_a_rewritten_log_is_not_signed_where_nothing_was_kept(two: ReleaseStore) -> None:
    rewrite(two)
    kept_file(two.root, two.store_id).unlink()
    with pytest.raises(VerificationFailed, match="event 4: seals another event than the one before it"):
        recover(two)
    assert signed(two) == []


def test_without_what_was_kept_the_newest_in_the_store_counts(two: ReleaseStore) -> None:
    kept_file(two.root, two.store_id).unlink()
    first = checkpoint(two, "clinic-2024-r1").read_bytes()
    rewrite(two)
    checkpoint(two, "clinic-2024-r1").write_bytes(first)
    with pytest.raises(VerificationFailed, match="does not continue"):
        recover(two)
    assert signed(two) == [checkpoint(two, "clinic-2024-r1")]


def test_a_store_of_before_takes_its_next_release_and_keeps_its_checkpoint(two: ReleaseStore) -> None:
    place = kept_file(two.root, two.store_id)
    place.unlink()
    publish_one(two, approved(two, period="2026"))
    (kept,) = json.loads(place.read_text())
    assert kept == json.loads(checkpoint(two, "clinic-2026-r1").read_text())
    assert verify(two) == []


def test_a_lost_checkpoint_is_not_signed_anew(two: ReleaseStore) -> None:
    checkpoint(two, "clinic-2024-r1").unlink()
    assert recover(two) == []
    publish_one(two, approved(two, period="2026"))
    assert found(two) == {"clinic/clinic-2024-r1.checkpoint.json": "is missing"}


def test_the_newest_comes_back_byte_for_byte(two: ReleaseStore) -> None:
    path = checkpoint(two, "clinic-2025-r1")
    before = path.read_bytes()
    path.unlink()
    assert recover(two) == ["releases/clinic/clinic-2025-r1.checkpoint.json: written again"]
    assert path.read_bytes() == before


def test_two_interrupted_announcements_are_signed_by_the_first_that_comes(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(announcement, "sign", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            publish_one(store, approved(store, period="2024"))
    publish_one(store, approved(store, series="shop", period="2024"))
    assert len(signed(store)) == 2
    assert verify(store) == []


def test_a_checkpoint_in_anothers_place_is_found(two: ReleaseStore) -> None:
    first, second = checkpoint(two, "clinic-2024-r1"), checkpoint(two, "clinic-2025-r1")
    shutil.copy(first, second)
    assert found(two) == {"clinic/clinic-2025-r1.checkpoint.json": "belongs to another release"}


def test_a_checkpoint_of_the_earlier_form_in_anothers_place_is_found(two: ReleaseStore) -> None:
    said = json.loads(checkpoint(two, "clinic-2024-r1").read_text())
    asked = {name: said[name] for name in ("store_id", "size", "head", "at", "root")}
    old = keys.sign_checkpoint(keys.load_key(two.root), **asked)
    for name in ("clinic-2024-r1", "clinic-2025-r1"):
        checkpoint(two, name).write_bytes(checkpoints.pretty_json(old))
    assert found(two) == {"clinic/clinic-2025-r1.checkpoint.json": "is older than its release"}


def test_two_stores_share_a_key(two: ReleaseStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(keys.KEY_VARIABLE, str(keys.key_path(two.root)))
    other = ReleaseStore.create(tmp_path / "other")
    publish_one(other, approved(other))
    publish_one(two, approved(two, period="2026"))
    assert verify(two) == verify(other) == []
    assert len(list(two.root.parent.glob("store.key.*.checkpoint.json"))) == 2


def test_what_was_kept_of_another_store_is_refused(two: ReleaseStore) -> None:
    place = kept_file(two.root, two.store_id)
    kept = json.loads(place.read_text())
    place.write_bytes(checkpoints.pretty_json([{**kept[0], "size": 1}]))
    with pytest.raises(VerificationFailed, match="is not a checkpoint that this store's key signed"):
        recover(two)
    place.write_text("{")
    with pytest.raises(VerificationFailed, match="cannot be read"):
        recover(two)


def test_a_store_id_that_is_none_names_no_file(two: ReleaseStore) -> None:
    with unguarded(two.root) as con:
        con.execute("UPDATE store_info SET value = '../x' WHERE name = 'store_id'")
    with pytest.raises(VerificationFailed, match="id was altered"):
        recover(two)


def test_a_key_folder_that_cannot_be_written_is_told_before_anything_is_published(
    two: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidate_id = approved(two, period="2026")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UsageError, match="folder of the signing key cannot be written"):
        publish_one(two, candidate_id)
    assert len(two.releases()) == 2


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("releases/evil.html", "releases/evil.html"),
        ("releases/clinic/x.csv", "clinic/x.csv"),
        ("releases/foreign/", "releases/foreign"),
        ("releases/clinic/x.checkpoint.json", "clinic/x.checkpoint.json"),
        ("withdrawn/foreign/", "withdrawn/foreign"),
    ],
)
@pytest.mark.parametrize("link", [False, True])
def test_foreign_content_is_found(two: ReleaseStore, name: str, where: str, link: bool) -> None:
    path = two.root / name
    path.parent.mkdir(exist_ok=True)
    if link:
        path.symlink_to(two.root / "candidates")
    elif name.endswith("/"):
        path.mkdir()
    else:
        path.write_text("x")
    assert where in found(two)


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("releases/clinic", "releases/clinic"),
        ("releases/clinic/clinic-2024-r1", "clinic/clinic-2024-r1"),
        ("releases/clinic/clinic-2024-r1.checkpoint.json", "clinic/clinic-2024-r1.checkpoint.json"),
        ("releases/catalog.json", "catalog.json"),
    ],
)
def test_a_link_in_the_place_of_what_was_published_is_found(two: ReleaseStore, name: str, where: str) -> None:
    path = two.root / name
    path.rename(two.root.parent / "moved")
    path.symlink_to(two.root.parent / "moved")
    assert where in found(two)


@pytest.mark.parametrize(
    ("statement", "where"),
    [
        ("INSERT INTO class_size VALUES ('clinic-2031-c1', 0, 3)", "clinic-2031-c1"),
        ("UPDATE schema_migration SET name = 'x' WHERE number = 1", "schema_migration"),
        ("UPDATE candidate_name SET period = '1999'", "clinic-2024-c1"),
        ("DELETE FROM candidate_name", "clinic-2024-c1"),
        ("INSERT INTO policy VALUES ('unused', '{}', '')", "policy"),
    ],
)
def test_rows_that_nothing_leads_to_are_found(two: ReleaseStore, statement: str, where: str) -> None:
    with unguarded(two.root) as con:
        con.execute(statement)
    assert where in found(two)


def test_a_trigger_of_the_same_name_that_does_nothing_is_found(two: ReleaseStore) -> None:
    with unguarded(two.root):
        pass
    assert verify(two) == []
    with checkpoints.duckdb.connect(str(two.root / "history.duckdb")) as con:
        con.execute("DROP TRIGGER event_keeps_updates ON event")
        con.execute(
            "CREATE TRIGGER event_keeps_updates AFTER UPDATE ON event FOR EACH STATEMENT "
            "INSERT INTO refusal SELECT now(), 'harmless'"
        )
        con.execute(
            "CREATE TRIGGER strange AFTER INSERT ON event FOR EACH STATEMENT "
            "INSERT INTO refusal SELECT now(), 'harmless'"
        )
    assert found(two) == {
        "event_keeps_updates": "the trigger was altered",
        "strange": "is a trigger that does not belong to the store",
    }
