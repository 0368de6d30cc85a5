"""The figures of candidates in and out of the store, and what the log says of them.

Figures are one JSON document of aggregates a candidate, from which its report is drawn. They are kept with
its gate results, whose event has their digest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import duckdb

from policy.errors import StoreError, VerificationFailed
from release_store.audit import log as audit
from release_store.audit.log import Finding
from release_store.audit.replay import ReplayedLog
from release_store.canonical import canonical_json, sha256_hex

Connection = duckdb.DuckDBPyConnection
_HINT = "Run `releasegate verify` for details; restore the store from a backup."


def write_figures(con: Connection, candidate_id: str, figures: Mapping[str, Any]) -> str:
    """Keep a candidate's figures, and return their digest for the log."""
    document = canonical_json(figures)
    con.execute("INSERT INTO candidate_figures VALUES (?, ?)", [candidate_id, document.decode()])
    return sha256_hex(document)


def read_figures(con: Connection, candidate_id: str) -> dict[str, Any] | None:
    """Return the figures of a candidate, or None where it has none.

    Raises VerificationFailed if they are not those that the log has the digest of.
    """
    found = con.execute(
        "SELECT document FROM candidate_figures WHERE candidate_id = ?", [candidate_id]
    ).fetchone()
    logged = [
        event.payload.get("figures")
        for event in audit.read_events_about(con, [], [candidate_id], [])
        if event.action == "candidate.assessed"
    ]
    kept = None if found is None else sha256_hex(str(found[0]).encode())
    wrong = _wrong(kept, logged[-1] if logged else None)
    if wrong:
        raise VerificationFailed(wrong, where=candidate_id, hint=_HINT)
    return None if found is None else _document(candidate_id, found[0])


def all_figures(con: Connection, series: str | None = None) -> dict[str, dict[str, Any]]:
    """Return the figures of every candidate that has some, of one series or of all, in one query.

    They are not held against the log, which only `verify` does for all of them at once: who shows them says
    so, or has verified the store before. Raises StoreError where one is not a JSON object.
    """
    rows = con.execute(
        "SELECT candidate_id, document FROM candidate_figures JOIN candidate USING (candidate_id) "
        "WHERE series = coalesce(?, series) ORDER BY position",
        [series],
    ).fetchall()
    return {name: _document(name, text) for name, text in rows}


def check_figures(con: Connection, log: ReplayedLog, series: str | None = None) -> list[Finding]:
    """The figures that are kept of a series, or of all, are those that the log has the digests of."""
    kept = dict(
        con.execute(
            "SELECT candidate_id, system.main.sha256(document) FROM candidate_figures "
            "LEFT JOIN candidate USING (candidate_id) WHERE ?::VARCHAR IS NULL OR series = ? "
            "ORDER BY candidate_id",
            [series, series],
        ).fetchall()
    )
    own = {
        name
        for (name,) in con.execute("SELECT candidate_id FROM candidate WHERE series = ?", [series]).fetchall()
    }
    logged = {name: one.figures() for name, one in log.candidates.items() if series is None or name in own}
    wrong = {name: _wrong(kept.get(name), logged.get(name)) for name in sorted(kept.keys() | logged.keys())}
    return [Finding(name, what) for name, what in wrong.items() if what]


def _wrong(kept: str | None, logged: Any) -> str:
    """Return what is wrong with figures of digest `kept` where the log says `logged`; empty if nothing is."""
    if kept == logged:
        return ""
    if kept is None:
        return "its figures are missing"
    return "its figures differ from the logged ones" if logged else "has figures that were not logged"


def _document(candidate_id: str, text: Any) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise StoreError("its figures cannot be read", where=candidate_id, hint=_HINT)
    return found
