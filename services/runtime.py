"""Where the stages of a run are carried out: here in this process, or by Prefect (`flows/runtime`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from policy.errors import ReleaseGateError, StoreError, TransientFailure
from release_store.canonical import utc_now
from release_store.records import GateResult
from release_store.store import ReleaseStore
from services.awaited_input import ExpectedInput, check_not_late
from services.outcome import Outcome
from services.sanitized import sanitize_errors
from services.stages import StageFigures
from services.steps import Steps
from tasks.types import Progress, no_progress

R = TypeVar("R")

RETRY_SECONDS = 2.0  # between two tries of a stage


@dataclass(frozen=True)
class Stage:
    """One step of a run: its name and what it does.

    `retries` is how often it is tried again after what passes by itself; `long` stages show in Prefect how
    far they are.
    """

    name: str
    does: str
    retries: int = 0
    long: bool = False

    @property
    def title(self) -> str:
        """The name that Prefect and errors tell."""
        return f"{self.name}: {self.does}"


@dataclass(frozen=True)
class RunIdentity:
    """A run of a flow: its id, the name of its deployment or flow, and the address of its page."""

    id: str
    name: str
    page: str = ""


def may_pass(error: BaseException) -> bool:
    """Tell what the system or another process refused from a bad table, a failed gate or our own fault."""
    return isinstance(error, TransientFailure | StoreError)


class Runtime:
    """Carries out stages in this process and shows nothing but their progress.

    `flows.runtime` has the one that lets Prefect carry them out.
    """

    def __init__(self, progress: Progress = no_progress) -> None:
        self.progress = progress
        self.steps: Steps | None = None  # of the run, where they are known
        self._place = ""

    @property
    def run(self) -> RunIdentity | None:
        """The flow run that this is; None outside Prefect."""
        return None

    @property
    def scheduled_time(self) -> datetime:
        """When the run was first due: now, where nothing scheduled it."""
        return utc_now()

    def stage(self, stage: Stage, work: Callable[[Progress], R]) -> R:
        """Carry out one stage, which is given its progress; foreign errors are replaced."""
        self.begin(stage)
        attempt = sanitize_errors(work, f"the stage '{stage.title}'")
        for _ in range(stage.retries):
            try:
                return attempt(self.progress_of(stage))
            except ReleaseGateError as error:
                if not may_pass(error):
                    raise
            time.sleep(RETRY_SECONDS)
        return attempt(self.progress_of(stage))

    def begin(self, stage: Stage) -> None:
        """Tell that a stage begins, and which step of the run it is."""
        place = self.steps.begin(stage.name) if self.steps else ""
        self._place = f" ({place})" if place else ""
        self.progress(0.0, f"{stage.name}{self._place}")

    def progress_of(self, stage: Stage) -> Progress:
        """Return the progress of a stage, which tells its name and its place too."""
        return lambda share, words: self.progress(share, f"{stage.name}{self._place}: {words}")

    def await_input(self, expected: ExpectedInput, store: ReleaseStore, *, actor: str) -> Outcome | None:
        """Return the outcome of a run that will look again for a late input; None where it is there.

        Raises InputError where nothing looks again: here, always.
        """
        del store, actor
        check_not_late(expected)
        return None

    def show_gates(self, series: str, candidate_id: str, results: Sequence[GateResult]) -> None:
        """Show what the gates said."""

    def show_verdict(self, store: ReleaseStore, candidate_id: str, release_id: str = "") -> None:
        """Show what a candidate came to."""

    def show_stages(self, series: str, period: str, stages: Sequence[StageFigures]) -> None:
        """Show how long the stages took. May raise: the caller logs it."""
