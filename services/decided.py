"""Whoever watches a decision: the log, lineage where it publishes, and notices. None can fail it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

from policy.errors import ReleaseGateError
from release_store.store import ReleaseStore
from services.observability.lineage import Lineage, Parent
from services.observability.logs import log_event
from services.observability.notices import notify_on_exit
from services.outcome import Outcome

F = TypeVar("F", bound=Callable[..., Outcome])


def observed_decision(decide: F) -> F:
    """Let a function whose first argument is the store, and that decides, log and tell what came of it."""

    @functools.wraps(decide)
    def call(store: ReleaseStore, *args: Any, **kwargs: Any) -> Outcome:
        with notify_on_exit(store.root):
            return _logged(store, lambda: decide(store, *args, **kwargs))

    return cast(F, call)


def _logged(store: ReleaseStore, decide: Callable[[], Outcome]) -> Outcome:
    try:
        outcome = decide()
    except BaseException as error:
        log_event("decision.refused", level="warning", error=type(error).__name__)
        raise
    log_event(
        "decision.taken",
        series=outcome.series,
        period=outcome.period,
        candidate=outcome.candidate_id,
        release=outcome.release_id,
        state=outcome.state,
    )
    if outcome.release_id:
        _trace(store, outcome)
    return outcome


def _trace(store: ReleaseStore, outcome: Outcome) -> None:
    """Let lineage know which candidate became which release."""
    lineage = Lineage(f"{outcome.series}.decide", _parent())
    if not lineage.asked:
        return
    from services.observability.lineage_datasets import candidate_dataset, release_dataset

    lineage.start()
    try:
        lineage.inputs = [candidate_dataset(store, outcome.candidate_id)]
        lineage.outputs = [release_dataset(store, outcome.release_id)]
    except ReleaseGateError as error:
        log_event("lineage.failed", level="error", error=type(error).__name__)
    lineage.end("COMPLETE")


def _parent() -> Parent | None:
    """Return the flow run that decides, where there is one; Prefect is not imported to find out."""
    if "prefect.runtime" not in sys.modules:
        return None
    from prefect import runtime

    run_id = str(runtime.flow_run.id or "")
    return Parent(run_id, str(runtime.flow_run.flow_name or "decide")) if run_id else None
