"""What is read from the store: rows in, records out."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import duckdb

from policy.errors import StoreError, UsageError
from release_store.canonical import digest_of, tree_digest
from release_store.records import (
    CandidateRecord,
    CandidateState,
    Decision,
    GateResult,
    Release,
    ReleaseState,
    Validation,
    Verdict,
)

Connection = duckdb.DuckDBPyConnection

_CANDIDATE = (
    "SELECT candidate_id, series, period, state, made_by, made_at, policy_digest, input_digest, "
    "candidate_digest, history_head, expires_at, summary FROM candidate"
)
_RELEASE = (
    "SELECT release_id, series, period, number, candidate_id, state, published_at, summary FROM release"
)


def store_info(con: Connection, name: str) -> str:
    """Return one fact about the store, such as `store_id`. Raises StoreError if it is not kept."""
    found = con.execute("SELECT value FROM store_info WHERE name = ?", [name]).fetchone()
    if found is None:
        raise StoreError(f"the store does not say its {name}")
    return str(found[0])


def candidate(con: Connection, candidate_id: str) -> CandidateRecord:
    """Return one candidate. Raises UsageError if there is none of that id."""
    found = con.execute(f"{_CANDIDATE} WHERE candidate_id = ?", [candidate_id]).fetchone()
    if found is None:
        raise UsageError(f"there is no candidate {candidate_id!r}", mend="`releasegate history` lists them.")
    return _candidate(found)


def candidates(con: Connection, series: str | None = None) -> list[CandidateRecord]:
    """Return the candidates of one series or of all, oldest first."""
    rows = con.execute(
        f"{_CANDIDATE} WHERE series = coalesce(?, series) ORDER BY position", [series]
    ).fetchall()
    return [_candidate(row) for row in rows]


def gates(con: Connection, candidate_id: str) -> list[GateResult]:
    """Return the gate results of a candidate in the order in which they were taken."""
    rows = con.execute(
        "SELECT gate, verdict, value, threshold, relation, attacker, seconds, detail, witness "
        "FROM gate_result WHERE candidate_id = ? ORDER BY position",
        [candidate_id],
    ).fetchall()
    return [
        GateResult(
            gate, Verdict(verdict), value, threshold, relation, attacker, seconds, detail, _json(witness)
        )
        for gate, verdict, value, threshold, relation, attacker, seconds, detail, witness in rows
    ]


def decisions(con: Connection, candidate_id: str) -> list[Decision]:
    """Return the accepted decisions on a candidate, oldest first."""
    rows = con.execute(
        "SELECT candidate_id, decision, person, reason, at_utc, candidate_digest, policy_digest, "
        "history_head FROM decision WHERE candidate_id = ? ORDER BY position",
        [candidate_id],
    ).fetchall()
    return [
        Decision(subject, word, person, reason, _moment(at), candidate_digest, policy_digest, head)
        for subject, word, person, reason, at, candidate_digest, policy_digest, head in rows
    ]


def files(con: Connection, candidate_id: str) -> dict[str, str]:
    """Return the staged files of a candidate, name to SHA-256."""
    return dict(
        con.execute(
            "SELECT name, sha256 FROM candidate_file WHERE candidate_id = ? ORDER BY name", [candidate_id]
        ).fetchall()
    )


def validations(con: Connection, series: str | None = None) -> list[Validation]:
    """Return how the inputs of one series or of all met their expectations, oldest first."""
    rows = con.execute(
        "SELECT number, series, period, input_digest, n_rows, n_columns, passed, results, actor, at_utc "
        "FROM validation WHERE series = coalesce(?, series) ORDER BY number",
        [series],
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
            results=tuple(_json(results)),
            actor=actor,
            at=_moment(at),
        )
        for number, of_series, period, digest, n_rows, n_columns, passed, results, actor, at in rows
    ]


def policy(con: Connection, digest: str) -> dict[str, Any]:
    """Return the policy document of that digest. Raises UsageError if none is kept."""
    found = con.execute("SELECT document FROM policy WHERE digest = ?", [digest]).fetchone()
    if found is None:
        raise UsageError(f"there is no policy {digest!r} in the store")
    document: dict[str, Any] = _json(found[0])
    return document


def release(con: Connection, release_id: str) -> Release:
    """Return one release. Raises UsageError if there is none of that id."""
    found = con.execute(f"{_RELEASE} WHERE release_id = ?", [release_id]).fetchone()
    if found is None:
        raise UsageError(f"there is no release {release_id!r}", mend="`releasegate history` lists them.")
    return _release(con, found)


def releases(con: Connection, series: str | None = None) -> list[Release]:
    """Return the releases of one series or of all, withdrawn ones too, oldest first."""
    rows = con.execute(
        f"{_RELEASE} WHERE series = coalesce(?, series) ORDER BY series, number", [series]
    ).fetchall()
    return [_release(con, row) for row in rows]


def release_of(con: Connection, series: str, period: str) -> Release | None:
    """Return the published release of one period, if there is one."""
    found = con.execute(
        f"{_RELEASE} WHERE series = ? AND period = ? AND state = 'published' ORDER BY number DESC LIMIT 1",
        [series, period],
    ).fetchone()
    return _release(con, found) if found else None


def logged_publications(con: Connection) -> dict[str, tuple[str, str]]:
    """Return for each release that the log tells of its series and the digest of its classes."""
    rows = con.execute("SELECT object, payload FROM event WHERE action = 'release.published'").fetchall()
    payloads = {str(name): _json(payload) for name, payload in rows}
    made = dict(con.execute("SELECT candidate_id, series FROM candidate").fetchall())
    return {
        name: (str(one.get("series") or made.get(one.get("candidate"), "")), str(one.get("classes")))
        for name, one in payloads.items()
    }


def history_head(con: Connection, series: str) -> str:
    """Return the digest of all releases of a series and their files: what a candidate is judged against."""
    return digest_of([[one.release_id, tree_digest(one.files)] for one in releases(con, series)])


def _release(con: Connection, row: tuple[Any, ...]) -> Release:
    release_id, series, period, number, candidate_id, state, published_at, summary = row
    found = dict(
        con.execute(
            "SELECT name, sha256 FROM release_file WHERE release_id = ? ORDER BY name", [release_id]
        ).fetchall()
    )
    return Release(
        release_id,
        series,
        period,
        number,
        candidate_id,
        ReleaseState(state),
        _moment(published_at),
        found,
        _json(summary),
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
        summary=_json(summary),
    )


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise StoreError("the database holds text where JSON was written") from None
