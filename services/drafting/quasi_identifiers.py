"""Draft the quasi-identifiers of a policy: the type of each, with its bounds, order, codes or hierarchy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from policy.text import number_of
from services.drafting.bounds import rounded_outwards
from services.drafting.facts import ColumnFacts, TableFacts
from services.drafting.guesses import CODE_WORDS, MANY_VALUES, Guess
from services.drafting.hierarchies import FEWEST_ROWS, OTHERS, drafted_hierarchy, lines_of
from services.drafting.words import words_of
from services.drafting.yaml_text import listed, scalar
from tasks.sql import identifier

LONGEST = 80  # characters of a value that a policy lists
MOST_CODES = 50
DECADE = 10


def quasi_identifier_lines(facts: TableFacts, guess: Guess, beside: Sequence[str]) -> Iterator[str]:
    """Write a quasi-identifier as a section of a policy; `beside` are the other quasi-identifiers."""
    column = guess.column
    yield f"    {scalar(column.name)}:"
    yield f"      # {guess.why}"
    yield from _type_lines(facts, column, beside)
    if column.missing_share > 0:
        yield f"      # {number_of(column.rows - column.known, 'row has', 'rows have')} no value."


def _type_lines(facts: TableFacts, column: ColumnFacts, beside: Sequence[str]) -> Iterator[str]:
    words = words_of(column.name)
    # A flag or a code is written as a number and is no quantity.
    is_number = column.numeric and column.distinct > 2 and not words & CODE_WORDS and column.code is None
    if column.years is not None and column.all_dates:
        yield from _date(column.years)
    elif is_number and rounded_outwards(column):
        yield from _number(column)
    elif column.code is not None and (codes := _codes(facts, column.name)) is not None:
        yield from _code(*codes)
    elif column.order is not None:
        yield "      # Published as a range of neighbours. Check the order."
        yield "      type: ordinal"
        yield from _values(column.order)
    else:
        yield from _category(facts, column, beside)


def _date(years: tuple[int, int]) -> Iterator[str]:
    first, last = (years[0] // DECADE * DECADE, years[1] // DECADE * DECADE + DECADE - 1)
    yield "      # Published as a year or a range of years; `resolution` may be quarter or month."
    yield "      type: date"
    yield "      # The decades that this table's dates are in: widen them for dates to come."
    yield f"      bounds: [{first}, {last}]"


def _number(column: ColumnFacts) -> Iterator[str]:
    bounds = rounded_outwards(column) or ("", "")
    yield f"      type: {'integer' if column.integer else 'numeric'}"
    yield "      # Found in this table, rounded outwards: widen them for values to come."
    yield "      # If the numbers are codes, not quantities, make it categorical."
    others = column.sentinels
    if others and (inner := rounded_outwards(replace(column, low=others.low, high=others.high))):
        yield f'      # Without numbers that may say "unknown": [{inner[0]}, {inner[1]}]'
    yield f"      bounds: [{bounds[0]}, {bounds[1]}]"
    if "age" in words_of(column.name):
        yield "      # For a release every period: a person is as old as before, or one year older."
        yield "      moves: [0, 1]"


def _codes(facts: TableFacts, name: str) -> tuple[list[str], int, bool] | None:
    """Return the codes of the greatest length at which there are few enough, that length, and whether there
    are rarer ones, which are not named; None where no length has as few.
    """
    column = identifier(name)
    longest = facts.connection.execute(f"SELECT max(length({column})) FROM cells").fetchall()[0][0]
    for length in range(longest, 0, -1):
        found = facts.connection.execute(
            f"SELECT left({column}, {length}), count(*) FROM cells WHERE {column} IS NOT NULL GROUP BY ALL"
        ).fetchall()
        if len(found) <= MOST_CODES:
            codes = sorted(code for code, rows in found if rows >= FEWEST_ROWS)
            return (codes, length, len(codes) < len(found)) if codes else None
    return None


def _code(codes: list[str], length: int, others: bool) -> Iterator[str]:
    yield "      # Its first characters group it: check that they do."
    yield "      type: code"
    yield f"      length: {length}"
    longest = max(map(len, codes))
    if longest > 1:
        yield f"      prefixes: [{', '.join(str(one) for one in range(longest - 1, 0, -1))}]"
    yield from _values(codes)
    if others:
        yield f"      # Codes of fewer than {FEWEST_ROWS} rows, and those to come, are read as this one."
        yield f"      others: {_unlike(codes)}"


def _category(facts: TableFacts, column: ColumnFacts, beside: Sequence[str]) -> Iterator[str]:
    yield "      type: categorical"
    longest = facts.connection.execute(f"SELECT max(length({identifier(column.name)})) FROM cells").fetchall()
    if longest[0][0] is not None and longest[0][0] > LONGEST:
        yield f"      # {column.distinct} values, some too long to list: write a `hierarchy` for it."
        return
    found = None if column.distinct < 3 else drafted_hierarchy(facts.connection, column.name, beside)
    if found is None:
        if column.distinct <= MANY_VALUES:
            yield from _values(facts.values(column.name))
        else:
            yield f"      # {column.distinct} rare values: drop it, or write a `hierarchy` for it."
        return
    yield "      # Values whose rows are alike otherwise stand together. Group them as their readers"
    yield "      # would, and name the groups: the names are published."
    yield "      hierarchy:"
    yield from lines_of(found.tree, "        ")
    if found.others:
        rest = number_of(column.distinct - len(found.values), "other value")
        yield f"      # The {rest}, and those to come, are read as this one."
        yield f"      others: {_unlike(found.values)}"


def _values(values: Sequence[str]) -> Iterator[str]:
    first, *more = listed(values, "        ")
    yield f"      values: {first}"
    yield from more


def _unlike(values: Sequence[str]) -> str:
    name = OTHERS
    while name in values:
        name += "s"
    return name
