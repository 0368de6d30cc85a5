"""How the last flow of this process ended, for when Prefect's server is not there to be told."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec

from prefect.client.schemas.objects import State

from flows.runtime.artifacts import begin_showing
from policy.errors import ReleaseGateError
from services.outcome import Outcome

P = ParamSpec("P")

_ends: list[Outcome | ReleaseGateError] = []


def remember_result(function: Callable[P, State[Outcome]]) -> Callable[P, State[Outcome]]:
    """Keep what a flow's function returns or raises, beside letting Prefect have it."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> State[Outcome]:
        _ends.clear()
        begin_showing()
        try:
            state = function(*args, **kwargs)
        except ReleaseGateError as error:
            _ends.append(error)
            raise
        data = state.data
        if isinstance(data, Outcome):
            _ends.append(data)
        return state

    return call


def clear_last_result() -> None:
    """Keep nothing of earlier flows."""
    _ends.clear()


def last_result() -> Outcome | ReleaseGateError | None:
    """Return how the last flow of this process ended, or None if none did."""
    return _ends[-1] if _ends else None
