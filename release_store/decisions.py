"""People's decisions: who may decide, and whether what they saw is still what stands there."""

from __future__ import annotations

import unicodedata
from typing import Any

import duckdb

from policy.errors import Blocked, ReleaseGateError, UsageError
from release_store import audit, queries
from release_store.canonical import iso, utc_now
from release_store.changes import approvers_demanded, set_state
from release_store.records import CandidateRecord, CandidateState, Decision

Connection = duckdb.DuckDBPyConnection


def decide(
    con: Connection, decision: Decision, *, approvers_needed: int
) -> CandidateState | ReleaseGateError:
    """Take one person's decision, and return the candidate's new state.

    A refusal is logged in the same transaction and returned as the error to raise once it is kept:
    Blocked where the candidate expired, is stale, or is not what the person saw; UsageError otherwise.
    """
    record = queries.candidate(con, decision.candidate_id)
    needed = max(approvers_needed, approvers_demanded(con, record.candidate_id), 1)
    ended = _ended(con, record, decision)
    refusal = ended or _refusal(con, record, decision)
    if refusal is not None:
        audit.append(
            con,
            decision.by,
            "decision.refused",
            record.candidate_id,
            refusal.finding,
            decision_document(decision),
        )
        return refusal
    return _accept(con, record, decision, needed)


def _ended(con: Connection, record: CandidateRecord, decision: Decision) -> ReleaseGateError | None:
    """End a candidate that is too old or was judged against a history that has moved on."""
    if record.state is not CandidateState.AWAITING_APPROVAL:
        return None
    if record.expires_at is not None and utc_now() >= record.expires_at:
        finding = f"expired on {record.expires_at:%Y-%m-%d %H:%M} UTC"
        set_state(con, record.candidate_id, CandidateState.EXPIRED, actor=decision.by, reason=finding)
        return Blocked(finding, where=record.candidate_id, mend="Prepare the period again.")
    if queries.history_head(con, record.series) != record.history_head:
        finding = "stale: the series has another release since the gates judged it"
        set_state(con, record.candidate_id, CandidateState.STALE, actor=decision.by, reason=finding)
        return Blocked(
            finding, where=record.candidate_id, mend="Prepare the period again, and decide on that candidate."
        )
    return None


def _refusal(  # noqa: PLR0911 -- one return a reason
    con: Connection, record: CandidateRecord, decision: Decision
) -> ReleaseGateError | None:
    where = record.candidate_id
    seen = (decision.candidate_digest, decision.policy_digest, decision.history_head)
    if record.state is not CandidateState.AWAITING_APPROVAL:
        return UsageError(
            f"is {record.state}, and only a candidate that awaits approval is decided on", where=where
        )
    if decision.decision not in ("approve", "reject"):
        return UsageError("a decision is either approve or reject", where=where)
    if not decision.by.strip():
        return UsageError("a decision has a name", where=where, mend="Say who decides.")
    if not decision.reason.strip():
        return UsageError("a decision has a reason", where=where, mend="Say why.")
    if seen != (record.candidate_digest, record.policy_digest, record.history_head):
        return Blocked(
            "the decision is about other files, another policy or another history than the candidate's",
            where=where,
            mend="Look at the candidate again, and decide on what stands there now.",
        )
    if same_person(decision.by, record.made_by):
        return UsageError(
            f"{decision.by} made it and cannot decide on it", where=where, mend="Ask somebody else."
        )
    if any(same_person(earlier.by, decision.by) for earlier in queries.decisions(con, where)):
        return UsageError(f"{decision.by} has decided on it before", where=where, mend="Ask somebody else.")
    return None


def _accept(con: Connection, record: CandidateRecord, decision: Decision, needed: int) -> CandidateState:
    earlier = queries.decisions(con, record.candidate_id)
    con.execute(
        "INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            record.candidate_id,
            len(earlier),
            decision.decision,
            decision.by,
            decision.reason,
            iso(decision.at),
            decision.candidate_digest,
            decision.policy_digest,
            decision.history_head,
        ],
    )
    audit.append(
        con,
        decision.by,
        f"decision.{decision.decision}",
        record.candidate_id,
        decision.reason,
        {**decision_document(decision), "approvers_needed": needed},
    )
    if decision.decision == "reject":
        set_state(
            con, record.candidate_id, CandidateState.REJECTED, actor=decision.by, reason=decision.reason
        )
        return CandidateState.REJECTED
    if len(earlier) + 1 < needed:
        return CandidateState.AWAITING_APPROVAL
    reason = f"{len(earlier) + 1} of {needed} approvals"
    set_state(con, record.candidate_id, CandidateState.APPROVED, actor=decision.by, reason=reason)
    return CandidateState.APPROVED


def decision_document(decision: Decision) -> dict[str, Any]:
    """Return a decision as plain JSON."""
    return {
        "decision": decision.decision,
        "by": decision.by,
        "reason": decision.reason,
        "at": iso(decision.at),
        "candidate_digest": decision.candidate_digest,
        "policy_digest": decision.policy_digest,
        "history_head": decision.history_head,
    }


def same_person(one: str, other: str) -> bool:
    """Tell whether two names are one, whatever their case, spaces, signs and forms of the same letters.

    Letters of different scripts that look alike are different letters: names are not identities.
    """
    return _comparable(one) == _comparable(other)


def _comparable(name: str) -> str:
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(sign for sign in folded if sign.isalnum())
