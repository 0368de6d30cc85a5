"""The release flow: a period's table goes in; a published release, or the reason why not, comes out."""

from __future__ import annotations

from pathlib import Path

from prefect import flow, runtime
from prefect.client.schemas.objects import State

from flows.runtime.last_end import remember_result
from flows.runtime.prefect_runtime import PrefectRuntime
from flows.runtime.scheduling import LookParameters
from flows.runtime.states import state_of
from policy.load import load_policy
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
    wait_until: str | None = None,
    look: int = 1,
    seen: str = "",
) -> State[Outcome]:
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

    def carry_out() -> State[Outcome]:
        return state_of(
            service.release(
                Path(policy),
                store=Path(store),
                period=period,
                input_path=Path(input_path) if input_path else None,
                actor=actor,
                revise=revise,
                runtime=PrefectRuntime(LookParameters(wait_until, look, seen)),
            )
        )

    return remember_result(sanitize_errors(carry_out, "the release flow"))()
