"""Restoration: a withdrawn release is public again with the same bytes, or it stays withdrawn."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from test_publication import killed_and_recovered

from policy.errors import Blocked, ReleaseGateError, StoreError, UsageError, VerificationFailed
from release_store.approval.credentials import SignedText
from release_store.approval.signing import sign_statement, to_sign
from release_store.audit import keys
from release_store.canonical import file_digest
from release_store.publishing import restoration
from release_store.publishing.publication import recover
from release_store.records import CandidateState, Release, ReleaseState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from services.observability.notice_kinds import notice_of
from services.rejudge import check_may_be_judged_again
from tests.support.at_work import agreed, key_of, member, purge, restore, withdraw, write_people
from tests.support.store.hand_made import K_FAILS, approved, awaiting, publish_one, stage, word
from tests.support.stores import BuiltOnce

NAME = "clinic-2025-r1"
WHY = "it was withdrawn by mistake"


@pytest.fixture
def one_withdrawn(two_releases_folder: Path, built_once: BuiltOnce) -> ReleaseStore:
    """A store of two releases, the second withdrawn."""
    return built_once(two_releases_folder, take_down)


def take_down(two: ReleaseStore) -> None:
    withdraw(two, NAME, by="eve", reason="a column was not to be public")


def put_back(store: ReleaseStore, by: str = "eve") -> Release:
    return restore(store, NAME, by=by, reason=WHY)


def public(store: ReleaseStore) -> list[str]:
    return sorted(path.name for path in (store.root / "releases" / "clinic").iterdir())


def signed(store: ReleaseStore, act: str, by: str) -> SignedText:
    """Return what a person signs about the release as it is now."""
    release = store.release(NAME)
    document = to_sign(store.store_id, store.candidate(release.candidate_id), release)
    return SignedText(sign_statement(document, act, by=by, reason=WHY, key=key_of(by)))


def test_the_same_bytes_are_public_again_and_the_tombstone_is_gone(one_withdrawn: ReleaseStore) -> None:
    store = one_withdrawn
    release = put_back(store)
    assert release.state is ReleaseState.PUBLISHED
    folder = store.root / "releases/clinic" / NAME
    assert {path.name: file_digest(path) for path in folder.iterdir()} == release.files
    assert folder.stat().st_mode & 0o777 == 0o755
    assert not (store.root / "withdrawn/clinic" / NAME).exists()
    assert public(store) == [
        "clinic-2024-r1",
        "clinic-2024-r1.checkpoint.json",
        NAME,
        f"{NAME}.checkpoint.json",
        f"{NAME}.restored.checkpoint.json",
        f"{NAME}.withdrawn.checkpoint.json",
        "latest",
    ]
    assert str((store.root / "releases/clinic/latest").readlink()) == NAME
    listed = json.loads((store.root / "releases/catalog.json").read_text())["series"]["clinic"][1]
    assert (listed["state"], listed["path"]) == ("published", f"clinic/{NAME}")
    assert verify(store) == []
    assert recover(store) == []


def test_the_log_says_who_restored_it_and_a_signed_checkpoint_follows(one_withdrawn: ReleaseStore) -> None:
    put_back(one_withdrawn)
    event = one_withdrawn.events()[-1]
    assert (event.action, event.object, event.actor, event.reason) == ("release.restored", NAME, "eve", WHY)
    assert event.payload["release_state"] == "published"
    assert event.payload["bound"]["release_state"] == "withdrawn"
    path = one_withdrawn.root / f"releases/clinic/{NAME}.restored.checkpoint.json"
    checkpoint = json.loads(path.read_text())
    assert (checkpoint["size"], checkpoint["head"]) == (event.number, event.hash)
    assert keys.signature_holds(checkpoint, keys.read_public_hex(one_withdrawn.root) or "")


def test_the_history_that_candidates_are_judged_against_is_the_same(one_withdrawn: ReleaseStore) -> None:
    before = one_withdrawn.history_head("clinic")
    put_back(one_withdrawn)
    assert one_withdrawn.history_head("clinic") == before


@pytest.mark.parametrize("made", ["before", "after"])
def test_a_revision_that_waits_is_stale_once_its_release_is_restored(two: ReleaseStore, made: str) -> None:
    waits = awaiting(two, period="2025") if made == "before" else None
    withdraw(two, NAME, by="eve", reason="a column was not to be public")
    waits = waits or awaiting(two, period="2025")
    other = awaiting(two, period="2026")
    put_back(two)
    assert two.candidate(other.candidate_id).state is CandidateState.AWAITING_APPROVAL
    assert two.candidate(waits.candidate_id).state is CandidateState.STALE
    told_to_all = notice_of(two, two.events_about(waits.candidate_id)[-1]).text
    assert told_to_all.endswith("is stale: the release that it revises was restored since it was made.")
    with pytest.raises(Blocked, match=f"stale: {NAME}, which it revises, was restored since") as told:
        agreed(two, word(two.candidate(waits.candidate_id)), 1)
    assert "--revise REASON" in str(told.value.hint)
    with pytest.raises(UsageError, match="was restored since"):
        check_may_be_judged_again(two, two.candidate(waits.candidate_id))
    again = awaiting(two, period="2025")
    assert two.candidate(again.candidate_id).state is CandidateState.AWAITING_APPROVAL
    assert agreed(two, word(again), 1) is CandidateState.APPROVED
    assert verify(two) == []


def test_an_approved_revision_is_not_published_over_a_restored_release(one_withdrawn: ReleaseStore) -> None:
    name = approved(one_withdrawn, period="2025")
    put_back(one_withdrawn)
    with pytest.raises(Blocked, match="was restored since"):
        publish_one(one_withdrawn, name)
    assert one_withdrawn.release(NAME).state is ReleaseState.PUBLISHED


def test_what_gates_held_back_does_not_replace_a_restored_release(one_withdrawn: ReleaseStore) -> None:
    held = stage(one_withdrawn, period="2025")
    one_withdrawn.record_gates(held.candidate_id, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    put_back(one_withdrawn)
    with pytest.raises(Blocked, match="was restored since"):
        agreed(one_withdrawn, word(held, decision="override"), 1)


def test_an_older_release_is_restored_and_latest_stays(two: ReleaseStore) -> None:
    withdraw(two, "clinic-2024-r1", by="eve", reason="wrong")
    later = publish_one(two, approved(two, period="2026"))
    restore(two, "clinic-2024-r1", by="eve", reason=WHY)
    assert str((two.root / "releases/clinic/latest").readlink()) == later.release_id
    assert verify(two) == []


def test_it_can_be_withdrawn_and_restored_again_each_time_with_a_checkpoint(
    one_withdrawn: ReleaseStore,
) -> None:
    put_back(one_withdrawn)
    withdraw(one_withdrawn, NAME, by="eve", reason="it was wrong after all")
    tombstone = json.loads((one_withdrawn.root / f"releases/clinic/{NAME}.withdrawn.json").read_text())
    assert tombstone["reason"] == "it was wrong after all"
    assert verify(one_withdrawn) == []
    put_back(one_withdrawn)
    endings = {name.removeprefix(f"{NAME}.").removesuffix(".json") for name in public(one_withdrawn)}
    again = {"withdrawn-2.checkpoint", "restored-2.checkpoint"}
    assert again | {"withdrawn.checkpoint", "restored.checkpoint"} <= endings
    assert verify(one_withdrawn) == []
    (one_withdrawn.root / f"releases/clinic/{NAME}.withdrawn-2.checkpoint.json").unlink()
    assert [str(one) for one in verify(one_withdrawn)] == [
        f"clinic/{NAME}.withdrawn-2.checkpoint.json: is missing"
    ]


def test_a_restored_release_can_be_revised(one_withdrawn: ReleaseStore) -> None:
    put_back(one_withdrawn)
    publish_one(one_withdrawn, approved(one_withdrawn, period="2025", content="other\n"))
    assert one_withdrawn.release(NAME).state is ReleaseState.SUPERSEDED
    assert verify(one_withdrawn) == []


def refused(store: ReleaseStore, by: str = "eve", name: str = NAME) -> ReleaseGateError:
    """Return the error of a restoration that changes nothing but the log."""
    before = public(store)
    with pytest.raises(ReleaseGateError) as caught:
        restore(store, name, by=by, reason=WHY)
    assert public(store) == before
    return caught.value


def test_what_is_not_withdrawn_is_not_restored(two: ReleaseStore) -> None:
    assert "is published; only a withdrawn release" in str(refused(two))
    assert "did you mean" in str(refused(two, name="clinic-2025-r2"))


def test_a_release_whose_period_was_published_again_stays_withdrawn(one_withdrawn: ReleaseStore) -> None:
    publish_one(one_withdrawn, approved(one_withdrawn, period="2025"))
    assert "clinic-2025-r2 was published of the same period since" in str(refused(one_withdrawn))


def test_a_superseded_release_that_was_withdrawn_stays_withdrawn(two: ReleaseStore) -> None:
    publish_one(two, approved(two, period="2025"))
    withdraw(two, NAME, by="eve", reason="wrong")
    assert "clinic-2025-r2 was published of the same period since" in str(refused(two))


def test_a_release_whose_rows_were_purged_stays_withdrawn(one_withdrawn: ReleaseStore) -> None:
    purge(one_withdrawn, "clinic", by="eve", reason="kept for long enough")
    error = refused(one_withdrawn)
    assert isinstance(error, UsageError)
    assert "its rows were purged on" in str(error)
    assert verify(one_withdrawn) == []


@pytest.mark.parametrize("damage", ["changed", "removed", "link", "more"])
def test_files_that_are_not_the_published_ones_are_not_put_back(
    one_withdrawn: ReleaseStore, damage: str, tmp_path: Path
) -> None:
    path = one_withdrawn.root / "withdrawn/clinic" / NAME / "data.csv"
    if damage == "changed":
        path.write_text("age_min,age_max\n20,28\n")
    elif damage == "removed":
        path.unlink()
    elif damage == "link":
        shutil.copy(path, tmp_path / "elsewhere")
        path.unlink()
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.with_name("evil.html").write_text("<p>")
    error = refused(one_withdrawn)
    assert isinstance(error, VerificationFailed)
    assert ("evil.html" if damage == "more" else "data.csv") in str(error)
    assert one_withdrawn.release(NAME).state is ReleaseState.WITHDRAWN


def test_who_made_it_cannot_restore_it_under_another_name_either(one_withdrawn: ReleaseStore) -> None:
    assert "ann made it, and cannot decide on it" in str(refused(one_withdrawn, by="ann"))
    assert one_withdrawn.events()[-1].action == "decision.refused"


def test_an_administrator_alone_cannot_restore(one_withdrawn: ReleaseStore) -> None:
    write_people(one_withdrawn.root, member("eve", ["admin"]))
    assert "does not have the role for this (approver)" in str(refused(one_withdrawn))


def test_a_signed_text_counts_for_the_withdrawal_that_it_was_signed_after(
    one_withdrawn: ReleaseStore,
) -> None:
    kept, used = signed(one_withdrawn, "restore", "bob"), signed(one_withdrawn, "restore", "eve")
    restore(one_withdrawn, NAME, by="eve", reason=WHY, credential=used)
    with pytest.raises(UsageError, match="published; only a withdrawn"):
        restore(one_withdrawn, NAME, by="bob", reason=WHY, credential=kept)
    withdraw(one_withdrawn, NAME, by="eve", reason="wrong after all")
    with pytest.raises(UsageError, match="before its subject existed"):
        restore(one_withdrawn, NAME, by="bob", reason=WHY, credential=kept)
    with pytest.raises(UsageError, match="used before"):
        restore(one_withdrawn, NAME, by="eve", reason=WHY, credential=used)


def test_a_text_that_was_signed_before_the_withdrawal_restores_nothing(two: ReleaseStore) -> None:
    early = signed(two, "restore", "eve")
    withdraw(two, NAME, by="eve", reason="wrong")
    with pytest.raises(Blocked, match="another state of the release"):
        restore(two, NAME, by="eve", reason=WHY, credential=early)


def test_a_folder_that_cannot_be_put_back_is_put_back_by_the_next_run(
    one_withdrawn: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr(restoration, "build_release", full)
        with pytest.raises(StoreError, match="could not be put back"):
            put_back(one_withdrawn)
    assert one_withdrawn.release(NAME).state is ReleaseState.PUBLISHED
    assert recover(one_withdrawn)[0] == f"{NAME}: restored, and now put back"
    assert verify(one_withdrawn) == []
    assert recover(one_withdrawn) == []


def test_files_that_are_altered_before_they_are_put_back_stay_where_they_are(
    one_withdrawn: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(restoration, "settle_restorations", lambda *_: [])
        patch.setattr(restoration, "announce", lambda *_: None)
        put_back(one_withdrawn)
    os.truncate(one_withdrawn.root / "withdrawn/clinic" / NAME / "data.csv", 3)
    with pytest.raises(VerificationFailed, match="differs from the assessed file"):
        recover(one_withdrawn)
    assert NAME not in public(one_withdrawn)


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(
            ("append.1", "rename.1", "rmdir.1", "symlink.1"),
            marks=pytest.mark.faults,
            id="some steps",
        ),
        pytest.param((), marks=pytest.mark.nightly, id="every step"),
    ],
)
def test_a_restoration_killed_at_any_step_is_finished(
    one_withdrawn: ReleaseStore, steps: tuple[str, ...]
) -> None:
    told = killed_and_recovered(
        one_withdrawn,
        "restore",
        *steps,
        every=("fsync", "rename", "replace", "symlink", "append", "unlink", "rmdir"),
    )
    for step in told:
        assert (NAME in step["folder"]) is (step["after"] == "published"), step
        assert (f"{NAME}.withdrawn.json" in step["folder"]) is (step["after"] == "withdrawn"), step
    assert any("now put back" in said for step in told for said in step["said"])


@pytest.mark.parametrize(
    ("how", "finding"),
    [
        ("by its maker", "and was said by who made it"),
        ("published again", "whose period was published again before"),
        ("purged", "whose rows were purged before"),
    ],
)
@pytest.mark.by_day(1)
def test_a_restoration_that_no_rule_allowed_is_found_and_refuses_every_act(
    one_withdrawn: ReleaseStore, how: str, finding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a program without the rules would keep it, with a true proof and the store's key."""
    store = one_withdrawn
    if how == "published again":
        publish_one(store, approved(store, period="2025"))
    elif how == "purged":
        purge(store, "clinic", by="eve", reason="kept for long enough")
    with monkeypatch.context() as patch:
        for rule in ("_not_now", "_altered", "announce"):
            patch.setattr(restoration, rule, lambda *_: None)
        patch.setattr(restoration, "settle_restorations", lambda *_: [])
        put_back(store, by="ann" if how == "by its maker" else "eve")
    number = store.n_events()
    assert f"event {number}: restores {NAME}, {finding}" in map(str, verify(store))
    with pytest.raises(VerificationFailed, match=f"restores {NAME}, {finding}"):
        recover(store)
    assert NAME not in public(store)
