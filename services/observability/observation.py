"""Whoever watches a run: the log, the stages' table, lineage, and notices. None can fail it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from types import TracebackType
from typing import Self, TypeVar

from policy.errors import ReleaseGateError
from policy.model import ReleasePolicy
from release_store.records import Release
from release_store.store import ReleaseStore
from release_store.summary import reused_release
from services.observability.lineage import Lineage, Parent
from services.observability.lineage_datasets import candidate_dataset, release_dataset, source_dataset
from services.observability.logs import log_event
from services.observability.notice_channels import channels
from services.observability.notice_delivery import RunLink, register_channels, send_due, tell_problems
from services.outcome import Outcome
from services.runtime import Runtime, Stage
from services.stages import StageFigures, figures_of
from tasks.types import Candidate, Progress, SourceTable

R = TypeVar("R")


class Observation:
    """One run for one period, watched from its beginning to its end, whatever that is."""

    def __init__(
        self, flow: str, policy: ReleasePolicy, store: ReleaseStore, period: str, runtime: Runtime
    ) -> None:
        self.flow, self.policy, self.store, self.period = flow, policy, store, period
        self.runtime, self._run = runtime, runtime.run
        self.stages: list[StageFigures] = []
        self.outcome: Outcome | None = None
        parent = Parent(self._run.id, self._run.name or flow) if self._run else None
        self._lineage = Lineage(f"{policy.series}.{flow}", parent)
        self._begun, self._since = perf_counter(), 0

    def __enter__(self) -> Self:
        """Begin: what happens in the store from here on is of this run, if it is of its period."""
        self._since = _begin(self.store)
        log_event("run.started", **self._names())
        self._lineage.start()
        return self

    def stage(self, stage: Stage, work: Callable[[Progress], R]) -> R:
        """Carry out one stage, and keep how long it took and what came of it."""
        begun, name = perf_counter(), stage.name
        try:
            result = self.runtime.stage(stage, work)
        except BaseException as error:
            seconds = perf_counter() - begun
            kind = type(error).__name__
            log_event("stage.failed", level="error", **self._names(), stage=name, seconds=seconds, error=kind)
            raise
        figures = figures_of(name, perf_counter() - begun, result)
        self.stages.append(figures)
        log_event("stage.ended", **self._names(), **figures.document())
        if self._lineage.asked:
            self._trace(result)
        return result

    def ended(self, outcome: Outcome) -> Outcome:
        """Keep the outcome of the run, and return it with the figures of its stages."""
        self.outcome = replace(outcome, stages=tuple(self.stages))
        return self.outcome

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End: write the last lines, and tell whom it concerns."""
        outcome = self.outcome
        seconds = perf_counter() - self._begun
        if kind is not None or outcome is None:
            name = "nothing" if kind is None else kind.__name__
            log_event("run.failed", level="error", **self._names(), seconds=seconds, error=name)
            stopped = kind is not None and not issubclass(kind, Exception)
            self._lineage.outputs.clear()
            self._lineage.end("ABORT" if stopped else "FAIL", f"ended by {name}")
        else:
            names = {"candidate": outcome.candidate_id, "release": outcome.release_id}
            log_event("run.ended", **self._names(), seconds=seconds, **names, state=outcome.state)
            self._end_lineage(outcome)
        self._show_stages()
        run = self._run
        link = RunLink(run.id, run.page, self.policy.series, self.period, self._since) if run else None
        tell_problems(send_due(self.store, run=link))

    def _names(self) -> dict[str, str]:
        return {
            "run": self._run.id if self._run else "",
            "flow": self.flow,
            "series": self.policy.series,
            "period": self.period,
        }

    def _trace(self, result: object) -> None:
        """Let lineage know of a table that was read, a release whose cells were used, a candidate that was
        staged, a release that was made.
        """
        lineage = self._lineage
        try:
            if isinstance(result, SourceTable):
                lineage.inputs = [source_dataset(result, self.policy)]
            elif isinstance(result, Candidate):
                lineage.outputs = [candidate_dataset(self.store, result.candidate_id)]
                reused = reused_release(self.store.candidate(result.candidate_id).summary.notes)
                if reused is not None:
                    lineage.inputs.append(release_dataset(self.store, reused))
            elif isinstance(result, Release):
                lineage.outputs = [release_dataset(self.store, result.release_id)]
        except ReleaseGateError as error:
            log_event("lineage.failed", level="error", **self._names(), error=type(error).__name__)

    def _end_lineage(self, outcome: Outcome) -> None:
        if outcome.state == "blocked":
            self._lineage.outputs.clear()
            failing = ", ".join(result.gate for result in outcome.gates if str(result.verdict) != "pass")
            self._lineage.end("FAIL", f"blocked by the gates {failing}")
            return
        self._lineage.end("COMPLETE")

    def _show_stages(self) -> None:
        """Show the stages; a server that went away shows none."""
        if not self.stages:
            return
        try:
            self.runtime.show_stages(self.policy.series, self.period, self.stages)
        except Exception as error:
            log_event("stages.not_shown", level="error", **self._names(), error=type(error).__name__)


def _begin(store: ReleaseStore) -> int:
    """Return the number of the last event, from which channels that were never used begin."""
    try:
        return register_channels(store) if channels() else 0
    except (ReleaseGateError, OSError):
        return 0  # a store that cannot be read says so to whoever works in it
