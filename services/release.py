"""Release one period's table of a series, if every gate passes.

    from pathlib import Path
    from services.release import release

    outcome = release(Path("clinic.yaml"), store=Path("store"), period="2026Q1")
    outcome = release(Path("clinic.yaml"), store=Path("store"), period="2026Q2", input=frame)

The flow `release` does the same with Prefect's runtime.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any, Literal

from policy.errors import Blocked, InputError, UsageError
from policy.load import load_policy
from policy.location import Location, location_of
from policy.model import ReleasePolicy
from policy.period import current_period, day_at, has_ended
from release_store.audit.keys import load_key
from release_store.canonical import utc_now
from release_store.names import check_period
from release_store.permission import Act, Person, check_permission
from release_store.person_key import person_key
from release_store.publishing.publication import recover
from release_store.records import Release
from release_store.store import ReleaseStore
from release_store.summary import Revision
from services.actor import resolve_actor
from services.awaited_input import ExpectedInput
from services.candidate import stage_candidate
from services.candidate_run import CONTROL, INTAKE, PUBLICATION, REPORT, RISK_GATE, CandidateRun
from services.checking.before_work import check_before_work
from services.cluster import check_engine, engine_of
from services.observability.notice_delivery import notify_on_exit
from services.outcome import Outcome
from services.pipeline import (
    AGGREGATION,
    PARTITIONING,
    PREPROCESSING,
    RECODING,
    REPAIR,
    REPRESENTATION,
    REUSE,
    PersonHistory,
    Prepared,
    prepare,
    preprocessed,
    publishable_rows,
)
from services.publication import outcome_of
from services.repetition import find_equivalent_candidate, resume_candidate
from services.reuse import cells_to_reuse, find_release_to_reuse
from services.revision import resolve_revision
from services.runtime import Runtime, Stage
from services.steps import Steps, pace_of
from services.trust import trusted_in
from services.validation import validate_source
from tasks.intake import table_object
from tasks.intake.source import Given
from tasks.intake.table_object import TableObject
from tasks.methods.registry import bound_method
from tasks.reporting.table import table_figures
from tasks.risk.registry import check_models
from tasks.types import Candidate, Notes, PreparedTable, SourceTable

VALIDATION = Stage("validation", "check the table against its expectations")
STAGING = Stage("staging", "write and seal the candidate", retries=1)
FIGURES = Stage("figures", "what a report shows of the table")


def release(
    policy: Path | str,
    *,
    store: Path | str,
    period: str | None = None,
    input_path: Location | str | None = None,
    input: object | None = None,  # noqa: A002 -- the word of the command's option
    actor: str | None = None,
    revise: str | None = None,
    engine: Literal["dask"] | None = None,
    runtime: Runtime | None = None,
) -> Outcome:
    """Release the table of `period` under the policy in the file `policy`, and return what came of it.

    A text in the place of a path means what it means on the command line.
    `period` follows from the policy and the time, where it is left out; `input_path` is the table where it is
    not the policy's own source, or `input`, a pandas DataFrame or an object with Arrow's C stream; `actor` is
    who made the candidate, by default the system's account; `revise` is why a period that has a release gets
    another; `engine` is what has to decide the fragments of a large table: it changes nothing, but a run is
    refused where the store's owner does not name it. The outcome's state is published, awaiting_approval,
    blocked, or waiting_for_input where `runtime` looks again for a late input.

    Raises ReleaseGateError, or one derived from it, where no candidate was made or judged.
    """
    store = Path(store)
    with notify_on_exit(store):
        if isinstance(input_path, str):
            input_path = location_of(input_path, "input_path")
        given = _given(input_path, input)
        return _release(Path(policy), store, period, given, actor, revise, engine, runtime or Runtime())


def _given(input_path: Location | None, table: object | None) -> Given | None:
    """Return what is given in place of the policy's own source. Raises UsageError for two tables, or none."""
    if table is None:
        return input_path
    if input_path is not None:
        raise UsageError("is given beside input_path", where=table_object.WHERE, hint="Give one of the two.")
    return TableObject(table)


def _release(
    policy_path: Path,
    store_path: Path,
    period: str | None,
    input_path: Given | None,
    actor: str | None,
    revise: str | None,
    engine: Literal["dask"] | None,
    runtime: Runtime,
) -> Outcome:
    trusted = trusted_in(store_path)
    check_engine(engine, trusted.cluster)
    policy = load_policy(policy_path, trusted)
    bound_method(policy, str(policy_path))
    check_models(policy, str(policy_path))
    store = ReleaseStore.open_to_work(store_path)
    recover(store)
    store.check_rows(policy.series)
    chosen = period_of(policy, period, runtime)
    if not has_ended(chosen, policy.period, day_at(utc_now(), policy.timezone)):
        print(f"releasegate: the period {chosen} has not ended yet", file=sys.stderr, flush=True)
    who = resolve_actor(store, Act.REVISE if revise else Act.PREPARE, actor)
    asked = resolve_revision(store, policy.series, chosen, by=who.name if who.person else None, revise=revise)
    if isinstance(asked, Release):
        return _published_already(store, asked)
    find_release_to_reuse(store, policy, chosen)  # one that cannot be used is told before the work
    check_permission(Act.PREPARE, Person(who.name), f"{policy.series} {chosen}")
    person_key(store.root)  # one that is of no use is told at once
    load_key(store.root)  # without it nothing could be published: better said before the work than after
    base = policy_path.resolve().parent
    if not isinstance(input_path, TableObject):  # which is there
        expected = ExpectedInput(policy, chosen, input_path, base, trusted)
        late = runtime.await_input(expected, store, actor=who.name)
        if late is not None:
            return late
    run = CandidateRun("release", policy, store, chosen, actor=who.name, runtime=runtime)
    with run.observation as observed:
        return observed.ended(_run_stages(run, input_path, base, asked))


def period_of(policy: ReleasePolicy, period: str | None, runtime: Runtime) -> str:
    """Return the period of a run: the one given, or that of the time at which the run was due."""
    chosen = current_period(policy.period, policy.timezone, period, runtime.scheduled_time)
    check_period(chosen)
    return chosen


def _run_stages(
    run: CandidateRun, input_path: Given | None, base: Path, revision: Revision | None
) -> Outcome:
    """Carry the table through all stages, in their order."""
    policy, store, period = run.policy, run.store, run.period
    steps = run.runtime.steps = steps_of(policy, store)
    check_before_work(
        policy,
        store,
        period,
        input_path=input_path,
        base=base,
        trusted=run.trusted,
        actor=run.actor,
    )
    try:
        source = run.read(input_path, base)
    except InputError:
        store.record_unread_input(policy.series, period, actor=run.actor)
        raise
    steps.rows = source.n_rows
    if find_equivalent_candidate(store, policy, period, source.commitment):
        with run.series_lock():
            waiting = find_equivalent_candidate(store, policy, period, source.commitment)
            if waiting is not None:
                return resume_candidate(run, waiting)
    control, table, source = _validated(run, source, base)
    engine = engine_of(run.trusted.cluster, run.trusted.packages)
    prepared = prepare(source, table, policy, bound_method(policy), run, engine)
    with run.series_lock():
        reason = revision.reason if revision else None
        asked = resolve_revision(store, policy.series, period, by=run.actor, revise=reason)
        if isinstance(asked, Release):
            return _published_already(store, asked)
        if asked != revision:
            raise Blocked(
                "the period was revised by another run in the meantime",
                where=f"{policy.series} {period}",
                hint="Look at its new release, and revise that if needed.",
            )
        waiting = find_equivalent_candidate(store, policy, period, source.commitment)
        if waiting is not None:  # another run made it meanwhile
            return resume_candidate(run, waiting)
        table, candidate, notes, figures = _staged(run, prepared, revision)
        del prepared  # the gates read the files and the table: all else of the rows is memory that they need
        return run.assess_and_publish(table, candidate, notes, control, figures)


def steps_of(policy: ReleasePolicy, store: ReleaseStore) -> Steps:
    """Return the steps of a run that passes every gate, and is published if the policy asks nobody."""
    making = (REUSE,) if policy.method.reuse is not None else (REPRESENTATION, PARTITIONING, AGGREGATION)
    stages = [
        INTAKE,
        VALIDATION,
        *([] if policy.linkage.control is None else [CONTROL]),
        PREPROCESSING,
        *making,
        REPAIR,
        RECODING,
        STAGING,
        FIGURES,
        RISK_GATE,
        REPORT,
        *([] if policy.approval.approvers else [PUBLICATION]),
    ]
    return Steps([stage.name for stage in stages], pace_of(store, policy.series))


def _validated(
    run: CandidateRun, source: SourceTable, base: Path
) -> tuple[PreparedTable | None, PreparedTable, SourceTable]:
    """Return the people who are not in the table, the table if it is valid, and the source without columns
    but its key: nothing else of them is needed, and nobody else may hold their memory.
    """
    policy, store = run.policy, run.store
    run.stage(VALIDATION, lambda _: validate_source(source, policy, store, run.period, run.actor))
    control = run.read_control(source, base)
    return control, *preprocessed(source, policy, run)


def _staged(
    run: CandidateRun, prepared: Prepared, revision: Revision | None
) -> tuple[PreparedTable, Candidate, Notes, dict[str, Any]]:
    """Make the rows and stage them; return the table that they are of, the candidate, what the stages tell,
    and the table's figures.
    """
    policy, store, period = run.policy, run.store, run.period
    history = cache(lambda: store.earlier_classes(policy.series))
    made = publishable_rows(
        prepared,
        period,
        run,
        lambda: (history(), PersonHistory(person_key(store.root), run.earlier_people)),
        lambda: cells_to_reuse(store, policy, period, history()),
    )
    candidate = run.stage(
        STAGING,
        lambda _: stage_candidate(made, store, period=period, actor=run.actor, revision=revision),
    )
    rows, labels = made.rows, made.groups.labels
    with run.failing_with(candidate):
        figures = run.stage(
            FIGURES,
            lambda _: table_figures(made.table, rows, made.prepared.representation, labels, policy),
        )
    return made.table, candidate, made.notes, figures


def _published_already(store: ReleaseStore, found: Release) -> Outcome:
    """Return the outcome of a run whose period is published: nothing was done, and nothing is wrong."""
    message = f"{found.release_id} is published already; nothing was done"
    return outcome_of(store, store.candidate(found.candidate_id), "published", message, found.release_id)
