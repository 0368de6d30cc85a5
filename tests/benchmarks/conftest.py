"""What the benchmarks import at their first measurement is no test's own time."""

from __future__ import annotations

import pytest

from benchmarks import scale


@pytest.fixture(scope="session", autouse=True)
def libraries() -> None:
    scale._load_libraries()
