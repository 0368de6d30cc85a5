"""The risk gate's verdict on a staged candidate, kept in the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policy.model import ReleasePolicy
from policy.period import periods_apart
from release_store.person_key import person_key
from release_store.records import CandidateState, EquivalenceClasses, PersonHashes
from release_store.sealed import sealed_file
from release_store.store import ReleaseStore
from tasks.reporting.figures import figures_of
from tasks.risk.evidence import Evidence
from tasks.risk.published import read_classes
from tasks.risk.registry import GateReport, assess, gates_to_ask
from tasks.types import Candidate, PreparedTable, Progress


@dataclass(frozen=True)
class Assessment:
    """What the gates said of a candidate, and the classes that they read from its files."""

    report: GateReport
    classes: EquivalenceClasses


def assess_candidate(
    candidate: Candidate,
    table: PreparedTable,
    policy: ReleasePolicy,
    store: ReleaseStore,
    *,
    earlier_people: Sequence[PersonHashes | None],
    actor: str,
    control: PreparedTable | None,
    table_figures: Mapping[str, Any],
    progress: Progress,
) -> Assessment:
    """Ask every gate beside the series' history, and keep what each said and what a report shows.

    `earlier_people` are those of the series' releases, `control` the people who are not in the table. The
    series' lock must be held: the verdict holds for one history.
    """
    with sealed_file(candidate.folder / "data.parquet", candidate.files.get("data.parquet")) as file:
        classes = read_classes(file, policy)
    history = store.earlier_classes(policy.series)
    evidence = Evidence(
        policy,
        table,
        classes,
        candidate.folder,
        candidate.files,
        [(release.release_id, found) for release, found in history],
        periods_apart([release.period for release, _ in history], candidate.period, policy.period),
        control=control,
        people=candidate.people or store.people(candidate.candidate_id),
        earlier_people=earlier_people,
        row_people=candidate.row_people,
        row_households=candidate.row_households,
        row_records=candidate.row_records,
        key=person_key(store.root),
    )
    report = assess(evidence, progress=progress)
    needed = store.approvers_needed(candidate.candidate_id)
    passed = CandidateState.AWAITING_APPROVAL if needed else CandidateState.APPROVED
    store.record_gates(
        candidate.candidate_id,
        report.results,
        to=passed if report.passed else CandidateState.BLOCKED,
        actor=actor,
        asked=gates_to_ask(policy),
        figures=figures_of(evidence, report, table_figures),
    )
    return Assessment(report, classes)
