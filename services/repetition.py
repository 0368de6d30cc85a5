"""A run whose work is done already: a candidate that waits is left alone, one that is due is published."""

from __future__ import annotations

from dataclasses import replace

from policy.load import policy_digest
from policy.model import ReleasePolicy
from release_store.canonical import utc_now
from release_store.protocol.names import REPORT
from release_store.records import CandidateRecord, CandidateState
from release_store.store import ReleaseStore
from services.candidate_run import CandidateRun
from services.outcome import Outcome
from services.publication import outcome_of


def find_equivalent_candidate(
    store: ReleaseStore, policy: ReleasePolicy, period: str, input_digest: str
) -> CandidateRecord | None:
    """Return the candidate of the period that a run would make again, if one waits.

    It is made of the same input under the same policy, was judged beside the history as it is now, and people
    may still decide on it. Where another waits, a run makes a new one, which takes its place.
    """
    made_of = (policy_digest(policy), input_digest, store.history_head(policy.series))
    for one in store.waiting_for(policy.series, period):
        too_old = one.expires_at is not None and utc_now() >= one.expires_at
        if too_old and one.state is CandidateState.AWAITING_APPROVAL:
            continue
        if (one.policy_digest, one.input_digest, one.history_head) == made_of:
            return one
    return None


def resume_candidate(run: CandidateRun, found: CandidateRecord) -> Outcome:
    """Return the outcome of a run whose candidate exists already; the lock of the series must be held.

    One that nobody has to approve was left by a run that died before its publication: it is published.
    """
    store, name = run.store, found.candidate_id
    needed = store.approvers_needed(name)
    if found.state is CandidateState.APPROVED and not needed:
        outcome = run.publish(outcome_of(store, found, str(found.state), ""))
        because = "an earlier run had prepared it but ended before publishing"
        return replace(outcome, message=f"{outcome.release_id} is published; {because}")
    if REPORT in store.altered_files(name) or not store.logged_report(name):
        run.write_report(name)  # an earlier run ended before it was written; or it was altered since
    n_given = sum(1 for one in store.decisions(name) if one.decision == "approve")
    if found.state is CandidateState.APPROVED:
        why = "is approved, but its publication was interrupted; approve it again to publish it"
    else:
        why = f"already awaits approval, with {n_given} of {needed}"
    return outcome_of(store, found, "awaiting_approval", f"{name} {why}; nothing was done")
