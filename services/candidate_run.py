"""One run that ends with a judged candidate, published where nobody's approval is asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from policy.errors import ReleaseGateError
from policy.model import ReleasePolicy
from policy.text import number_of
from release_store.commitment import commitment_to, draw_key
from release_store.records import CandidateState, PersonHashes
from release_store.store import ReleaseStore
from release_store.summary import over_max_group_size, repair_of
from reports.releasing import report_path, write_candidate_report
from services.assessment import Assessment, assess_candidate
from services.observability.observation import Observation
from services.outcome import Outcome
from services.publication import publish_candidate
from services.revision import same_as_withdrawn
from services.runtime import Runtime, Stage
from services.source import read_source
from services.trust import trusted_in
from tasks.history.following import follows_people
from tasks.history.persons import KEYS_CHANGED, few_followed, joinable
from tasks.intake.source import Given
from tasks.risk.advice import advise
from tasks.risk.attacks.control import read_control
from tasks.risk.registry import summary_line
from tasks.types import Candidate, PreparedTable, Progress, SourceTable

R = TypeVar("R")

INTAKE = Stage("intake", "read the period's table", retries=2)
CONTROL = Stage("control group", "read the people who are not in the table")
RISK_GATE = Stage("risk gate", "assess the staged files", long=True)
REPORT = Stage("report", "write the candidate's page", retries=1)
PUBLICATION = Stage("publication", "make the release public", retries=1)


class CandidateRun:
    """A run of one use case for one period: its policy, store and actor, and what watches its stages."""

    def __init__(
        self,
        use_case: str,
        policy: ReleasePolicy,
        store: ReleaseStore,
        period: str,
        *,
        actor: str,
        runtime: Runtime,
    ) -> None:
        self.policy, self.store, self.period, self.actor = policy, store, period, actor
        self.runtime = runtime
        self.trusted = trusted_in(store.root)
        self.observation = Observation(use_case, policy, store, period, runtime)

    @cached_property
    def earlier_people(self) -> list[PersonHashes | None]:
        """The people of the series' releases, read once: the series' lock must be held from then on."""
        return self.store.earlier_people(self.policy.series)

    def stage(self, stage: Stage, work: Callable[[Progress], R]) -> R:
        """Carry out one stage, watched."""
        return self.observation.stage(stage, work)

    def read(self, input_path: Given | None, base: Path) -> SourceTable:
        """Read the columns of the policy's roles; what is recorded of the input is under the store's key."""

        def read() -> SourceTable:
            source = read_source(
                self.policy, input_path=input_path, period=self.period, base=base, trusted=self.trusted
            )
            root = self.store.root
            return replace(source, commitment=commitment_to(root, source.digest), draw_key=draw_key(root))

        return self.stage(INTAKE, lambda _: read())

    def read_control(self, source: SourceTable, base: Path) -> PreparedTable | None:
        """Read the people who are not in the table, where the policy names a file of them."""
        if self.policy.linkage.control is None:
            return None
        return self.stage(
            CONTROL, lambda _: read_control(self.policy, source, self.period, base, self.trusted)
        )

    def _tell_who_is_followed(self, people: PersonHashes | None) -> None:
        """Warn where few of the last release's people are in the candidate: their keys may have changed."""
        if people is None or not follows_people(self.policy) or self.policy.population == "independent":
            return
        if said := few_followed(people, joinable(people.fingerprint, self.earlier_people)):
            where = f"column '{self.policy.roles.key}'"
            print(f"releasegate: warning: {where}: {said}. {KEYS_CHANGED}", file=sys.stderr, flush=True)

    def assess_and_publish(
        self,
        table: PreparedTable,
        candidate: Candidate,
        notes: Mapping[str, Any],
        control: PreparedTable | None,
        table_figures: Mapping[str, Any],
    ) -> Outcome:
        """Ask the gates, publish what passes them, and return the outcome.

        `notes` are those of the candidate's groups, `control` the people who are not in the table.
        `table_figures` are the part of the figures that needs the groups. The series' lock must be held:
        the verdict holds for one history.
        """
        store, name = self.store, candidate.candidate_id
        with self.failing_with(candidate):
            found = self.stage(
                RISK_GATE,
                lambda tell: assess_candidate(
                    candidate,
                    table,
                    self.policy,
                    store,
                    earlier_people=self.earlier_people,
                    actor=self.actor,
                    control=control,
                    table_figures=table_figures,
                    progress=tell,
                ),
            )
        self.runtime.show_gates(self.policy.series, name, found.report.results)
        self._tell_who_is_followed(candidate.people)
        self.write_report(name)
        outcome = self._outcome(candidate, found, notes)
        record = store.candidate(name)
        if not found.report.passed:
            message = f"{name} is blocked: {summary_line(found.report.results)}"
            if withdrawn := same_as_withdrawn(store, name):
                message += f"; {withdrawn} is the same and was withdrawn: releasegate restore {withdrawn}"
            advice = advise(found.report.results, self.policy)
            outcome = replace(outcome, state="blocked", message=message, advice=advice)
        elif record.state is CandidateState.AWAITING_APPROVAL:
            required = record.summary.required_approvals
            because = required.why if required else ""
            needed = number_of(store.approvers_needed(name), "approval")
            message = f"{name} awaits {needed}{f': {because}' if because else ''}"
            outcome = replace(outcome, state="awaiting_approval", message=message)
        else:
            return self.publish(outcome, found)
        self.runtime.show_verdict(store, name)
        return outcome

    def write_report(self, candidate_id: str) -> None:
        """Write the page of a candidate that was assessed."""
        self.stage(REPORT, lambda _: write_candidate_report(self.store, candidate_id, actor=self.actor))

    def publish(self, outcome: Outcome, assessed: Assessment | None = None) -> Outcome:
        """Publish the candidate of an outcome, and return the outcome as it is then."""
        name = outcome.candidate_id
        classes = assessed.classes if assessed else None
        release = self.stage(
            PUBLICATION,
            lambda _: publish_candidate(self.store, name, self.policy, actor=self.actor, classes=classes),
        )
        self.runtime.show_verdict(self.store, name, release.release_id)
        return replace(
            outcome,
            state="published",
            release_id=release.release_id,
            report=report_path(self.store, release.series, name, release.release_id),
        )

    @contextmanager
    def series_lock(self) -> Iterator[None]:
        """Hold the series: nobody may publish to it between the verdict and the publication."""
        with self.store.series_lock(self.policy.series):
            yield

    @contextmanager
    def failing_with(self, candidate: Candidate) -> Iterator[None]:
        """End the candidate where its figures break, or the gates could not even be asked."""
        try:
            yield
        except ReleaseGateError as error:
            self.store.move(
                candidate.candidate_id, CandidateState.FAILED, actor=self.actor, reason=error.message
            )
            raise

    def _outcome(self, candidate: Candidate, found: Assessment, notes: Mapping[str, Any]) -> Outcome:
        measured = {result.gate: result.value for result in found.report.results}
        return Outcome(
            series=self.policy.series,
            period=self.period,
            state="assessed",
            candidate_id=candidate.candidate_id,
            n_source=candidate.n_source,
            n_published=candidate.n_published,
            n_classes=found.classes.n_classes,
            ncp=measured.get("ncp"),
            gates=found.report.results,
            repair=repair_of(notes),
            over_max_group_size=over_max_group_size(notes),
            report=report_path(self.store, candidate.series, candidate.candidate_id),
        )
