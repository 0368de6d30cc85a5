"""A run that stops at one point of its work: `python -m tests.faults.dead_run STORE SERIES POINT`.

Does what a run does under the lock of its series, prints `there` when it is at POINT, and waits to be killed.
Points: `reserved` (an id is given), `written` (the files lie in the candidate's folder), `staged` (the
candidate is kept), `assessed` (its gates are kept).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from release_store.records import CandidateState
from release_store.store import ReleaseStore
from tests.faults import small_work

POINTS = ("reserved", "written", "staged", "assessed")
PERIOD = "2025"


def stop() -> None:
    """Say that the point is reached, and wait to be killed."""
    print("there", flush=True)
    sys.stdin.read()


def main(root: Path, series: str, point: str) -> None:
    """Run up to the point, and stop there."""
    store = ReleaseStore.open(root)

    def stopping(name: str, do: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if name == point:
                stop()
            return do(*arguments, **options)

        return call

    small_work.stage = stopping("reserved", small_work.stage)
    store.add_candidate = stopping("written", store.add_candidate)  # type: ignore[method-assign]
    store.record_gates = stopping("staged", store.record_gates)  # type: ignore[method-assign]
    with store.series_lock(series):
        people = small_work.people_in("ann", "bea")
        record = small_work.staged(store, series, PERIOD, people=people)
        to = CandidateState.APPROVED
        store.record_gates(record.candidate_id, small_work.PASSES, to=to, actor=small_work.MAKER)
        stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
