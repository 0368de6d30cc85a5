"""Run a release in this process: as a flow where a Prefect server is named, else without Prefect."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from policy.errors import ReleaseGateError, TransientFailure, UsageError
from policy.location import Location
from policy.model import ReleasePolicy
from policy.period import current_period, day_at, has_ended, read_period
from policy.trusted import Trusted
from release_store.approval.credentials import Credential
from release_store.canonical import utc_now
from release_store.names import check_period
from release_store.permission import Act
from release_store.store import ReleaseStore
from services.actor import authenticated_as, resolve_actor
from services.awaited_input import ExpectedInput, wait_here
from services.checking.before_work import raise_and_record
from services.checking.sources import check_sources, checked_policy
from services.observability.notice_channels import API_VARIABLE
from services.observability.notice_delivery import notify_on_exit
from services.outcome import Outcome
from services.prefect_extra import INSTALL, MISSING, prefect_is_installed
from services.runtime import Runtime
from services.sanitized import sanitize_errors
from services.trust import trusted_in
from tasks.types import Progress, no_progress


def run_release(
    policy: Path,
    *,
    store: Path,
    period: str | None = None,
    input_path: Location | None = None,
    actor: str | None = None,
    revise: str | None = None,
    credential: Credential | None = None,
    wait: bool = False,
    progress: Progress = no_progress,
) -> Outcome:
    """Release a period and return its outcome; raise the error that ended it.

    `credential` proves that `actor` is who runs it, where the store knows its people; no flow is told it.
    With `wait`, an input that is late is first waited for here, as long as the policy says.
    """
    # What is wrong with the policy, the store or the files is told at once, before the stages and Prefect are
    # imported, which takes seconds.
    trusted = trusted_in(store)
    loaded = checked_policy(policy, trusted)
    opened = ReleaseStore.open_to_work(store)
    if period is not None:
        has_ended(read_period(period, loaded.period), loaded.period, day_at(utc_now(), loaded.timezone))
    act = Act.REVISE if revise else Act.PREPARE
    if wait:
        with (
            notify_on_exit(store),
            authenticated_as(opened, act, actor, credential),
        ):  # told before the wait, not after
            period = _waited_for(loaded, opened, policy, period, input_path, actor, revise, trusted)

    def here() -> Outcome:
        from services.release import release as service_release

        return service_release(
            policy,
            store=store,
            period=period,
            input_path=input_path,
            actor=actor,
            revise=revise,
            runtime=Runtime(progress),
        )

    def as_flow() -> Any:
        from flows.release import release

        return release(
            policy=str(policy),
            period=period,
            input_path=str(input_path) if input_path else None,
            store=str(store),
            actor=actor,
            revise=revise,
            return_state=True,
        )

    with authenticated_as(opened, act, actor, credential):
        _check_files(loaded, opened, policy, period, input_path, actor, revise, trusted)
        if not server_is_named():
            return sanitize_errors(here, "the run")()
        return _on_server(as_flow, progress)


def _check_files(
    policy: ReleasePolicy,
    store: ReleaseStore,
    file: Path,
    period: str | None,
    input_path: Location | None,
    actor: str | None,
    revise: str | None,
    trusted: Trusted,
) -> None:
    """Raise the error with which a run would end because of its files; it is observed as one of a run.

    A period that is to be left alone needs no file, and one whose input may come late is not yet looked at.
    """
    chosen = current_period(policy.period, policy.timezone, period, utc_now())
    check_period(chosen)
    if policy.source.wait is not None or (revise is None and store.last_release_of(policy.series, chosen)):
        return
    who = resolve_actor(store, Act.REVISE if revise else Act.PREPARE, actor)
    base = file.resolve().parent
    found = check_sources(policy, input_path=input_path, period=chosen, base=base, trusted=trusted)
    if found.errors:
        from services.observability.observation import Observation

        with notify_on_exit(store.root), Observation("release", policy, store, chosen, Runtime()):
            raise_and_record(found, policy, store, chosen, who.name)


def _waited_for(
    policy: ReleasePolicy,
    store: ReleaseStore,
    file: Path,
    period: str | None,
    input_path: Location | None,
    actor: str | None,
    revise: str | None,
    trusted: Trusted,
) -> str:
    """Wait for the input of a period that is to be released, and return the period: it does not move on."""
    chosen = current_period(policy.period, policy.timezone, period, utc_now())
    check_period(chosen)
    if revise is None and store.last_release_of(policy.series, chosen) is not None:
        return chosen  # it will be left alone
    expected = ExpectedInput(policy, chosen, input_path, file.resolve().parent, trusted)

    def say(line: str) -> None:
        print(f"  {line}", file=sys.stderr, flush=True)

    who = resolve_actor(store, Act.REVISE if revise else Act.PREPARE, actor)
    wait_here(expected, store, actor=who.name, say=say)
    return chosen


def run_rejudge(
    candidate: str,
    *,
    store: Path,
    input_path: Location | None,
    actor: str | None,
    credential: Credential | None = None,
    progress: Progress = no_progress,
) -> Outcome:
    """Assess a candidate again, as `run_release` releases a period."""
    opened = ReleaseStore.open_to_work(store)
    opened.candidate(candidate)

    def here() -> Outcome:
        from services.rejudge import rejudge as service_rejudge

        return service_rejudge(
            candidate, store=store, input_path=input_path, actor=actor, runtime=Runtime(progress)
        )

    def as_flow() -> Any:
        from flows.rejudge import rejudge

        return rejudge(
            candidate=candidate,
            input_path=str(input_path) if input_path else None,
            store=str(store),
            actor=actor,
            return_state=True,
        )

    with authenticated_as(opened, Act.REJUDGE, actor, credential):
        if not server_is_named():
            return sanitize_errors(here, "the run")()
        return _on_server(as_flow, progress)


def server_is_named() -> bool:
    """Tell whether the environment or a profile of Prefect names a server.

    Prefect is imported only to read a profile: where it is not installed, none counts. Raises UsageError
    where the environment names a server, and Prefect is not installed.
    """
    installed = prefect_is_installed()
    if os.environ.get(API_VARIABLE):
        if not installed:
            raise UsageError(MISSING, where=API_VARIABLE, hint=INSTALL)
        return True
    home = os.environ.get("PREFECT_HOME") or Path.home() / ".prefect"
    profiles = Path(os.environ.get("PREFECT_PROFILES_PATH") or Path(home) / "profiles.toml")
    if not installed or ("prefect.settings" not in sys.modules and not profiles.is_file()):
        return False
    from prefect.settings import PREFECT_API_URL

    return bool(PREFECT_API_URL.value())


def _on_server(begin: Callable[[], Any], progress: Progress) -> Outcome:
    """Carry out a flow on the server that is named, if it is there."""
    progress(0.0, "starting Prefect")
    from flows.runtime.server_check import check_server

    check_server()
    return _outcome_of(begin, progress)


def _outcome_of(begin: Callable[[], Any], progress: Progress) -> Outcome:
    from flows.runtime.prefect_runtime import watched_by

    with watched_by(progress):
        result = _result_of(begin)
    if isinstance(result, Outcome):
        return result
    if isinstance(result, ReleaseGateError):
        raise result
    raise ReleaseGateError(f"the flow ended without an outcome ({type(result).__name__})")


def _result_of(begin: Callable[[], Any]) -> object:
    """Carry out a flow; where Prefect's server goes away, what the flow itself came to is what counts."""
    from flows.runtime.last_result import clear_last_result, last_result

    clear_last_result()
    try:
        state: Any = begin()
        return state.result(raise_on_failure=False)
    except ReleaseGateError:
        raise
    except Exception as error:  # Prefect's client: its errors have no common base
        kind, found = type(error).__name__, last_result()
    if found is None:
        raise TransientFailure(
            f"the connection to Prefect's server was lost before the run ended ({kind})",
            hint="Run it again: the next run, or `releasegate doctor`, completes what it left in the store.",
        )
    print(
        f"The connection to Prefect's server was lost ({kind}); the run ended here as follows:",
        file=sys.stderr,
    )
    return found
