"""One of several processes that publish to one store.

    python -m tests.faults.crowd STORE NUMBER OF PERIODS

Does every attempt at the first PERIODS whose number is NUMBER modulo OF, and prints one JSON line for each:
what was published, or why not. Each prepares a candidate of its own; of two judged at the same history head,
one is refused.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from policy.errors import ReleaseGateError
from release_store.db import connection
from release_store.store import ReleaseStore
from tests.faults.small_work import assessed, published
from tests.support.timeouts import HANG_TIMEOUT

SERIES = ("east", "north", "south", "west")
PERIODS = tuple(f"{2010 + n}" for n in range(10))


def attempts(n_periods: int) -> list[tuple[str, str]]:
    """Return two attempts at each release of some periods in four series, in the order of their beginning."""
    return [(series, period) for period in PERIODS[:n_periods] for series in SERIES for _ in range(2)]


def attempt(store: ReleaseStore, series: str, period: str) -> dict[str, str | None]:
    """Prepare, judge and publish one period, and tell how it ended."""
    record = assessed(store, series, period)
    told: dict[str, str | None] = {"candidate": record.candidate_id, "head": record.history_head}
    try:
        return {**told, "release": published(store, record.candidate_id).release_id, "refused": None}
    except ReleaseGateError as error:
        return {**told, "release": None, "refused": error.message}


def main(root: Path, number: int, of: int, n_periods: int) -> None:
    """Carry out this process's share of the attempts."""
    connection.LOCK_TIMEOUT = HANG_TIMEOUT
    store = ReleaseStore.open(root)
    print("ready", flush=True)
    sys.stdin.readline()  # all begin at once
    for series, period in attempts(n_periods)[number::of]:
        print(json.dumps(attempt(store, series, period)), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
