"""A person decides on a candidate; the last word that it needs publishes it."""

from __future__ import annotations

from dataclasses import replace

from policy.errors import ReleaseGateError, VerificationFailed
from policy.load import policy_from_document
from policy.model import ReleasePolicy
from policy.text import number_of
from release_store.approval.authentication import as_signed
from release_store.approval.credentials import Credential
from release_store.canonical import utc_now
from release_store.permission import Act, check_typed
from release_store.protocol.overrides import OVERRIDES_NEEDED
from release_store.publishing.publication import recover
from release_store.records import CandidateRecord, CandidateState, Decision
from release_store.store import ReleaseStore
from services.observability.lineage import Lineage, Parent
from services.observability.lineage_datasets import candidate_dataset, release_dataset
from services.observability.logs import log_event
from services.observability.notice_delivery import notify_on_exit
from services.outcome import Outcome
from services.publication import outcome_of, publish_candidate
from services.runtime import RunIdentity
from services.stale_periods import now_stale, waiting_candidates
from services.trust import use_memory_of


def decide(
    store: ReleaseStore,
    candidate_id: str,
    decision: str,
    *,
    by: str,
    reason: str,
    credential: Credential | None = None,
    seen: str | None = None,
    run: RunIdentity | None = None,
) -> Outcome:
    """Take one person's decision (approve, reject or override), bound to what the candidate is now.

    `credential` proves that it is that person's. A signed text is bound to what its signer saw, and when;
    `seen`, if given, is the candidate's digest that the person has before them. `run` is the flow run that
    decides, where there is one.
    Raises Blocked for a candidate that is stale or expired, UsageError where the person may not decide or
    gives no proof, or the candidate does not wait, VerificationFailed for an approval of files that changed;
    in each nothing is published, and the refusal is in the log. A rejection needs no policy and no files:
    what is damaged can always be refused.
    """
    with notify_on_exit(store.root):
        try:
            outcome = _decide(store, candidate_id, decision, by, reason, credential, seen)
        except BaseException as error:
            log_event("decision.refused", level="warning", error=type(error).__name__)
            raise
        log_event(
            "decision.taken",
            series=outcome.series,
            period=outcome.period,
            candidate=outcome.candidate_id,
            release=outcome.release_id,
            state=outcome.state,
        )
        if outcome.release_id:
            _trace(store, outcome, run)
        return outcome


def _decide(
    store: ReleaseStore,
    candidate_id: str,
    decision: str,
    by: str,
    reason: str,
    credential: Credential | None,
    seen: str | None,
) -> Outcome:
    check_typed(by, reason, candidate_id)
    if decision != Act.REJECT:
        use_memory_of(store.root)
    recover(store)
    record = store.candidate(candidate_id)
    policy = None if decision == Act.REJECT else policy_from_document(store.policy(record.policy_digest))
    with store.series_lock(record.series):
        record = store.candidate(candidate_id)  # as it is now that nobody else is at work on it
        # Approved before, and its publication was interrupted and undone: only that is left to do.
        left = policy is not None and record.state is CandidateState.APPROVED and decision == Act.APPROVE
        plain = Decision(
            candidate_id,
            Act.PUBLISH.value if left else decision,
            by,
            reason,
            utc_now(),
            record.candidate_digest if seen is None else seen,
            record.policy_digest,
            record.history_head,
        )
        if plain.candidate_digest != record.candidate_digest:
            raise _refused_unseen(store, plain)
        word = as_signed(plain, credential)
        if left and policy is not None:
            store.allow_publication(word, credential=credential)
            return _published(store, record, policy, by, reason)
        needed = 0 if policy is None else store.approvers_needed(candidate_id)
        state = store.decide(word, approvers_needed=needed, credential=credential)
        if policy is not None and state is CandidateState.APPROVED:
            return _published(store, record, policy, by)
    given = sum(1 for one in store.decisions(candidate_id) if one.decision == decision)
    wanted = OVERRIDES_NEEDED if decision == Act.OVERRIDE else needed
    still = " (not all by people who could give them today)" if given >= wanted else ""
    approvals = number_of(needed, "approval")
    told = {
        CandidateState.REJECTED: f"{candidate_id} is rejected",
        CandidateState.AWAITING_APPROVAL: f"{candidate_id} has {given} of {approvals}{still}",
        CandidateState.BLOCKED: f"{candidate_id} has {given} of {OVERRIDES_NEEDED} overrides{still}",
    }
    return Outcome(record.series, record.period, str(state), candidate_id, message=told[state])


def _refused_unseen(store: ReleaseStore, word: Decision) -> VerificationFailed:
    """Keep in the log that a decision was about another candidate than the one that is there."""
    error = VerificationFailed(
        "its digest changed since it was shown",
        where=word.candidate_id,
        hint=f"Look at it again with `releasegate show {word.candidate_id}`.",
    )
    store.refuse(word, error)
    return error


def _published(
    store: ReleaseStore, record: CandidateRecord, policy: ReleasePolicy, by: str, reason: str = ""
) -> Outcome:
    waiting = waiting_candidates(store, record.series, but=record.candidate_id)
    release = publish_candidate(store, record.candidate_id, policy, actor=by, reason=reason)
    message = f"{release.release_id} is published"
    outcome = outcome_of(store, record, "published", message, release.release_id)
    return replace(outcome, stale=now_stale(store, waiting))


def _trace(store: ReleaseStore, outcome: Outcome, run: RunIdentity | None) -> None:
    """Let lineage know which candidate became which release."""
    parent = Parent(run.id, run.name or "decide") if run else None
    lineage = Lineage(f"{outcome.series}.decide", parent)
    if not lineage.asked:
        return
    lineage.start()
    try:
        lineage.inputs = [candidate_dataset(store, outcome.candidate_id)]
        lineage.outputs = [release_dataset(store, outcome.release_id)]
    except ReleaseGateError as error:
        log_event("lineage.failed", level="error", error=type(error).__name__)
    lineage.end("COMPLETE")
