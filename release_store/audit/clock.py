"""A clock that was once ahead is corrected in the log: an explicit act, told for ever.

An event with a time in the future makes every later change wait for that time. By its word an
administrator begins the order of times anew. Whatever waits was made, or would expire, by a time that nobody
can trust: it becomes stale, and its period is prepared or judged again.
"""

from __future__ import annotations

from datetime import datetime

import duckdb

from policy.errors import ReleaseGateError, UsageError
from release_store.approval.authentication import authenticate, log_people
from release_store.approval.credentials import Credential, Statement
from release_store.approval.decisions import BEFORE_CORRECTION
from release_store.approval.reviewers import Reviewers, needed_reviewers
from release_store.audit import log as audit
from release_store.canonical import iso, utc_now
from release_store.db import queries
from release_store.db.changes import set_state
from release_store.db.people import delete_people
from release_store.permission import Act, check_typed
from release_store.protocol.clock import CLOCK_TOLERANCE
from release_store.protocol.names import CORRECTED
from release_store.records import AuditEvent, CandidateState
from release_store.store import ReleaseStore

SUBJECT = "clock"
_WAITING = frozenset(
    {
        CandidateState.STAGED,
        CandidateState.ASSESSED,
        CandidateState.AWAITING_APPROVAL,
        CandidateState.APPROVED,
    }
)


def correct_clock(
    store: ReleaseStore, *, by: str, reason: str, credential: Credential | None = None
) -> tuple[AuditEvent, list[str]]:
    """Let the log go on from the time now; return the event that says so, and the candidates made stale.

    Raises UsageError, and writes nothing, unless the last event is ahead of the clock by more than
    `CLOCK_TOLERANCE` seconds, and `by` is an administrator and proves it with a key or a token. A refusal is
    not logged: a log that is ahead takes no other event.
    """
    check_typed(by, reason, "audit log")
    staff = needed_reviewers(store.root)
    with store.kept_transaction() as con:
        event = _correct(con, store.store_id, by, reason, staff, credential)
        return event, _end_what_waits(con, by)


def _correct(
    con: duckdb.DuckDBPyConnection,
    store_id: str,
    by: str,
    reason: str,
    staff: Reviewers,
    credential: Credential | None,
) -> AuditEvent:
    now = utc_now()
    if audit.seconds_behind(con, now) <= CLOCK_TOLERANCE:
        raise UsageError(
            f"its last event is not ahead of the clock, which shows {now:%Y-%m-%d %H:%M} UTC",
            where="audit log",
            hint="There is nothing to correct.",
        )
    last = audit.last_moment(con)
    log_people(con, staff, at=datetime.fromisoformat(last))  # the people in force are told by the old clock
    bound = {"log_head": audit.log_head(con)[1], "last_event_at": last}
    said = Statement(Act.CLOCK.value, store_id, SUBJECT, bound, by, reason, now)
    proof = authenticate(con, staff, Act.CLOCK, said, credential)
    if isinstance(proof, ReleaseGateError):
        raise proof
    payload = {"at": iso(now), "bound": bound, "proof": proof.document()}
    return audit.append(con, by, CORRECTED, SUBJECT, reason, payload, at=now)


def _end_what_waits(con: duckdb.DuckDBPyConnection, by: str) -> list[str]:
    ended = []
    for record in queries.candidates(con):
        if record.state in _WAITING:
            set_state(con, record.candidate_id, CandidateState.STALE, actor=by, reason=BEFORE_CORRECTION)
            ended.append(record.candidate_id)
        elif record.state is CandidateState.BLOCKED:
            delete_people(con, record.candidate_id)  # nobody can override it any more
    return ended
