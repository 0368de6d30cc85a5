"""Run the release flow in this process, show how far it is, and bring its outcome home."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from flows.outcome import Outcome
from policy.errors import ReleaseGateError
from release_store.credentials import Credential
from release_store.permission import Act


def run_release(
    policy: Path,
    *,
    store: Path,
    period: str | None = None,
    input_path: Path | None = None,
    actor: str | None = None,
    revise: str | None = None,
    credential: Credential | None = None,
) -> Outcome:
    """Run the flow and return its outcome; raise the error that ended it.

    `credential` proves that `actor` is who runs it, where the store knows its people; no flow is told it.
    """
    from flows.actor import acting
    from policy.load import load_policy
    from release_store.store import ReleaseStore

    # What is wrong with the policy or the store is told at once, before Prefect starts.
    loaded = load_policy(policy)
    from tasks.methods.registry import bound_method

    bound_method(loaded, str(policy))
    opened = ReleaseStore.open(store)

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

    with acting(opened, Act.REVISE if revise else Act.PREPARE, actor, credential):
        return _outcome_of(begin)


def run_rejudge(
    candidate: str,
    *,
    store: Path,
    input_path: Path | None,
    actor: str | None,
    credential: Credential | None = None,
) -> Outcome:
    """Run the flow that judges a candidate again, as `run_release` does the other."""
    from flows.actor import acting
    from release_store.store import ReleaseStore

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

    with acting(opened, Act.REJUDGE, actor, credential):
        return _outcome_of(begin)


def _outcome_of(begin: Callable[[], Any]) -> Outcome:
    with told() as words:
        words(0.0, "starting Prefect")
        from tasks.shielded import watched_by

        with watched_by(words):
            state: Any = begin()
        result = state.result(raise_on_failure=False)
    if isinstance(result, Outcome):
        return result
    if isinstance(result, ReleaseGateError):
        raise result
    raise ReleaseGateError(f"the flow ended without an outcome ({type(result).__name__})")


@contextmanager
def told() -> Iterator[Callable[[float, str], None]]:
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
