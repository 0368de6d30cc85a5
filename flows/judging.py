"""What every flow that makes a release has in common: timed stages, the series' lock, the gate and after."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from prefect.states import Completed, Failed

from flows.observation import Observation
from flows.verdict_artifacts import show_verdict
from policy.errors import ReleaseGateError
from policy.model import ReleasePolicy
from release_store.approval.approvals import why
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from reports.releasing import report_of, report_path, write_candidate_report
from services.outcome import Outcome, over_max_group_size
from services.trust import trusted_in
from tasks.publication.task import publication
from tasks.reporting.figures import figures_of
from tasks.risk.gate import GateReport, summary_line
from tasks.risk.task import control_group, risk_gate
from tasks.shielded import stage, tell_watchers
from tasks.types import Candidate, PreparedTable, SourceTable

reporting = stage("report: write the candidate's page", retries=1)(write_candidate_report)


class Judging:
    """One run of a flow that ends with a judged candidate, published where nobody's approval is asked for."""

    flow = "release"

    def __init__(self, policy: ReleasePolicy, store: ReleaseStore, period: str, actor: str) -> None:
        self.policy, self.store = policy, store
        self.trusted = trusted_in(store.root)
        self.period, self.actor = period, actor
        self.seconds: dict[str, float] = {}
        self.seen = Observation(self.flow, policy, store, period)

    def observed(self, run_pipeline: Callable[..., Any], *args: Any) -> Any:
        """Carry out the whole run, and let the log, lineage and people know what came of it."""
        with self.seen:
            return self.seen.ended(run_pipeline(*args))

    def control(self, source: SourceTable, base: Path) -> PreparedTable | None:
        """Read the people who are not in the table, where the policy names a file of them."""
        if self.policy.linkage.control is None:
            return None
        found: PreparedTable | None = self.timed(
            "control group", control_group, source, self.policy, self.period, base, self.trusted
        )
        return found

    def assess_and_publish(
        self,
        table: PreparedTable,
        candidate: Candidate,
        notes: Mapping[str, Any],
        control: PreparedTable | None,
        table_figures: Callable[[], Mapping[str, Any]],
    ) -> Any:
        """Ask the gates, publish what passes them, and return the state that Prefect keeps.

        `notes` are those of the candidate's groups, `control` the people who are not in the table.
        `table_figures` gives the part of the figures that needs the groups. The series' lock must be held:
        the verdict holds for one history.
        """
        with self._failing_with(candidate):
            about_table = table_figures()
            report, classes = self.timed(
                "risk gate",
                risk_gate,
                table,
                candidate,
                self.policy,
                self.store,
                self.actor,
                control,
                figures=partial(figures_of, table_figures=about_table),
            )
        self.timed("report", reporting, self.store, candidate.candidate_id)
        found = self._outcome(candidate, report, notes)
        measured = {result.gate: result.value for result in report.results}
        found = replace(
            found,
            n_classes=classes.n_classes,
            ncp=measured.get("ncp"),
            report=report_path(self.store, candidate.series, candidate.candidate_id),
        )
        if not report.passed:
            message = f"{candidate.candidate_id} is blocked: {summary_line(report.results)}"
            blocked = replace(found, state="blocked", message=message)
            show_verdict(self.store, candidate.candidate_id)
            return Failed(message=message, data=blocked)
        kept = self.store.candidate(candidate.candidate_id)
        if kept.state is CandidateState.AWAITING_APPROVAL:
            needed, because = self.store.approvers_needed(kept.candidate_id), why(kept.summary)
            message = f"{kept.candidate_id} waits for {needed} approval(s){f': {because}' if because else ''}"
            show_verdict(self.store, kept.candidate_id)
            return Completed(message=message, data=replace(found, state="awaiting_approval", message=message))
        extra = {"classes": classes.n_classes, "ncp": found.ncp}
        made = self.timed(
            "publication",
            publication,
            candidate,
            classes,
            self.store,
            self.actor,
            extra,
            report_of(self.store, candidate.candidate_id),
        )
        show_verdict(self.store, made.candidate_id, made.release_id)
        return Completed(
            message=f"{made.release_id} is published",
            data=replace(
                found,
                state="published",
                release_id=made.release_id,
                seconds=dict(self.seconds),
                report=report_path(self.store, made.series, made.candidate_id, made.release_id),
            ),
        )

    def timed(self, name: str, stage: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run one stage, and keep how long it took."""
        tell_watchers(0.0, name)
        start = perf_counter()
        result = self.seen.stage(name, stage, *args, **kwargs)
        self.seconds[name] = perf_counter() - start
        return result

    @contextmanager
    def series_lock(self) -> Iterator[None]:
        """Hold the series: nobody may publish to it between the verdict and the publication."""
        with self.store.series_lock(self.policy.series):
            yield

    @contextmanager
    def _failing_with(self, candidate: Candidate) -> Iterator[None]:
        """End the candidate where the gate could not even be asked."""
        try:
            yield
        except ReleaseGateError as error:
            self.store.move(
                candidate.candidate_id, CandidateState.FAILED, actor=self.actor, reason=error.message
            )
            raise

    def _outcome(self, candidate: Candidate, report: GateReport, notes: Mapping[str, Any]) -> Outcome:
        return Outcome(
            series=self.policy.series,
            period=self.period,
            state="assessed",
            candidate_id=candidate.candidate_id,
            n_source=candidate.n_source,
            n_published=candidate.n_published,
            gates=report.results,
            seconds=dict(self.seconds),
            repaired=notes.get("repair", {}),
            over_max_group_size=over_max_group_size(notes),
        )
