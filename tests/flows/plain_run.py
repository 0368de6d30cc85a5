"""A release made as the flow makes it, by the same functions and without Prefect."""

from __future__ import annotations

from pathlib import Path

from policy.load import load_policy, policy_digest, policy_document
from policy.period import periods_apart
from release_store.person_key import person_key
from release_store.protocol.canonical import utc_now
from release_store.publishing.public_files import candidate_folder
from release_store.publishing.publication import publish
from release_store.records import CandidateRecord, CandidateState
from release_store.store import ReleaseStore
from tasks.composition import People, composed
from tasks.intake.read import read_table
from tasks.methods.registry import bound_method
from tasks.risk.evidence import Evidence
from tasks.risk.gate import assess
from tasks.risk.published import read_classes
from tasks.staging.people import class_numbers, people_of, with_values
from tasks.staging.stage import stage
from tasks.types import no_progress


def run(store: ReleaseStore, policy_file: Path, table_file: Path, period: str, by: str = "ann") -> str:
    """Publish a period's table if its gates pass; return its id, or that of a candidate that is held."""
    policy = load_policy(policy_file)
    source = read_table(policy, input_path=table_file, period=period, base=policy_file.parent)
    history = store.earlier_classes(policy.series)
    earlier = [(release.release_id, classes) for release, classes in history]
    apart = periods_apart([release.period for release, _ in history], period, policy.period)
    earlier_people, key = store.earlier_people(policy.series), person_key(store.root)
    rows, table, groups = composed(
        source, policy, bound_method(policy), history, period, no_progress, People(key, earlier_people)
    )
    last = store.last_release_of(policy.series, period)
    candidate_id = store.next_candidate_id(policy.series, period)
    made = stage(
        rows.frame,
        policy,
        candidate_id=candidate_id,
        period=period,
        folder=candidate_folder(store.root, candidate_id),
        n_source=table.n_records,
    )
    classes = read_classes(made.folder / "data.parquet", policy)
    numbers = class_numbers(made.folder / "data.parquet", rows, policy, made.n_source)
    people = people_of(source, numbers, policy, key)
    if people is not None and key is not None:
        file = made.folder / "data.parquet"
        people = with_values(people, file, source, rows, numbers, policy, key, groups.seats)
    record = CandidateRecord(
        candidate_id=candidate_id,
        series=policy.series,
        period=period,
        state=CandidateState.STAGED,
        made_by=by,
        made_at=utc_now(),
        policy_digest=policy_digest(policy),
        input_digest=source.digest,
        candidate_digest=made.digest,
        history_head=store.history_head(policy.series),
        expires_at=None,
        summary={
            "method": policy.method.name,
            "parameters": policy.method.parameters,
            "history": policy.method.history,
            "seed": policy.seed,
            "n_source": made.n_source,
            "n_published": made.n_published,
            "notes": {},
            **({"revision": {"of": last.release_id, "reason": "a correction"}} if last else {}),
        },
    )
    store.add_candidate(
        record,
        policy=policy_document(policy),
        n_rows=made.n_source,
        n_columns=source.frame.shape[1],
        files=made.files,
        people=people,
    )
    report = assess(
        Evidence(
            policy,
            table,
            classes,
            made.folder,
            made.files,
            earlier,
            apart,
            people=people,
            earlier_people=earlier_people,
            key=key,
        )
    )
    opened = (
        CandidateState.AWAITING_APPROVAL if store.approvers_needed(candidate_id) else CandidateState.APPROVED
    )
    to = opened if report.passed else CandidateState.BLOCKED
    store.record_gates(candidate_id, report.results, to=to, actor=by)
    if to is not CandidateState.APPROVED:
        return candidate_id
    with store.series_lock(policy.series):
        return publish(store, candidate_id, classes, actor=by, manifest_extra={}).release_id
