"""What is read from the store: rows in, records out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb

from policy.errors import StoreError, UsageError
from policy.period import spellings
from release_store.audit.log import canonical_payload, purged_in, read_events_of
from release_store.canonical import digest_of, iso, tree_digest
from release_store.permission import Act
from release_store.protocol.names import PURGED, RESTORED
from release_store.records import (
    AuditEvent,
    CandidateRecord,
    CandidateState,
    Decision,
    GateResult,
    Proof,
    Release,
    ReleaseState,
    Validation,
    Verdict,
)
from release_store.states import may
from release_store.summary import Summary

SALT = "salt"  # beside what was found of an input
Connection = duckdb.DuckDBPyConnection
GateRow = tuple[Any, ...]

_CANDIDATE = (
    "SELECT candidate_id, series, period, state, made_by, made_at, policy_digest, input_digest, "
    "candidate_digest, history_head, expires_at, summary FROM candidate"
)
_RELEASE = (
    "SELECT release_id, series, period, number, candidate_id, state, published_at, summary, candidate_id IN "
    "(SELECT candidate_id FROM proven_decision WHERE decision = 'override') FROM release"
)
# Those of the first stores, which have no proof, and the others.
DECISIONS = "(SELECT *, NULL AS proof FROM decision UNION ALL SELECT * FROM proven_decision)"


@dataclass(frozen=True)
class GateSummary:
    """The gates of one candidate in short; `k` and `ncp` are what the gates of these names measured."""

    n: int
    passed: int
    failing: tuple[str, ...]
    k: float | None
    ncp: float | None


@dataclass(frozen=True)
class Overview:
    """What a list of the history shows, oldest first; the releases are without their files."""

    known_series: tuple[str, ...]  # with a candidate or an input, whatever was asked for
    releases: list[Release]
    unpublished: list[CandidateRecord]
    refused: list[Validation]
    gates: dict[str, GateSummary]  # by candidate


def store_info(con: Connection, name: str) -> str:
    """Return one fact about the store, such as `store_id`. Raises StoreError if it is not kept."""
    found = con.execute("SELECT value FROM store_info WHERE name = ?", [name]).fetchone()
    if found is None:
        raise StoreError(f"the store has no {name}")
    return str(found[0])


def candidate(con: Connection, candidate_id: str) -> CandidateRecord:
    """Return one candidate. Raises UsageError if there is none of that id."""
    found = con.execute(f"{_CANDIDATE} WHERE candidate_id = ?", [candidate_id]).fetchone()
    if found is None:
        raise UsageError(
            f"there is no candidate {candidate_id!r}", hint="Run `releasegate history` to list them."
        )
    return _candidate(found)


def candidates(con: Connection, series: str | None = None) -> list[CandidateRecord]:
    """Return the candidates of one series or of all, oldest first."""
    rows = con.execute(
        f"{_CANDIDATE} WHERE series = coalesce(?, series) ORDER BY position", [series]
    ).fetchall()
    return [_candidate(row) for row in rows]


def candidates_in(con: Connection, series: str, states: Iterable[CandidateState]) -> list[CandidateRecord]:
    """Return the candidates of one series that are in one of these states, oldest first."""
    rows = con.execute(
        f"{_CANDIDATE} WHERE series = ? AND state IN (SELECT unnest(?)) ORDER BY position",
        [series, [state.value for state in states]],
    ).fetchall()
    return [_candidate(row) for row in rows]


def waiting_for(con: Connection, series: str, period: str) -> list[CandidateRecord]:
    """Return the candidates of one period that wait for approval or for publication, oldest first."""
    states = (CandidateState.AWAITING_APPROVAL, CandidateState.APPROVED)
    names = spellings(period)
    return [one for one in candidates_in(con, series, states) if one.period in names]


def candidates_of(con: Connection, candidate_ids: Sequence[str]) -> list[CandidateRecord]:
    """Return the candidates of these ids that are kept, oldest first."""
    rows = con.execute(
        f"{_CANDIDATE} WHERE candidate_id IN (SELECT unnest(?)) ORDER BY position", [list(candidate_ids)]
    ).fetchall()
    return [_candidate(row) for row in rows]


def places(con: Connection) -> dict[str, int]:
    """Return the place of each candidate in the order in which they were staged, from 1."""
    return dict(con.execute("SELECT candidate_id, position FROM candidate ORDER BY candidate_id").fetchall())


def reserved_names(con: Connection) -> dict[str, str]:
    """Return the series of every candidate id that was ever given."""
    return dict(
        con.execute("SELECT candidate_id, series FROM candidate_name ORDER BY candidate_id").fetchall()
    )


def misplaced(con: Connection, table: str) -> list[str]:
    """Return the candidates whose rows in `table` are not numbered 0, 1, ... without a gap."""
    rows = con.execute(
        f"SELECT candidate_id FROM {table} GROUP BY candidate_id "
        "HAVING min(position) <> 0 OR max(position) <> count(*) - 1 ORDER BY candidate_id"
    ).fetchall()
    return [name for (name,) in rows]


def gates(con: Connection, candidate_id: str) -> list[GateResult]:
    """Return the gate results of a candidate in the order in which they were taken."""
    return gates_of(con, [candidate_id]).get(candidate_id, [])


def gates_of(con: Connection, candidate_ids: Sequence[str]) -> dict[str, list[GateResult]]:
    """Return the gate results of several candidates; one that has none is left out."""
    return {name: gate_results(rows) for name, rows in gate_rows_of(con, candidate_ids).items()}


def gate_results(rows: Iterable[GateRow]) -> list[GateResult]:
    """Return the gate results that stand in these rows."""
    return [
        GateResult(gate, Verdict(verdict), value, threshold, relation, attacker, seconds, detail, _json(text))
        for gate, verdict, value, threshold, relation, attacker, seconds, detail, text in rows
    ]


def gate_rows_of(con: Connection, candidate_ids: Sequence[str]) -> dict[str, list[GateRow]]:
    """Return the gate results of several candidates as they are kept: the fields, the witness as a text."""
    found: dict[str, list[GateRow]] = {}
    for name, *row in con.execute(
        "SELECT candidate_id, gate, verdict, value, threshold, relation, attacker, seconds, detail, witness "
        "FROM gate_result WHERE candidate_id IN (SELECT unnest(?)) ORDER BY candidate_id, position",
        [list(candidate_ids)],
    ).fetchall():
        found.setdefault(name, []).append(tuple(row))
    return found


def verdicts_of(con: Connection, candidate_ids: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Return the gates of several candidates and what each says, in order; one without is left out."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, gate, verdict in con.execute(
        "SELECT candidate_id, gate, verdict FROM gate_result "
        "WHERE candidate_id IN (SELECT unnest(?)) ORDER BY candidate_id, position",
        [list(candidate_ids)],
    ).fetchall():
        found.setdefault(name, []).append((gate, verdict))
    return found


def words_of(con: Connection, candidate_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return what was decided on several candidates, oldest first; one without a decision is left out."""
    found: dict[str, list[str]] = {}
    for name, word in con.execute(
        f"SELECT candidate_id, decision FROM {DECISIONS} "
        "WHERE candidate_id IN (SELECT unnest(?)) ORDER BY candidate_id, position",
        [list(candidate_ids)],
    ).fetchall():
        found.setdefault(name, []).append(word)
    return found


def gate_summaries(con: Connection, series: str | None = None) -> dict[str, GateSummary]:
    """Return the gates of every candidate of one series or of all in short."""
    rows = con.execute(
        "SELECT candidate_id, count(*), count(*) FILTER (verdict = 'pass'), "
        "list(gate ORDER BY g.position) FILTER (verdict <> 'pass'), "
        "min(value) FILTER (gate = 'k'), min(value) FILTER (gate = 'ncp') "
        "FROM gate_result g JOIN candidate c USING (candidate_id) WHERE c.series = coalesce(?, c.series) "
        "GROUP BY candidate_id",
        [series],
    ).fetchall()
    return {
        name: GateSummary(n, passed, tuple(failing or ()), k, ncp)
        for name, n, passed, failing, k, ncp in rows
    }


def decisions(con: Connection, candidate_id: str) -> list[Decision]:
    """Return the accepted decisions on a candidate, oldest first."""
    return decisions_of(con, [candidate_id]).get(candidate_id, [])


def decisions_of(con: Connection, candidate_ids: Sequence[str]) -> dict[str, list[Decision]]:
    """Return the accepted decisions on several candidates; one that has none is left out."""
    found: dict[str, list[Decision]] = {}
    for subject, word, person, reason, at, candidate_digest, policy_digest, head, proof in con.execute(
        "SELECT candidate_id, decision, person, reason, at_utc, candidate_digest, policy_digest, "
        f"history_head, proof FROM {DECISIONS} WHERE candidate_id IN (SELECT unnest(?)) "
        "ORDER BY candidate_id, position",
        [list(candidate_ids)],
    ).fetchall():
        found.setdefault(subject, []).append(
            Decision(
                subject,
                word,
                person,
                reason,
                _moment(at),
                candidate_digest,
                policy_digest,
                head,
                None if proof is None else _proof(proof),
            )
        )
    return found


def _proof(text: str) -> Proof:
    found = _json(text)
    with suppress(KeyError, TypeError):
        proof = Proof(**found)
        if proof.document() == found:
            return proof
    raise StoreError("the database holds text where a proof was written")


def files(con: Connection, candidate_id: str) -> dict[str, str]:
    """Return the staged files of a candidate, name to SHA-256."""
    return files_of(con, [candidate_id]).get(candidate_id, {})


def files_of(con: Connection, candidate_ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the staged files of several candidates; one that has none is left out."""
    found: dict[str, dict[str, str]] = {}
    for candidate_id, name, digest in con.execute(
        "SELECT candidate_id, name, sha256 FROM candidate_file "
        "WHERE candidate_id IN (SELECT unnest(?)) ORDER BY name",
        [list(candidate_ids)],
    ).fetchall():
        found.setdefault(candidate_id, {})[name] = digest
    return found


def validations(
    con: Connection, series: str | None = None, *, refused_only: bool = False
) -> list[Validation]:
    """Return how the inputs of one series or of all met their expectations, oldest first."""
    rows = con.execute(
        "SELECT number, series, period, input_digest, n_rows, n_columns, passed, results, actor, at_utc "
        "FROM validation WHERE series = coalesce(?, series) AND NOT (passed AND ?) ORDER BY number",
        [series, refused_only],
    ).fetchall()
    return [
        Validation(
            number=number,
            series=of_series,
            period=period,
            input_digest=digest,
            n_rows=n_rows,
            n_columns=n_columns,
            passed=passed,
            results=tuple(one for one in _json_list(results) if SALT not in one),
            actor=actor,
            at=_moment(at),
        )
        for number, of_series, period, digest, n_rows, n_columns, passed, results, actor, at in rows
    ]


def overview(con: Connection, series: str | None = None) -> Overview:
    """Return what there is to list of one series or of all, with a fixed number of queries."""
    known = con.execute("SELECT series FROM candidate UNION SELECT series FROM validation").fetchall()
    rows = con.execute(
        f"{_RELEASE} WHERE series = coalesce(?, series) ORDER BY series, number", [series]
    ).fetchall()
    unpublished = con.execute(
        f"{_CANDIDATE} WHERE series = coalesce(?, series) AND state <> 'published' ORDER BY position",
        [series],
    ).fetchall()
    return Overview(
        tuple(sorted(name for (name,) in known)),
        [_release(row, {}) for row in rows],
        [_candidate(row) for row in unpublished],
        validations(con, series, refused_only=True),
        gate_summaries(con, series),
    )


def policy(con: Connection, digest: str) -> dict[str, Any]:
    """Return the policy document of that digest. Raises UsageError if none is kept."""
    found = con.execute("SELECT document FROM policy WHERE digest = ?", [digest]).fetchone()
    if found is None:
        raise UsageError(f"there is no policy {digest!r} in the store", hint="Run `releasegate verify`.")
    return _json(found[0])


def release(con: Connection, release_id: str) -> Release:
    """Return one release. Raises UsageError if there is none of that id."""
    found = con.execute(f"{_RELEASE} WHERE release_id = ?", [release_id]).fetchone()
    if found is None:
        raise UsageError(
            f"there is no release {release_id!r}", hint="Run `releasegate history` to list them."
        )
    return _releases(con, [found])[0]


def releases(con: Connection, series: str | None = None) -> list[Release]:
    """Return the releases of one series or of all, withdrawn ones too, oldest first."""
    rows = con.execute(
        f"{_RELEASE} WHERE series = coalesce(?, series) ORDER BY series, number", [series]
    ).fetchall()
    return _releases(con, rows)


def series_by_release(con: Connection) -> dict[str, str]:
    """Return the series of each release, by its id."""
    return dict(con.execute("SELECT release_id, series FROM release").fetchall())


def last_release_of(con: Connection, series: str, period: str) -> Release | None:
    """Return the last release of one period, however it was spelt, in whatever state, if there is one."""
    found = con.execute(
        f"{_RELEASE} WHERE series = ? AND period IN (SELECT unnest(?)) ORDER BY number DESC LIMIT 1",
        [series, list(spellings(period))],
    ).fetchone()
    return _releases(con, [found])[0] if found else None


def taken_down(con: Connection) -> set[str]:
    """Return the releases that have left the public place since they were last withdrawn, by the log."""
    rows = con.execute(
        "SELECT object, action FROM event WHERE action IN ('release.withdrawn', 'release.taken_down') "
        "ORDER BY number"
    ).fetchall()
    return {name for name, action in dict(rows).items() if action == "release.taken_down"}


def restored_releases(con: Connection) -> set[str]:
    """Return the releases that were withdrawn and restored, by the log; they may be withdrawn again."""
    return {one.object for one in read_events_of(con, [RESTORED])}


def restored_since(con: Connection, record: CandidateRecord) -> str:
    """Return the release that a candidate revises, if it was restored after that was staged, else ""."""
    revised = record.summary.revision.of if record.summary.revision else ""
    restored = [one.number for one in read_events_of(con, [RESTORED]) if one.object == revised]
    if not restored:
        return ""
    made = [one for one in read_events_of(con, ["candidate.staged"]) if one.object == record.candidate_id]
    return revised if any(one.number < restored[-1] for one in made) else ""


def purged(con: Connection, series: str | None = None) -> dict[str, AuditEvent]:
    """Return the candidates and releases whose rows were purged, of one series or of all, with the event.

    A state in which nothing is purged makes an event that says so untrue: what it names is left out.
    """
    events = [one for one in read_events_of(con, [PURGED]) if series in (None, one.object)]
    found = {name: event for event in events for name in purged_in(event.payload)}
    if not found:
        return {}
    ended = {one.candidate_id for one in candidates(con, series) if may(Act.PURGE, one.state)}
    ended |= {one.release_id for one in releases(con, series) if may(Act.PURGE, one.state)}
    return {name: event for name, event in found.items() if name in ended}


def history_head(con: Connection, series: str) -> str:
    """Return the digest of all releases of a series and their files: what a candidate is judged against."""
    return digest_of(_links(con, series))


def n_releases_at(con: Connection, series: str, head: str) -> int | None:
    """Return how many releases a series had when `head` was its history's, or None if it never was."""
    links = _links(con, series)
    return next((n for n in range(len(links) + 1) if digest_of(links[:n]) == head), None)


def _links(con: Connection, series: str) -> list[list[str]]:
    return [[one.release_id, tree_digest(one.files)] for one in releases(con, series)]


def _releases(con: Connection, rows: Iterable[tuple[Any, ...]]) -> list[Release]:
    rows = list(rows)
    if not rows:
        return []
    files: dict[str, dict[str, str]] = {row[0]: {} for row in rows}
    for release_id, name, digest in con.execute(
        "SELECT release_id, name, sha256 FROM release_file "
        "WHERE release_id IN (SELECT unnest(?)) ORDER BY name",
        [list(files)],
    ).fetchall():
        files[release_id][name] = digest
    return [_release(row, files[row[0]]) for row in rows]


def _release(row: tuple[Any, ...], files: dict[str, str]) -> Release:
    release_id, series, period, number, candidate_id, state, published_at, summary, overridden = row
    return Release(
        release_id,
        series,
        period,
        number,
        candidate_id,
        ReleaseState(state),
        _moment(published_at),
        files,
        Summary(_json(summary)),
        bool(overridden),
    )


def _candidate(row: tuple[Any, ...]) -> CandidateRecord:
    candidate_id, series, period, state, made_by, made_at, policy_digest, input_digest = row[:8]
    candidate_digest, head, expires_at, summary = row[8:]
    return CandidateRecord(
        candidate_id=candidate_id,
        series=series,
        period=period,
        state=CandidateState(state),
        made_by=made_by,
        made_at=_moment(made_at),
        policy_digest=policy_digest,
        input_digest=input_digest,
        candidate_digest=candidate_digest,
        history_head=head,
        expires_at=_moment(expires_at) if expires_at is not None else None,
        summary=Summary(_json(summary)),
    )


def _moment(text: str) -> datetime:
    """Read a time, which stands there as `iso` wrote it and in no other way."""
    try:
        found = datetime.fromisoformat(text)
        if iso(found) == text:
            return found
    except ValueError:
        pass
    raise StoreError("the database holds text where a time was written")


def _json(text: str) -> dict[str, Any]:
    """Read an object, which stands there as canonical JSON and in no other way."""
    found = canonical_payload(text)
    if found is None:
        raise StoreError("the database holds text where JSON was written")
    return found


def _json_list(text: str) -> list[Any]:
    try:
        found: list[Any] = json.loads(text)
    except ValueError:
        raise StoreError("the database holds text where JSON was written") from None
    return found
