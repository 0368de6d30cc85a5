"""Draft a policy from a table: guesses with their reasons, for a person to check line by line."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from policy.text import number_of
from services.drafting.facts import ColumnFacts, TableFacts, table_facts
from services.drafting.guesses import (
    CODE_WORDS,
    FEW_VALUES,
    MANY_VALUES,
    MONEY_WORDS,
    Guess,
    Role,
    guess_roles,
)
from services.drafting.series import series_of
from services.drafting.source_lines import source_lines
from services.drafting.words import words_of
from services.drafting.yaml_text import listed as _listed
from services.drafting.yaml_text import scalar as _scalar

UNDECIDED = "DECIDE"


def draft(table: Path, *more: Path) -> str:
    """Return the text of a commented policy guessed from CSV or Parquet files, each a period's table.

    It holds column names, counts and bounds, and the values of categorical quasi-identifiers of at most
    50 values; never a value of another column, but for customary ways to write that one is unknown. Where
    no sensitive attribute or no quasi-identifier is recognised, a line marked DECIDE stands in its place,
    and the policy does not load until a person has replaced it. Raises UsageError where there is no such
    file, InputError where one is no table or lacks a column of another.
    """
    with table_facts(table, *more) as facts:
        guesses = guess_roles(facts)
        lines = [
            *_head([table, *more], facts, guesses),
            *_roles(facts, guesses),
            *_expectations(facts, guesses),
            *_tail(guesses),
        ]
    return "\n".join(lines) + "\n"


def _head(tables: list[Path], facts: TableFacts, guesses: list[Guess]) -> Iterator[str]:
    series, file = series_of([table.name for table in tables])
    keys = [guess.column for guess in guesses if guess.role == "key"]
    rows, columns = number_of(facts.rows, "row"), number_of(len(facts.columns), "column")
    whole = "a table" if facts.tables == 1 else f"{facts.tables} tables"
    yield f"# A policy drafted from {whole} of {rows} and {columns}."
    yield "# Every line is a guess from names and counts: check and correct each before a release."
    yield "# Only somebody who knows the data and the people in them can decide the roles. Check with care"
    yield "# `sensitive` (is one missing?) and `quasi_identifiers` (what may a neighbour know?)."
    yield "# This file contains names, counts, bounds, and the values of quasi-identifiers that have few."
    yield ""
    yield "# The name under which the releases are published."
    yield f"series: {_scalar(series)}"
    yield ""
    if any(column.repeats for column in keys):
        yield "# A person has several rows with the same key: k and all risks count people."
        yield "rows: several"
        yield ""
    yield from source_lines(facts, guesses, file)


def _roles(facts: TableFacts, guesses: list[Guess]) -> Iterator[str]:
    def having(role: Role) -> list[Guess]:
        return [guess for guess in guesses if guess.role == role]

    yield "roles:"
    yield "  # Identifies a person across releases, never published. Check that it never changes."
    if keys := having("key"):
        yield f"  # {keys[0].why}"
        yield f"  key: {_scalar(keys[0].column.name)}"
    else:
        yield "  # None was found: people cannot be followed across releases, and k counts rows, not people."
    yield ""
    yield "  # Identifies a person by itself: read, and not published."
    yield from _names("identifiers", having("identifier"))
    yield ""
    yield "  # What others may know of a person: generalized into classes of at least k."
    yield "  quasi_identifiers:"
    for guess in having("quasi-identifier"):
        yield from _quasi_identifier(facts, guess)
    if not having("quasi-identifier"):
        yield f"    # {UNDECIDED}: no column was recognised. Move at least one here from `dropped`."
        yield f'    {UNDECIDED}: {{type: "{UNDECIDED}: name the columns that others may know"}}'
    yield ""
    yield "  # What must not be linked to a person: published unchanged."
    yield "  # stability: stable where a person's value stays in later releases, transient where it may not."
    yield "  sensitive:"
    for guess in having("sensitive"):
        yield from _sensitive(guess)
    if not having("sensitive"):
        yield f"    # {UNDECIDED}: no column was recognised. Name at least one, and take it out of its list."
        what = "name the sensitive column, and say stable or transient"
        yield f'    {UNDECIDED}: {{stability: "{UNDECIDED}: {what}"}}'
    yield ""
    yield "  # Published unchanged and unprotected: only what is neither sensitive nor known to others."
    yield "  kept: []"
    yield ""
    yield "  # Left out."
    yield from _names("dropped", having("dropped"))
    yield ""


def _names(field: str, guesses: list[Guess]) -> Iterator[str]:
    if not guesses:
        yield f"  {field}: []"
        return
    yield f"  {field}:"
    for guess in guesses:
        yield f"    - {_scalar(guess.column.name)} # {guess.why}"


def _quasi_identifier(facts: TableFacts, guess: Guess) -> Iterator[str]:
    column = guess.column
    words = words_of(column.name)
    yield f"    {_scalar(column.name)}:"
    yield f"      # {guess.why}"
    # A flag or a code is written as a number and is no quantity.
    bounds = _outwards(column) if column.numeric and column.distinct > 2 and not words & CODE_WORDS else None
    if bounds:
        yield f"      type: {'integer' if column.integer else 'numeric'}"
        yield "      # Found in this table, rounded outwards: widen them for values to come."
        yield "      # If the numbers are codes, not quantities, make it categorical."
        if (others := column.sentinels) and (
            inner := _outwards(replace(column, low=others.low, high=others.high))
        ):
            yield f'      # Without numbers that may say "unknown": [{inner[0]}, {inner[1]}]'
        yield f"      bounds: [{bounds[0]}, {bounds[1]}]"
        if "age" in words:
            yield "      # For a release every period: a person is as old as before, or one year older."
            yield "      moves: [0, 1]"
        return
    yield "      type: categorical"
    values = facts.values(column.name) if column.distinct <= MANY_VALUES else ()
    if values and max(map(len, values)) <= 80:
        yield "      # This table's values: add those that may come, or group them in a `hierarchy`."
        listed = list(_listed(values, "        "))
        yield f"      values: {listed[0]}"
        yield from listed[1:]
    else:
        yield f"      # {column.distinct} values, too many or too long to list: write a `hierarchy` for it."
    if column.missing_share > 0:
        yield f"      # {number_of(column.rows - column.known, 'row has', 'rows have')} no value."


def _sensitive(guess: Guess) -> Iterator[str]:
    column = guess.column
    money = bool(words_of(column.name) & MONEY_WORDS)
    yield f"    {_scalar(column.name)}:"
    distinct, most = number_of(column.distinct, "distinct value"), number_of(column.most, "row")
    yield f"      # {guess.why}; {distinct}, the most frequent in {most}"
    if column.distinct > MANY_VALUES:
        yield "      # So many values can identify a person by themselves: group them by a `query` in source."
    yield f"      stability: {'transient' if money else 'stable'}"
    if column.numeric and column.distinct > FEW_VALUES:
        yield "      type: numeric"
        if column.distinct > column.known / 2:
            yield "      # Most values appear in one row only, which the gate `unique` blocks: round them."


def _outwards(column: ColumnFacts) -> tuple[str, str] | None:
    """Return the bounds rounded outwards to a step of about a twentieth of their distance."""
    span = column.high - column.low
    if not 0 < span < math.inf:
        return None
    scale = 10.0 ** math.floor(math.log10(span / 20))
    step = next((scale * m for m in (1, 2, 5) if scale * m >= span / 20), scale * 10)
    step = max(step, 1.0) if column.integer else step
    low, high = (
        (math.floor(column.low / step) * step, math.ceil(column.high / step) * step) if step else (0, 0)
    )
    if not (low <= column.low and high >= column.high and math.isfinite(high - low)):
        low, high = column.low, column.high
    return _number(low), _number(high)


def _number(value: float) -> str:
    """Write a number that YAML reads as one: an exponent needs a point before it."""
    if value == int(value) and abs(value) < 2**53:
        return str(int(value))
    text = repr(float(f"{value:.15g}")) if float(f"{value:.15g}") == value else repr(value)
    return text if "." in text else text.replace("e", ".0e")


def _expectations(facts: TableFacts, guesses: list[Guess]) -> Iterator[str]:
    yield "expectations:"
    which, rows = "This" if facts.tables == 1 else "The smallest", number_of(facts.fewest_rows, "row")
    yield f"  # {which} table has {rows}; fewer than half of them stop a run."
    yield f"  rows: {{min: {max(1, facts.fewest_rows // 2)}}}"
    yield "  # Largest share of missing cells in a column."
    yield "  missing: 0.05"
    incomplete = [
        guess.column
        for guess in guesses
        if guess.role in ("quasi-identifier", "sensitive") and guess.column.largest_missing_share > 0.04
    ]
    if incomplete:
        yield "  # These columns exceed it already:"
        yield "  missing_in:"
    for column in incomplete:
        allowed = min(1.0, math.ceil(column.largest_missing_share * 100 + 1) / 100)
        yield f"    {_scalar(column.name)}: {allowed}"
    yield ""


def _tail(guesses: list[Guess]) -> Iterator[str]:
    sensitive = [guess.column for guess in guesses if guess.role == "sensitive"]
    fewest = min((column.distinct for column in sensitive), default=3)
    commonest = max((column.most / column.rows for column in sensitive), default=0.0)
    yield "# In every published class: at least k rows and e distinct sensitive values, none over p_max."
    if fewest < 3:
        yield "# A sensitive column has two values only, so e cannot be 3."
    if commonest > 0.7:
        yield f"# A sensitive value is in {commonest:.0%} of the rows: p_max 0.8 may be out of reach."
    yield f"privacy: {{k: 8, e: {min(3, fewest)}, p_max: 0.8, l: 2}}"
    yield ""
    yield "# `releasegate methods` lists the methods and their parameters."
    yield "method: {name: ae-lrhma}"
    yield ""
    yield "# Measured on the staged files; over a limit, nothing is published."
    yield "gates:"
    yield "  err: {max: 0.15}"
    yield "  umr: {max: 0.20}"
    yield "  ncp: {max: 0.35}"
    yield "  suppression: {max: 0.05}"
    yield ""
    yield "# Required approvals; 0 publishes as soon as every gate passes."
    yield "approval: {approvers: 1}"
    yield ""
    yield "seed: 42"
