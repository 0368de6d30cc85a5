"""Publication as a Prefect task."""

from __future__ import annotations

from typing import Any

from release_store.db.release_changes import Report
from release_store.publishing.publication import publish
from release_store.records import EquivalenceClasses, Release
from release_store.store import ReleaseStore
from tasks.shielded import stage
from tasks.types import Candidate


@stage("publication: make the release public", retries=1)
def publication(
    candidate: Candidate,
    classes: EquivalenceClasses,
    store: ReleaseStore,
    actor: str,
    extra: dict[str, Any],
    report: Report,
) -> Release:
    """Publish an approved candidate with its report, whole or not at all."""
    return publish(store, candidate.candidate_id, classes, actor=actor, manifest_extra=extra, report=report)
