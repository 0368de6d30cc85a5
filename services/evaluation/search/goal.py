"""A goal in words: limits on measured figures, and one figure that is to be as low or as high as can be.

goal      = clause {"," clause}          exactly one clause is an objective
clause    = limit | objective
limit     = MEASURE ("<=" | ">=") NUMBER
objective = MEASURE ("lowest" | "highest")
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from policy.errors import UsageError, did_you_mean
from policy.model import ReleasePolicy
from services.evaluation.files import BEFORE, HOLDS, TIMES
from tasks.utility.measures import MEASURES

OPTION = "--goal"
WORST = ("err", "umr")
"""Without a share: the largest of the figures for all shares in `linkage.ext_frac`."""

_LIMIT = re.compile(r"(\S.*?)\s*(<=|>=)\s*(\S+)")
_OBJECTIVE = re.compile(r"(\S.*?)\s+(lowest|highest)")
_EXAMPLE = "umr <= 0.05, ncp lowest"
_TOLERANCE = 1e-12  # as the gates have it


@dataclass(frozen=True)
class GoalLimit:
    """A bound that a figure must keep in every table."""

    measure: str
    relation: Literal["<=", ">="]
    bound: float

    def excess(self, value: float) -> float:
        """Return how far a value is beyond the bound, in the measure's unit; 0 if it keeps the bound."""
        beyond = value - self.bound if self.relation == "<=" else self.bound - value
        return beyond if beyond > _TOLERANCE else 0.0

    def worst(self, values: Collection[float]) -> float:
        """Return the value that keeps the bound least."""
        return max(values) if self.relation == "<=" else min(values)

    def __str__(self) -> str:
        return f"{self.measure} {self.relation} {self.bound:g}"


@dataclass(frozen=True)
class Goal:
    """The limits, and the measure of the objective, which is to be lowest or highest."""

    limits: tuple[GoalLimit, ...]
    measure: str
    lowest: bool

    @property
    def figures(self) -> tuple[str, ...]:
        """The measures that the goal names, each once; that of the objective first."""
        return tuple(dict.fromkeys((self.measure, *(limit.measure for limit in self.limits))))

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures of utility that have to be taken for it."""
        return tuple(name for name, each in MEASURES.items() if set(each.figures) & set(self.figures))

    def __str__(self) -> str:
        objective = f"{self.measure} {'lowest' if self.lowest else 'highest'}"
        return ", ".join([*map(str, self.limits), objective])


def figures_to_name(policy: ReleasePolicy) -> tuple[str, ...]:
    """Return the figures that a goal can name: numbers that the same table and policy give again."""
    linked = [f"{what}_{share:g}" for share in policy.linkage.ext_frac for what in WORST]
    measured = [figure for measure in MEASURES.values() for figure in measure.figures]
    by_name = [f"ncp:{name}" for name in policy.roles.quasi_identifiers]
    return (*BEFORE, *WORST, *linked, "sadr", *measured, *by_name)


def parse_goal(text: str, known: Collection[str]) -> Goal:
    """Read a goal whose measures are `known`. Raises UsageError, in one line, for anything else."""
    limits: list[GoalLimit] = []
    objectives: list[tuple[str, bool]] = []
    for clause in (part.strip() for part in text.split(",")):
        if not clause:
            raise UsageError("has an empty part", where=OPTION, hint=f"Write it like '{_EXAMPLE}'.")
        if found := _LIMIT.fullmatch(clause):
            relation: Literal["<=", ">="] = "<=" if found[2] == "<=" else ">="
            limits.append(GoalLimit(_known(found[1], known), relation, _number(found[3], clause)))
        elif found := _OBJECTIVE.fullmatch(clause):
            objectives.append((_known(found[1], known), found[2] == "lowest"))
        else:
            raise UsageError(
                f"cannot read '{clause}'",
                where=OPTION,
                hint="A part is MEASURE <= NUMBER, MEASURE >= NUMBER, MEASURE lowest or MEASURE highest.",
            )
    _check_once(limits)
    if len(objectives) != 1:
        raise UsageError(
            "has no objective" if not objectives else f"has {len(objectives)} objectives",
            where=OPTION,
            hint=f"Name one measure that is to be lowest or highest, as in '{_EXAMPLE}'.",
        )
    return Goal(tuple(limits), *objectives[0])


def _known(name: str, known: Collection[str]) -> str:
    if name in known:
        return name
    if name in (*TIMES, *HOLDS):
        because = "times differ from run to run" if name in TIMES else "the best always keeps the model"
        raise UsageError(f"'{name}' cannot be in a goal: {because}", where=OPTION, hint="Leave it out.")
    raise UsageError(
        f"unknown measure '{name}'{did_you_mean(name, known)}",
        where=OPTION,
        hint=f"Known measures: {', '.join(known)}.",
    )


def _number(text: str, clause: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"'{text}' in '{clause}' is no number", where=OPTION, hint="Write it like 0.05.")
    return number


def _check_once(limits: list[GoalLimit]) -> None:
    sides = [(limit.measure, limit.relation) for limit in limits]
    for limit, side in zip(limits, sides, strict=True):
        if sides.count(side) > 1:
            raise UsageError(
                f"limits {limit.measure} by {limit.relation} twice", where=OPTION, hint="Keep one of them."
            )
