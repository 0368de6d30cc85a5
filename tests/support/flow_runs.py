"""Fixtures of folders whose tests call flows and commands: flows are plain functions, and waits are long."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.plain_prefect import plain_prefect
from tests.support.timeouts import HANG_TIMEOUT

LIMITS = (
    "services.observability.notice_channels.TIMEOUT",
    "services.observability.notice_delivery._PATIENCE",
    "services.observability.lineage._LIMIT",
    "services.doctor.server._TIMEOUT",
)


@pytest.fixture(autouse=True)
def flows_in_process(request: pytest.FixtureRequest) -> Iterator[None]:
    """Call flows as plain functions, but in tests marked `prefect`."""
    if request.node.get_closest_marker("prefect"):
        yield
    else:
        with plain_prefect():
            yield


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let receivers and servers take as long as a busy machine does; a test of a limit sets its own."""
    for limit in LIMITS:
        monkeypatch.setattr(limit, HANG_TIMEOUT)
