"""Purge: the rows of what ended go, on a proven word; digests stay, and nothing else stops."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from test_publication import killed_and_recovered
from test_verification import change

from policy.errors import StoreError, UsageError, VerificationFailed
from release_store.approval.credentials import Token
from release_store.canonical import canonical_json, digest_of
from release_store.checkup import Condition, check_store
from release_store.evidence.bundle import write_evidence
from release_store.evidence.examine import examine
from release_store.protocol.names import PURGED
from release_store.publishing import purge as purging
from release_store.publishing.public_files import candidate_folder
from release_store.publishing.publication import recover
from release_store.records import CandidateState, PersonHashes
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from services.rejudge import check_may_be_judged_again
from tests.support.at_work import agreed, key_of, member, purge, withdraw, write_people
from tests.support.store.hand_made import K_FAILS, approved, awaiting, publish_one, stage, word
from tests.support.stores import BuiltOnce

NAME = "clinic-2025-r1"
LEFT = "its rows were purged, and are still there; the next run, or `releasegate doctor`, removes them"


@pytest.fixture
def ended(two_releases_folder: Path, built_once: BuiltOnce) -> ReleaseStore:
    """A store with a published, a withdrawn, a rejected, a stale, a blocked and two waiting candidates."""
    return built_once(two_releases_folder, end)


def end(two: ReleaseStore) -> None:
    rejected = awaiting(two, period="2026")
    agreed(two, word(rejected, decision="reject"), 1)
    stale = awaiting(two, period="2027", people=PersonHashes("key", ("a" * 64,), (0,)))
    two.move(stale.candidate_id, CandidateState.STALE, actor="ann", reason="another history")
    blocked = stage(two, period="2028")
    two.record_gates(blocked.candidate_id, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    withdraw(two, NAME, by="eve", reason="a column was not to be public")
    awaiting(two, period="2029")
    awaiting(two, period="2025", series="ward")


def rows(store: ReleaseStore) -> list[str]:
    """Return the folders of the store that hold rows."""
    return sorted(str(path.parent.relative_to(store.root)) for path in store.root.glob("*/**/data.csv"))


def texts(store: ReleaseStore) -> list[str]:
    return [str(finding) for finding in verify(store)]


def test_the_rows_of_what_ended_go_and_those_of_what_stands_or_waits_stay(ended: ReleaseStore) -> None:
    done = purge(ended, "clinic", by="eve", reason="kept for long enough")
    assert done.states == {
        "clinic-2026-c1": "rejected",
        "clinic-2027-c1": "stale",
        NAME: "withdrawn",
    }
    assert rows(ended) == [
        "candidates/clinic-2024-c1",
        "candidates/clinic-2028-c1",  # blocked, and two administrators may override it
        "candidates/clinic-2029-c1",
        "candidates/ward-2025-c1",
        "releases/clinic/clinic-2024-r1",
    ]
    kept = ended.root / "withdrawn" / "clinic" / NAME
    assert sorted(path.name for path in kept.iterdir()) == ["datapackage.json", "manifest.json"]
    assert verify(ended) == []
    assert recover(ended) == []


def test_the_event_names_what_went_with_its_digests_and_the_word_of_the_person(ended: ReleaseStore) -> None:
    files = ended.release(NAME).files
    purge(ended, "clinic", by="eve", reason="kept for long enough")
    (event,) = ended.events_of([PURGED])
    assert (event.actor, event.object, event.reason) == ("eve", "clinic", "kept for long enough")
    assert event.payload["purged"] == {
        "candidates": {
            name: ended.candidate(name).candidate_digest for name in ("clinic-2026-c1", "clinic-2027-c1")
        },
        "releases": {NAME: digest_of(files)},
    }
    assert event.payload["bound"] == {"purged_digest": digest_of(event.payload["purged"])}
    assert event.payload["proof"]["method"] == "signature"
    assert ended.release(NAME).files == files


def test_what_ended_lately_keeps_its_rows(ended: ReleaseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    before, size = rows(ended), ended.n_events()
    assert purge(ended, "clinic", by="eve", reason="old", days=30).states == {}
    assert (rows(ended), ended.n_events()) == (before, size)
    later = datetime.now(UTC) + timedelta(days=31)
    monkeypatch.setattr(purging, "utc_now", lambda: later)
    assert len(purging.purgeable(ended, "clinic", timedelta(days=30)).states) == 3
    assert rows(ended) == before


def test_a_blocked_candidate_keeps_its_rows_until_nobody_can_override_it(ended: ReleaseStore) -> None:
    publish_one(ended, approved(ended, period="2030"))  # and the history has moved on
    done = purge(ended, "clinic", by="eve", reason="old")
    assert done.states["clinic-2028-c1"] == "blocked"
    assert verify(ended) == []


def test_a_second_purge_has_nothing_to_do(ended: ReleaseStore) -> None:
    purge(ended, "clinic", by="eve", reason="old")
    size = ended.n_events()
    assert purge(ended, "clinic", by="eve", reason="old").states == {}
    assert ended.n_events() == size


def test_the_people_of_a_purged_candidate_are_forgotten_and_those_of_a_release_stay(
    ended: ReleaseStore,
) -> None:
    assert ended.people_in_common("clinic-2027-c1") is not None
    purge(ended, "clinic", by="eve", reason="old")
    assert ended.people_in_common("clinic-2027-c1") is None
    assert verify(ended) == []


def test_a_withdrawn_release_without_rows_stays_in_every_later_comparison(ended: ReleaseStore) -> None:
    head, before = ended.history_head("clinic"), ended.earlier_classes("clinic")
    purge(ended, "clinic", by="eve", reason="old")
    assert ended.history_head("clinic") == head
    assert [one.release_id for one, _ in ended.earlier_classes("clinic")] == [
        one.release_id for one, _ in before
    ]
    assert publish_one(ended, approved(ended, period="2030")).number == 3
    (ended.root / "withdrawn" / "clinic" / NAME / "manifest.json").write_text("{}")
    with pytest.raises(VerificationFailed, match=r"altered since it was published: manifest\.json"):
        ended.earlier_classes("clinic")


def test_a_purged_candidate_is_judged_again_by_nobody(ended: ReleaseStore) -> None:
    record = ended.candidate("clinic-2027-c1")
    check_may_be_judged_again(ended, record)
    purge(ended, "clinic", by="eve", reason="old")
    with pytest.raises(UsageError, match="its rows were purged on ") as caught:
        check_may_be_judged_again(ended, record)
    assert caught.value.hint == "Run the period again with `releasegate run`."


def test_the_evidence_of_a_purged_release_verifies_and_has_no_rows(
    ended: ReleaseStore, tmp_path: Path
) -> None:
    purge(ended, "clinic", by="eve", reason="old")
    report = examine(write_evidence(ended, NAME, tmp_path / "b.zip"))
    assert report.findings == []
    assert any("not in the bundle, so not looked at: data.csv" in note for note in report.notes)
    with pytest.raises(UsageError, match="its rows were purged"):
        write_evidence(ended, NAME, tmp_path / "c.zip", with_rows=True)


# Who may ------------------------------------------------------------------------------------------------


@pytest.mark.enemy("operator", "changes history")
@pytest.mark.parametrize("roles", [["operator"], ["auditor"]])
def test_who_may_not_purge_is_refused_and_the_refusal_is_in_the_log(
    ended: ReleaseStore, roles: list[str]
) -> None:
    write_people(ended.root, member("eve", roles))
    before = rows(ended)
    with pytest.raises(UsageError, match="does not have the role"):
        purge(ended, "clinic", by="eve", reason="old")
    refused = ended.events()[-1]
    assert (refused.action, refused.payload["decision"]) == ("decision.refused", "purge")
    assert rows(ended) == before
    assert verify(ended) == []


@pytest.mark.enemy("other account", "changes history")
@pytest.mark.parametrize("credential", [None, key_of("bob"), Token("some token that is none of theirs")])
def test_without_the_persons_own_proof_nothing_is_purged(ended: ReleaseStore, credential: object) -> None:
    before = rows(ended)
    with pytest.raises(UsageError):
        purging.purge(
            ended,
            "clinic",
            timedelta(0),
            by="eve",
            reason="old",
            credential=credential,  # type: ignore[arg-type]
        )
    assert rows(ended) == before
    assert ended.events_of([PURGED]) == []


@pytest.mark.parametrize(("by", "reason"), [("", "old"), ("eve", " ")])
def test_a_purge_has_a_name_and_a_reason(ended: ReleaseStore, by: str, reason: str) -> None:
    with pytest.raises(UsageError, match="the purge has no"):
        purge(ended, "clinic", by=by, reason=reason)


def test_one_person_may_purge_a_series_more_than_once(ended: ReleaseStore) -> None:
    purge(ended, "clinic", by="eve", reason="old")
    agreed(ended, word(ended.candidate("clinic-2029-c1"), by="eve", decision="reject"), 1)
    purge(ended, "clinic", by="eve", reason="old")
    assert len(ended.events_of([PURGED])) == 2
    assert verify(ended) == []


# What verify finds --------------------------------------------------------------------------------------


@pytest.mark.enemy("store writer", "changes history")
@pytest.mark.parametrize(
    ("place", "finding"),
    [
        (
            "candidates/clinic-2026-c1",
            "clinic-2026-c1/data.csv: is missing, and no purge removed it",
        ),
        (
            "candidates/clinic-2029-c1",
            "clinic-2029-c1: its folder of staged files is missing",
        ),
        (
            "candidates/clinic-2025-c1",
            "clinic-2025-c1/data.csv: is missing, and no purge removed it",
        ),
        (
            f"withdrawn/clinic/{NAME}/data.csv",
            f"{NAME}/data.csv: is missing",
        ),
    ],
)
def test_rows_that_are_gone_without_a_purge_are_found(ended: ReleaseStore, place: str, finding: str) -> None:
    path = ended.root / place
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert finding in texts(ended)


def test_a_purge_accounts_for_what_somebody_removed_by_hand(ended: ReleaseStore) -> None:
    shutil.rmtree(candidate_folder(ended.root, "clinic-2026-c1"))
    purge(ended, "clinic", by="eve", reason="removed by hand last year")
    assert verify(ended) == []


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("candidates/clinic-2026-c1/data.csv", "clinic-2026-c1"),
        (f"withdrawn/clinic/{NAME}/data.csv", NAME),
        ("candidates/clinic-2025-c1/data.csv", NAME),
    ],
)
@pytest.mark.by_day(1)
def test_rows_that_are_there_after_a_purge_are_found_and_removed(
    ended: ReleaseStore, place: str, name: str
) -> None:
    purge(ended, "clinic", by="eve", reason="old")
    (ended.root / place).parent.mkdir(exist_ok=True)
    (ended.root / place).write_text("age_min,age_max\n20,29\n")
    assert texts(ended) == [f"{name}: {LEFT}"]
    told = [check for check in check_store(ended.root) if check.name == "interrupted work"]
    assert [check.condition for check in told] == [Condition.MENDED]
    assert not (ended.root / place).exists()
    assert verify(ended) == []


@pytest.mark.enemy("store writer", "changes history")
@pytest.mark.parametrize(
    ("edit", "finding"),
    [
        (
            {"candidates": {"clinic-2026-c1": "0" * 64}, "releases": {}},
            "purges clinic-2026-c1, which has other",
        ),
        ({"candidates": {"nobody": "0"}, "releases": {}}, "purges nobody, which has other files"),
        ({"candidates": {}, "releases": {}}, "purges other candidates or releases than the person said"),
    ],
)
def test_an_event_of_a_purge_that_was_altered_is_found(
    ended: ReleaseStore, edit: dict[str, object], finding: str
) -> None:
    purge(ended, "clinic", by="eve", reason="old")
    (event,) = ended.events_of([PURGED])
    altered = canonical_json({**event.payload, "purged": edit}).decode()
    change(ended, f"UPDATE event SET payload = '{altered}' WHERE number = {event.number}")
    assert any(finding in one for one in texts(ended))


@pytest.mark.enemy("store writer", "changes history")
def test_an_invented_purge_takes_no_rows_of_what_stands(ended: ReleaseStore) -> None:
    """A release that stands, and a candidate that waits, lose nothing by an event that nobody signed."""
    from release_store.audit import log as audit
    from release_store.db.connection import transaction

    named = {
        "candidates": {"clinic-2029-c1": ended.candidate("clinic-2029-c1").candidate_digest},
        "releases": {"clinic-2024-r1": digest_of(ended.release("clinic-2024-r1").files)},
    }
    before = rows(ended)
    with transaction(ended.root) as con:
        bound = {"purged_digest": digest_of(named)}
        audit.append(con, "eve", PURGED, "clinic", "old", {"at": "", "bound": bound, "purged": named})
    with pytest.raises(VerificationFailed, match=r"series\.purged was written without the store's key"):
        recover(ended)
    assert rows(ended) == before
    told = texts(ended)
    assert any("purges clinic-2029-c1, which was awaiting_approval" in one for one in told)
    assert any("purges clinic-2024-r1, which was published" in one for one in told)
    assert any("has no proof of identity" in one for one in told)


# Interrupted --------------------------------------------------------------------------------------------


def test_rows_that_cannot_be_removed_are_removed_by_the_next_run(
    ended: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(purging, "remove_folder", refused)
        with pytest.raises(StoreError, match="is purged, but its rows could not be removed"):
            purge(ended, "clinic", by="eve", reason="old")
    assert f"clinic-2026-c1: {LEFT}" in texts(ended)
    assert "clinic-2026-c1: purged, and its rows are now removed" in recover(ended)
    assert verify(ended) == []
    assert recover(ended) == []


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(("append.1", "unlink.1", "rmdir.1"), marks=pytest.mark.faults, id="some steps"),
        pytest.param((), marks=pytest.mark.nightly, id="every step"),
    ],
)
def test_a_purge_killed_at_any_step_is_finished(ended: ReleaseStore, steps: tuple[str, ...]) -> None:
    told = killed_and_recovered(
        ended, "purge", *steps, every={"append", "replace", "unlink", "rmdir", "fsync"}
    )
    gone = {"candidates/clinic-2026-c1/data.csv", f"withdrawn/clinic/{NAME}/data.csv"}
    for step in told:
        # Before the word was kept nothing has happened; after it, all rows that it names go.
        assert bool(step["purged"]) is gone.isdisjoint(step["rows"]), step
        assert step["purged"] or gone <= set(step["rows"]), step
    killed = [step for step in told if step["died_at"]]
    assert not killed[0]["purged"]
    assert any("its rows are now removed" in said for step in killed for said in step["said"])


@pytest.mark.enemy("store writer", "changes history")
@pytest.mark.parametrize("place", [f"withdrawn/clinic/{NAME}", "candidates/clinic-2026-c1"])
@pytest.mark.parametrize("first", [True, False])
def test_nothing_is_removed_through_a_link(ended: ReleaseStore, place: str, first: bool) -> None:
    """Neither by the purge, nor by what settles one later; nobody says that rows are gone which are not."""
    theirs = ended.root.parent / "theirs"
    (theirs / "sub").mkdir(parents=True)
    (theirs / "sub/precious.txt").write_text("theirs")
    if first:
        purge(ended, "clinic", by="eve", reason="old")
    own = ended.root / place
    shutil.rmtree(own, ignore_errors=True)
    own.symlink_to(theirs)
    before = len(ended.events())
    acts = [lambda store: purge(store, "clinic", by="eve", reason="old"), *([recover] if first else [])]
    for act in acts:
        with pytest.raises(
            VerificationFailed, match="is a symbolic link, which is not the store's own folder"
        ):
            act(ended)
    assert (theirs / "sub/precious.txt").read_text() == "theirs"
    assert len(ended.events()) == before
