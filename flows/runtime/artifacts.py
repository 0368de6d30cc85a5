"""Artifacts of a run on Prefect's pages: none of them can fail a release."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any

from prefect.context import FlowRunContext, TaskRunContext

_unreachable: list[str] = []  # why Prefect's server is shown nothing any more by this process


def begin_showing() -> None:
    """Try Prefect's server anew: a run begins."""
    _unreachable.clear()


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
