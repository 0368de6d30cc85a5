"""How the last flow of this process ended, for when Prefect's server is not there to be told."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

from policy.errors import ReleaseGateError
from services.outcome import Outcome
from tasks.shielded import begin_showing

P = ParamSpec("P")

_ends: list[Outcome | ReleaseGateError] = []


def remember_result(function: Callable[P, Any]) -> Callable[P, Any]:
    """Keep what a flow's function returns or raises, beside letting Prefect have it."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        _ends.clear()
        begin_showing()
        try:
            state = function(*args, **kwargs)
        except ReleaseGateError as error:
            _ends.append(error)
            raise
        if isinstance(getattr(state, "data", None), Outcome):
            _ends.append(state.data)
        return state

    return call


def forget() -> None:
    """Keep nothing of earlier flows."""
    _ends.clear()


def last_end() -> Outcome | ReleaseGateError | None:
    """Return how the last flow of this process ended, or None if none did."""
    return _ends[-1] if _ends else None
