"""Run the release flow in this process, show how far it is, and bring its outcome home."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from policy.errors import ReleaseGateError, TransientFailure
from release_store.approval.credentials import Credential
from release_store.permission import Act
from services.outcome import Outcome

if TYPE_CHECKING:
    from policy.model import ReleasePolicy
    from policy.trusted import Trusted
    from release_store.store import ReleaseStore


def run_release(
    policy: Path,
    *,
    store: Path,
    period: str | None = None,
    input_path: Path | None = None,
    actor: str | None = None,
    revise: str | None = None,
    credential: Credential | None = None,
    wait: bool = False,
) -> Outcome:
    """Run the flow and return its outcome; raise the error that ended it.

    `credential` proves that `actor` is who runs it, where the store knows its people; no flow is told it.
    With `wait`, an input that is late is first waited for here, as long as the policy says.
    """
    from policy.load import load_policy
    from policy.period import day_at, has_ended, read_period
    from release_store.protocol.canonical import utc_now
    from release_store.store import ReleaseStore
    from services.actor import authenticated_as
    from services.trust import trusted_in

    # What is wrong with the policy or the store is told at once, before Prefect starts.
    trusted = trusted_in(store)
    loaded = load_policy(policy, trusted)
    from tasks.methods.registry import bound_method

    bound_method(loaded, str(policy))
    opened = ReleaseStore.open(store)
    if period is not None:
        has_ended(read_period(period, loaded.period), loaded.period, day_at(utc_now(), loaded.timezone))
    act = Act.REVISE if revise else Act.PREPARE
    if wait:
        from services.observability.notices import notify_on_exit

        with (
            notify_on_exit(store),
            authenticated_as(opened, act, actor, credential),
        ):  # told before the wait, not after
            period = _waited_for(loaded, opened, policy, period, input_path, actor, revise, trusted)

    def begin() -> Any:
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
        return _outcome_of(begin)


def _waited_for(
    policy: ReleasePolicy,
    store: ReleaseStore,
    file: Path,
    period: str | None,
    input_path: Path | None,
    actor: str | None,
    revise: str | None,
    trusted: Trusted,
) -> str:
    """Wait for the input of a period that is to be released, and return the period: it does not move on."""
    from policy.period import day_at, period_at, read_period
    from release_store.names import check_period
    from release_store.protocol.canonical import utc_now
    from services.actor import runner
    from services.awaited_input import ExpectedInput, wait_here

    if period is None:
        chosen = period_at(policy.period, day_at(utc_now(), policy.timezone))
    else:
        chosen = read_period(period, policy.period)
    check_period(chosen)
    if revise is None and store.last_release_of(policy.series, chosen) is not None:
        return chosen  # it will be left alone
    wanted = ExpectedInput(policy, chosen, input_path, file.resolve().parent, trusted)

    def say(line: str) -> None:
        print(f"  {line}", file=sys.stderr, flush=True)

    who = runner(store, Act.REVISE if revise else Act.PREPARE, actor)
    wait_here(wanted, store, actor=who.name, say=say)
    return chosen


def run_rejudge(
    candidate: str,
    *,
    store: Path,
    input_path: Path | None,
    actor: str | None,
    credential: Credential | None = None,
) -> Outcome:
    """Run the flow that judges a candidate again, as `run_release` does the other."""
    from release_store.store import ReleaseStore
    from services.actor import authenticated_as

    opened = ReleaseStore.open(store)
    opened.candidate(candidate)

    def begin() -> Any:
        from flows.rejudge import rejudge

        return rejudge(
            candidate=candidate,
            input_path=str(input_path) if input_path else None,
            store=str(store),
            actor=actor,
            return_state=True,
        )

    with authenticated_as(opened, Act.REJUDGE, actor, credential):
        return _outcome_of(begin)


def _outcome_of(begin: Callable[[], Any]) -> Outcome:
    with progress_reporter() as words:
        words(0.0, "starting Prefect")
        from prefect.settings import PREFECT_API_URL

        from flows.runtime.prefect_runtime import watched_by
        from flows.runtime.temporary_server import agree_on_password
        from flows.runtime.watcher import watch_temporary_server

        if not PREFECT_API_URL.value():
            watch_temporary_server()
            agree_on_password()
        with watched_by(words):
            result = _result_of(begin)
    if isinstance(result, Outcome):
        return result
    if isinstance(result, ReleaseGateError):
        raise result
    raise ReleaseGateError(f"the flow ended without an outcome ({type(result).__name__})")


def _result_of(begin: Callable[[], Any]) -> object:
    """Carry out a flow; where Prefect's server goes away, what the flow itself came to is what counts."""
    from flows.runtime.last_end import forget, last_end

    forget()
    try:
        state: Any = begin()
        return state.result(raise_on_failure=False)
    except ReleaseGateError:
        raise
    except Exception as error:  # Prefect's client: its errors have no common base
        kind, found = type(error).__name__, last_end()
    if found is None:
        raise TransientFailure(
            f"Prefect's server went away before the run had ended ({kind})",
            hint="Run it again: what it left in the store, the next run or `releasegate doctor` settles.",
        )
    print(f"Prefect's server went away ({kind}), and does not know how the run ended:", file=sys.stderr)
    return found


@contextmanager
def progress_reporter() -> Iterator[Callable[[float, str], None]]:
    """Show the stages on a terminal as a moving bar, elsewhere as one line a stage."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _line_teller()
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=1.0)

        def tell(share: float, words: str) -> None:
            bar.update(task, description=words, completed=share)

        yield tell


def _line_teller() -> Callable[[float, str], None]:
    last = ""

    def tell(_share: float, words: str) -> None:
        nonlocal last
        stage = words.partition(":")[0]
        if stage != last:
            last = stage
            print(f"  {stage} ...", file=sys.stderr, flush=True)

    return tell
