"""Keyed hashes of people: whom they are of, how long they are kept, and that nobody changes them unseen."""

from __future__ import annotations

import hashlib
import hmac
import random
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from policy.errors import Blocked, UsageError, VerificationFailed
from release_store.db import connection
from release_store.db import people as module
from release_store.db.connection import DATABASE, connect
from release_store.db.people import person_hash_statement
from release_store.person_key import (
    PERSON_KEY_VARIABLE,
    hashed_people,
    make_person_key,
    person_key,
    person_key_path,
)
from release_store.publishing import publication
from release_store.records import CandidateState, PersonHashes, Verdict
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.support.at_work import agreed
from tests.support.store.hand_made import (
    K_FAILS,
    K_PASSES,
    approved,
    awaiting,
    classes_of_two,
    publish_one,
    stage,
    word,
)
from tests.support.stores import BuiltOnce

KEY, OTHER_KEY = b"k" * 32, b"o" * 32


def people(*names: str, key: bytes = KEY) -> PersonHashes:
    """Everybody in the first class."""
    return replace(hashed_people(key, "person", [(name, 0) for name in names]), values=b"sealed")


def change(store: ReleaseStore, *statements: str) -> None:
    with duckdb.connect(str(store.root / DATABASE)) as con:
        for statement in statements:
            con.execute(statement)


def kept(store: ReleaseStore) -> dict[str, int]:
    with connect(store.root) as con:
        return dict(
            con.execute(
                "SELECT k.candidate_id, count(h.person) FROM person_key k LEFT JOIN person_hash h "
                "USING (candidate_id) GROUP BY k.candidate_id"
            ).fetchall()
        )


# The key ---------------------------------------------------------------------------------------------


def test_a_person_is_the_hmac_of_the_identifier_once_and_in_no_order_of_the_table() -> None:
    found = people("bob", "ann", "bob", "J\u00fcrgen")
    assert found.hashes == tuple(
        sorted(
            hmac.new(KEY, one.encode(), hashlib.sha256).hexdigest() for one in ("ann", "bob", "J\u00fcrgen")
        )
    )
    assert found.fingerprint not in found.hashes
    assert found.classes == (0, 0, 0)


def test_a_person_with_several_rows_is_there_once_a_class() -> None:
    found = hashed_people(KEY, "person", [("ann", 2), ("ann", 0), ("ann", 2)])
    assert len(set(found.hashes)) == 1
    assert found.classes == (0, 2)


def test_the_fingerprint_is_of_the_key_and_the_column() -> None:
    same = {people(*names).fingerprint for names in (["ann"], ["bob", "cid"], [])}
    others = {
        hashed_people(OTHER_KEY, "person", []).fingerprint,
        hashed_people(KEY, "number", []).fingerprint,
    }
    assert len(same) == 1
    assert len(same | others) == 3


def test_without_a_file_there_is_no_key(store: ReleaseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PERSON_KEY_VARIABLE, raising=False)
    person_key_path(store.root).unlink()
    assert person_key(store.root) is None


def test_a_new_store_has_a_key_beside_it(store: ReleaseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PERSON_KEY_VARIABLE, raising=False)
    path = store.root.with_name(store.root.name + ".people.key")
    assert person_key(store.root) == path.read_bytes()
    assert len(path.read_bytes()) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.read_bytes()
    with pytest.raises(UsageError, match="is there before the store is"):
        make_person_key(store.root)
    assert person_key(store.root) == path.read_bytes() == before


def test_the_key_is_the_file_byte_for_byte(
    store: ReleaseStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "people.key"
    path.write_bytes(b"\n" * 32)
    path.chmod(0o600)
    monkeypatch.setenv(PERSON_KEY_VARIABLE, str(path))
    assert person_key(store.root) == b"\n" * 32


@pytest.mark.parametrize(
    ("place", "mode", "content", "said"),
    [
        ("store/people.key", 0o600, KEY, "is inside the store"),
        ("people.key", 0o640, KEY, "can be read by others"),
        ("people.key", 0o604, KEY, "can be read by others"),
        ("people.key", 0o600, KEY[:-1], "has 31 bytes; it needs at least 32"),
        ("people.key", 0o600, None, r"cannot be read \(FileNotFoundError\)"),
    ],
)
def test_a_key_that_protects_nobody_is_refused(
    store: ReleaseStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    mode: int,
    content: bytes | None,
    said: str,
) -> None:
    path = tmp_path / place
    if content is not None:
        path.write_bytes(content)
        path.chmod(mode)
    monkeypatch.setenv(PERSON_KEY_VARIABLE, str(path))
    with pytest.raises(UsageError, match=said) as caught:
        person_key(store.root)
    assert caught.value.hint
    assert "\n" not in caught.value.message


# How long they are kept ------------------------------------------------------------------------------


def test_they_are_kept_from_staging_to_publication_and_every_event_says_so(store: ReleaseStore) -> None:
    record = awaiting(store, people=people("ann", "bob"))
    assert kept(store) == {record.candidate_id: 2}
    agreed(store, word(record), 1)
    publish_one(store, record.candidate_id)
    assert kept(store) == {record.candidate_id: 2}
    with connect(store.root) as con:
        statement = person_hash_statement(con, record.candidate_id)
    hashes = people("ann", "bob").hashes
    lines = "".join(hashlib.sha256(f"{one} 0".encode()).hexdigest() for one in hashes)
    assert statement == {
        "key": people().fingerprint,
        "n": 2,
        "digest": hashlib.sha256(lines.encode()).hexdigest(),
        "values": hashlib.sha256(b"sealed").hexdigest(),
    }
    said = {event.action: event.payload["people"] for event in store.events() if "people" in event.payload}
    assert said == dict.fromkeys(("candidate.staged", "publication.started", "release.published"), statement)
    assert verify(store) == []


def test_without_a_key_no_event_and_no_table_speaks_of_them(store: ReleaseStore) -> None:
    publish_one(store, approved(store))
    assert kept(store) == {}
    assert not any("people" in event.payload for event in store.events())
    assert verify(store) == []


def test_a_candidate_of_nobody_differs_from_one_without_a_key(store: ReleaseStore) -> None:
    publish_one(store, approved(store, people=people()))
    assert kept(store) == {"clinic-2024-c1": 0}
    assert verify(store) == []
    change(store, "DELETE FROM person_key")
    assert {finding.where for finding in verify(store)} == {"clinic-2024-c1", "clinic-2024-r1"}


@pytest.mark.parametrize("end", ["blocked", "rejected", "failed"])
def test_they_are_deleted_when_a_candidate_ends_without_being_published(
    store: ReleaseStore, end: str
) -> None:
    own = people("ann", "bob")
    match end:
        case "blocked":  # by a gate that broke, which nobody can override
            name = stage(store, people=own).candidate_id
            broke = replace(K_FAILS, verdict=Verdict.ERROR)
            store.record_gates(name, [broke], to=CandidateState.BLOCKED, actor="ann")
        case "rejected":
            record = awaiting(store, people=own)
            name = record.candidate_id
            agreed(store, word(record, decision="reject"), 1)
        case _:
            name = stage(store, people=own).candidate_id
            store.move(name, CandidateState.FAILED, actor="ann", reason="the run broke off")
    assert store.candidate(name).state == end
    assert kept(store) == {}
    with connect(store.root) as con:
        assert con.execute("SELECT count(*) FROM person_hash").fetchone() == (0,)
    assert verify(store) == []


@pytest.mark.parametrize("end", ["expired", "stale"])
def test_they_stay_with_a_candidate_that_can_be_judged_again(store: ReleaseStore, end: str) -> None:
    own = people("ann", "bob")
    if end == "expired":
        record = awaiting(store, people=own, expires_at=datetime.now(UTC) - timedelta(seconds=1))
        name = record.candidate_id
        with pytest.raises(Blocked):
            agreed(store, word(record), 1)
    else:
        name = approved(store, people=own)
        publish_one(store, approved(store, period="2025"))
    assert store.candidate(name).state == end
    assert store.people(name) == own
    assert verify(store) == []
    change(store, "DELETE FROM person_hash WHERE person = (SELECT min(person) FROM person_hash)")
    with pytest.raises(VerificationFailed, match="differ from the staged ones"):
        store.people(name)


def test_an_undone_publication_keeps_them_for_the_next(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = approved(store, people=people("ann", "bob"))
    with monkeypatch.context() as patch:
        patch.setattr(publication, "build_release", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
        with pytest.raises(Exception, match="could not be written"):
            publish_one(store, name)
    assert store.candidate(name).state is CandidateState.APPROVED
    assert kept(store) == {name: 2}
    assert verify(store) == []
    publish_one(store, name)
    assert kept(store) == {name: 2}
    assert verify(store) == []


def test_a_publication_that_recovery_finishes_keeps_them(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = approved(store, people=people("ann", "bob"))
    with monkeypatch.context() as patch:
        patch.setattr(publication, "finish_publication", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            publish_one(store, name)
    publication.recover(store)
    assert kept(store) == {name: 2}
    assert store.events()[-1].payload["people"]["n"] == 2
    assert verify(store) == []


def test_a_publication_that_fails_forgets_them(store: ReleaseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    name = approved(store, people=people("ann", "bob"))
    with monkeypatch.context() as patch:
        patch.setattr(publication, "finish_publication", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            publish_one(store, name)
    (store.root / "releases/clinic/clinic-2024-r1/data.csv").write_text("changed\n")
    publication.recover(store)
    assert store.candidate(name).state is CandidateState.FAILED
    assert kept(store) == {}


# Nobody changes them unseen --------------------------------------------------------------------------

HASH = "0" * 64


def publish_two_of_ann_and_bob(store: ReleaseStore) -> None:
    publish_one(store, approved(store, people=people("ann", "bob")))
    publish_one(store, approved(store, period="2025"))
    assert verify(store) == []


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE person_hash SET person = '{HASH}' WHERE rowid = (SELECT min(rowid) FROM person_hash)",
        "DELETE FROM person_hash WHERE rowid = (SELECT max(rowid) FROM person_hash)",
        "DELETE FROM person_hash",
        "DELETE FROM person_key",
        "UPDATE person_key SET fingerprint = 'x'",
        "INSERT INTO person_key SELECT * FROM person_key",
        f"INSERT INTO person_hash VALUES ('clinic-2024-c1', '{HASH}', 0, NULL)",
        "UPDATE person_hash SET class = 1 WHERE rowid = (SELECT max(rowid) FROM person_hash)",
        "UPDATE person_hash SET class = NULL",
        "INSERT INTO person_hash SELECT * FROM person_hash",
        "UPDATE person_hash SET candidate_id = 'clinic-2025-c1'",
        "UPDATE person_hash SET canonical = person WHERE rowid = 0",
        "DELETE FROM person_values",
        "UPDATE person_values SET sealed = 'others'::BLOB",
        "UPDATE person_values SET candidate_id = 'clinic-2025-c1'",
    ],
)
@pytest.mark.by_day(5)
def test_a_change_to_those_of_a_release_is_found(
    fresh_store: Path, built_once: BuiltOnce, statement: str
) -> None:
    store = built_once(fresh_store, publish_two_of_ann_and_bob)
    change(store, statement)
    findings = {finding.where: finding.what for finding in verify(store)}
    assert findings["clinic-2024-r1"] == "its keyed hashes of people differ from the published ones"
    assert findings["clinic-2024-c1"] == "its keyed hashes of people differ from the staged ones"


def test_those_of_a_blocked_candidate_are_deleted_once_nobody_can_override_it(store: ReleaseStore) -> None:
    own = people("ann", "bob")
    name = stage(store, people=own).candidate_id
    store.record_gates(name, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    assert store.people(name) == own
    publish_one(store, approved(store, series="other"))
    assert store.people(name) == own
    publish_one(store, approved(store, period="2025"))
    with connect(store.root) as con:
        assert con.execute("SELECT count(*) FROM person_hash").fetchone() == (0,)
    assert verify(store) == []


def test_an_override_publishes_the_people_too(store: ReleaseStore) -> None:
    own = people("ann", "bob")
    record = stage(store, people=own)
    store.record_gates(record.candidate_id, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    for by in ("cid", "dan"):
        agreed(store, word(record, by, "override"), 0)
    publish_one(store, record.candidate_id)
    assert store.earlier_people("clinic") == [own]
    assert verify(store) == []


def test_all_of_them_dropped_or_invented_are_found(store: ReleaseStore) -> None:
    publish_one(store, approved(store, people=people("ann", "bob")))
    publish_one(store, approved(store, period="2025"))
    name = stage(store, period="2026").candidate_id
    store.record_gates(name, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    change(
        store,
        "DELETE FROM person_key",
        "DELETE FROM person_hash",
        *(
            f"INSERT INTO person_hash VALUES ('{one}', '{HASH}', 0, NULL)"
            for one in ("clinic-2025-c1", "clinic-2026-c1", "none")
        ),
    )
    findings = {finding.where: finding.what for finding in verify(store)}
    assert findings["clinic-2024-r1"] == "its keyed hashes of people differ from the published ones"
    assert findings["clinic-2025-r1"] == "its keyed hashes of people differ from the published ones"
    assert findings["clinic-2026-c1"] == "its keyed hashes of people differ from the staged ones"
    assert findings["none"] == "has hashes of people, but is not a candidate"


@pytest.mark.parametrize("table", ["person_key", "person_hash"])
def test_a_table_that_is_gone_is_a_finding(store: ReleaseStore, table: str) -> None:
    publish_one(store, approved(store, people=people("ann")))
    change(store, f"DROP TABLE {table}")
    assert any(f"the table {table} is missing" in finding.what for finding in verify(store))


def test_a_candidate_whose_people_were_changed_is_not_published(store: ReleaseStore) -> None:
    name = approved(store, people=people("ann", "bob"))
    change(store, "DELETE FROM person_hash WHERE rowid = (SELECT max(rowid) FROM person_hash)")
    with pytest.raises(VerificationFailed, match="differ from the staged ones"):
        publish_one(store, name)
    assert store.candidate(name).state is CandidateState.APPROVED
    assert store.releases() == []


# What they are used for ------------------------------------------------------------------------------


@pytest.mark.integration
def test_people_in_common_are_counted_as_sets_are(store: ReleaseStore) -> None:
    rng = random.Random(4)  # noqa: S311
    tables = [{f"p{rng.randrange(60)}" for _ in range(40)} for _ in range(4)]
    for year, names in enumerate(tables):
        publish_one(store, approved(store, period=str(2020 + year), people=people(*names)))
    publish_one(store, approved(store, series="other", people=people(*tables[0])))
    for year, names in enumerate(tables):
        found = store.people_in_common(f"clinic-{2020 + year}-c1")
        assert found is not None
        assert found.n == len(names)
        assert found.earlier == {
            f"clinic-{2020 + before}-r1": len(names & tables[before]) for before in range(year)
        }


def test_hashes_under_different_keys_are_never_compared(store: ReleaseStore) -> None:
    publish_one(store, approved(store, period="2021", people=people("ann", "bob", key=OTHER_KEY)))
    publish_one(store, approved(store, period="2022"))
    publish_one(store, approved(store, period="2023", people=people("ann", "cid")))
    waiting = awaiting(store, period="2024", people=people("ann", "bob"))
    found = store.people_in_common(waiting.candidate_id)
    assert found is not None
    assert found.earlier == {"clinic-2021-r1": None, "clinic-2022-r1": None, "clinic-2023-r1": 1}
    assert store.people_in_common("clinic-2022-c1") is None


@pytest.mark.parametrize("n", [2_000, pytest.param(100_000, marks=pytest.mark.nightly)])
def test_many_are_kept_and_published(store: ReleaseStore, n: int) -> None:
    many = people(*map(str, range(n)))
    begun = time.process_time()
    record = stage(store, people=many)
    spent = time.process_time() - begun
    assert kept(store) == {record.candidate_id: n}
    if n == 100_000:
        assert spent < 4, "an insert row by row takes a minute"
    store.record_gates(record.candidate_id, [K_PASSES], to=CandidateState.APPROVED, actor="ann")
    with store.series_lock("clinic"):
        publication.publish(store, record.candidate_id, classes_of_two(), actor="ann", manifest_extra={})
    assert verify(store) == []


def test_pieces_of_candidates_give_the_same_findings(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for year in range(4):
        publish_one(store, approved(store, period=str(2020 + year), people=people(*map(str, range(year)))))
    monkeypatch.setattr(module, "_AT_ONCE", 2)
    assert verify(store) == []
    change(store, f"UPDATE person_hash SET person = '{HASH}' WHERE candidate_id = 'clinic-2022-c1'")
    assert {finding.where for finding in verify(store)} == {"clinic-2022-c1", "clinic-2022-r1"}


def test_a_store_of_the_first_schema_that_cannot_be_written_is_read_as_one_without_people(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_one(store, approved(store))
    change(
        store,
        "DROP TABLE person_key",
        "DROP TABLE person_hash",
        "DROP TABLE person_values",
        "DROP TABLE proven_decision",
        "DROP TABLE candidate_figures",
        "DELETE FROM schema_migration WHERE number > 1",
    )
    with monkeypatch.context() as patch:
        patch.setattr(connection, "_open", lambda path, _timeout: connection._open_to_read(path))
        assert verify(store) == []
        assert store.people_in_common("clinic-2024-c1") is None
    with duckdb.connect(str(store.root / DATABASE), read_only=True) as con:
        assert con.execute("SELECT max(number) FROM schema_migration").fetchone() == (1,)
    with connect(store.root) as con:
        assert con.execute("SELECT max(number) FROM schema_migration").fetchone() == (
            max(connection.migrations()),
        )
    assert verify(store) == []
