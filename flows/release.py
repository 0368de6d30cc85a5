"""The release flow: a period's table goes in; a published release, or the reason why not, comes out."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from prefect import flow, runtime
from prefect.client.schemas.objects import State

from flows.runtime.last_result import remember_result
from flows.runtime.prefect_runtime import PrefectRuntime
from flows.runtime.scheduling import LookParameters
from flows.runtime.states import state_of
from policy.load import load_policy
from policy.location import location_of
from policy.period import day_at, period_at
from release_store.trusted import load_trusted
from services import release as service
from services.outcome import Outcome
from services.sanitized import sanitize_errors


def _run_name() -> str:
    """Name a run by its period, given or from its time; the run itself says what is wrong with its policy."""
    given = runtime.flow_run.parameters
    period = given.get("period")
    try:
        if period is None:
            trusted = load_trusted(Path(given.get("store", "store")))
            policy = load_policy(Path(given["policy"]), trusted)
            period = period_at(policy.period, day_at(PrefectRuntime().scheduled_time, policy.timezone))
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
    engine: Literal["dask"] | None = None,
    wait_until: str | None = None,
    look: int = 1,
    seen: str = "",
) -> State[Outcome]:
    """Release the table of `period` under `policy`.

    Args:
        policy: path of the policy file.
        period: the period, such as 2026Q1; if empty, it follows from the policy and the scheduled time.
        input_path: the input table; if empty, the source in the policy.
        store: folder of the release store.
        actor: who makes the candidate; if empty, the OS account of the worker. If the store lists its people,
            a name counts only if `releasegate run` proved it.
        revise: why the period's existing release is replaced; if empty, such a period is left alone.
        engine: what has to decide the fragments of a large table; if empty, whatever the store's trusted.yaml
            names. If it names nothing, the run fails.
        wait_until: internal: deadline for a late input; leave empty.
        look: internal: attempt number; leave as it is.
        seen: internal: size and time of the input at the last attempt; leave empty.
    """

    def carry_out() -> State[Outcome]:
        return state_of(
            service.release(
                Path(policy),
                store=Path(store),
                period=period,
                input_path=location_of(input_path, "input_path") if input_path else None,
                actor=actor,
                revise=revise,
                engine=engine,
                runtime=PrefectRuntime(LookParameters(wait_until, look, seen)),
            )
        )

    return remember_result(sanitize_errors(carry_out, "the release flow"))()
