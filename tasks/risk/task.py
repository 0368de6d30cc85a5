"""The risk gate as a Prefect task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from prefect.artifacts import create_table_artifact

from policy.model import ReleasePolicy
from policy.period import periods_apart
from policy.rounding import bound_text, measured_text
from policy.trusted import Trusted
from release_store.person_key import person_key
from release_store.records import CandidateState, EquivalenceClasses, GateResult
from release_store.sealed import sealed_file
from release_store.store import ReleaseStore
from tasks.risk.attacks.control import read_control
from tasks.risk.evidence import Evidence
from tasks.risk.gate import GateReport, asked_gates, assess
from tasks.risk.published import read_classes
from tasks.shielded import artifact_key, progress, stage, try_publish_artifact
from tasks.types import Candidate, PreparedTable, SourceTable


@stage("control group: read the people who are not in the table")
def control_group(
    source: SourceTable, policy: ReleasePolicy, period: str, base: Path, trusted: Trusted
) -> PreparedTable | None:
    """Read the people of `linkage.control`; None where the policy names no file."""
    return read_control(policy, source, period, base, trusted)


@stage("risk gate: judge the staged files")
def risk_gate(
    table: PreparedTable,
    candidate: Candidate,
    policy: ReleasePolicy,
    store: ReleaseStore,
    actor: str,
    control: PreparedTable | None = None,
    *,
    figures: Callable[[Evidence, GateReport], Mapping[str, Any]],
) -> tuple[GateReport, EquivalenceClasses]:
    """Ask every gate, keep the results, and return them with the classes that were read from the files.

    `figures` computes what is kept beside them for reports; what breaks there breaks the whole.
    """
    with sealed_file(candidate.folder / "data.parquet", candidate.files.get("data.parquet")) as file:
        classes = read_classes(file, policy)
    history = store.earlier_classes(policy.series)
    earlier = [(release.release_id, found) for release, found in history]
    apart = periods_apart([release.period for release, _ in history], candidate.period, policy.period)
    evidence = Evidence(
        policy,
        table,
        classes,
        candidate.folder,
        candidate.files,
        earlier,
        apart,
        control=control,
        people=store.people(candidate.candidate_id),
        earlier_people=store.earlier_people(policy.series),
        row_people=candidate.row_people,
        row_records=candidate.row_records,
        key=person_key(store.root),
    )
    with progress("risk gate") as tell:
        report = assess(evidence, progress=tell)
    needed = store.approvers_needed(candidate.candidate_id)
    passed = CandidateState.AWAITING_APPROVAL if needed else CandidateState.APPROVED
    to = passed if report.passed else CandidateState.BLOCKED
    asked = asked_gates(policy)
    measured = figures(evidence, report)
    store.record_gates(
        candidate.candidate_id, report.results, to=to, actor=actor, asked=asked, figures=measured
    )
    try_publish_artifact(
        create_table_artifact,
        key=artifact_key("gates", policy.series),
        table=[artifact_row(result) for result in report.results],
        description=f"Gates of candidate {candidate.candidate_id}",
    )
    return report, classes


def artifact_row(result: GateResult) -> dict[str, str]:
    """Return one gate as a person reads it in a table."""
    return {
        "gate": result.gate,
        "verdict": str(result.verdict),
        "value": measured_text(result.value, result.relation, result.threshold),
        "must be": bound_text(result.relation, result.threshold),
        "attacker": result.attacker,
        "detail": result.detail,
        "seconds": f"{result.seconds:.2f}",
    }
