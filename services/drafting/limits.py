"""Draft a policy's privacy model, method and gates, from counts and from a trial on the table."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence

from services.drafting.changes import Change
from services.drafting.guesses import MONEY_WORDS, Guess
from services.drafting.second_release import SecondRelease
from services.drafting.trial import METHODS, Trial, Tried
from services.drafting.words import words_of
from services.drafting.yaml_text import scalar

RECODING = "hierarchy"
K = 8
E = 3
P_MAX = 0.8
STEP = 0.05
ROOM = 1.1  # a limit over what was measured, for tables to come
MOST_CHANGED = 0.5  # of the people in two tables, up to which a value is called stable
ERR, NCP, SUPPRESSION = 0.10, 0.20, 0.05  # the least limits that are drafted


def privacy_lines(guesses: Sequence[Guess]) -> Iterator[str]:
    """Write the privacy model: one that the whole table has room for."""
    sensitive = [guess.column for guess in guesses if guess.role == "sensitive"]
    fewest = min((column.distinct for column in sensitive), default=E)
    commonest = max((column.most / max(column.known, 1) for column in sensitive), default=0.0)
    yield "# In every published class: at least k rows and e distinct sensitive values, none over p_max."
    if fewest < E:
        yield f"# A sensitive column has two values only, so e cannot be {E}."
    p_max = room_for(commonest)
    if p_max > P_MAX:
        yield f"# A sensitive value is in {commonest:.1%} of the rows. p_max leaves classes room beside it; a"
        yield "# smaller one costs detail, and may be out of reach."
    yield f"privacy: {{k: {K}, e: {min(E, fewest)}, p_max: {p_max:g}, l: 2}}"
    yield ""


def room_for(share: float) -> float:
    """Return p_max for a value of such a share: its complement may be a third of the table's in a class."""
    wanted = 1 - (1 - share) / 3
    rounded = math.ceil(wanted / STEP - 1e-9) * STEP
    return max(P_MAX, round(rounded, 2) if rounded < 1 else math.ceil(wanted * 1000) / 1000)


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
    if not max(shares, default=0.0):
        return None
    return (
        f"  worlds: {{changes: {limit_over(max(shares)):g}}} # of stable values, measured: {max(shares):.3f}"
    )


def limit_over(measured: float, least: float = 0.0) -> float:
    """Return a limit over what was measured, with room for tables to come: a multiple of STEP, or `least`."""
    return round(min(1.0, max(least, math.ceil(measured * ROOM / STEP - 1e-9) * STEP)), 2)


def method_lines(trial: Trial | None) -> Iterator[str]:
    """Write the method that lost least in a trial, and what the others lost."""
    yield "# `releasegate methods` lists the methods and their parameters."
    if trial is not None:
        yield f"# Tried on {trial.sample_rows:,} of {trial.rows:,} rows; NCP is the share of detail lost:"
        width = max(map(len, METHODS))
        for one in trial.methods:
            yield f"#   {one.label.ljust(width)}  {_outcome(one)}"
    chosen = dict(METHODS[trial.best.label if trial is not None else next(iter(METHODS))])
    parameters = chosen.pop("parameters", None)
    yield "method:"
    yield f"  name: {chosen['name']}"
    yield "  # Cells are nodes of the hierarchies above, ranges and codes. With `sets`, a cell may be any set"
    yield "  # of values: less is lost, and a table can hardly be grouped by such a column."
    if trial is not None and not trial.free_sets.problem:
        yield f"  # With `sets` on the same rows: NCP {trial.free_sets.ncp:.1%}."
    yield f"  recoding: {RECODING}"
    if parameters is not None:
        written = ", ".join(f"{name}: {_value(value)}" for name, value in parameters.items())
        yield f"  parameters: {{{written}}}"


def _value(value: object) -> str:
    return scalar(value) if isinstance(value, str) else json.dumps(value)


def _outcome(one: Tried) -> str:
    if one.problem:
        return f"left out: {one.problem}"
    failing = f"; fails {', '.join(one.failing)}" if one.failing else ""
    return f"NCP {one.ncp:.1%}{failing}"


def gate_lines(trial: Trial | None, second: SecondRelease | None = None) -> Iterator[str]:
    """Write the limits of the gates: what the tables measured, and a tenth more."""
    yield "# Measured on the staged files; over a limit, nothing is published."
    passes = second is not None and not second.problem and not second.failing
    if trial is not None and not trial.best.problem:
        which = "the last table measured, by itself and beside the one before it" if passes else "the table measured with this method"
        yield f"# The limits are what {which},"
        yield "# a tenth more, and rounded up. They say what is possible, not what is safe: the owner of the"
        yield "# data decides that."
        if trial.best.failing:
            yield f"# These gates fail on this table, and block it: {', '.join(trial.best.failing)}."
    if second is not None and not passes:
        yield "# Beside a release of the table before it, this table is not published:"
        yield f"#   {second.problem or 'it fails ' + ', '.join(second.failing)}"
        yield "# `releasegate run` with both tells why. There is more room with fewer quasi-identifiers, and"
        yield "# with sensitive numbers in groups (a `query` in source)."
    yield "gates:"
    for gate, least in {"err": ERR, "ncp": NCP, "suppression": SUPPRESSION}.items():
        found = [
            one.measured[gate]
            for one in (trial.best if trial is not None else None, second if passes else None)
            if one is not None and gate in one.measured
        ]
        told = f" # measured: {', '.join(f'{value:.3f}' for value in found)}" if found else ""
        yield f"  {gate}: {{max: {limit_over(max(found, default=0.0), least):g}}}{told}"
