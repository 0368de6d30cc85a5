"""Candidates that waited for longer than their policy lets them: ended when somebody looks."""

from __future__ import annotations

from release_store.canonical import utc_now
from release_store.db import queries
from release_store.db.changes import set_state
from release_store.db.connection import connect, transaction
from release_store.records import CandidateRecord, CandidateState
from release_store.store import ReleaseStore, SeriesInUse


def expired(store: ReleaseStore) -> list[CandidateRecord]:
    """Return the candidates that still wait for people, and whose time has passed."""
    now = utc_now()
    with connect(store.root) as con:
        return [
            record
            for record in queries.candidates(con)
            if record.state is CandidateState.AWAITING_APPROVAL
            and record.expires_at is not None
            and now >= record.expires_at
        ]


def end_expired(store: ReleaseStore, *, actor: str) -> list[str]:
    """End the candidates whose time has passed, and return their ids; a series in use is left for later."""
    ended = []
    for record in expired(store):
        try:
            with store.series_lock(record.series, 0.0), transaction(store.root) as con:
                if queries.candidate(con, record.candidate_id) != record:
                    continue  # somebody decided meanwhile
                finding = f"expired on {record.expires_at:%Y-%m-%d %H:%M} UTC"
                expiry = CandidateState.EXPIRED
                set_state(con, record.candidate_id, expiry, actor=actor, reason=finding)
        except SeriesInUse:
            continue
        ended.append(record.candidate_id)
    return ended
