"""How far a run is: the number of its step among all that it will take, and about how long it still takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from time import monotonic

from release_store.records import AuditEvent, CandidateRecord
from release_store.store import ReleaseStore

Clock = Callable[[], float]

WHOLE = ("representation", "partitioning", "aggregation")
FRAGMENTS = "fragments"  # takes the place of the three for a large table
JUDGING = ("figures", "risk gate")
AFTER = ("report", "publication")
BEFORE = ("intake", "validation")
MOST_LOOKED_AT = 3  # candidates, newest first
_STEP = 5  # seconds that an estimate is rounded to
_IN_SECONDS = 90.0


@dataclass(frozen=True)
class Pace:
    """How many seconds an earlier run of `rows` rows took from the valid table to the staged files, and from
    there until all gates had been asked.
    """

    rows: int
    making: float
    judging: float


class Steps:
    """The steps of one run by their stages' names, and its place among them.

    `rows` is how many rows the table has, None until it was read. Without it, or without an earlier run,
    there is no estimate.
    """

    def __init__(self, names: Sequence[str], pace: Pace | None = None, clock: Clock = monotonic) -> None:
        self.names = tuple(names)
        self.pace = pace
        self.rows: int | None = None
        self._planned, self._clock = self.names, clock
        self._begun: dict[bool, float] = {}  # by whether the gates' part has begun

    def begin(self, name: str) -> str:
        """Begin a step; return its place and an estimate: "step 4 of 12, about 40 s left".

        Empty for a stage that is none of the steps.
        """
        if name == FRAGMENTS and name not in self.names:
            first = self.names.index(WHOLE[0])
            self.names = (*self.names[:first], FRAGMENTS, *self.names[first + len(WHOLE) :])
        elif name in WHOLE and name in self._planned:  # fragments may have been tried, and given nothing
            self.names = self._planned
        if name not in self.names:
            return ""
        place = f"step {self.names.index(name) + 1} of {len(self.names)}"
        left = self._left(name)
        return place if left is None else f"{place}, about {_duration(left)} left"

    def _left(self, name: str) -> float | None:
        """Return how many seconds it is until all gates were asked, None where nothing tells it."""
        if name in (*BEFORE, *AFTER):
            return None
        judging, now = name in JUDGING, self._clock()
        begun = self._begun.setdefault(judging, now)
        if self.pace is None or self.rows is None:
            return None
        expected = self.pace.judging + (0.0 if judging else self.pace.making)
        left = expected * self.rows / self.pace.rows - (now - begun)
        return left if left > 0 else None


def _duration(seconds: float) -> str:
    if seconds < _IN_SECONDS:
        return f"{ceil(seconds / _STEP) * _STEP} s"
    return f"{ceil(seconds / 60)} min"


def pace_of(store: ReleaseStore, series: str) -> Pace | None:
    """Return the pace of a recent run of a series whose gates were asked, by the times in the audit log."""
    for record in store.candidates(series)[: -MOST_LOOKED_AT - 1 : -1]:
        period = f"{record.series}/{record.period}"
        found = _pace(record, store.events_about(record.candidate_id, period), period)
        if found is not None:
            return found
    return None


def _pace(record: CandidateRecord, events: Sequence[AuditEvent], period: str) -> Pace | None:
    """Return the pace of one candidate; None where it was assessed again, or the log lacks an event of it."""
    rows, own = record.summary.n_source, record.candidate_id
    times = {event.action: _seconds(event.at) for event in events if event.object == own}
    staged, assessed = times.get("candidate.staged"), times.get("candidate.assessed")
    if staged is None or assessed is None or not rows or record.summary.reassessment is not None:
        return None
    validated = [
        _seconds(event.at)
        for event in events
        if event.object == period and event.action == "input.validated" and _seconds(event.at) <= staged
    ]
    return Pace(rows, staged - max(validated), assessed - staged) if validated else None


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()
