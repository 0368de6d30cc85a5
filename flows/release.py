"""The release flow: a period's table goes in; a published release, or the reason why not, comes out."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from flows import settings

settings.apply()

from prefect import flow, runtime  # noqa: E402 -- the settings must be there first
from prefect.states import Completed, Failed  # noqa: E402

from flows.outcome import Outcome, over_max_group_size  # noqa: E402
from policy.errors import ReleaseGateError  # noqa: E402
from policy.load import load_policy  # noqa: E402
from policy.model import ReleasePolicy  # noqa: E402
from policy.period import period_at  # noqa: E402
from release_store.keys import load_key  # noqa: E402
from release_store.names import check_period  # noqa: E402
from release_store.publication import recover  # noqa: E402
from release_store.records import CandidateState, Release  # noqa: E402
from release_store.store import ReleaseStore  # noqa: E402
from tasks.aggregation.task import aggregation  # noqa: E402
from tasks.intake.task import intake  # noqa: E402
from tasks.methods.base import BoundMethod  # noqa: E402
from tasks.methods.registry import bound_method  # noqa: E402
from tasks.partitioning.task import partitioning  # noqa: E402
from tasks.preprocessing.task import preprocessing  # noqa: E402
from tasks.publication.task import publication  # noqa: E402
from tasks.recoding.task import recoding  # noqa: E402
from tasks.repair.task import repairing  # noqa: E402
from tasks.representation.task import representation  # noqa: E402
from tasks.risk.gate import GateReport, summary_line  # noqa: E402
from tasks.risk.task import risk_gate  # noqa: E402
from tasks.shielded import shielded, tell_watchers  # noqa: E402
from tasks.staging.task import staging  # noqa: E402
from tasks.types import Candidate, Partition  # noqa: E402
from tasks.utility.ncp import ncp, scale_of  # noqa: E402
from tasks.validation.task import validation  # noqa: E402


@flow(
    name="release",
    description="Release one period's table of a series, if every gate passes.",
    flow_run_name="release-{period}",
    persist_result=False,
    retries=0,
)
def release(
    policy: str,
    period: str | None = None,
    input_path: str | None = None,
    store: str = "store",
    actor: str | None = None,
) -> Any:
    """Release the table of `period` under `policy`.

    Args:
        policy: path of the policy file.
        period: the period, such as 2026Q1; left out, it follows from the policy and the scheduled time.
        input_path: the table, where it is not the policy's own source.
        store: folder of the release store.
        actor: who is named as the one who made the candidate; left out, the system's user.
    """
    return shielded(_release, "the release flow")(policy, period, input_path, store, actor)


def _release(
    policy_path: str, period: str | None, input_path: str | None, store_path: str, actor: str | None
) -> Any:
    policy = load_policy(Path(policy_path))
    method = bound_method(policy, policy_path)
    store = ReleaseStore.open(Path(store_path))
    recover(store)
    chosen = period_at(policy.period, _scheduled_day()) if period is None else period
    check_period(chosen)
    already = store.release_of(policy.series, chosen)
    if already is not None:
        return _left_alone(already)
    load_key(store.root)  # without it nothing could be published: better said before the work than after
    run = _Run(policy, method, store, chosen, actor or _user())
    return run.carry_out(Path(input_path) if input_path else None, Path(policy_path).resolve().parent)


class _Run:
    """One run of the flow: the stages in their order, each timed."""

    def __init__(
        self, policy: ReleasePolicy, method: BoundMethod, store: ReleaseStore, period: str, actor: str
    ) -> None:
        self.policy, self.method, self.store = policy, method, store
        self.period, self.actor = period, actor
        self.seconds: dict[str, float] = {}

    def carry_out(self, input_path: Path | None, base: Path) -> Any:
        """Run all stages and return the state that Prefect keeps."""
        policy = self.policy
        source = self._timed("intake", intake, policy, input_path, self.period, base)
        self._timed("validation", validation, source, policy, self.store, self.period, self.actor)
        table = self._timed("preprocessing", preprocessing, source, policy)
        where = self._timed("representation", representation, table, self.method)
        leaves = self._timed("partitioning", partitioning, table, where, self.method, policy)
        groups = self._timed("aggregation", aggregation, table, where, leaves, self.method, policy)
        # The gate's verdict holds for one history: nobody may publish to the series in between.
        with self._undisturbed():
            already = self.store.release_of(policy.series, self.period)
            if already is not None:
                return _left_alone(already)
            groups = self._timed(
                "repair", repairing, table, groups, self.method, policy, self.store, self.period
            )
            frame = self._timed("recoding", recoding, table, groups, policy)
            candidate = self._timed(
                "staging",
                staging,
                frame,
                source,
                policy,
                self.store,
                period=self.period,
                actor=self.actor,
                notes=groups.notes,
            )
            with self._failing_with(candidate):
                report, classes = self._timed(
                    "risk gate", risk_gate, table, candidate, policy, self.store, self.actor
                )
            found = self._outcome(candidate, report, groups)
            found = replace(found, n_classes=classes.n_classes, ncp=ncp(classes, scale_of(table, policy)))
            if not report.passed:
                message = f"{candidate.candidate_id} is blocked: {summary_line(report.results)}"
                blocked = replace(found, state="blocked", message=message)
                return Failed(message=message, data=blocked)
            if policy.approval.approvers:
                message = f"{candidate.candidate_id} waits for {policy.approval.approvers} approval(s)"
                return Completed(
                    message=message, data=replace(found, state="awaiting_approval", message=message)
                )
            extra = {"classes": classes.n_classes, "ncp": found.ncp}
            made = self._timed("publication", publication, candidate, classes, self.store, self.actor, extra)
        return Completed(
            message=f"{made.release_id} is published",
            data=replace(found, state="published", release_id=made.release_id, seconds=dict(self.seconds)),
        )

    def _timed(self, name: str, stage: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        tell_watchers(0.0, name)
        start = perf_counter()
        result = stage(*args, **kwargs)
        self.seconds[name] = perf_counter() - start
        return result

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        with self.store.series_lock(self.policy.series):
            yield

    @contextmanager
    def _failing_with(self, candidate: Candidate) -> Iterator[None]:
        """End the candidate where the gate could not even be asked."""
        try:
            yield
        except ReleaseGateError as error:
            self.store.move(
                candidate.candidate_id, CandidateState.FAILED, actor=self.actor, reason=error.finding
            )
            raise

    def _outcome(self, candidate: Candidate, report: GateReport, groups: Partition) -> Outcome:
        return Outcome(
            series=self.policy.series,
            period=self.period,
            state="assessed",
            candidate_id=candidate.candidate_id,
            n_source=candidate.n_source,
            n_published=candidate.n_published,
            gates=report.results,
            seconds=dict(self.seconds),
            repaired=groups.notes.get("repair", {}),
            over_max_group_size=over_max_group_size(groups.notes),
        )


def _left_alone(found: Release) -> Any:
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
    )
    return Completed(message=message, data=outcome)


def _scheduled_day() -> date:
    """Return the day for which the run was scheduled, or today's; UTC."""
    moment: datetime | None = runtime.flow_run.scheduled_start_time
    return (moment or datetime.now(UTC)).date()


def _user() -> str:
    return os.environ.get("RELEASEGATE_ACTOR") or getpass.getuser()
