"""The release flow: a period's table goes in; a published release, or the reason why not, comes out."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from prefect import flow, runtime
from prefect.states import Completed

from flows.judging import Judging
from flows.last_end import remember_result
from flows.late_input import ExpectedInput, late_state
from flows.repetition import find_equivalent_candidate, resume_candidate
from policy.errors import Blocked, InputError
from policy.load import load_policy
from policy.model import ReleasePolicy
from policy.period import day_at, has_ended, period_at, read_period
from release_store.audit.keys import load_key
from release_store.names import check_period
from release_store.permission import Act, Person, check_permission
from release_store.person_key import person_key
from release_store.publishing.publication import recover
from release_store.records import Release, Revision
from release_store.store import ReleaseStore
from release_store.trusted import load_trusted
from reports.releasing import report_path
from services.actor import runner
from services.observability.notices import notify_on_exit
from services.outcome import Outcome
from services.revision import resolve_revision
from services.trust import trusted_in
from tasks.aggregation.task import aggregation
from tasks.intake.task import intake
from tasks.methods.base import PLACES, BoundMethod
from tasks.methods.registry import bound_method
from tasks.partitioning.task import partitioning
from tasks.preprocessing.task import preprocessing
from tasks.recoding.task import recoding
from tasks.repair.task import repairing
from tasks.reporting.task import table_figuring
from tasks.representation.task import representation as represent
from tasks.shielded import sanitize_errors
from tasks.staging.task import staging
from tasks.validation.task import validation


def _run_name() -> str:
    """Name a run by its period, given or from its time; the run itself says what is wrong with its policy."""
    given = runtime.flow_run.parameters
    period = given.get("period")
    try:
        if period is None:
            trusted = load_trusted(Path(given.get("store", "store")))
            policy = load_policy(Path(given["policy"]), trusted)
            period = period_at(policy.period, day_at(_scheduled_time(), policy.timezone))
    except Exception:
        return "release"
    return f"release-{period}"


@flow(
    name="release",
    description="Release one period's table of a series, if every gate passes.",
    flow_run_name=_run_name,
    persist_result=False,
    retries=0,
)
def release(
    policy: str,
    period: str | None = None,
    input_path: str | None = None,
    store: str = "store",
    actor: str | None = None,
    revise: str | None = None,
    wait_until: str | None = None,
    look: int = 1,
    seen: str = "",
) -> Any:
    """Release the table of `period` under `policy`.

    Args:
        policy: path of the policy file.
        period: the period, such as 2026Q1; left out, it follows from the policy and the scheduled time.
        input_path: the table, where it is not the policy's own source.
        store: folder of the release store.
        actor: who is named as the one who made the candidate; left out, the system's account. Where the
            store knows its people, a name is of use only where `releasegate run` had it proven.
        revise: why a period that has a release gets another; left out, such a period is left alone.
        wait_until: until when a late input is waited for; to be left out: a run that waits hands it on.
        look: how many looks for a late input there were, with this one; handed on likewise.
        seen: the size and time of what the look before found; handed on likewise.
    """
    handed_on = {"until": wait_until, "number": look, "seen": seen}
    with notify_on_exit(Path(store)):
        return remember_result(sanitize_errors(_release, "the release flow"))(
            policy, period, input_path, store, actor, revise, handed_on
        )


def _release(
    policy_path: str,
    period: str | None,
    input_path: str | None,
    store_path: str,
    actor: str | None,
    revise: str | None,
    handed_on: dict[str, Any],
) -> Any:
    trusted = trusted_in(Path(store_path))
    policy = load_policy(Path(policy_path), trusted)
    method = bound_method(policy, policy_path)
    store = ReleaseStore.open(Path(store_path))
    recover(store)
    if period is None:
        chosen = period_at(policy.period, day_at(_scheduled_time(), policy.timezone))
    else:
        chosen = read_period(period, policy.period)
    check_period(chosen)
    if not has_ended(chosen, policy.period, day_at(datetime.now(UTC), policy.timezone)):
        print(f"releasegate: the period {chosen} has not ended yet", file=sys.stderr, flush=True)
    who = runner(store, Act.REVISE if revise else Act.PREPARE, actor)
    asked = resolve_revision(store, policy.series, chosen, by=who.name if who.person else None, revise=revise)
    if isinstance(asked, Release):
        return _left_alone(store, asked)
    check_permission(Act.PREPARE, Person(who.name), f"{policy.series} {chosen}")
    person_key(store.root)  # one that is of no use is told at once
    load_key(store.root)  # without it nothing could be published: better said before the work than after
    base, table = Path(policy_path).resolve().parent, Path(input_path) if input_path else None
    wanted = ExpectedInput(policy, chosen, table, base, trusted)
    late = late_state(wanted, store, actor=who.name, scheduled=_scheduled_time(), **handed_on)
    if late is not None:
        return late
    run = _Run(policy, method, store, chosen, who.name, asked)
    return run.observed(run.run_pipeline, table, base)


class _Run(Judging):
    """One run of the flow: the stages in their order, each timed."""

    def __init__(
        self,
        policy: ReleasePolicy,
        method: BoundMethod,
        store: ReleaseStore,
        period: str,
        actor: str,
        revision: Revision | None,
    ) -> None:
        super().__init__(policy, store, period, actor)
        self.method, self.revision = method, revision

    def run_pipeline(self, input_path: Path | None, base: Path) -> Any:
        """Run all stages and return the state that Prefect keeps."""
        policy, store, method = self.policy, self.store, self.method
        try:
            source = self.timed(
                "intake", intake, policy, input_path, self.period, base, self.trusted, store.root
            )
        except InputError:
            store.record_unread_input(policy.series, self.period, actor=self.actor)
            raise
        if find_equivalent_candidate(store, policy, self.period, source.commitment):
            with self.series_lock():
                waiting = find_equivalent_candidate(store, policy, self.period, source.commitment)
                if waiting is not None:
                    return resume_candidate(self, waiting)
        self.timed("validation", validation, source, policy, store, self.period, self.actor)
        control = self.control(source, base)
        table = self.timed("preprocessing", preprocessing, source, policy)
        representation = self.timed("representation", represent, table, method)
        leaves = self.timed("partitioning", partitioning, table, representation, method, policy)
        groups = self.timed("aggregation", aggregation, table, representation, leaves, method, policy)
        with self.series_lock():
            reason = self.revision.reason if self.revision else None
            asked = resolve_revision(store, policy.series, self.period, by=self.actor, revise=reason)
            if isinstance(asked, Release):
                return _left_alone(store, asked)
            if asked != self.revision:
                raise Blocked(
                    "the period was revised by another run meanwhile",
                    where=f"{policy.series} {self.period}",
                    hint="Look at its new release, and revise that if it must be.",
                )
            waiting = find_equivalent_candidate(store, policy, self.period, source.commitment)
            if waiting is not None:  # another run made it meanwhile
                return resume_candidate(self, waiting)
            groups = self.timed(
                "repair", repairing, source, table, representation, groups, method, policy, store, self.period
            )
            rows = self.timed("recoding", recoding, table, representation, groups, method, policy)
            notes = {"parts": dict(zip(PLACES, method.parts, strict=True)), **groups.notes, **rows.notes}
            candidate = self.timed(
                "staging",
                staging,
                rows,
                source,
                policy,
                store,
                period=self.period,
                actor=self.actor,
                notes=notes,
                seats=groups.seats,
                revision=self.revision,
            )
            figures = partial(
                self.timed, "figures", table_figuring, table, representation, groups, rows, policy
            )
            return self.assess_and_publish(table, candidate, notes, control, figures)


def _left_alone(store: ReleaseStore, found: Release) -> Any:
    """Return the state of a run whose period is published: nothing was done, and nothing is wrong."""
    message = f"{found.release_id} is published already; nothing was done"
    outcome = Outcome(
        series=found.series,
        period=found.period,
        state="published",
        candidate_id=found.candidate_id,
        release_id=found.release_id,
        n_source=int(found.summary.get("n_source", 0)),
        n_published=int(found.summary.get("n_published", 0)),
        message=message,
        report=report_path(store, found.series, found.candidate_id, found.release_id),
    )
    return Completed(message=message, data=outcome)


def _scheduled_time() -> datetime:
    """Return when the run was first due, or the time now.

    Prefect keeps the first time of a run that is late, or that waited for a place among the deployment's
    runs, or for a retry: `expected_start_time`, set with its first state and never again.
    """
    moment: datetime | None = runtime.flow_run.scheduled_start_time
    return moment or datetime.now(UTC)
