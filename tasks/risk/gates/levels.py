"""The gate on levels of generalization that a policy decides: no column is published above its own."""

from __future__ import annotations

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, GateResult, Verdict
from tasks.recoding.hierarchy import covers_of, grid_step, interval_levels, with_levels
from tasks.risk.evidence import Evidence

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
        covers = covers_of(policy.roles.categorical[name].hierarchy, cells.values)
        member = covers.among_all(cells.member | cells.whole[:, None])
        levels = covers.levels(member)
        levels[cells.whole] = len(covers.node) - 1
        return int(levels.max(initial=0))
    qi, cells_of_numbers = with_levels(policy.roles.numeric[name]), classes.intervals[name]
    low, high = cells_of_numbers.T
    # An interval of numbers that are no integers ends where the next begins.
    last = high if qi.type == "integer" else np.where(low < high, np.nextafter(high, low), high)
    return int(interval_levels(np.column_stack([low, last]), qi).max(initial=0))


def _allowed(policy: ReleasePolicy, name: str) -> int:
    level = policy.method.levels[name]
    if policy.method.ends == "rounded" and name in policy.roles.numeric:
        # The grid's step is that of a level: no interval is narrower.
        widths = with_levels(policy.roles.numeric[name]).widths
        level = max(level, widths.index(grid_step(policy.roles.numeric[name])) + 1)
    return level
