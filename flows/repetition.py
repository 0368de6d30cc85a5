"""A run whose work is done already: a candidate that waits is left alone, one that is due is published."""

from __future__ import annotations

from typing import Any

from prefect.states import Completed

from flows.judging import Judging, reporting
from policy.load import policy_digest
from policy.model import ReleasePolicy
from release_store.protocol.canonical import utc_now
from release_store.publishing.public_files import candidate_folder
from release_store.publishing.publication import check_staged_files
from release_store.records import CandidateRecord, CandidateState
from release_store.sealed import sealed_file
from release_store.store import ReleaseStore
from reports.releasing import report_of, report_path
from services.outcome import Outcome
from tasks.publication.task import publication
from tasks.risk.published import read_classes
from tasks.types import Candidate


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


def resume_candidate(run: Judging, found: CandidateRecord) -> Any:
    """Return the state of a run whose candidate is there already; the lock of the series must be held.

    One that nobody has to approve was left by a run that died before its publication: it is published.
    """
    needed = run.store.approvers_needed(found.candidate_id)
    if found.state is CandidateState.APPROVED and not needed:
        return _published(run, found)
    if not report_path(run.store, found.series, found.candidate_id):  # the run ended before it was written
        run.timed("report", reporting, run.store, found.candidate_id)
    n_given = sum(1 for one in run.store.decisions(found.candidate_id) if one.decision == "approve")
    if found.state is CandidateState.APPROVED:
        told = "is approved, and its publication was interrupted; approving it again publishes it"
    else:
        told = f"waits already, with {n_given} of {needed} approvals"
    message = f"{found.candidate_id} {told}; nothing was done"
    return Completed(message=message, data=_outcome(run, found, "awaiting_approval", message))


def _published(run: Judging, found: CandidateRecord) -> Any:
    store, name = run.store, found.candidate_id
    check_staged_files(store, name, run.actor)  # before anything is read from them
    folder = candidate_folder(store.root, name)
    with sealed_file(folder / "data.parquet", store.files(name).get("data.parquet")) as file:
        classes = read_classes(file, run.policy)
    candidate = Candidate(
        name,
        found.series,
        found.period,
        folder,
        store.files(name),
        found.candidate_digest,
        int(found.summary["n_source"]),
        int(found.summary["n_published"]),
    )
    extra = {"classes": classes.n_classes}
    report = report_of(store, name)
    made = run.timed("publication", publication, candidate, classes, store, run.actor, extra, report)
    message = f"{made.release_id} is published; an earlier run had prepared it, and ended before that"
    return Completed(message=message, data=_outcome(run, found, "published", message, made.release_id))


def _outcome(run: Judging, found: CandidateRecord, state: str, message: str, release_id: str = "") -> Outcome:
    return Outcome(
        series=found.series,
        period=found.period,
        state=state,
        candidate_id=found.candidate_id,
        release_id=release_id,
        n_source=int(found.summary.get("n_source", 0)),
        n_published=int(found.summary.get("n_published", 0)),
        seconds=dict(run.seconds),
        message=message,
        report=report_path(run.store, found.series, found.candidate_id, release_id),
    )
