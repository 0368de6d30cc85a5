"""Looking again for a late input: by runs of the same deployment that Prefect starts later.

A run that finds its file late schedules the next look as another run of its deployment, and ends: nothing
waits in a process, and what is scheduled outlives worker, server and machine.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from uuid import UUID

from prefect import runtime
from prefect.client.orchestration import get_client
from prefect.client.schemas import filters
from prefect.client.schemas.objects import StateType
from prefect.states import Scheduled

from policy.errors import TransientFailure, UsageError
from release_store.canonical import iso, utc_now
from release_store.store import ReleaseStore
from services.awaited_input import ExpectedInput, give_up_input, late_error, look, next_look_text
from services.outcome import Outcome


@dataclass(frozen=True)
class LookParameters:
    """One look for a late input, as parameters of a flow run hand it on.

    `wait_until` is when the last look is, `look` which one this is, and `seen` what the one before saw.
    """

    wait_until: str | None = None
    look: int = 1
    seen: str = ""


def await_input(
    expected: ExpectedInput, store: ReleaseStore, this: LookParameters, *, actor: str, scheduled: datetime
) -> Outcome | None:
    """Return the outcome of a run whose input is late, the next look being scheduled; None if it is not late.

    `scheduled` is when the run was first due. Raises InputError where nothing is waited for: outside of a
    deployment, after the last look, and for an input that was given up before.
    """
    if expected.policy.source.wait is None:
        return None
    found = look(expected, this.seen)
    if not found.late:
        return None
    deployment = runtime.deployment.id
    if deployment is None:
        raise late_error(expected, found, "Run it again when the file has arrived, or with --wait.")
    series, period = expected.policy.series, expected.period
    first = this.wait_until is None
    if first and store.input_given_up(series, period):
        raise late_error(
            expected, found, "An earlier run stopped waiting; run the period again when it has arrived."
        )
    wait = expected.wait
    deadline = scheduled + timedelta(hours=wait.hours) if first else _moment(str(this.wait_until))
    now = utc_now()
    if now >= deadline:
        if not first and store.input_given_up(series, period):
            message = f"the input of {period} {found.late}; an earlier check stopped waiting"
            return Outcome(series, period, "input_given_up", message=message)
        raise give_up_input(expected, store, found, actor, this.look, deadline)
    at = min(now + timedelta(minutes=wait.every_minutes), deadline)
    following = LookParameters(iso(deadline), this.look + 1, found.seen)
    at = _next_looks(expected, store, UUID(str(deployment)), at, following)
    message = f"waits for the input of {period}: {next_look_text(expected, found, at, deadline)}"
    return Outcome(series, period, "waiting_for_input", message=message)


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None:
            return found
    except ValueError:
        pass
    raise UsageError(
        "is no time", where="wait_until", hint="Leave it out: a waiting run sets it for the next one."
    )


def _next_looks(
    expected: ExpectedInput, store: ReleaseStore, deployment: UUID, at: datetime, following: LookParameters
) -> datetime:
    """Schedule the next look and the one after it, unless two are scheduled; return when the next one is.

    Of two, one that is killed with its worker is followed by the other. Ticks that look at once ask for the
    same runs by the same keys. A run of a key that has ended already, since somebody started the look before
    again, is not a look to come: then one of another key is made.
    """
    series, period = expected.policy.series, expected.period
    tag = f"waits {series}/{period} {store.store_id[:8]}"
    given = {name: value for name, value in runtime.flow_run.parameters.items() if value is not None}
    every = timedelta(minutes=expected.wait.every_minutes)
    waiting = filters.FlowRunFilter(
        deployment_id=filters.FlowRunFilterDeploymentId(any_=[deployment]),
        tags=filters.FlowRunFilterTags(all_=[tag]),
        state=filters.FlowRunFilterState(type=filters.FlowRunFilterStateType(any_=[StateType.SCHEDULED])),
    )
    try:
        with get_client(sync_client=True) as client:
            found = client.read_flow_runs(flow_run_filter=waiting)
            planned = [one.next_scheduled_start_time or at for one in found]
            last = max([following.look - 1, *(int(one.parameters.get("look", 0)) for one in found)])
            while len(planned) < 2:
                last += 1
                moment = max([at, *(one + every for one in planned)])
                key = f"{store.store_id}/{series}/{period}/{following.wait_until}/{last}"
                for name in (key, f"{key}/{runtime.flow_run.id}/{runtime.flow_run.run_count}"):
                    made = client.create_flow_run_from_deployment(
                        deployment,
                        parameters={**given, "period": period, **asdict(following), "look": last},
                        state=Scheduled(scheduled_time=moment),
                        tags=[tag],
                        idempotency_key=name,
                    )
                    if made.state is None or not made.state.is_final():
                        break
                planned.append(made.next_scheduled_start_time or moment)
            return min(planned)
    except Exception as error:  # the client's errors have no common base
        kind = type(error).__name__
    raise TransientFailure(
        f"the input is late, and Prefect did not schedule the next check ({kind})",
        where=f"{series} {period}",
        hint="Check Prefect's server, and start the run again.",
    )
