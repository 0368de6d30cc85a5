"""Stages as Prefect's tasks: without parameters, persisted results or a cache, so that no data gets out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

from prefect import runtime, task
from prefect.artifacts import create_progress_artifact, create_table_artifact, update_progress_artifact
from prefect.cache_policies import NO_CACHE

from flows.runtime.artifacts import artifact_key, try_publish_artifact
from flows.runtime.scheduling import LookParameters, await_input
from flows.runtime.verdict_artifacts import show_verdict
from release_store.canonical import utc_now
from release_store.db.changes import gate_json
from release_store.records import GateResult
from release_store.store import ReleaseStore
from reports.gate_wording import limit_of, measured_of
from services.awaited_input import ExpectedInput
from services.observability.notice_channels import prefect_api
from services.outcome import Outcome
from services.runtime import RETRY_SECONDS, RunIdentity, Runtime, Stage, may_pass
from services.sanitized import sanitize_errors
from services.stages import StageFigures, artifact_row
from tasks.types import Progress

R = TypeVar("R")

_watchers: list[Progress] = []  # no flow can be given a function, so this process's command sets it here


class PrefectRuntime(Runtime):
    """Carries out stages as tasks of the flow run that is under way."""

    def __init__(self, look: LookParameters | None = None) -> None:
        super().__init__(tell_watchers)
        self._look = LookParameters() if look is None else look

    @property
    def run(self) -> RunIdentity | None:
        """The flow run; its page is known where a server is named that stays."""
        found = str(runtime.flow_run.id or "")
        if not found:
            return None
        name = str(runtime.deployment.name or runtime.flow_run.flow_name or "")
        return RunIdentity(found, name, str(runtime.flow_run.ui_url) if prefect_api() else "")

    @property
    def scheduled_time(self) -> datetime:
        """When the run was first due, or the time now.

        Prefect keeps the first time of a run that is late, or that waited for a place among the deployment's
        runs, or for a retry: `expected_start_time`, set with its first state and never again.
        """
        moment: datetime | None = runtime.flow_run.scheduled_start_time
        return moment or utc_now()

    def stage(self, stage: Stage, work: Callable[[Progress], R]) -> R:
        """Carry out one stage as a task. It is given no arguments: Prefect would look through them.

        Nor does it return what it made: Prefect would keep that until the flow ends.
        """
        self.begin(stage)
        given: list[R] = []

        def carry_out() -> None:
            if not stage.long:
                given.append(work(self.progress_of(stage)))
                return
            with _shown(stage, self.progress_of(stage)) as tell:
                given.append(work(tell))

        made: Any = task(
            name=stage.title,
            retries=stage.retries,
            retry_delay_seconds=RETRY_SECONDS,
            retry_condition_fn=_may_pass,
            persist_result=False,
            cache_policy=NO_CACHE,
        )(sanitize_errors(carry_out, f"the stage '{stage.title}'"))
        made()
        return given.pop()

    def await_input(self, expected: ExpectedInput, store: ReleaseStore, *, actor: str) -> Outcome | None:
        """Schedule another look for a late input, and return what the run says of it; None if it is there."""
        return await_input(expected, store, self._look, actor=actor, scheduled=self.scheduled_time)

    def show_gates(self, series: str, candidate_id: str, results: Sequence[GateResult]) -> None:
        """Show what the gates said as a table."""
        try_publish_artifact(
            create_table_artifact,
            key=artifact_key("gates", series),
            table=[gate_row(result) for result in results],
            description=f"Gates of candidate {candidate_id}",
        )

    def show_verdict(self, store: ReleaseStore, candidate_id: str, release_id: str = "") -> None:
        """Show what a candidate came to as a page."""
        show_verdict(store, candidate_id, release_id)

    def show_stages(self, series: str, period: str, stages: Sequence[StageFigures]) -> None:
        """Show the stages as a table, in a run."""
        if self.run is None:
            return
        create_table_artifact(
            key=artifact_key("stages", series),
            table=[artifact_row(figures) for figures in stages],
            description=f"Stages of {series} {period}",
        )


def gate_row(result: GateResult) -> dict[str, str]:
    """Return one gate as a person reads it in a table."""
    document = gate_json(result)
    return {
        "gate": result.gate,
        "verdict": str(result.verdict),
        "value": measured_of(document),
        "must be": limit_of(document),
        "attacker": result.attacker,
        "detail": result.detail,
        "seconds": f"{result.seconds:.2f}",
    }


@contextmanager
def watched_by(watcher: Progress) -> Iterator[None]:
    """Tell `watcher` of every stage's progress in this process while the block runs."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def tell_watchers(share: float, words: str) -> None:
    """Tell whoever watches in this process how far the work is."""
    for watcher in _watchers:
        watcher(share, words)


def _may_pass(_task: Any, _run: Any, state: Any) -> bool:
    return may_pass(state.result(raise_on_failure=False))


@contextmanager
def _shown(stage: Stage, progress: Progress) -> Iterator[Progress]:
    """Give a stage a progress that Prefect shows too, in steps of a tenth."""
    artifact = try_publish_artifact(create_progress_artifact, progress=0.0, description=stage.name)
    last = 0.0

    def tell(share: float, words: str) -> None:
        nonlocal last
        progress(share, words)
        if share - last >= 0.1:
            last = share
            _update(artifact, round(100 * share, 1))

    yield tell
    _update(artifact, 100.0)


def _update(artifact: Any, percent: float) -> None:
    if artifact is not None:
        try_publish_artifact(update_progress_artifact, artifact, progress=percent)
