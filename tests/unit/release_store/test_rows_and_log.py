"""What becomes public follows the log: rows that say otherwise, and events without a seal, are refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import duckdb
import pytest

from policy.errors import StoreError, VerificationFailed
from release_store.audit.checkpoints import keep_head, kept_file
from release_store.audit.log import GENESIS, append, hash_of_texts, log_head
from release_store.canonical import canonical_json, sha256_hex
from release_store.db.connection import DATABASE
from release_store.publishing.public_files import candidate_folder, release_folder
from release_store.publishing.publication import recover
from release_store.records import CandidateRecord, CandidateState
from release_store.store import ReleaseStore
from release_store.verification.verify import notes, verify
from tests.support.at_work import agreed, member, withdraw, write_people
from tests.support.store.hand_made import K_FAILS, approved, awaiting, publish_one, stage, word


@contextmanager
def written(store: ReleaseStore) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database as somebody writes it who has no key: the triggers are dropped, and made again."""
    with duckdb.connect(str(store.root / DATABASE)) as con:
        triggers = con.execute("SELECT trigger_name, table_name, sql FROM duckdb_triggers()").fetchall()
        for name, table, _ in triggers:
            con.execute(f"DROP TRIGGER {name} ON {table}")
        yield con
        for _, _, sql in triggers:
            con.execute(sql)


def hash_again(con: duckdb.DuckDBPyConnection) -> None:
    """Give every event a fresh hash, so that the chain holds again."""
    previous = GENESIS
    for row in con.execute("SELECT * FROM event ORDER BY number").fetchall():
        texts = (*row[:7], previous)
        previous = hash_of_texts(*texts)
        con.execute("UPDATE event SET previous = ?, hash = ? WHERE number = ?", [texts[-1], previous, row[0]])


def held_back(store: ReleaseStore, **changed: Any) -> CandidateRecord:
    record = stage(store, **changed)
    store.record_gates(record.candidate_id, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    return record


def verdict_and_state(store: ReleaseStore, name: str) -> None:
    """The rows alone."""
    with written(store) as con:
        con.execute("UPDATE gate_result SET verdict = 'pass'")
        con.execute("UPDATE candidate SET state = 'approved' WHERE candidate_id = ?", [name])


def log_and_rows(store: ReleaseStore, name: str) -> None:
    """The rows, and the events that tell of them, with fresh hashes."""
    verdict_and_state(store, name)
    with written(store) as con:
        con.execute('UPDATE event SET payload = replace(payload, \'"verdict":"fail"\', \'"verdict":"pass"\')')
        con.execute(
            "UPDATE event SET action = 'candidate.approved', reason = '', "
            "payload = replace(payload, '\"blocked\"', '\"approved\"') WHERE action = 'candidate.blocked'"
        )
        hash_again(con)


def another_candidate(store: ReleaseStore, name: str) -> None:
    """A candidate of the same files that passed, which no run made: all rows and all events of it agree."""
    other = name.removesuffix("c1") + "c2"
    candidate_folder(store.root, name).rename(candidate_folder(store.root, other))
    with written(store) as con:
        con.execute("INSERT INTO candidate_name SELECT ?, series, period FROM candidate_name", [other])
        con.execute(
            "INSERT INTO candidate SELECT * REPLACE (? AS candidate_id, 2 AS position, 'approved' AS state) "
            "FROM candidate",
            [other],
        )
        for table, more in (("candidate_file", ""), ("gate_result", ", 'pass' AS verdict")):
            con.execute(
                f"INSERT INTO {table} SELECT * REPLACE (? AS candidate_id{more}) FROM {table}", [other]
            )
        events = con.execute("SELECT actor, action, payload FROM event ORDER BY number").fetchall()
        for actor, action, text in events:
            if action.startswith("candidate."):
                said = text.replace(name, other).replace('"fail"', '"pass"').replace("blocked", "approved")
                append(con, actor, action.replace("blocked", "approved"), other, "", json.loads(said))


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (verdict_and_state, "is approved in the store, but blocked in the log"),
        (log_and_rows, "the log does not continue the newest checkpoint"),
        (another_candidate, "candidate.approved was written without the store's key"),
    ],
)
@pytest.mark.enemy("store writer", "publishes a person")
def test_what_gates_held_back_is_not_published_by_who_writes_the_store(
    store: ReleaseStore, forge: Callable[[ReleaseStore, str], None], said: str
) -> None:
    record = held_back(store)
    forge(store, record.candidate_id)
    (name,) = [one.candidate_id for one in store.candidates() if one.state is CandidateState.APPROVED]
    before = store.events()
    with pytest.raises(VerificationFailed, match=said):
        publish_one(store, name)
    assert store.events() == before
    assert store.releases() == []
    assert not list((store.root / "releases").rglob("data.csv"))
    assert verify(store)


@pytest.mark.enemy("store writer", "publishes a person")
def test_a_publication_that_nobody_began_is_not_finished(store: ReleaseStore) -> None:
    """Its folder, its rows and its event are there, as an interrupted one leaves them."""
    record = awaiting(store, approvers=1)
    name, release = record.candidate_id, "clinic-2024-r1"
    folder = store.root / "releases" / "clinic" / release
    folder.mkdir(parents=True)
    (folder / "data.csv").write_text("age,disease\n41,hiv\n")
    files = {"data.csv": sha256_hex((folder / "data.csv").read_bytes())}
    with written(store) as con:
        for action, state in (("candidate.approved", "approved"), ("publication.started", "publishing")):
            said = {"candidate": name, "state": state, "release": release, "files": files, "classes": "0"}
            append(con, "releasegate", action, name, "", said)
        con.execute("UPDATE candidate SET state = 'publishing'")
    with pytest.raises(VerificationFailed):
        recover(store)
    assert store.releases() == []
    assert not list((store.root / "releases").rglob("*.checkpoint.json"))


@pytest.mark.enemy("store writer", "changes history")
def test_a_withdrawn_release_is_not_listed_again(store: ReleaseStore) -> None:
    write_people(store.root)
    publish_one(store, approved(store))
    withdraw(store, "clinic-2024-r1", by="eve", reason="a column was not to be public")
    catalog = (store.root / "releases" / "catalog.json").read_bytes()
    with written(store) as con:
        con.execute("UPDATE release SET state = 'published'")
    with pytest.raises(VerificationFailed, match="is published in the store, but withdrawn in the log"):
        recover(store)
    assert (store.root / "releases" / "catalog.json").read_bytes() == catalog


@pytest.mark.enemy("store writer", "changes history")
def test_a_row_alone_takes_no_release_down(store: ReleaseStore) -> None:
    release = publish_one(store, approved(store))
    with written(store) as con:
        con.execute("UPDATE release SET state = 'withdrawn'")
    public = release_folder(store.root, release.series, release.release_id)
    before = sorted(one.name for one in public.iterdir())
    with pytest.raises(VerificationFailed, match=release.release_id):
        recover(store)
    assert sorted(one.name for one in public.iterdir()) == before


@pytest.mark.enemy("store writer", "changes history")
@pytest.mark.parametrize("place", ["public-key.pem", "candidates/clinic-2024-c1"])
def test_nothing_is_published_past_a_link(store: ReleaseStore, place: str) -> None:
    candidate, own, elsewhere = approved(store), store.root / place, store.root.parent / "elsewhere"
    own.rename(elsewhere)
    own.symlink_to(elsewhere)
    with pytest.raises(VerificationFailed, match="is a symbolic link, which is not the store's own"):
        publish_one(store, candidate)
    assert store.releases() == []


@pytest.mark.enemy("store writer", "changes history")
def test_what_is_public_and_gone_is_told_in_a_line(store: ReleaseStore) -> None:
    publish_one(store, approved(store))
    (store.root / "releases").rename(store.root.parent / "elsewhere")
    (store.root / "releases").mkdir()
    with pytest.raises(StoreError, match="the files beside its releases cannot be written"):
        recover(store)


@pytest.mark.enemy("store writer", "forges a word")
def test_fewer_approvals_than_were_asked_let_nothing_out(store: ReleaseStore) -> None:
    record = awaiting(store, approvers=2)
    agreed(store, word(record, "bob"), 2)
    with written(store) as con:
        text = con.execute("SELECT summary FROM candidate").fetchone()
        assert text is not None
        summary = json.loads(text[0])
        summary["approval"]["needed"] = 1
        con.execute("UPDATE candidate SET summary = ?", [canonical_json(summary).decode()])
    with pytest.raises(VerificationFailed, match="its summary differs from the logged one"):
        agreed(store, word(record, "cyd"), 2)
    assert [one.by for one in store.decisions(record.candidate_id)] == ["bob"]


@pytest.mark.enemy("store writer", "changes history")
def test_a_rejection_that_is_cut_off_the_log_does_not_come_back(store: ReleaseStore) -> None:
    """Rows and log agree: what was kept beside the signing key tells that there was more."""
    record = awaiting(store, approvers=1)
    agreed(store, word(record, "bob", "reject"), 1)
    with written(store) as con:
        (first,) = con.execute("SELECT number FROM event WHERE action = 'decision.reject'").fetchone() or (0,)
        con.execute("DELETE FROM event WHERE number >= ?", [first])
        con.execute("DELETE FROM proven_decision")
        con.execute("UPDATE candidate SET state = 'awaiting_approval'")
    with pytest.raises(VerificationFailed):
        agreed(store, word(record, "cyd"), 1)
    assert verify(store)


def test_a_kept_checkpoint_that_was_lost_is_told_for_ever(store: ReleaseStore) -> None:
    publish_one(store, approved(store))
    kept_file(store.root, store.store_id).unlink()
    publish_one(store, approved(store, period="2025"))
    assert verify(store) == []
    (note,) = notes(store)
    assert "the checkpoint beside the signing key was gone" in note.what


def test_a_damaged_candidate_can_still_be_rejected(store: ReleaseStore) -> None:
    record = awaiting(store, approvers=1)
    with written(store) as con:
        con.execute("UPDATE gate_result SET value = 9")
    assert agreed(store, word(record, "bob", "reject"), 1) is CandidateState.REJECTED


def test_an_old_way_of_results_does_not_come_back_once_they_are_sealed(store: ReleaseStore) -> None:
    publish_one(store, approved(store))
    record = stage(store, period="2025", history_head=store.history_head("clinic"))
    with written(store) as con:
        name = record.candidate_id
        assessed = {"candidate": name, "state": "assessed", "gates": [], "asked": []}
        append(con, "ann", "candidate.assessed", name, "", assessed)
        append(con, "ann", "candidate.approved", name, "", {"candidate": name, "state": "approved"})
        con.execute("UPDATE candidate SET state = 'approved' WHERE candidate_id = ?", [name])
    with pytest.raises(VerificationFailed, match="was written without the store's key"):
        publish_one(store, name)


@pytest.mark.enemy("store writer", "publishes a person")
def test_people_whom_nobody_knows_let_nothing_out(store: ReleaseStore) -> None:
    """Somebody with keys of their own is in the log, overrides twice, and all rows and hashes agree."""
    record = held_back(store)
    name, people = record.candidate_id, [member(one, ["admin"]) for one in ("eve", "dan")]
    with written(store) as con:
        append(con, "releasegate", "people.changed", "people", "", {"members": people, "digest": "0" * 64})
        append(con, "releasegate", "candidate.approved", name, "", {"candidate": name, "state": "approved"})
        con.execute("UPDATE candidate SET state = 'approved'")
    for act in (
        lambda: publish_one(store, name),
        lambda: recover(store),
        lambda: approved(store, period="2025"),
    ):
        with pytest.raises(VerificationFailed, match=r"people\.changed was written without the store's key"):
            act()
    assert any("written without the store's key" in one.what for one in verify(store))
    assert store.releases() == []


@pytest.mark.enemy("store writer", "changes history")
@pytest.mark.parametrize("action", ["release.withdrawn", "series.purged"])
def test_what_nobody_said_takes_nothing_down(store: ReleaseStore, action: str) -> None:
    release = publish_one(store, approved(store))
    with written(store) as con:
        said = {"release": release.release_id, "release_state": "withdrawn", "purged": {}, "bound": {}}
        append(con, "eve", action, release.release_id, "why not", said)
        con.execute("UPDATE release SET state = 'withdrawn'")
    with pytest.raises(VerificationFailed, match=f"{action} was written without the store's key"):
        recover(store)
    assert (store.root / "releases" / "clinic" / release.release_id / "data.csv").is_file()


@pytest.mark.parametrize("published", [False, True])
def test_a_transaction_that_was_never_committed_is_in_nobodys_way(
    store: ReleaseStore, published: bool
) -> None:
    """The head that was kept for it before its commit is none of the log's; after the commit it is."""
    if published:  # what is kept beside the key is then of the release alone
        publish_one(store, approved(store, period="2023"))
    record = awaiting(store, approvers=1)
    with suppress(ZeroDivisionError), store.kept_transaction() as con:
        before = log_head(con)
        append(con, "ann", "input.refused", "clinic/2024")
        keep_head(con, store.root, before)
        raise ZeroDivisionError
    assert verify(store) == []
    agreed(store, word(record, "bob"), 1)
    assert verify(store) == []
    assert publish_one(store, record.candidate_id).release_id == "clinic-2024-r1"
