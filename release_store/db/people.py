"""Keyed hashes of people in and out of the store, and what the log says of them.

They are kept from the staging of a candidate on, since whoever approves it has no source to take them from,
and are deleted when it ends without being published, unless it can be judged again or overridden.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import accumulate
from operator import ne
from typing import Any

import duckdb

from policy.errors import VerificationFailed
from release_store.audit import log as audit
from release_store.audit.log import Finding
from release_store.audit.replay import LoggedRelease, ReplayedLog
from release_store.canonical import sha256_hex
from release_store.db import queries
from release_store.records import CandidateState, PeopleInCommon, PersonHashes

Connection = duckdb.DuckDBPyConnection
Statement = dict[str, Any]
# A candidate, and the hash, the class and the hash of the canonical key of each row.
_Rows = tuple[str, list[str], list[int | None], list[str | None]]

TABLES = ("person_key", "person_hash", "person_values")
WITHOUT_PEOPLE = frozenset({CandidateState.REJECTED, CandidateState.FAILED})
_NOT_STAGED = "its keyed hashes of people differ from the staged ones"
_NOBODY = sha256_hex(b"")
_LINES_AT_ONCE = 1 << 16
_AT_ONCE = 1_000_000  # hashes that one query puts in order


def write_people(con: Connection, candidate_id: str, people: PersonHashes) -> None:
    """Keep the hashes of a candidate's people."""
    import pandas as pd

    con.execute("INSERT INTO person_key VALUES (?, ?)", [candidate_id, people.fingerprint])
    classes = people.classes if people.classes is not None else [None] * len(people.hashes)
    columns = {
        "person": pd.Series(people.hashes, dtype=object),
        "class": pd.array(classes, dtype="Int32"),
        "canonical": pd.Series(people.canonical or [None] * len(people.hashes), dtype=object),
    }
    con.register("incoming", pd.DataFrame(columns))
    try:
        con.execute(
            "INSERT INTO person_hash "
            "SELECT ?, person::VARCHAR, class::INTEGER, canonical::VARCHAR FROM incoming",
            [candidate_id],
        )
    finally:
        con.unregister("incoming")
    if people.values is not None:
        con.execute("INSERT INTO person_values VALUES (?, ?)", [candidate_id, people.values])


def read_people(con: Connection, candidate_id: str, log: ReplayedLog | None = None) -> PersonHashes | None:
    """Return the hashes of a candidate's people, or None where none are kept.

    Raises VerificationFailed if they differ from the staged ones, by `log` if it is given.
    """
    rows = list(_rows(con, [candidate_id]))
    if _publishable(con, candidate_id, rows, log) is None:
        return None
    _, hashes, classes, canonical = rows[0] if rows else ("", [], [], [])
    sealed = con.execute("SELECT sealed FROM person_values WHERE candidate_id = ?", [candidate_id]).fetchone()
    return PersonHashes(
        _fingerprints(con)[candidate_id],
        tuple(hashes),
        tuple(one for one in classes if one is not None) if None not in classes else None,
        None if sealed is None else bytes(sealed[0]),
        tuple(canonical) if any(canonical) else (),
    )


def delete_people(con: Connection, candidate_id: str) -> None:
    """Forget the people of a candidate that ended without being published."""
    for table in TABLES:
        con.execute(f"DELETE FROM {table} WHERE candidate_id = ?", [candidate_id])


def person_hash_statement(con: Connection, candidate_id: str) -> Statement | None:
    """Return what the log says of the hashes that are kept of a candidate, or None where none are."""
    return _statements(con, [candidate_id], _rows(con, [candidate_id])).get(candidate_id)


def publishable_people(con: Connection, candidate_id: str) -> Statement | None:
    """Return the statement of a candidate's hashes, which must be those that it was staged with.

    Raises VerificationFailed if they are not.
    """
    return _publishable(con, candidate_id, _rows(con, [candidate_id]))


def _publishable(
    con: Connection, candidate_id: str, rows: Iterable[_Rows], log: ReplayedLog | None = None
) -> Statement | None:
    kept = _statements(con, [candidate_id], rows).get(candidate_id)
    if log is None:
        events = audit.read_events_about(con, [], [candidate_id], [])
        staged = [event.payload.get("people") for event in events if event.action == "candidate.staged"]
    else:
        logged = log.candidates.get(candidate_id)
        staged = [logged.staged().get("people")] if logged else []
    if staged != [kept]:
        raise VerificationFailed(
            _NOT_STAGED,
            where=candidate_id,
            hint="Run `releasegate verify` for details, then run the period again.",
        )
    return kept


def people_in_common(con: Connection, candidate_id: str) -> PeopleInCommon | None:
    """Return how many of a candidate's people were in each release of its series before it.

    None where its people are not kept; a release whose people are not, or under another key, has None.
    """
    fingerprint = _fingerprints(con).get(candidate_id)
    if fingerprint is None:
        return None
    (n,) = con.execute(
        "SELECT count(DISTINCT person) FROM person_hash WHERE candidate_id = ?", [candidate_id]
    ).fetchone() or (0,)
    releases = queries.releases(con, queries.candidate(con, candidate_id).series)
    own = next((one.number for one in releases if one.candidate_id == candidate_id), None)
    earlier = [one for one in releases if own is None or one.number < own]
    comparable = [
        name
        for name, other in _fingerprints(con).items()
        if other == fingerprint and name in {one.candidate_id for one in earlier}
    ]
    found = dict(
        con.execute(
            "SELECT one.candidate_id, count(DISTINCT person) "
            "FROM person_hash own JOIN person_hash one USING (person) "
            "WHERE own.candidate_id = ? AND one.candidate_id IN (SELECT unnest(?::VARCHAR[])) "
            "GROUP BY one.candidate_id",
            [candidate_id, comparable],
        ).fetchall()
    )
    counts = {
        one.release_id: found.get(one.candidate_id, 0) if one.candidate_id in comparable else None
        for one in earlier
    }
    return PeopleInCommon(fingerprint, n, counts)


def check_people(con: Connection, log: ReplayedLog, series: str | None = None) -> list[Finding]:
    """Return where the hashes that are kept differ from the logged ones, or of nobody that may be kept."""
    # Only what is needed of ten thousand rows: they are read whole elsewhere.
    states = dict(
        con.execute(
            "SELECT candidate_id, state FROM candidate WHERE series = coalesce(?, series) ORDER BY position",
            [series],
        ).fetchall()
    )
    releases = con.execute(
        "SELECT release_id, candidate_id FROM release WHERE series = coalesce(?, series) "
        "ORDER BY series, number",
        [series],
    ).fetchall()
    found = {name for table in TABLES for name in _candidates(con, table)}
    names = sorted(found if series is None else found & states.keys())
    kept = _statements(con, names, _rows(con, names))
    findings = []
    for name in names:
        if name not in states:
            findings.append(Finding(name, "has hashes of people, but is not a candidate"))
        elif states[name] in WITHOUT_PEOPLE:
            findings.append(Finding(name, f"is {states[name]}, but has hashes of people"))
        elif name in log.purged:
            findings.append(Finding(name, "its rows were purged, but it has hashes of people"))
    for name, state in states.items():
        logged = log.candidates.get(name)
        if logged is not None and state not in WITHOUT_PEOPLE:
            said = logged.staged().get("people") if '"people"' in logged.first else None
            # Nobody can override it any more, or its rows were purged.
            gone = (state == CandidateState.BLOCKED or name in log.purged) and name not in kept
            if said != kept.get(name) and not gone:
                findings.append(Finding(name, _NOT_STAGED))
    for release_id, candidate_id in releases:
        texts = log.releases.get(release_id, LoggedRelease()).published
        said = [json.loads(text).get("people") if '"people"' in text else None for text in texts]
        if said != [kept.get(candidate_id)]:
            findings.append(Finding(release_id, "its keyed hashes of people differ from the published ones"))
    return findings


def _candidates(con: Connection, table: str) -> list[str]:
    return [name for (name,) in con.execute(f"SELECT DISTINCT candidate_id FROM {table}").fetchall()]


def _fingerprints(con: Connection) -> dict[str, str]:
    return dict(con.execute("SELECT candidate_id, fingerprint FROM person_key ORDER BY ALL").fetchall())


def _statements(con: Connection, candidate_ids: Sequence[str], rows: Iterable[_Rows]) -> dict[str, Statement]:
    """Return for each candidate the fingerprints of its keys, the count and the digest of its hashes, and the
    digest of its sealed values where some are kept. `rows` are those of the candidates that have hashes.
    """
    fingerprints = con.execute(
        "SELECT candidate_id, string_agg(fingerprint, ' ' ORDER BY fingerprint) FROM person_key "
        "WHERE candidate_id IN (SELECT unnest(?::VARCHAR[])) GROUP BY candidate_id",
        [list(candidate_ids)],
    ).fetchall()
    found: dict[str, Statement] = {
        name: {"key": key, "n": 0, "digest": _NOBODY} for name, key in fingerprints
    }
    for name, people, classes, canonical in rows:
        n = sum(map(ne, people, people[1:])) + 1  # equal ones are beside each other
        found[name] = {
            "key": None,
            **found.get(name, {}),
            "n": n,
            "digest": _digest(people, classes, canonical),
        }
    for name, digest in con.execute(
        "SELECT candidate_id, system.main.sha256(sealed) FROM person_values "
        "WHERE candidate_id IN (SELECT unnest(?::VARCHAR[]))",
        [list(candidate_ids)],
    ).fetchall():
        found[name] = {"key": None, "n": 0, "digest": _NOBODY, **found.get(name, {}), "values": digest}
    return found


def _digest(people: Sequence[str], classes: Sequence[int | None], canonical: Sequence[str | None]) -> str:
    """Return the digest of the digests of rows; what a row does not have is left out, as it was before."""
    digest = sha256()
    for start in range(0, len(people), _LINES_AT_ONCE):
        piece = slice(start, start + _LINES_AT_ONCE)
        triples = zip(people[piece], classes[piece], canonical[piece], strict=True)
        lines = [
            (one if number is None else f"{one} {number}") + (f" {form}" if form is not None else "")
            for one, number, form in triples
        ]
        digest.update("".join([sha256(line.encode()).hexdigest() for line in lines]).encode())
    return digest.hexdigest()


def _rows(con: Connection, candidate_ids: Sequence[str]) -> Iterator[_Rows]:
    """Yield the candidates that have hashes with these and their classes, in the order of both."""
    for counts in _pieces(con, candidate_ids):
        found: dict[str, Any] = con.execute(
            "SELECT person, class, canonical FROM person_hash WHERE candidate_id IN "
            "(SELECT unnest(?::VARCHAR[])) ORDER BY candidate_id, person, class, canonical",
            [list(counts)],
        ).fetchnumpy()
        people, classes, canonical = (found[name].tolist() for name in ("person", "class", "canonical"))
        ends = [*accumulate(counts.values())]
        for name, start, end in zip(counts, [0, *ends], ends, strict=False):
            yield name, people[start:end], classes[start:end], canonical[start:end]


def _pieces(con: Connection, candidate_ids: Sequence[str]) -> Iterator[dict[str, int]]:
    """Cut candidates into pieces whose hashes fit in memory together; yield how many each has, if any."""
    counts = con.execute(
        "SELECT candidate_id, count(*) FROM person_hash "
        "WHERE candidate_id IN (SELECT unnest(?::VARCHAR[])) GROUP BY candidate_id ORDER BY candidate_id",
        [list(candidate_ids)],
    ).fetchall()
    piece: dict[str, int] = {}
    for name, n in counts:
        if piece and sum(piece.values()) + n > _AT_ONCE:
            yield piece
            piece = {}
        piece[name] = n
    if piece:
        yield piece
