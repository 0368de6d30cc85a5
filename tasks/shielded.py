"""Prefect tasks that let nothing of the data out: no persisted result, no cache, no foreign exception.

An unforeseen exception can carry rows in its message, its attributes or its cause. Here it is
replaced by one of ours, raised after the `except` has ended so that nothing is chained to it.
"""

from __future__ import annotations

import errno
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, ParamSpec, TypeVar, cast

import duckdb
from prefect import task
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.cache_policies import NO_CACHE
from prefect.context import FlowRunContext, TaskRunContext

from policy.errors import ReleaseGateError, StoreError, TransientFailure
from policy.fault import place
from tasks.types import Progress

P = ParamSpec("P")
R = TypeVar("R")

_watchers: list[Progress] = []
_unreachable: list[str] = []  # why Prefect's server is shown nothing any more by this process


def stage(name: str, *, retries: int = 0) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function a Prefect task called `name`. Only errors that pass by themselves are worth retries."""

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        shielded_function = sanitize_errors(function, f"the stage '{name}'")
        made: Any = task(
            name=name,
            retries=retries,
            retry_delay_seconds=2,
            retry_condition_fn=_may_pass,
            persist_result=False,
            cache_policy=NO_CACHE,
        )(shielded_function)
        return cast(Callable[P, R], made)

    return wrap


def _may_pass(_task: Any, _run: Any, state: Any) -> bool:
    """Retry what the system or another process refused; never a bad table, a failed gate or our own fault."""
    return isinstance(state.result(raise_on_failure=False), TransientFailure | StoreError)


def sanitize_errors(function: Callable[P, R], what: str) -> Callable[P, R]:
    """Replace any exception but ours by one that tells its kind and the place in our code, and no more."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except ReleaseGateError as error:
            failure = type(error)(error.message, where=error.where, hint=error.hint)
        except (OSError, duckdb.IOException, duckdb.OutOfMemoryException, MemoryError) as error:
            failure = TransientFailure(
                f"{what} was refused by the system ({_system_word(error)} at {place(error)})",
                hint="Look at disk space, memory, rights and the network, and run it again.",
            )
        except Exception as error:  # nothing foreign may pass
            failure = ReleaseGateError(
                f"{what} broke ({type(error).__name__} at {place(error)})",
                hint="This is a fault of releasegate: please report it with this line.",
            )
        raise failure

    return call


def _system_word(error: BaseException) -> str:
    """Return the system's name for the error; its text can name files, so it is left out."""
    number = error.errno if isinstance(error, OSError) else None
    return errno.errorcode.get(number or 0, type(error).__name__)


@contextmanager
def watched_by(watcher: Progress) -> Iterator[None]:
    """Tell `watcher` of every stage's progress in this process while the block runs."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def tell_watchers(share: float, words: str) -> None:
    """Tell whoever watches in this process how far the work is."""
    for watcher in _watchers:
        watcher(share, words)


@contextmanager
def progress(stage_name: str) -> Iterator[Progress]:
    """Give a stage its progress: an artifact in Prefect, in steps of a tenth, and whoever watches here."""
    artifact = try_publish_artifact(create_progress_artifact, progress=0.0, description=stage_name)
    told = 0.0

    def tell(share: float, words: str) -> None:
        nonlocal told
        tell_watchers(share, f"{stage_name}: {words}")
        if share - told >= 0.1:
            told = share
            _update(artifact, round(100 * share, 1))

    yield tell
    _update(artifact, 100.0)


def begin_showing() -> None:
    """Try Prefect's server anew: a run begins."""
    _unreachable.clear()


def _update(artifact: Any, percent: float) -> None:
    if artifact is not None:
        try_publish_artifact(update_progress_artifact, artifact, progress=percent)


def try_publish_artifact(show: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Show something in Prefect; None where its server is not there, which is no reason to fail a release.

    Outside a run there is nothing to show it in. The first call of a run that fails is its last: each would
    wait for the server as long as the client does.
    """
    if _unreachable or (FlowRunContext.get() is None and TaskRunContext.get() is None):
        return None
    try:
        return show(*args, **kwargs)
    except Exception as error:  # Prefect's client: its errors have no common base
        _unreachable.append(type(error).__name__)
        return None


def artifact_key(kind: str, series: str) -> str:
    """Return the key of a series' artifact of a kind, such as `verdict-clinic`.

    Prefect takes small letters, digits and dashes alone; a series whose name has others gets the beginning
    of the name's digest besides, since `A_b` and `a-b` are two series.
    """
    plain = series.lower().replace("_", "-")
    beside = "" if plain == series else f"-{sha256(series.encode()).hexdigest()[:8]}"
    return f"{kind}-{plain}{beside}"
