"""People's decisions: whether they may be taken, and whether what was seen is still what stands there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb

from policy.errors import Blocked, ReleaseGateError, UsageError, VerificationFailed
from release_store import audit, queries
from release_store.canonical import iso, utc_now
from release_store.changes import approvers_demanded, set_state
from release_store.permission import Act, Person, refusal
from release_store.records import CandidateRecord, CandidateState, Decision
from release_store.states import may

Connection = duckdb.DuckDBPyConnection
MEND_ALTERED = "Restore the files, or reject the candidate and prepare the period again."


def decide(
    con: Connection, decision: Decision, *, approvers_needed: int, altered: Sequence[str] = ()
) -> CandidateState | ReleaseGateError:
    """Take one person's decision, and return the candidate's new state.

    `altered` names the staged files that are not those that the gates judged. A refusal is logged in the same
    transaction and returned as the error to raise once it is kept: Blocked where the candidate expired, is
    stale, or is not what the person saw; VerificationFailed for an approval of altered files; UsageError
    otherwise. A rejection does not ask the policy, which may be damaged.
    """
    record = queries.candidate(con, decision.candidate_id)
    demanded = 0 if decision.decision == Act.REJECT else approvers_demanded(con, record.candidate_id)
    needed = max(approvers_needed, demanded, 1)
    refused = _ended(con, record, decision) or _refusal(con, record, decision) or _changed(decision, altered)
    if refused is not None:
        audit.append(
            con,
            decision.by,
            "decision.refused",
            record.candidate_id,
            refused.finding,
            decision_document(decision),
        )
        return refused
    return _accept(con, record, decision, needed)


def _ended(con: Connection, record: CandidateRecord, decision: Decision) -> ReleaseGateError | None:
    """End a candidate that is too old or was judged against a history that has moved on."""
    if record.state is CandidateState.STALE:
        return _stale(record)
    if record.state is not CandidateState.AWAITING_APPROVAL:
        return None
    if record.expires_at is not None and utc_now() >= record.expires_at:
        finding = f"expired on {record.expires_at:%Y-%m-%d %H:%M} UTC"
        set_state(con, record.candidate_id, CandidateState.EXPIRED, actor=decision.by, reason=finding)
        return Blocked(
            finding,
            where=record.candidate_id,
            mend=f"`releasegate rejudge {record.candidate_id}` judges it again.",
        )
    if queries.history_head(con, record.series) != record.history_head:
        refusal = _stale(record)
        set_state(con, record.candidate_id, CandidateState.STALE, actor=decision.by, reason=refusal.finding)
        return refusal
    return None


def _stale(record: CandidateRecord) -> Blocked:
    return Blocked(
        "stale: the series has another release, or the period another candidate, since the gates judged it",
        where=record.candidate_id,
        mend=f"`releasegate rejudge {record.candidate_id}` judges it again; decide on that candidate.",
    )


def _refusal(con: Connection, record: CandidateRecord, decision: Decision) -> ReleaseGateError | None:
    where = record.candidate_id
    if decision.decision not in (Act.APPROVE, Act.REJECT):
        return UsageError("a decision is either approve or reject", where=where)
    act = Act(decision.decision)
    if not may(act, record.state):
        return UsageError(
            f"is {record.state}, and only a candidate that awaits approval is decided on", where=where
        )
    seen = (decision.candidate_digest, decision.policy_digest, decision.history_head)
    if seen != (record.candidate_digest, record.policy_digest, record.history_head):
        return Blocked(
            "the decision is about other files, another policy or another history than the candidate's",
            where=where,
            mend="Look at the candidate again, and decide on what stands there now.",
        )
    earlier = [one.by for one in queries.decisions(con, where)]
    return refusal(act, Person(decision.by, decision.reason, record.made_by, earlier), where)


def _changed(decision: Decision, altered: Sequence[str]) -> ReleaseGateError | None:
    if not altered or decision.decision == Act.REJECT:
        return None
    finding = f"changed since the gates judged it: {', '.join(altered)}"
    return VerificationFailed(finding, where=decision.candidate_id, mend=MEND_ALTERED)


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
