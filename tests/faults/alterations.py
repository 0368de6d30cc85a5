"""Alter a store at random, as somebody would who can write its every file, and see whether verify finds it.

    python -m tests.faults.alterations [--n 1000] [--seed 1] [--publish]

Each alteration is made to a fresh copy of a small store. Triggers are dropped for it and made again. A whole
history that was rewritten with fresh hashes and signed with another key is judged with the public key and the
last checkpoint that somebody kept; one whose checkpoints were taken away is recovered with the real key,
which must not sign. With --publish, candidates are published after each by who has the key, and it must be
refused then, or bear on nothing. Prints what was not found, and exits with 1 if there is any.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from policy.errors import Blocked, ReleaseGateError, VerificationFailed
from release_store.audit import keys
from release_store.audit.log import GENESIS, event_hash
from release_store.canonical import canonical_json, digest_of, pretty_json
from release_store.db import queries
from release_store.db.connection import DATABASE, connect
from release_store.db.shape import shape_of
from release_store.publishing.public_files import tombstone_file
from release_store.publishing.publication import recover
from release_store.publishing.tombstones import superseded_tombstones, tombstone
from release_store.publishing.withdrawal import withdrawal_event
from release_store.records import AuditEvent, CandidateRecord, ReleaseState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from reports.releasing import write_candidate_report
from services.questions import answer, ask
from tests.faults.small_work import assessed, people_in, published
from tests.support.at_work import decide, key_of, purge, restore, withdraw, write_people
from tests.support.trusting import trust_test_folders

# The tables and columns that `docs/store.md` says verify covers, by the columns that it leaves out.
LEFT_OUT = {"policy": {"first_seen"}, "store_info": {"name"}, "validation": {"at_utc"}}
TABLES = (
    "event",
    "policy",
    "validation",
    "candidate",
    "candidate_file",
    "gate_result",
    "proven_decision",
    "release",
    "release_file",
    "candidate_figures",
    "store_info",
    "class_attribute",
    "class_size",
    "class_interval",
    "class_value",
    "class_set",
    "class_count",
    "person_key",
    "person_hash",
    "person_values",
)
UNHARMED = "unharmed"
QUESTIONS = ("question.asked", "question.answered")
WORDS = (
    "decision.approve",
    "decision.reject",
    "decision.override",
    "release.withdrawn",
    "release.restored",
    "series.purged",
    *QUESTIONS,
)
LETTERS = 'abcxyz0189 -:T{}[]",.\\\né'


@dataclass(frozen=True)
class Kept:
    """What somebody kept elsewhere."""

    checkpoint: Path
    public_key: Path


@dataclass(frozen=True)
class Altered:
    """One alteration in words, and the findings of verify."""

    number: int
    kind: str
    what: str
    findings: tuple[str, ...]


class NotPossible(Exception):
    """The database refused the alteration, or it altered nothing: another is tried."""


def make(folder: Path) -> Kept:
    """Make in `folder` a store of candidates in many states, last a publication, and what is kept of it."""
    store = ReleaseStore.create(folder / "store")
    write_people(store.root)
    first = people_in("ann", "bea", "cyd")
    published(store, assessed(store, "clinic", "2024", people=first).candidate_id)
    assessed(store, "clinic", "2025", passes=False, people=people_in("ann"))
    record = assessed(store, "clinic", "2025", approvers=2, people=people_in("ann", "bea", "dan", "eve"))
    for name in ("bob", "cyd"):
        ask(store, record.candidate_id, by=name, question="why k 2?", credential=key_of(name))
        answer(store, record.candidate_id, by="eve", answer="as agreed", credential=key_of("eve"))
        decide(store, record.candidate_id, "approve", by=name, reason="looked at it")
    published(store, assessed(store, "shop", "2023").candidate_id)
    withdraw(store, "shop-2023-r1", by="eve", reason="the wrong file")
    restore(store, "shop-2023-r1", by="bob", reason="it was the right one")
    published(store, assessed(store, "shop", "2024").candidate_id)
    withdraw(store, "shop-2024-r1", by="eve", reason="a column was not to be public")
    rejected = assessed(store, "ward", "2024", approvers=1, figures=False)
    decide(store, rejected.candidate_id, "reject", by="bob", reason="not yet")
    purge(store, "ward", by="eve", reason="kept for long enough")
    waiting = assessed(store, "ward", "2025", approvers=1, people=people_in("ann", "fay"))
    held_back = assessed(store, "ward", "2026", passes=False)
    for name in ("bob", "cyd"):
        decide(store, held_back.candidate_id, "override", by=name, reason="the ministry cannot wait")
    for name in (waiting.candidate_id, "clinic-2025-c1"):  # which was held back
        write_candidate_report(store, name, actor="ann")
    again = assessed(store, "clinic", "2024", approvers=2)
    for name in ("bob", "cyd"):
        decide(store, again.candidate_id, "approve", by=name, reason="looked at it")  # supersedes the first
    kept = Kept(folder / "kept.checkpoint.json", folder / "kept.pem")
    shutil.copy(store.root / "releases/clinic/clinic-2024-r2.checkpoint.json", kept.checkpoint)
    shutil.copy(store.root / keys.PUBLIC_KEY_FILE, kept.public_key)
    return kept


@contextmanager
def unguarded(root: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the database without its triggers; they are there again at the end."""
    with duckdb.connect(str(root / DATABASE)) as con:
        triggers = con.execute("SELECT trigger_name, table_name, sql FROM duckdb_triggers()").fetchall()
        for trigger, table, _ in triggers:
            con.execute(f"DROP TRIGGER {trigger} ON {table}")
        try:
            yield con
        except duckdb.Error as error:
            raise NotPossible(type(error).__name__) from None
        try:
            for _, _, sql in triggers:
                con.execute(sql)
        except duckdb.Error as error:  # of a table that is gone
            raise NotPossible(type(error).__name__) from None


def payload_byte(root: Path, rng: random.Random) -> str:
    """Change one character of one event's payload."""
    with unguarded(root) as con:
        number, text = rng.choice(con.execute("SELECT number, payload FROM event ORDER BY number").fetchall())
        con.execute("UPDATE event SET payload = ? WHERE number = ?", [_other_text(text, rng), number])
    return f"event {number}"


def cell(root: Path, rng: random.Random) -> str:
    """Change one cell of one table."""
    with unguarded(root) as con:
        table = rng.choice(TABLES)
        column, kind = rng.choice(
            [
                (name, kind)
                for name, kind in con.execute(
                    "SELECT column_name, data_type FROM information_schema.columns "
                    "WHERE table_name = ? ORDER BY ordinal_position",
                    [table],
                ).fetchall()
                if name not in LEFT_OUT.get(table, ())
            ]
        )
        rows = con.execute(f"SELECT rowid, {column} FROM {table} ORDER BY rowid").fetchall()
        if not rows:
            raise NotPossible("an empty table")
        rowid, value = rng.choice(rows)
        other = rng.choice(rows)[1] if rng.random() < 0.3 else _other(value, kind, rng)
        if other == value:
            raise NotPossible("the same value")
        con.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", [other, rowid])
        left = con.execute(f"SELECT {column} FROM {table} ORDER BY rowid").fetchall()
        if sorted(map(repr, left)) == sorted(repr((row[1],)) for row in rows):
            raise NotPossible("the same values")
    return f"{table}.{column}, row {rowid}: {value!r} to {other!r}"


def _other(value: Any, kind: str, rng: random.Random) -> Any:
    if kind == "VARCHAR":
        return _other_text(str(value or ""), rng)
    if kind == "BOOLEAN":
        return not value
    if kind == "BLOB":
        return _other_bytes(value, rng)
    if kind == "DOUBLE":
        return rng.choice([None, 0.0, float("nan"), -1.5, (value or 0.0) + rng.choice([1e-9, 1.0])])
    return value + rng.choice([-2, -1, 1, 2, 1000])


def _other_text(text: str, rng: random.Random) -> str:
    """Return `text` with one character changed, added or taken away."""
    place = rng.randrange(len(text) + 1)
    do = rng.choice(["change", "add", "take"]) if place < len(text) else "add"
    added = "" if do == "take" else rng.choice([one for one in LETTERS if text[place : place + 1] != one])
    return text[:place] + added + text[place + (do != "add") :]


def _other_bytes(data: bytes, rng: random.Random) -> bytes:
    """Return `data` with one byte changed, added or taken away."""
    place = rng.randrange(len(data) + 1)
    do = rng.choice(["change", "add", "take"]) if place < len(data) else "add"
    changed = data[place] ^ rng.randrange(1, 256) if do == "change" else rng.randrange(256)
    return data[:place] + (b"" if do == "take" else bytes([changed])) + data[place + (do != "add") :]


DEFINITIONS = (
    "ALTER TABLE {table} ADD COLUMN more INTEGER",
    "ALTER TABLE {table} ALTER COLUMN {column} DROP NOT NULL",
    "ALTER TABLE {table} ALTER COLUMN {column} SET DEFAULT '0'",
    "ALTER TABLE {table} DROP COLUMN {column}",
    "ALTER TABLE {table} RENAME COLUMN {column} TO sly",
    "ALTER TABLE {table} RENAME TO sly",
    "CREATE INDEX sly ON {table} ({column})",
    "CREATE VIEW sly AS SELECT * FROM {table}",
    "CREATE MACRO sly(a) AS a + 1",
    "CREATE SEQUENCE sly",
    "CREATE TYPE sly AS ENUM ('a')",
    "CREATE SCHEMA sly; CREATE TABLE sly.{table} AS FROM {table}",
    "CREATE TABLE sly AS FROM {table}; DROP TABLE {table}; ALTER TABLE sly RENAME TO {table}",
    "CREATE TABLE sly AS FROM {table} LIMIT 0; DROP TABLE {table}; CREATE VIEW {table} AS FROM sly",
)


def definition(root: Path, rng: random.Random) -> str:
    """Change what one table is, or add what no migration made."""
    with unguarded(root) as con:
        tables = con.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()
        table = str(rng.choice(tables)[0])
        names = con.execute(
            "SELECT column_name FROM duckdb_columns() WHERE table_name = ? ORDER BY 1", [table]
        ).fetchall()
        column = str(rng.choice(names)[0])
        before = shape_of(con)
        sql = rng.choice(DEFINITIONS).format(table=table, column=column)
        con.execute(sql)
        if shape_of(con) == before:
            raise NotPossible(sql)
    return sql


def trigger(root: Path, rng: random.Random) -> str:
    """Drop one trigger, so that rows can be altered."""
    with duckdb.connect(str(root / DATABASE)) as con:
        name, table = rng.choice(
            con.execute("SELECT trigger_name, table_name FROM duckdb_triggers() ORDER BY 1").fetchall()
        )
        con.execute(f"DROP TRIGGER {name} ON {table}")
    return str(name)


def text_beside_the_key(root: Path, rng: random.Random) -> str:
    """Write a line before or behind the public key."""
    path = root / keys.PUBLIC_KEY_FILE
    pem, line = path.read_bytes(), rng.choice((b"\n", b"the key of the store\n", b" "))
    path.write_bytes(line + pem if rng.random() < 0.5 else pem + line)
    return path.name


def file_byte(root: Path, rng: random.Random, pattern: str) -> str:
    """Change one byte of one of the files that `pattern` names."""
    paths = sorted(p for p in root.glob(pattern) if p.is_file() and "latest" not in p.parts)
    path = rng.choice(paths)
    data = bytearray(path.read_bytes())
    place = rng.randrange(len(data))
    # White space for white space half the time: JSON reads the same.
    blanks = [blank for blank in b" \n\t\r" if blank != data[place]]
    if data[place] in b" \n" and rng.random() < 0.5:
        data[place] = rng.choice(blanks)
    else:
        data[place] ^= rng.randrange(1, 256)
    path.write_bytes(data)
    return f"{path.relative_to(root)}, byte {place}"


def published_byte(root: Path, rng: random.Random) -> str:
    """Change one byte of a published file."""
    return file_byte(root, rng, "releases/*/*/data*")


def manifest_byte(root: Path, rng: random.Random) -> str:
    """Change one byte of a manifest."""
    return file_byte(root, rng, "releases/*/*/manifest.json")


def checkpoint_byte(root: Path, rng: random.Random) -> str:
    """Change one byte of a checkpoint."""
    return file_byte(root, rng, "releases/*/*.checkpoint.json")


def tombstone_byte(root: Path, rng: random.Random) -> str:
    """Change one byte of what stands beside, or in the place of, a release that no longer stands."""
    return file_byte(root, rng, "releases/*/*ed.json")


def checkpoint_misplaced(root: Path, rng: random.Random) -> str:
    """Put one valid checkpoint in the place of another."""
    one, other = rng.sample(sorted(root.glob("releases/*/*.checkpoint.json")), 2)
    shutil.copy(one, other)
    return f"{one.name} in the place of {other.name}"


def foreign_content(root: Path, rng: random.Random) -> str:
    """Add a file, a folder or a link to the public place, or let a link stand for a folder of it."""
    folders = [root / "releases", root / "releases/clinic", root / "releases/clinic/clinic-2025-r1"]
    name = rng.choice(["evil.html", "x.csv", ".hidden", "clinic-2031-r1", "x.checkpoint.json"])
    path = rng.choice(folders) / name
    way = rng.choice(["file", "folder", "link", "moved"])
    if way == "file":
        path.write_text("<p>")
    elif way == "folder":
        path.mkdir()
    elif way == "link":
        path.symlink_to(root / "candidates")
    else:
        path = rng.choice([*folders[1:], root / "releases/clinic/clinic-2025-r1.checkpoint.json"])
        path.rename(root / "elsewhere")
        path.symlink_to(root / "elsewhere")
    return f"{way}: {path.relative_to(root)}"


def rows_where_they_do_not_belong(root: Path, rng: random.Random) -> str:
    """Remove rows of a candidate that nobody purged, or bring some back of one that was."""
    kept = ("clinic-2025-c1", "shop-2024-c1", "ward-2025-c1")
    path = (
        root / "candidates" / rng.choice([*kept, "ward-2024-c1"]) / rng.choice(["data.csv", "data.parquet"])
    )
    if path.exists():
        path.unlink()
    else:
        path.parent.mkdir(exist_ok=True)
        path.write_text("a row")
    return str(path.relative_to(root))


def resigned(root: Path, rng: random.Random) -> str:
    """Rewrite the log, and take all checkpoints away: the real key is to sign them anew."""
    what = rewritten(root, rng)
    for path in root.glob("releases/*/*.checkpoint.json"):
        path.unlink()
    _write_tombstones(root)
    return f"{what}, but no checkpoint"


def event_removed(root: Path, rng: random.Random) -> str:
    """Take one event away."""
    with unguarded(root) as con:
        number = rng.randint(1, _size(con))
        con.execute("DELETE FROM event WHERE number = ?", [number])
    return f"event {number}"


def events_swapped(root: Path, rng: random.Random) -> str:
    """Let two events change places."""
    with unguarded(root) as con:
        one, two = rng.sample(range(1, _size(con) + 1), 2)
        for before, after in ((one, 10**6), (two, one), (10**6, two)):
            con.execute("UPDATE event SET number = ? WHERE number = ?", [after, before])
    return f"events {one} and {two}"


def tail_cut(root: Path, rng: random.Random) -> str:
    """Cut the last events off."""
    with unguarded(root) as con:
        n = rng.randint(1, _size(con))
        con.execute("DELETE FROM event WHERE number > ?", [_size(con) - n])
    return f"the last {n} events"


def person_removed(root: Path, rng: random.Random) -> str:
    """Take one person, or everybody, out of what is kept of a candidate's people, or count one twice."""
    with unguarded(root) as con:
        rows = con.execute("SELECT rowid, candidate_id FROM person_hash ORDER BY rowid").fetchall()
        rowid, name = rng.choice(rows)
        one, everybody = f"person_hash WHERE rowid = {rowid}", f"WHERE candidate_id = '{name}'"
        ways = {
            "one": [f"DELETE FROM {one}"],
            "one, twice": [f"INSERT INTO person_hash SELECT * FROM {one}"],
            "all": [f"DELETE FROM person_hash {everybody}"],
            "all, and the key": [
                f"DELETE FROM {table} {everybody}" for table in ("person_hash", "person_key")
            ],
            "the values": [f"DELETE FROM person_values {everybody}"],
            "other values": [f"UPDATE person_values SET sealed = 'others'::BLOB {everybody}"],
        }
        way = rng.choice(list(ways))
        for statement in ways[way]:
            con.execute(statement)
    return f"{way} of {name}, row {rowid}"


def figures_removed(root: Path, rng: random.Random) -> str:
    """Take the figures of one candidate away, give it another's, or give some to one that has none."""
    with unguarded(root) as con:
        kept = con.execute("SELECT candidate_id, document FROM candidate_figures ORDER BY 1").fetchall()
        bare = con.execute(
            "SELECT candidate_id FROM candidate ANTI JOIN candidate_figures USING (candidate_id) ORDER BY 1"
        ).fetchall()
        (name, document), (other, _) = rng.sample(kept, 2)
        way = rng.choice(["removed", "another's", "added", "belongs to no candidate and no release"])
        if way == "removed":
            con.execute("DELETE FROM candidate_figures WHERE candidate_id = ?", [name])
        elif way == "another's":
            con.execute("UPDATE candidate_figures SET document = ? WHERE candidate_id = ?", [document, other])
        else:
            given = rng.choice(bare)[0] if way == "added" else "clinic-2031-c1"
            con.execute("INSERT INTO candidate_figures VALUES (?, ?)", [given, document])
    return f"figures of {name}: {way}"


def report_byte(root: Path, rng: random.Random) -> str:
    """Change one byte of a published report."""
    return file_byte(root, rng, "releases/*/*/report.html")


def waiting_byte(root: Path, rng: random.Random) -> str:
    """Change one byte of what people read before they decide: the files of a candidate, and its report."""
    return file_byte(root, rng, f"candidates/{rng.choice(['ward-2025-c1', 'clinic-2025-c1'])}/*")


PLACES = (
    "candidates",
    "releases",
    "withdrawn",
    "locks",
    "locks/.history",
    "locks/clinic.lock",
    "releases/clinic",
    "releases/clinic/latest",
    "releases/catalog.json",
    "candidates/ward-2025-c1",
    "candidates/ward-2025-c1/report.html",
    "public-key.pem",
    f"{DATABASE}.wal",
    f"{DATABASE}.tmp",
    DATABASE,
)


def planted(root: Path, rng: random.Random) -> str:
    """Put a link, a pipe, random bytes or a folder in the place of one of the store's own."""
    place, elsewhere = root / rng.choice(PLACES), root.parent / "elsewhere"
    way = rng.choice(["a link", "a hard link", "a pipe", "random bytes", "a folder"])
    was_folder = place.is_dir() and not place.is_symlink()
    if way == "a hard link" and (was_folder or place.is_symlink() or place.name == "catalog.json"):
        raise NotPossible(way)  # who reads the catalog has no use of whose file it is besides
    if (way, place.name) == ("a folder", f"{DATABASE}.tmp") or (
        way == "random bytes" and place.parent.name == "locks"
    ):
        raise NotPossible(way)  # DuckDB has such a folder, and nobody reads a lock
    if os.path.lexists(place):
        place.rename(elsewhere)
    else:
        elsewhere.write_bytes(b"theirs")
    if way == "a link":
        place.symlink_to(elsewhere)
    elif way == "a hard link":
        place.hardlink_to(elsewhere)
    elif way == "a pipe":
        os.mkfifo(place)
    elif way == "random bytes":
        place.write_bytes(rng.randbytes(1000))
    else:
        place.mkdir()
        (place / "theirs").write_bytes(b"theirs")
    return f"{way} at {place.relative_to(root)}"


def release_with_catalog(root: Path, rng: random.Random) -> str:
    """Change a release's number, period or time, and write the catalog that goes with it."""
    from release_store.publishing.public_index import catalog

    column = rng.choice(["number", "period", "published_at"])
    with unguarded(root) as con:
        rowid, value = rng.choice(
            con.execute(f"SELECT rowid, {column} FROM release ORDER BY rowid").fetchall()
        )
        other = value + rng.randint(5, 50) if column == "number" else value.replace("20", "19", 1)
        con.execute(f"UPDATE release SET {column} = ? WHERE rowid = ?", [other, rowid])
    listed = pretty_json(catalog(ReleaseStore.open(root).releases()))
    (root / "releases/catalog.json").write_bytes(listed)
    return f"release.{column}, row {rowid}: {value!r} to {other!r}, and the catalog"


def rewritten(root: Path, rng: random.Random) -> str:
    """Change one event, and give it and all that follow fresh hashes."""
    events = ReleaseStore.open(root).events()
    place, changed = _forged(events, rng)
    _write_log(root, _rechained([*events[:place], changed, *events[place + 1 :]]))
    return f"event {place + 1}, with fresh hashes"


def rewritten_and_signed(root: Path, rng: random.Random) -> str:
    """Rewrite the log under another key, and sign every checkpoint anew with it."""
    events = ReleaseStore.open(root).events()
    place, changed = _forged(events, rng)
    strange = keys.make_key(root.parent / "strange")
    first = replace(changed if place == 0 else events[0])
    first = replace(first, payload={**first.payload, "public_key": keys.public_hex(strange)})
    forged = _rechained([first, *(changed if n == place else e for n, e in enumerate(events) if n)])
    _write_log(root, forged)
    (root / keys.PUBLIC_KEY_FILE).write_bytes(keys.public_pem(strange))
    _sign_all(root, forged, strange)
    _write_tombstones(root)
    return f"event {place + 1}, all hashes and signatures"


def word_rewritten(root: Path, rng: random.Random) -> str:
    """Change whose word something was, why or when, or who might say it, in log and table alike.

    All is signed anew with the store's own key, as somebody could who has it: not with that of the person.
    """
    events = ReleaseStore.open(root).events()
    place = rng.choice([n for n, event in enumerate(events) if event.action in (*WORDS, "people.changed")])
    event = events[place]
    payload = json.loads(json.dumps(event.payload))
    way = rng.choice(["people"] if event.action == "people.changed" else ["by", "reason", "at", "proof"])
    if way == "people":
        person = rng.choice(payload["members"])
        person["roles"] = ["auditor"] if rng.random() < 0.5 else [*person["roles"], "auditor"]
        payload["digest"] = digest_of(payload["members"])
    elif way == "proof":
        signature = payload["proof"]["signature"]
        payload["proof"]["signature"] = ("0" if signature[0] != "0" else "1") + signature[1:]
    else:
        text = (
            event.at if way == "at" else "eve" if way == "by" and event.actor != "eve" else f"{event.actor}ah"
        )
        payload[way] = text
    changed = replace(
        event,
        actor=payload.get("by", event.actor) if way == "by" else event.actor,
        reason=payload["reason"] if way == "reason" else event.reason,
        payload=payload,
    )
    _write_log(root, forged := _rechained([*events[:place], changed, *events[place + 1 :]]))
    if event.action.startswith("decision."):
        with unguarded(root) as con:
            con.execute(
                "UPDATE proven_decision SET person = ?, reason = ?, at_utc = ?, proof = ? "
                "WHERE candidate_id = ? AND person = ?",
                [
                    *(changed.actor, changed.reason, payload["at"]),
                    *(canonical_json(payload["proof"]).decode(), event.object, event.actor),
                ],
            )
    with signing_key(root.parents[1] / "signing.key"):
        _sign_all(root, forged, keys.load_key(root))
    _write_tombstones(root)
    return f"{event.action} of {event.object}: {way}"


def question_rewritten(root: Path, rng: random.Random) -> str:
    """Let a question or an answer be a refusal in the log, or change places with the event after it.

    All is signed anew with the store's own key, as somebody could who has it.
    """
    events = ReleaseStore.open(root).events()
    place = rng.choice([n for n, event in enumerate(events) if event.action in QUESTIONS])
    event, after = events[place], events[place + 1]
    way = rng.choice(["a refusal", "put behind the next"])
    pair = [replace(event, action="decision.refused"), after] if way == "a refusal" else [after, event]
    rest = [*events[:place], *pair, *events[place + 2 :]]
    forged = _rechained([replace(one, number=number) for number, one in enumerate(rest, 1)])
    _write_log(root, forged)
    with signing_key(root.parents[1] / "signing.key"):
        _sign_all(root, forged, keys.load_key(root))
    _write_tombstones(root)
    return f"event {place + 1}, {event.action}: {way}"


def _sign_all(root: Path, events: Sequence[AuditEvent], key: Ed25519PrivateKey) -> None:
    for path in root.glob("releases/*/*.checkpoint.json"):
        said = json.loads(path.read_text())
        head = events[said["size"] - 1].hash
        signed = keys.sign_checkpoint(
            key, store_id=said["store_id"], size=said["size"], head=head, at=said["at"]
        )
        path.write_bytes(pretty_json(signed))


def _write_tombstones(root: Path) -> None:
    """Let the tombstones say what the log says now, as whoever rewrites it would."""
    with connect(root) as con:
        releases = queries.releases(con, None)
        written = superseded_tombstones(root, con, releases)
        for one in releases:
            if one.state is ReleaseState.WITHDRAWN:
                path = tombstone_file(root, one.series, one.release_id)
                written[path] = tombstone(one, withdrawal_event(con, one.release_id))
    for path, content in written.items():
        path.write_bytes(content)


def _forged(events: Sequence[AuditEvent], rng: random.Random) -> tuple[int, AuditEvent]:
    place = rng.randrange(len(events))
    event = events[place]
    kind = rng.choice(["actor", "reason", "at", "payload"])
    if kind == "payload":
        return place, replace(event, payload={**event.payload, "more": rng.randrange(1000)})
    return place, replace(event, **{kind: _other_text(str(getattr(event, kind)), rng)})


def _rechained(events: Sequence[AuditEvent]) -> list[AuditEvent]:
    head, made = GENESIS, []
    for event in events:
        linked = replace(event, previous=head)
        linked = replace(linked, hash=event_hash(linked))
        head = linked.hash
        made.append(linked)
    return made


def _write_log(root: Path, events: Sequence[AuditEvent]) -> None:
    with unguarded(root) as con:
        con.execute("DELETE FROM event")
        con.executemany(
            "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                [e.number, e.at, e.actor, e.action, e.object, e.reason, text, e.previous, e.hash]
                for e in events
                for text in (canonical_json(e.payload).decode(),)
            ],
        )


def _size(con: duckdb.DuckDBPyConnection) -> int:
    found = con.execute("SELECT count(*) FROM event").fetchone()
    return int(found[0]) if found else 0


KINDS: dict[str, tuple[Callable[[Path, random.Random], str], int]] = {
    "a byte of a payload": (payload_byte, 2),
    "a cell": (cell, 6),
    "a definition": (definition, 2),
    "a trigger dropped": (trigger, 1),
    "text beside the key": (text_beside_the_key, 1),
    "a byte of a published file": (published_byte, 1),
    "a byte of a manifest": (manifest_byte, 1),
    "a byte of a report": (report_byte, 1),
    "a byte of what waits": (waiting_byte, 2),
    "something else in a place of the store's": (planted, 6),
    "a byte of a checkpoint": (checkpoint_byte, 2),
    "a byte of a tombstone": (tombstone_byte, 1),
    "an event removed": (event_removed, 1),
    "two events swapped": (events_swapped, 1),
    "the tail cut": (tail_cut, 1),
    "a person removed": (person_removed, 1),
    "figures removed": (figures_removed, 2),
    "a release and its catalog": (release_with_catalog, 1),
    "a history rewritten": (rewritten, 1),
    "a history rewritten and signed": (rewritten_and_signed, 1),
    "a history rewritten, for the real key to sign": (resigned, 1),
    "a word rewritten by who has the store's key": (word_rewritten, 2),
    "a question rewritten by who has the store's key": (question_rewritten, 2),
    "a checkpoint in another's place": (checkpoint_misplaced, 1),
    "foreign content": (foreign_content, 2),
    "rows where they do not belong": (rows_where_they_do_not_belong, 1),
}


# One of every kind first.
WAYS = (*KINDS, *(kind for kind, (_, share) in KINDS.items() for _ in range(share - 1)))


def make_template(folder: Path) -> Kept:
    """Make in `folder` the store of which each alteration has a copy, with the key that signs for it."""
    (folder / "template").mkdir(parents=True)
    with signing_key(folder / "signing.key"):
        return make(folder / "template")


@contextmanager
def signing_key(path: Path) -> Iterator[None]:
    """Let a key be at hand while the block runs."""
    before = os.environ.get(keys.KEY_VARIABLE)
    os.environ[keys.KEY_VARIABLE] = str(path)
    try:
        yield
    finally:
        if before is None:
            del os.environ[keys.KEY_VARIABLE]
        else:
            os.environ[keys.KEY_VARIABLE] = before


def alter(n: int, seed: int, folder: Path, kept: Kept | None = None) -> Iterator[Altered]:
    """Make `n` alterations, each to a fresh copy of one store, and yield what verify finds of each.

    The first `len(KINDS)` are of every kind. `kept` is of the store that was made in `folder`, if one was.
    """
    kept = make_template(folder) if kept is None else kept
    with signing_key(folder / "signing.key"):
        assert verify(ReleaseStore.open(folder / "template/store")) == []
    # Whoever verifies has no signing key: what verify finds, it finds without.
    with signing_key(folder / "no.key"):
        for number in range(n):
            yield _altered(number, seed, folder, kept)


def _altered(number: int, seed: int, folder: Path, kept: Kept) -> Altered:
    rng = random.Random(f"{seed}/{number}")  # noqa: S311 -- to be had again from the seed
    kind = WAYS[number % len(WAYS)]
    root, what = _copy_altered(folder, kind, rng)
    (folder / "no.key").unlink(missing_ok=True)  # with which a rewritten history was signed
    store = ReleaseStore(root, "")
    if kind == "a history rewritten, for the real key to sign":
        return Altered(number, kind, what, tuple(_refused(store, folder / "signing.key")))
    by_key = kind == "a history rewritten and signed"
    findings = (
        verify(store, checkpoint=kept.checkpoint, public_key=str(kept.public_key))
        if by_key
        else verify(store)
    )
    return Altered(number, kind, what, tuple(map(str, findings)))


def _copy_altered(folder: Path, kind: str, rng: random.Random) -> tuple[Path, str]:
    """Return a fresh copy of the template with one alteration, and the alteration in words."""
    root = folder / "altered" / "store"
    while True:
        shutil.rmtree(root.parent, ignore_errors=True)
        shutil.copytree(folder / "template/store", root, symlinks=True)
        with suppress(NotPossible):
            return root, KINDS[kind][0](root, rng) if kind else ""


def published_after(n: int, seed: int, folder: Path) -> Iterator[Altered]:
    """Make `n` alterations, each to a fresh copy of a store, and let candidates be published in its series.

    The findings are the first refusal, or `unharmed` where all were published and verify finds nothing then
    but in the files of other candidates: what is made from the log was written anew. Who publishes has the
    store's own key, and beside it what was kept last. The first copy, whose kind is empty, is not altered.
    """
    make_template(folder)
    template, held = folder / "template" / "store", folder / "held"
    with signing_key(folder / "signing.key"):
        store = ReleaseStore.open(template)
        people = people_in("ann", "bea", "dan")
        series = ("clinic", "shop", "ward")
        waiting = [assessed(store, name, "2027", approvers=1, people=people) for name in series]
    for number in range(-1, n):
        with signing_key(folder / "no.key"):
            rng, kind = random.Random(f"{seed}/{number}"), "" if number < 0 else WAYS[number % len(WAYS)]  # noqa: S311
            root, what = _copy_altered(folder, kind, rng)
        write_people(root)
        (folder / "no.key").unlink(missing_ok=True)
        shutil.rmtree(held, ignore_errors=True)
        held.mkdir()
        for path in folder.glob("signing.key*"):
            shutil.copy(path, held)
        with signing_key(held / "signing.key"):
            yield Altered(number, kind, what, tuple(_first_refusal(root, waiting)))


def _first_refusal(root: Path, waiting: Sequence[CandidateRecord]) -> list[str]:
    names = {record.candidate_id for record in waiting}
    try:
        store = ReleaseStore.open(root)
        for name in sorted(names):
            for by in ("bob", "cyd")[: store.approvers_needed(name)]:
                decide(store, name, "approve", by=by, reason="looked at it")
    except Blocked:
        raise
    except ReleaseGateError as error:
        return [f"{type(error).__name__}: {error.where}: {error.message}"]
    assert names == {one.candidate_id for one in store.releases() if one.period == "2027"}
    left = [one.where.removeprefix("candidates/").partition("/")[0] for one in verify(store)]
    others = {one.candidate_id for one in store.candidates()} - names
    return [UNHARMED] if {*left} <= others else []


def _refused(store: ReleaseStore, key: Path) -> list[str]:
    """Return why recovery signs nothing with the real key, or nothing if it did sign."""
    with signing_key(key):
        try:
            recover(store)
        except VerificationFailed as error:
            return [] if list(store.root.glob("releases/*/*.checkpoint.json")) else [str(error)]
    return []


def main(arguments: Sequence[str] | None = None) -> int:
    """Alter, count, and tell what was missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.alterations")
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--publish", action="store_const", const=published_after, default=alter, dest="look")
    chosen = parser.parse_args(arguments)
    trust_test_folders()
    made, missed = Counter[str](), []
    with tempfile.TemporaryDirectory() as name:
        for one in chosen.look(chosen.n, chosen.seed, Path(name)):
            if not one.kind and one.findings != (UNHARMED,):
                raise SystemExit(f"the copy that is not altered: {one.findings}")
            made[one.kind] += 1
            if not one.findings:
                missed.append(one)
                print(f"not found: {one.number} {one.kind}: {one.what}", flush=True)
    for kind, count in made.items():
        print(f"{kind}: {count}, {sum(one.kind == kind for one in missed)} not found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
