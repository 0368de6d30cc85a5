"""How good a trial is for a goal: the policy's gates first, then the limits, then the objective."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from release_store.records import GateResult, Verdict
from services.evaluation.run import Value
from services.evaluation.search.goal import Goal, GoalLimit
from services.evaluation.search.strategy import Score


@dataclass(frozen=True)
class TableRun:
    """What a trial came to on one table with one seed: figures by name and what the gates said of the rows,
    or the `finding` that ended it.
    """

    period: str
    seed: int
    finding: str = ""
    figures: dict[str, Value] = field(default_factory=dict)
    gates: tuple[GateResult, ...] = ()
    cpu_seconds: float = 0.0


class Standing(IntEnum):
    """How far a trial came; less is better, and only `MET` can win."""

    MET = 0
    OVER_LIMITS = 1
    BLOCKED = 2  # by a gate of the policy
    NO_FIGURE = 3  # a measure of the goal has no meaning there
    FAILED = 4


@dataclass(frozen=True)
class Ranked:
    """A trial beside its goal: the worst value for each limit, and the mean of the objective."""

    standing: Standing
    objective: float | None
    worst: dict[GoalLimit, float]
    failing: tuple[str, ...]  # names of gates
    score: Score

    @property
    def beyond(self) -> dict[GoalLimit, float]:
        """The limits that are not kept, and how far the worst value is beyond each."""
        excess = {limit: limit.excess(value) for limit, value in self.worst.items()}
        return {limit: by for limit, by in excess.items() if by}


def ranked(goal: Goal, runs: Sequence[TableRun]) -> Ranked:
    """Rank a trial by its runs on all tables.

    The score is the standing; then how far limits and gates are exceeded, each relative to its bound, added
    up; then the objective.
    """
    failing = [gate for run in runs for gate in run.gates if gate.verdict is not Verdict.PASS]
    names = tuple(dict.fromkeys(gate.gate for gate in failing))
    if not runs or any(run.finding for run in runs):
        return Ranked(Standing.FAILED, None, {}, names, (Standing.FAILED,))
    values = {name: [run.figures.get(name) for run in runs] for name in goal.figures}
    known = {name: [float(one) for one in each if one is not None] for name, each in values.items()}
    if any(len(known[name]) < len(runs) for name in known):
        return Ranked(Standing.NO_FIGURE, None, {}, names, (Standing.NO_FIGURE,))
    objective = float(np.mean(known[goal.measure]))
    worst = {limit: limit.worst(known[limit.measure]) for limit in goal.limits}
    over = sum(_relative(limit.excess(value), limit.bound) for limit, value in worst.items())
    standing = Standing.BLOCKED if failing else Standing.OVER_LIMITS if over else Standing.MET
    exceeded = over + sum(map(_excess, failing))
    score = (standing, exceeded, objective if goal.lowest else -objective)
    return Ranked(standing, objective, worst, names, score)


def _excess(gate: GateResult) -> float:
    """Return how far a gate's value is beyond its limit, relative to that; 1 where it measured nothing."""
    if gate.value is None or gate.threshold is None or not math.isfinite(gate.value):
        return 1.0
    return _relative(abs(gate.value - gate.threshold), gate.threshold)


def _relative(excess: float, bound: float) -> float:
    return excess / abs(bound) if bound else excess


def front(goal: Goal, trials: Sequence[Ranked]) -> list[int]:
    """Return the places of the trials that no other one beats, by their objective. O(n^2).

    Those that the gates let pass are compared by the objective and by the measure of each limit. One is
    beaten by another that is no worse in any and better in one; of equal ones the first is returned.
    """
    points = {
        place: (
            one.objective if goal.lowest else -one.objective,
            *(value if limit.relation == "<=" else -value for limit, value in one.worst.items()),
        )
        for place, one in enumerate(trials)
        if one.standing <= Standing.OVER_LIMITS and one.objective is not None
    }
    kept = [
        place
        for place, point in points.items()
        if not any(
            (other != point or at < place) and all(a <= b for a, b in zip(other, point, strict=True))
            for at, other in points.items()
            if at != place
        )
    ]
    return sorted(kept, key=lambda place: points[place])
