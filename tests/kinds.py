"""The kinds of tests and their rules: which a test is of, and how long one of the fast kind may take.

The folder of a test says of which kind it is, unless a mark names another. Those of `unit` and `spec` are
fast: at most 2 CPU seconds for its body. `make test` fails one that takes over five times that, since other
processes may share its core and cache, and more on a processor that is slower now.
"""

from __future__ import annotations

import importlib
import os
import resource
import time
import warnings
from collections.abc import Callable, Iterator

import pytest

KINDS = ("integration", "prefect", "faults", "browser", "e2e", "nightly")  # folders too
ENEMIES = (
    "policy author",
    "data supplier",
    "owner of the folder",  # in which a command starts, or in which the policy lies
    "steward",
    "approver",
    "administrator",
    "operator",
    "auditor",
    "reader",  # of the public files
    "store writer",  # who can alter the store's files, and has no key
    "other account",  # of the machine
    "node of the cluster",  # a Dask scheduler or worker
    "server of a table",  # Postgres or S3
)
GAINS = (
    "runs code",
    "reads a file",
    "writes a file",
    "gains a role",
    "forges a word",  # an approval, a release, an entry of the log
    "publishes a person",  # an identifier, a key, or a value that is tied to a person
    "learns a value",
    "changes history",
    "stops the work",  # takes all memory, time or room, or ends in a traceback
)
LIMIT_VARIABLE = "RELEASEGATE_TEST_CPU_SECONDS"
# How much longer work takes where other processes share the core and the cache, which `_work` does not show.
# Measured: a test of 2.6 CPU seconds took 4.5 in a whole run. A release of 75 CPU seconds took 195 on a
# machine where `_work` took no longer.
SHARED = 5.0
REFERENCE_SECONDS = 0.1  # measured: 0.07 to 0.13 on two cores, idle and busy
_HEAVY = ("great_expectations", "prefect.flows", "torch", "sklearn.cluster", "altair")


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of the children that it has waited for."""
    own, children = (resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def kinds_of(item: pytest.Item) -> list[str]:
    """Return the marks of a test that are kinds; a fast one has none."""
    return [kind for kind in KINDS if item.get_closest_marker(kind)]


def leave_to_the_night(items: list[pytest.Item]) -> None:
    """Mark as nightly what a test's parameters make beyond those that `by_day(n)` asks for, evenly spread."""
    several: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("by_day"):
            several.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for each in several.values():
        ((n,),) = {mark.args for item in each for mark in item.iter_markers("by_day")}
        by_day = {i * len(each) // n for i in range(n)}
        for place, item in enumerate(each):
            if place not in by_day:
                item.own_markers = [mark for mark in item.own_markers if mark.name not in KINDS]
                item.add_marker("nightly")


def limit_of_environment() -> float | None:
    """Return the limit for fast tests, or None where none is set."""
    given = os.environ.get(LIMIT_VARIABLE)
    return float(given) if given else None


def _work() -> float:
    """Return the CPU seconds of some fixed work."""
    begun = time.process_time()
    total = 0
    for i in range(1_000_000):
        total += i * i % 7
    return time.process_time() - begun


def slowness() -> float:
    """Return how many times as long as there and then the processor takes here and now, 1 at least."""
    return max(1.0, sorted(_work() for _ in range(3))[1] / REFERENCE_SECONDS)


class Rules:
    """The plugin that holds tests to the rules of their kinds; without a limit, none is too long."""

    def __init__(self, limit: float | None, slowness: Callable[[], float] = slowness) -> None:
        self.limit, self.slowness = limit, slowness

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Mark each test with its folder's kind, unless it has one.

        Refuse a test of two kinds, and an enemy or a gain that docs/security.md has no place for.
        """
        leave_to_the_night(items)
        for item in items:
            folder = item.path.parent.name
            if folder in KINDS and not kinds_of(item):
                item.add_marker(folder)
            if len(found := kinds_of(item)) > 1:
                raise pytest.UsageError(f"{item.nodeid} is of {len(found)} kinds: {', '.join(found)}")
            for mark in item.iter_markers("enemy"):
                if len(mark.args) != 2 or mark.args[0] not in ENEMIES or mark.args[1] not in GAINS:
                    raise pytest.UsageError(f"{item.nodeid} has no enemy of tests/kinds.py: {mark.args}")

    def pytest_sessionstart(self) -> None:
        """Import what takes seconds before any test, so that no test is charged for it."""
        if self.limit is not None and "PYTEST_XDIST_WORKER" in os.environ:
            with warnings.catch_warnings(action="ignore"):
                for name in _HEAVY:
                    importlib.import_module(name)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Fail a fast test whose body took longer than the limit."""
        begun = cpu_seconds()
        yield
        if self.limit is None or kinds_of(item):
            return
        used = cpu_seconds() - begun
        if used > self.limit and used > (now := self.limit * SHARED * self.slowness()):
            pytest.fail(
                f"took {used:.1f} CPU seconds; a fast test may take {now:.1f} here and now. "
                f"Make it cheaper, or mark it as one of {', '.join(KINDS)}.",
                pytrace=False,
            )
