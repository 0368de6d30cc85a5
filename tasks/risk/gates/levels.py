"""The gate on levels of generalization that a policy decides: no column is published above its own."""

from __future__ import annotations

from policy.model import ReleasePolicy
from policy.roles import NumericQuasiIdentifier
from release_store.records import EquivalenceClasses, GateResult, Verdict
from tasks.recoding.closure import covers_of
from tasks.recoding.grid import points_of, steps_of
from tasks.recoding.intervals import grid_step, with_levels
from tasks.risk.evidence import Evidence
from tasks.types import FloatArray

READER = "whoever compares the columns of several releases"


def levels_gate(evidence: Evidence) -> GateResult:
    """Every column that `method.levels` names is published at its level, or below it."""
    policy, decided = evidence.policy, evidence.policy.method.levels
    found = {name: published_level(evidence.classes, name, policy) for name in decided}
    over = {name: level for name, level in found.items() if level > _allowed(policy, name)}
    told = ", ".join(f"'{name}' at {level} (decided: {decided[name]})" for name, level in over.items())
    detail = f"columns above the level that `method.levels` decides{': ' if told else ''}{told}"
    if over:
        detail += "; decide a higher level, or allow to leave out more records (`gates.suppression`)"
    verdict = Verdict.FAIL if over or not evidence.classes.n_classes else Verdict.PASS
    witness = {"published": over} if over else {}
    return GateResult("levels", verdict, float(len(over)), 0.0, "<=", READER, 0.0, detail, witness)


def published_level(classes: EquivalenceClasses, name: str, policy: ReleasePolicy) -> int:
    """Return the lowest level of a quasi-identifier at which each class's cell is inside of one node."""
    if name in classes.sets:
        cells = classes.sets[name]
        covers = covers_of(policy.roles.categorical[name].tree, cells.values)
        member = covers.among_all(cells.member | cells.whole[:, None])
        levels = covers.levels(member)
        levels[cells.whole] = len(covers.node) - 1
        return int(levels.max(initial=0))
    return _level_of_numbers(classes.intervals[name], with_levels(policy.roles.numeric[name]))


def _level_of_numbers(intervals: FloatArray, qi: NumericQuasiIdentifier) -> int:
    """Return the lowest level at which each of the intervals (n, 2) is inside of one node.

    At every level, a class in which no number is known has the bounds for a cell. Since all other cells are
    of one level, the bounds say nothing beside narrower ones.
    """
    start, end = qi.bounds
    narrower = intervals[(intervals[:, 0] > start) | (intervals[:, 1] < end)]
    if not len(narrower):
        return len(qi.widths) + 1 if len(intervals) else 0
    low, high = narrower.T
    if (low == high).all():
        return 0
    past = high + 1 if qi.type == "integer" else high  # where the node ends
    for level, width in enumerate(qi.widths, start=1):
        inside = past <= points_of(steps_of(low, start, width) + 1, start, width)
        if (inside | (low == high)).all():
            return level
    return len(qi.widths) + 1


def _allowed(policy: ReleasePolicy, name: str) -> int:
    level = policy.method.levels[name]
    if policy.method.ends == "rounded" and name in policy.roles.numeric:
        # The grid's step is that of a level: no interval is narrower.
        qi = with_levels(policy.roles.numeric[name])
        step = grid_step(qi)
        level = max(level, qi.widths.index(step) + 1 if step in qi.widths else len(qi.widths) + 1)
    return level
