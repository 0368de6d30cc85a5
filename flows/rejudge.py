"""The flow that judges a stale candidate again: the same staged files, beside the history as it is now."""

from __future__ import annotations

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State

from flows.runtime.last_result import remember_result
from flows.runtime.prefect_runtime import PrefectRuntime
from flows.runtime.states import state_of
from policy.location import location_of
from services import rejudge as service
from services.outcome import Outcome
from services.sanitized import sanitize_errors


@flow(
    name="rejudge",
    description="Assess a stale or expired candidate again, against the current history.",
    flow_run_name="rejudge-{candidate}",
    persist_result=False,
    retries=0,
)
def rejudge(
    candidate: str, input_path: str | None = None, store: str = "store", actor: str | None = None
) -> State[Outcome]:
    """Assess the files of `candidate` again, as a new candidate; people decide anew.

    Args:
        candidate: a candidate that became stale or expired.
        input_path: the original input table, if the policy names no query.
        store: folder of the release store.
        actor: who asks for it; if empty, the OS account of the worker. The maker stays who made the files.
    """

    def carry_out() -> State[Outcome]:
        return state_of(
            service.rejudge(
                candidate,
                store=Path(store),
                input_path=location_of(input_path, "input_path") if input_path else None,
                actor=actor,
                runtime=PrefectRuntime(),
            )
        )

    return remember_result(sanitize_errors(carry_out, "the rejudge flow"))()
