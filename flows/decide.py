"""A person decides on a candidate that waits; the last approval that it needs publishes it."""

from __future__ import annotations

from flows.outcome import Outcome
from policy.load import policy_from_document
from policy.model import ReleasePolicy
from release_store.canonical import utc_now
from release_store.publication import publish, recover
from release_store.records import CandidateRecord, CandidateState, Decision
from release_store.store import ReleaseStore
from tasks.risk.published import read_classes


def decide(store: ReleaseStore, candidate_id: str, decision: str, *, by: str, reason: str) -> Outcome:
    """Take one person's decision, bound to what the candidate is now.

    Raises Blocked for a candidate that is stale, expired or altered, UsageError where the person may not
    decide or the candidate does not wait; in either case nothing is published.
    """
    recover(store)
    record = store.candidate(candidate_id)
    policy = policy_from_document(store.policy(record.policy_digest))
    with store.series_lock(record.series):
        if record.state is CandidateState.APPROVED and decision == "approve":
            # Approved before, and its publication was interrupted and undone: only that is left to do.
            return _published(store, record, policy, by)
        word = Decision(
            candidate_id,
            decision,
            by,
            reason,
            utc_now(),
            record.candidate_digest,
            record.policy_digest,
            record.history_head,
        )
        state = store.decide(word, approvers_needed=policy.approval.approvers)
        if state is CandidateState.APPROVED:
            return _published(store, record, policy, by)
    given = sum(1 for one in store.decisions(candidate_id) if one.decision == "approve")
    needed = policy.approval.approvers
    told = {
        CandidateState.REJECTED: f"{candidate_id} is rejected",
        CandidateState.AWAITING_APPROVAL: f"{candidate_id} has {given} of {needed} approvals",
    }
    return Outcome(record.series, record.period, str(state), candidate_id, message=told[state])


def _published(store: ReleaseStore, record: CandidateRecord, policy: ReleasePolicy, by: str) -> Outcome:
    folder = store.root / "candidates" / record.candidate_id
    classes = read_classes(folder / "data.parquet", policy)
    release = publish(
        store, record.candidate_id, classes, actor=by, manifest_extra={"classes": classes.n_classes}
    )
    return Outcome(
        record.series,
        record.period,
        "published",
        record.candidate_id,
        release.release_id,
        message=f"{release.release_id} is published",
    )
