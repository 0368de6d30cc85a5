"""An input that is late: looked for again until its time is over, by runs that end in between.

A run of a deployment that finds its file late schedules the next look as another run of the same deployment,
and ends: nothing waits in a process, and what is scheduled outlives worker, server and machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from policy.errors import InputError, TransientFailure, UsageError
from policy.model import ReleasePolicy, Wait
from policy.trusted import Trusted
from release_store.protocol.canonical import iso, utc_now
from release_store.store import ReleaseStore
from services.outcome import Outcome
from tasks.intake.source import source_path

_NAP = 30.0  # seconds that a waiting command sleeps at most before it looks at the clock: machines sleep too


@dataclass(frozen=True)
class ExpectedInput:
    """The input of one period, of which a run must know where it would be."""

    policy: ReleasePolicy
    period: str
    input_path: Path | None
    base: Path
    trusted: Trusted | None = None

    @property
    def wait(self) -> Wait:
        """How long the policy lets it be late. Raises UsageError where it says nothing of that."""
        wait = self.policy.source.wait
        if wait is None:
            raise UsageError(
                "the policy does not say how long to wait", where="source.wait", hint="Write it there."
            )
        return wait

    @property
    def path(self) -> Path:
        """The file. Raises UsageError where a query reads the table without one."""
        found = source_path(
            self.policy,
            input_path=self.input_path,
            period=self.period,
            base=self.base,
            trusted=self.trusted,
        )
        if found is None:
            raise UsageError(
                "only a file can be waited for, and none is named",
                where="source.wait",
                hint="Write source.path, give --input FILE, or leave source.wait out.",
            )
        return found


@dataclass(frozen=True)
class InputCheck:
    """What was found where the input should be: why it is late, and what to compare the next look with."""

    late: str = ""  # nothing where it is there and has settled
    seen: str = ""  # size and time


def look(wanted: ExpectedInput, before: str = "") -> InputCheck:
    """Look for the file; `before` is what the last look saw.

    What is there and no file that can be looked at is not late: intake tells what is wrong with it.
    """
    try:
        found = wanted.path.stat()
    except FileNotFoundError:
        return InputCheck("is not there")
    except OSError:
        return InputCheck()
    seen = f"{found.st_size}-{found.st_mtime_ns}"
    if before and seen != before:
        return InputCheck("has changed since the last look", seen)
    age = time.time() - found.st_mtime
    if abs(age) < wanted.wait.settled_seconds:
        return InputCheck(f"changed {max(age, 0):.0f} s ago and may still be growing", seen)
    return InputCheck("", seen)


def late_state(
    wanted: ExpectedInput,
    store: ReleaseStore,
    *,
    actor: str,
    scheduled: datetime,
    until: str | None,
    number: int,
    seen: str,
) -> Any:
    """Return the state of a run whose input is late, the next look being scheduled; None if it is not late.

    `scheduled` is when the run was first due; `until` when the last look is, `number` which look this is and
    `seen` what the one before saw, as that handed them on. Raises InputError where nothing is waited for:
    outside of a deployment, after the last look, and for an input that was given up before.
    """
    from prefect import runtime
    from prefect.states import Completed

    if wanted.policy.source.wait is None:
        return None
    found = look(wanted, seen)
    if not found.late:
        return None
    deployment = runtime.deployment.id
    if deployment is None:
        raise _late(wanted, found, "Run it again when it is there, or with --wait.")
    if until is None and store.input_given_up(wanted.policy.series, wanted.period):
        raise _late(wanted, found, "It was given up before; run the period again when it is there.")
    deadline = scheduled + timedelta(hours=wanted.wait.hours) if until is None else _moment(until)
    now = utc_now()
    if now >= deadline:
        if until is not None and store.input_given_up(wanted.policy.series, wanted.period):
            message = f"the input of {wanted.period} {found.late}; it was given up by the look before"
            return Completed(message=message)
        raise given_up(wanted, store, found, actor, number, deadline)
    at = min(now + timedelta(minutes=wanted.wait.every_minutes), deadline)
    handed_on = {"wait_until": iso(deadline), "look": number + 1, "seen": found.seen}
    at = _next_looks(wanted, store, str(deployment), at, handed_on)
    message = f"waits for the input of {wanted.period}: {_words(wanted, found, at, deadline)}"
    outcome = Outcome(wanted.policy.series, wanted.period, "waiting_for_input", message=message)
    return Completed(message=message, data=outcome)


def wait_here(
    wanted: ExpectedInput,
    store: ReleaseStore,
    *,
    actor: str,
    say: Callable[[str], None],
    sleep: Any = time.sleep,
) -> None:
    """Look again and again in this process until the file is there. Raises InputError once it is given up."""
    deadline = utc_now() + timedelta(hours=wanted.wait.hours)
    found, number = look(wanted), 1
    while found.late:
        now = utc_now()
        if now >= deadline:
            raise given_up(wanted, store, found, actor, number, deadline)
        at = min(now + timedelta(minutes=wanted.wait.every_minutes), deadline)
        say(f"waits: {_words(wanted, found, at, deadline)}; Ctrl-C ends it")
        while (left := (at - utc_now()).total_seconds()) > 0:
            sleep(min(left, _NAP))
        found, number = look(wanted, found.seen), number + 1


def given_up(
    wanted: ExpectedInput,
    store: ReleaseStore,
    found: InputCheck,
    actor: str,
    n_looks: int,
    deadline: datetime,
) -> InputError:
    """Keep in the audit log that the input of a period is given up, once; return the error to raise."""
    series = wanted.policy.series
    reason = f"the input {found.late}, and was due by {deadline:%Y-%m-%d %H:%M} UTC at the latest"
    if not store.input_given_up(series, wanted.period):
        store.record_missing_input(
            series, wanted.period, reason=reason, n_looks=n_looks, deadline=deadline, actor=actor
        )
    hint = f"It is given up after {n_looks} looks; run the period again when it is there."
    return _late(wanted, found, hint)


def _late(wanted: ExpectedInput, found: InputCheck, hint: str) -> InputError:
    return InputError(found.late, where=str(wanted.path), hint=hint)


def _words(wanted: ExpectedInput, found: InputCheck, at: datetime, deadline: datetime) -> str:
    return (
        f"{wanted.path.name} {found.late}; the next look is at {at:%Y-%m-%d %H:%M:%S} UTC, "
        f"the last at {deadline:%Y-%m-%d %H:%M:%S}"
    )


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None:
            return found
    except ValueError:
        pass
    raise UsageError("is no time", where="wait_until", hint="Leave it out: a run that waits hands it on.")


def _next_looks(
    wanted: ExpectedInput, store: ReleaseStore, deployment: str, at: datetime, handed_on: dict[str, Any]
) -> datetime:
    """Schedule the next look and the one after it, unless two are scheduled; return when the next one is.

    Of two, one that is killed with its worker is followed by the other. Ticks that look at once ask for the
    same runs by the same keys. A run of a key that has ended already, since somebody started the look before
    again, is not a look to come: then one of another key is made.
    """
    from uuid import UUID

    from prefect import runtime
    from prefect.client.orchestration import get_client
    from prefect.client.schemas import filters
    from prefect.client.schemas.objects import StateType
    from prefect.states import Scheduled

    series, period = wanted.policy.series, wanted.period
    tag = f"waits {series}/{period} {store.store_id[:8]}"
    given = {name: value for name, value in runtime.flow_run.parameters.items() if value is not None}
    every = timedelta(minutes=wanted.wait.every_minutes)
    waiting = filters.FlowRunFilter(
        deployment_id=filters.FlowRunFilterDeploymentId(any_=[UUID(deployment)]),
        tags=filters.FlowRunFilterTags(all_=[tag]),
        state=filters.FlowRunFilterState(type=filters.FlowRunFilterStateType(any_=[StateType.SCHEDULED])),
    )
    try:
        with get_client(sync_client=True) as client:
            found = client.read_flow_runs(flow_run_filter=waiting)
            planned = [one.next_scheduled_start_time or at for one in found]
            last = max([handed_on["look"] - 1, *(int(one.parameters.get("look", 0)) for one in found)])
            while len(planned) < 2:
                last += 1
                moment = max([at, *(one + every for one in planned)])
                key = f"{store.store_id}/{series}/{period}/{handed_on['wait_until']}/{last}"
                for name in (key, f"{key}/{runtime.flow_run.id}/{runtime.flow_run.run_count}"):
                    made = client.create_flow_run_from_deployment(
                        UUID(deployment),
                        parameters={**given, "period": period, **handed_on, "look": last},
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
        f"the input is late, and Prefect did not take the next look ({kind})",
        where=f"{series} {period}",
        hint="Look at Prefect's server, and start the run again.",
    )
