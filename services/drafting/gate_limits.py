"""Draft the limits of a policy's gates, from trials on the tables and from whose values changed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from services.drafting.changes import Change
from services.drafting.guesses import MONEY_WORDS, Guess
from services.drafting.second_release import SecondRelease
from services.drafting.trial import Trial
from services.drafting.words import words_of

STEP = 0.05
ROOM = 1.1  # a limit over what was measured, for tables to come
MOST_CHANGED = 0.5  # of the people in two tables, up to which a value is called stable
LEAST = {"err": 0.10, "ncp": 0.20, "suppression": 0.05}  # limits that are drafted


def gate_lines(
    trial: Trial | None, second: SecondRelease | None = None, *, undecided: bool = False
) -> Iterator[str]:
    """Write the limits of the gates: what the tables measured, and a tenth more; usual ones without."""
    yield "# Limits of what the gates measure in the staged files; over one, nothing is published."
    passes = second is not None and not second.problem and not second.failing
    yield from _reasons(trial, passes=passes, undecided=undecided)
    if second is not None and not passes:
        yield "# Beside a release of the table before it, this table is not published:"
        yield f"#   {second.problem or 'it fails ' + ', '.join(second.failing)}"
        yield "# `releasegate run` with both tells why. There is more room with fewer quasi-identifiers, and"
        yield "# with sensitive numbers in groups (a `query` in source)."
    yield "gates:"
    tried = [one.measured for one in (trial.best if trial else None, second if passes else None) if one]
    for gate, least in LEAST.items():
        found = [measured[gate] for measured in tried if gate in measured]
        told = f" # measured: {', '.join(f'{value:.3f}' for value in found)}" if found else ""
        yield f"  {gate}: {{max: {limit_over(max(found, default=0.0), least):g}}}{told}"


def _reasons(trial: Trial | None, *, passes: bool, undecided: bool) -> Iterator[str]:
    """Say where the limits come from."""
    if trial is None:
        reason = "a line above is marked DECIDE" if undecided else "the draft was made with --no-trial"
        yield f"# These limits are usual ones: nothing was measured, because {reason}."
        yield "# A table that exceeds them is not published. Measure before a run: `releasegate evaluate"
        yield "# POLICY --input FILE --methods mondrian,ae-lrhma`. Then choose the method, and the limits."
    elif trial.best.problem:
        yield "# These limits are usual ones: no method could be tried on this table, for the reasons above."
    else:
        yield "# The limits are what the last table measured with this method, a tenth more, and rounded up."
        yield "# They say what is possible, not what is safe: the owner of the data decides that."
        if passes:
            yield "# A second figure is what it measured beside a release of the table before it."
        if trial.best.failing:
            yield f"# These gates fail on this table, and block it: {', '.join(trial.best.failing)}."


def stability_of(name: str, change: Change | None) -> str:
    """Return `transient` for amounts of money, and where most people's values changed; else `stable`."""
    most_changed = change is not None and change.share > MOST_CHANGED
    return "transient" if most_changed or words_of(name) & MONEY_WORDS else "stable"


def worlds_line(guesses: Sequence[Guess], changes: Mapping[str, Change]) -> str | None:
    """Write for what share of people attackers must allow that a stable value changed; None for nobody."""
    sensitive = {guess.column.name for guess in guesses if guess.role == "sensitive"}
    shares = [
        change.share
        for name, change in changes.items()
        if name in sensitive and stability_of(name, change) == "stable"
    ]
    most = max(shares, default=0.0)
    if not most:
        return None
    return f"  worlds: {{changes: {limit_over(most):g}}} # of stable values, measured: {most:.3f}"


def limit_over(measured: float, least: float = 0.0) -> float:
    """Return a limit over what was measured, with room for tables to come: a multiple of STEP, or `least`."""
    return round(min(1.0, max(least, math.ceil(measured * ROOM / STEP - 1e-9) * STEP)), 2)
