"""Flows and tasks as plain functions: what a flow does is tested in process, without Prefect's server.

Prefect's own part - states kept on a server, retries after a time, artifacts, schedules - is what the tests
marked `prefect` are for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from prefect import Flow, Task
from prefect.states import Failed, State


def call_flow(flow: Flow[Any, Any], *args: Any, return_state: bool = False, **kwargs: Any) -> Any:
    """Call a flow's function with parameters that Prefect would take, and return its state or raise."""
    parameters = flow.validate_parameters(flow_parameters(flow, args, kwargs))
    try:
        result = flow.fn(**parameters)
    except Exception as error:
        if not return_state:
            raise
        return Failed(message=type(error).__name__, data=error)
    assert isinstance(result, State), "each of our flows returns a state"
    return result if return_state else result.data


def flow_parameters(flow: Flow[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return all parameters of a call by their names, those left out with their defaults."""
    from prefect.utilities.callables import get_call_parameters

    found: dict[str, Any] = get_call_parameters(flow.fn, args, kwargs)
    return found


def call_task(task: Task[Any, Any], *args: Any, **kwargs: Any) -> Any:
    """Call a task's function, again at once where Prefect would retry it after a time."""
    for left in range(task.retries, -1, -1):
        try:
            return task.fn(*args, **kwargs)
        except Exception as error:
            again = task.retry_condition_fn
            if not left or again is None or not again(task, None, Failed(data=error)):
                raise
    raise AssertionError("a task has one try at least")


@contextmanager
def plain_prefect() -> Iterator[None]:
    """Call flows and tasks as plain functions while the block runs; no server is begun or asked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Flow, "__call__", call_flow)
        patch.setattr(Task, "__call__", call_task)
        patch.setattr("services.runtime.RETRY_SECONDS", 0)
        yield
