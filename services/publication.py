"""A candidate that gates and people let pass becomes a release: the one way, whoever asks for it."""

from __future__ import annotations

from policy.model import ReleasePolicy
from release_store.publishing.public_files import candidate_folder
from release_store.publishing.publication import check_staged_files, publish
from release_store.records import CandidateRecord, EquivalenceClasses, Release
from release_store.sealed import sealed_file
from release_store.store import ReleaseStore
from reports.releasing import report_factory, report_path
from services.outcome import Outcome
from tasks.risk.published import read_classes


def publish_candidate(
    store: ReleaseStore,
    candidate_id: str,
    policy: ReleasePolicy,
    *,
    actor: str,
    reason: str = "",
    classes: EquivalenceClasses | None = None,
) -> Release:
    """Publish an approved candidate with its report, whole or not at all; the series' lock must be held.

    `classes` are those that the gates read from the staged files; without them they are read again, once the
    files are known to be those that were judged. Raises as `release_store.publishing.publication.publish`.
    """
    compared = classes is not None  # by the gates, since the lock is held
    if classes is None:
        check_staged_files(store, candidate_id, actor)
        file = candidate_folder(store.root, candidate_id) / "data.parquet"
        with sealed_file(file, store.files(candidate_id).get(file.name)) as sealed:
            classes = read_classes(sealed, policy)
    loss = next((one.value for one in store.gates(candidate_id) if one.gate == "ncp"), None)
    return publish(
        store,
        candidate_id,
        classes,
        compared=compared,
        actor=actor,
        manifest_extra={"classes": classes.n_classes, "ncp": loss},
        reason=reason,
        report=report_factory(store, candidate_id),
    )


def outcome_of(
    store: ReleaseStore, record: CandidateRecord, state: str, message: str, release_id: str = ""
) -> Outcome:
    """Return the outcome of a run that made nothing new: `record` is a candidate that is there."""
    return Outcome(
        series=record.series,
        period=record.period,
        state=state,
        candidate_id=record.candidate_id,
        release_id=release_id,
        n_source=record.summary.n_source or 0,
        n_published=record.summary.n_published or 0,
        message=message,
        report=report_path(store, record.series, record.candidate_id, release_id),
    )
