"""A clock that was set far ahead is corrected by an administrator's act, told for ever."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cli.__main__ import main
from policy.errors import Blocked, StoreError, UsageError
from release_store.approval import decisions
from release_store.approval.credentials import Token, hash_token
from release_store.audit import clock as correction
from release_store.audit import keys
from release_store.audit import log as audit
from release_store.audit.clock import correct_clock
from release_store.canonical import canonical_json
from release_store.checkup import Condition, check_store
from release_store.db.connection import connect, transaction
from release_store.db.release_changes import start_publication
from release_store.evidence.bundle import write_evidence
from release_store.evidence.examine import examine
from release_store.protocol.clock import correction_error
from release_store.protocol.names import CORRECTED
from release_store.publishing.publication import recover
from release_store.records import AuditEvent, CandidateState, ReleaseState
from release_store.store import ReleaseStore
from release_store.verification.verify import notes, verify
from services.observability.notice_kinds import notice_of
from tests.support.at_work import agreed, key_file, key_of, member, withdraw, write_people
from tests.support.store.bundles import Told, forged, put_together, taken_apart
from tests.support.store.hand_made import (
    K_FAILS,
    approved,
    awaiting,
    classes_of_two,
    publish_one,
    stage,
    word,
)

NOW = datetime.now(UTC)
AHEAD = timedelta(days=365 * 70)
WHY = "the clock of the machine said 2096"


def at(patch: pytest.MonkeyPatch, moment: datetime) -> None:
    """Set the clock by which events and decisions are timed."""
    for module in (audit, decisions, correction):
        patch.setattr(module, "utc_now", lambda: moment)


@pytest.fixture(scope="module")
def gone_ahead(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of a release, and one more that was published while the clock was far ahead."""
    folder = tmp_path_factory.mktemp("ahead") / "folder"
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(keys.KEY_VARIABLE, raising=False)
        store = ReleaseStore.create(folder / "store")
        write_people(store.root)
        publish_one(store, approved(store, period="2023"))
        at(patch, NOW + AHEAD)
        publish_one(store, approved(store, made_at=NOW + AHEAD))
    return folder


@pytest.fixture
def ahead(gone_ahead: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReleaseStore:
    monkeypatch.delenv(keys.KEY_VARIABLE, raising=False)
    shutil.copytree(gone_ahead, tmp_path, dirs_exist_ok=True, symlinks=True)
    return ReleaseStore.open(tmp_path / "store")


def corrected(store: ReleaseStore, by: str = "eve", **wanted: Any) -> AuditEvent:
    return correct_clock(store, by=by, reason=WHY, credential=key_of(by), **wanted)[0]


@pytest.mark.integration
def test_a_clock_far_ahead_is_corrected_and_all_goes_on(ahead: ReleaseStore) -> None:
    logged = ahead.events()
    with pytest.raises(StoreError, match="the last event of the store is 25550 days later") as caught:
        awaiting(ahead, period="2025")
    assert "`releasegate clock`" in caught.value.hint
    (found,) = [check for check in check_store(ahead.root) if check.name == "clock"]
    assert found.condition is Condition.WRONG
    assert "`releasegate clock`" in found.hint
    event = corrected(ahead)
    assert (event.action, event.actor, event.reason) == (CORRECTED, "eve", WHY)
    assert event.payload["bound"]["last_event_at"] == logged[-1].at
    assert event.payload["at"] == event.at < logged[-1].at
    assert event.payload["proof"]["method"] == "signature"
    (found,) = [check for check in check_store(ahead.root) if check.name == "clock"]
    assert found.condition is Condition.FINE
    record = awaiting(ahead, period="2025")
    assert agreed(ahead, word(record), 1) is CandidateState.APPROVED
    publish_one(ahead, record.candidate_id)
    assert verify(ahead) == []
    (note,) = notes(ahead)
    assert note.where == f"event {event.number}"
    assert note.what.startswith("eve corrected the clock from 20")
    assert [note] == notes(ahead)  # each time


def test_a_clock_that_is_fine_is_not_corrected(store: ReleaseStore) -> None:
    logged = store.events()
    with pytest.raises(UsageError, match="its last event is not ahead of the clock") as caught:
        corrected(store)
    assert caught.value.hint == "There is nothing to correct."
    assert store.events() == logged


@pytest.mark.parametrize(
    ("by", "credential", "finding"),
    [
        ("eve", None, "no key or token was given for eve"),
        ("eve", key_of("bob"), "the signature is not by the key of eve"),
        ("mallory", key_of("mallory"), "mallory is not in people.yaml"),
        ("olga", key_of("olga"), "olga does not have the role for this (admin)"),
    ],
)
def test_it_takes_an_administrator_who_proves_it(
    ahead: ReleaseStore, by: str, credential: Any, finding: str
) -> None:
    write_people(ahead.root, member("eve"), member("bob"), member("olga", ["operator", "approver"]))
    logged = ahead.events()
    with pytest.raises(UsageError) as caught:
        correct_clock(ahead, by=by, reason=WHY, credential=credential)
    assert finding in caught.value.message
    assert caught.value.hint
    assert ahead.events() == logged
    with pytest.raises(UsageError, match="the correction of the clock has no reason"):
        correct_clock(ahead, by="eve", reason=" ", credential=key_of("eve"))
    assert ahead.events() == logged


def test_a_token_proves_it_and_people_who_changed_meanwhile_are_logged_before(ahead: ReleaseStore) -> None:
    token = "a token of many letters"  # noqa: S105 -- of a test
    write_people(ahead.root, {"name": "new", "roles": ["admin"], "token_hash": hash_token(token)})
    last = ahead.events()[-1]
    event = correct_clock(ahead, by="new", reason=WHY, credential=Token(token))[0]
    people = ahead.events()[-2]
    assert (people.action, people.at, event.previous) == ("people.changed", last.at, people.hash)
    assert verify(ahead) == []


def test_what_waited_is_stale_and_what_was_held_back_is_not_overridden(store: ReleaseStore) -> None:
    soon = datetime.now(UTC)
    waiting = awaiting(store, period="2020")
    half = stage(store, period="2021")
    held = stage(store, period="2022")
    store.record_gates(held.candidate_id, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    with pytest.MonkeyPatch.context() as patch:
        at(patch, NOW + AHEAD)
        late = awaiting(store, period="2023", made_at=NOW + AHEAD, expires_at=NOW + AHEAD * 2)
        done = approved(store, period="2024", made_at=NOW + AHEAD)
    event, ended = correct_clock(store, by="eve", reason=WHY, credential=key_of("eve"))
    assert ended == [waiting.candidate_id, half.candidate_id, late.candidate_id, done]
    for name in ended:
        assert store.candidate(name).state is CandidateState.STALE
        told = notice_of(store, store.events_about(name)[-1]).text
        assert told == f"{name} is stale: the clock was corrected since it was made. Run `rejudge`."
    with pytest.raises(Blocked, match="stale: the clock was corrected since it was made"):
        agreed(store, word(late), 1)
    with pytest.raises(Blocked, match="the clock was corrected since it was made"):
        agreed(store, word(held, decision="override"), 1)
    assert store.candidate(held.candidate_id).state is CandidateState.BLOCKED
    with pytest.raises(StoreError, match="cannot go from stale to assessed"):
        store.record_gates(half.candidate_id, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    assert verify(store) == []
    assert event.at >= soon.isoformat()


def test_a_publication_that_was_interrupted_while_the_clock_was_ahead_is_undone_and_never_resumed(
    store: ReleaseStore,
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        at(patch, NOW + AHEAD)
        name = approved(store, made_at=NOW + AHEAD)
        with transaction(store.root) as con:
            start_publication(con, store.root, name, classes_of_two(), "ann", {}, keys.load_key(store.root))
    corrected(store)
    assert recover(store) == [f"{name}: publication undone, nothing was public; state: approved"]
    with pytest.raises(Blocked, match="the clock was corrected since it was made"):
        publish_one(store, name)
    assert store.candidate(name).state is CandidateState.STALE
    assert verify(store) == []


def test_what_was_published_while_the_clock_was_ahead_can_be_withdrawn(ahead: ReleaseStore) -> None:
    corrected(ahead)
    withdraw(ahead, "clinic-2024-r1", by="bob", reason="a column was not to be public")
    assert ahead.release("clinic-2024-r1").state is ReleaseState.WITHDRAWN
    assert verify(ahead) == []


def test_a_clock_is_corrected_as_often_as_it_was_wrong(ahead: ReleaseStore) -> None:
    corrected(ahead)
    with pytest.MonkeyPatch.context() as patch:
        at(patch, NOW + AHEAD)
        publish_one(ahead, approved(ahead, period="2026", made_at=NOW + AHEAD))
    corrected(ahead)
    assert verify(ahead) == []
    assert len(notes(ahead)) == 2


# What verify and the script find ---------------------------------------------------------------------


def rewritten(store: ReleaseStore, edit: Callable[[dict[str, Any]], object], action: str = CORRECTED) -> None:
    """Change an event, and make its hash and those after it anew, as who writes the database can."""
    events = [vars(event).copy() for event in store.events()]
    head = events[0]["previous"]
    with connect(store.root) as con:
        con.execute("DROP TRIGGER IF EXISTS event_keeps_updates ON event")
        for event in events:
            if event["action"] == action:
                edit(event)
            event["previous"] = head
            event["hash"] = head = audit.event_hash(AuditEvent(**event))
            con.execute(
                "UPDATE event SET at_utc = ?, actor = ?, action = ?, reason = ?, payload = ?, previous = ?, "
                "hash = ? WHERE number = ?",
                [
                    *(event[name] for name in ("at", "actor", "action", "reason")),
                    canonical_json(event["payload"]).decode(),
                    event["previous"],
                    event["hash"],
                    event["number"],
                ],
            )


def last_event_at(event: dict[str, Any]) -> None:
    event["payload"]["bound"]["last_event_at"] = event["at"]


def another_action(event: dict[str, Any]) -> None:
    event["action"] = "clock.seen"


def without_proof(event: dict[str, Any]) -> None:
    del event["payload"]["proof"]


@pytest.mark.parametrize(
    ("edit", "finding"),
    [
        (lambda event: event.update(actor="bob"), "is not proven to be by bob"),
        (lambda event: event.update(reason="other"), "is not proven to be by eve"),
        (
            lambda event: event["payload"].update(at="2026-01-01T00:00:00.000000+00:00"),
            "corrects the clock of a different log",
        ),
        (last_event_at, "corrects the clock of a different log"),
        (without_proof, "has no proof of identity"),
        (another_action, "s earlier than a previous event, and no correction of the clock is logged"),
        (lambda event: event["payload"].update(bound=[]), "lacks required fields"),
    ],
)
def test_a_correction_that_was_tampered_with_is_found(
    ahead: ReleaseStore, edit: Callable[[dict[str, Any]], object], finding: str
) -> None:
    corrected(ahead)
    assert verify(ahead) == []
    rewritten(ahead, edit)
    found = [str(one) for one in verify(ahead)]
    assert any(finding in one for one in found), found


def test_a_step_back_without_a_correction_is_found_in_a_store_that_says_it_makes_none(
    store: ReleaseStore,
) -> None:
    publish_one(store, approved(store))
    early = (NOW - timedelta(days=3)).isoformat(timespec="microseconds")
    rewritten(store, lambda event: event.update(at=early), "candidate.approved")
    assert any(
        "s earlier than a previous event, and no correction of the clock is logged" in one.what
        for one in verify(store)
    )
    rewritten(
        store, lambda event: event["payload"].pop("times"), "store.created"
    )  # as an earlier one made it
    assert not any(
        "s earlier than a previous event, and no correction of the clock is logged" in one.what
        for one in verify(store)
    )


def test_the_evidence_tells_of_it_and_finds_what_is_wrong_with_it(
    ahead: ReleaseStore, tmp_path: Path
) -> None:
    corrected(ahead)
    publish_one(ahead, approved(ahead, period="2026"))
    for name in ("clinic-2024-r1", "clinic-2026-r1"):
        report = examine(write_evidence(ahead, name, tmp_path / f"{name}.zip"))
        assert report.findings == []
        assert any("eve corrected the clock from" in note for note in report.notes)
    members = taken_apart(tmp_path / "clinic-2026-r1.zip")
    key = keys.load_key(ahead.root)

    def left_out(tale: Told) -> None:
        tale.events[:] = [one for one in tale.events if one["action"] != CORRECTED]

    def shifted(tale: Told) -> None:
        last_event_at(tale.event(CORRECTED))

    edits: list[tuple[Callable[[Told], object], str]] = [
        (left_out, "s earlier than a previous event, and no correction of the clock is logged"),
        (shifted, "corrects the clock of a different log"),
        (lambda t: t.event(CORRECTED).update(actor="bob"), "is not proven to be by bob"),
    ]
    for number, (edit, finding) in enumerate(edits):
        path = put_together(tmp_path / f"{number}.zip", forged(members, edit, key))
        found = [str(one) for one in examine(path).findings]
        assert any(finding in one for one in found), found


def test_a_correction_of_a_clock_that_was_fine_is_found() -> None:
    moment = "2026-01-01T00:00:30.000000+00:00"
    said = {"at": moment, "bound": {"log_head": "0", "last_event_at": "2026-01-01T00:01:20.000000+00:00"}}
    wrong = correction_error({"at": moment, "previous": "0", "payload": said}, None)
    assert wrong == "corrects a clock that was not ahead"


# The command -----------------------------------------------------------------------------------------


def test_the_command_says_what_it_did(
    ahead: ReleaseStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--store", str(ahead.root), "clock", "--by", "eve", "--reason", WHY]
    asked += ["--key", str(key_file(tmp_path, "eve"))]
    assert main(asked) == 0
    said = capsys.readouterr().out
    assert "eve corrected the clock from 20" in said
    assert main(["--store", str(ahead.root), "verify", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "eve corrected the clock" in document["notes"][0]["what"]
    assert main(asked) == 2
    error = capsys.readouterr().err
    assert error.splitlines()[1].strip() == "There is nothing to correct."
