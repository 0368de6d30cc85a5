"""Draft a policy's privacy model and method, from counts and from a trial on the table."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from policy.text import number_of
from services.drafting.bounds import rounded_down, yaml_number
from services.drafting.facts import ColumnFacts, TableFacts
from services.drafting.guesses import Guess, is_amount
from services.drafting.second_release import SecondRelease
from services.drafting.trial import METHODS, Trial, Tried
from services.drafting.yaml_text import scalar

RECODING = "hierarchy"
K = 8
E = 3
P_MAX = 0.8  # where no attribute is recognised
RARE = 0.05  # share of the rows without the two commonest values, from which every class can have a third
PARTS = 10  # of the range in which most numbers are, a class ranges over one at least


@dataclass(frozen=True)
class _Limits:
    """What every class must hold of one sensitive attribute."""

    name: str
    e: float
    p_max: float
    reason: str


def privacy_lines(facts: TableFacts, guesses: Sequence[Guess]) -> Iterator[str]:
    """Write the privacy model: for each sensitive attribute, one that the whole table has room for."""
    key = next((one.column.name for one in guesses if one.role == "key" and one.column.repeats), None)
    sensitive = [one.column for one in guesses if one.role == "sensitive"]
    limits = [_limits_of(facts, column, key) for column in sensitive]
    # Those of most attributes stand for all, and the others' beside them.
    common = Counter((one.e, one.p_max) for one in limits).most_common(1)
    e, p_max = common[0][0] if common else (E, P_MAX)
    own = [one for one in limits if (one.e, one.p_max) != (e, p_max)]
    yield "# In every published class: at least k rows and e distinct sensitive values, or for numbers a"
    yield "# range of e, and no value in more than the share p_max: the others keep a half to a third of"
    yield "# their share in the table. A greater p_max loses less detail, and protects less."
    if not limits:
        yield "# These limits are usual ones, as no sensitive attribute was recognised. Once one is named,"
        yield "# `releasegate check` says which of them the table cannot satisfy."
    for one in limits:
        yield f"#   {scalar(one.name)}: {one.reason}"
    if not own:
        yield f"privacy: {{k: {K}, e: {yaml_number(e)}, p_max: {p_max}, l: 2}}"
    else:
        yield from ("privacy:", f"  k: {K}", f"  e: {yaml_number(e)}", f"  p_max: {p_max}", "  l: 2")
        yield "  attributes:"
        for one in own:
            yield f"    {scalar(one.name)}: {{e: {yaml_number(one.e)}, p_max: {one.p_max}}}"
    yield ""


def _limits_of(facts: TableFacts, column: ColumnFacts, key: str | None) -> _Limits:
    """Return the limits that every table has room for: e is 3, if there is a third value often enough."""
    share, both = facts.common_shares(column.name, 2, key)
    reason = f"its commonest value is in {share:.1%} of the {'rows' if key is None else 'rows or people'}"
    e = float(E)
    if is_amount(column):
        e = rounded_down(facts.middle_range(column.name) / PARTS)
        reason += f"; e is about a tenth of the range of most numbers, {yaml_number(e)}"
    elif (fewest := min(distinct for distinct, _ in column.in_tables)) < E:
        e = E - 1  # of one value, and rows without any
        reason += f"; it has {number_of(fewest, 'value')}, so e is {yaml_number(e)}"
    elif 1 - both < RARE:
        e = E - 1
        reason += f"; all but two values are in {1 - both:.1%} of the rows, so e is {yaml_number(e)}"
    return _Limits(column.name, e, room_for(share), reason)


def room_for(share: float) -> float:
    """Return p_max for a value of a share under 1: two significant digits of what it leaves, rounded down.

    In a class, the other values keep at least a part of their share in the table: a half where the value is
    rare, a third where nearly all rows have it, because less variety costs more detail.
    """
    left = (1 - share) * (1 / 2 - share / 6)
    digits = 1 - math.floor(math.log10(left))
    return round(1 - math.floor(left * 10.0**digits + 1e-9) / 10.0**digits, digits)


def method_lines(
    trial: Trial | None, label: str | None = None, beside: Mapping[str, SecondRelease] | None = None
) -> Iterator[str]:
    """Write the method with this label, else the best of a trial, and what the others lost.

    `beside` has, by label, what came of a release of the last table beside one of the table before it.
    """
    yield "# `releasegate methods` lists the methods and their parameters."
    if trial is not None:
        yield f"# Tried on {trial.sample_rows:,} of {trial.rows:,} rows; NCP is the share of detail lost:"
        width = max(map(len, METHODS))
        for one in trial.methods:
            yield f"#   {one.label.ljust(width)}  {_outcome(one)}"
    passes = any(one.passes for one in (beside or {}).values())
    for left, second in (beside or {}).items() if passes else ():
        if not second.passes:
            yield f"# Beside a release of the table before it, {left} is not published: {second.said}."
    chosen = dict(METHODS[label or (trial.best.label if trial is not None else next(iter(METHODS)))])
    parameters = chosen.pop("parameters", None)
    yield "method:"
    yield f"  name: {chosen['name']}"
    yield "  # Cells are nodes of the hierarchies above, ranges and codes. With `sets`, a cell may be any set"
    yield "  # of values: less is lost, and a table can hardly be grouped by such a column."
    if trial is not None and not trial.free_sets.problem:
        yield f"  # With `sets` on the same rows: NCP {trial.free_sets.ncp:.1%}."
    if trial is not None:
        yield from _full_domain_lines(trial)
    yield f"  recoding: {RECODING}"
    if parameters is not None:
        written = ", ".join(f"{name}: {_value(value)}" for name, value in parameters.items())
        yield f"  parameters: {{{written}}}"


def _full_domain_lines(trial: Trial) -> Iterator[str]:
    """Say what one level a column for the whole table costs, and how to choose it."""
    found = trial.full_domain
    if found is None or found.problem:
        return
    left_out = found.measured.get("suppression", 0.0)
    failing = f"; fails {', '.join(found.failing)}" if found.failing else ""
    yield "  # One level a column for the whole table, so that readers can group by each, is `name:"
    yield "  # full-domain`, `recoding: full-domain` and `history: repair`. On the same rows:"
    with_widths = ":" if any(trial.widths.values()) else "."
    yield f"  # NCP {found.ncp:.1%}, and {left_out:.1%} of the rows left out{failing}{with_widths}"
    for name, widths in trial.widths.items():
        if widths:
            yield f"  #   with `widths: [{', '.join(map(yaml_number, widths))}]` of {scalar(name)}"


def _value(value: object) -> str:
    return scalar(value) if isinstance(value, str) else json.dumps(value)


def _outcome(one: Tried) -> str:
    if one.problem:
        return f"left out: {one.problem}"
    failing = f"; fails {', '.join(one.failing)}" if one.failing else ""
    return f"NCP {one.ncp:.1%}{failing}"
