"""Draft the quasi-identifiers of a policy: the type of each, with its bounds, order, codes or hierarchy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from policy.text import number_of
from services.drafting.bounds import rounded_outwards, yaml_number
from services.drafting.changes import Change
from services.drafting.facts import ColumnFacts, TableFacts
from services.drafting.guesses import CODE_WORDS, MANY_VALUES, Guess
from services.drafting.hierarchies import FEWEST_ROWS, drafted_hierarchy, lines_of, unlike
from services.drafting.small_classes import SmallClasses, small_classes
from services.drafting.steps import is_number
from services.drafting.yaml_text import listed, scalar
from tasks.intake.column_words import words_of
from tasks.sql import identifier, literal

LONGEST = 80  # characters of a value that a policy lists
MOST_CODES = 50
DECADE = 10
PERIODS_TO_COME = 4  # for which bounds have room
SELDOM = 0.01  # of the people in two tables, from which a value is said to change


def quasi_identifier_lines(
    facts: TableFacts, guess: Guess, classes: SmallClasses, change: Change | None
) -> Iterator[str]:
    """Write a quasi-identifier as a section of a policy; `classes` mix the values of hierarchies."""
    column = guess.column
    yield f"    {scalar(column.name)}:"
    yield f"      # {guess.why}"
    lines = list(_type_lines(facts, _with_room(column, change), classes))
    yield from lines
    yield from _change(column, change, numeric=lines[-1].startswith("      bounds:") and column.numeric)
    if column.missing_share > 0:
        yield f"      # {number_of(column.rows - column.known, 'row has', 'rows have')} no value."


def _change(column: ColumnFacts, change: Change | None, *, numeric: bool) -> Iterator[str]:
    """Say how people's values changed from table to table, and let attackers know it."""
    if change is not None and change.changed:
        yield f"      # {change.said}"
    moves = change.moves if numeric and change is not None and change.share >= SELDOM else None
    ages = numeric and "age" in words_of(column.name)
    if moves is not None:
        low, high = (min(moves[0], 0), max(moves[1], 1)) if ages else moves
        yield "      # How far 99 of 100 people's numbers moved from each table to the next. Check that it is"
        yield "      # what may happen: who moves further looks like another person."
        yield f"      moves: [{yaml_number(low)}, {yaml_number(high)}]"
    elif ages:
        yield "      # For a release every period: a person is as old as before, or one year older."
        yield "      moves: [0, 1]"
    elif not numeric and change is not None and change.share >= SELDOM:
        yield "      # So a value does not tell a person apart from one release to the next."
        yield "      may_change: true"


def _with_room(column: ColumnFacts, change: Change | None) -> ColumnFacts:
    """Return a column with room for PERIODS_TO_COME, if the numbers of people move in one direction."""
    if change is None or change.moves is None or not column.numeric or column.sentinels:
        return column
    low, high = change.moves
    up = max(high, float("age" in words_of(column.name))) if low >= 0 else 0.0
    down = low if high <= 0 else 0.0
    return replace(column, low=column.low + PERIODS_TO_COME * down, high=column.high + PERIODS_TO_COME * up)


def classes_of(facts: TableFacts, columns: Sequence[ColumnFacts]) -> SmallClasses:
    """Cut a table into small classes by its quasi-identifiers."""
    places = {column.name: _place(facts, column) for column in columns}
    return small_classes(facts.connection, places)


def _place(facts: TableFacts, column: ColumnFacts) -> str | None:
    """Return the SQL of a value's place in the order of its column; None where it has no order."""
    name = identifier(column.name)
    if column.order is not None:
        return f"list_position([{', '.join(map(literal, column.order))}], {name})"
    if column.all_dates or column.code is not None:
        return f"CASE WHEN {name} IS NOT NULL THEN dense_rank() OVER (ORDER BY {name}) END"
    return is_number(name, facts.source) if _is_quantity(column) else None


def _is_quantity(column: ColumnFacts) -> bool:
    """Tell whether a column's numbers are quantities: a flag or a code is written as a number and is none."""
    coded = words_of(column.name) & CODE_WORDS or column.code is not None
    return column.numeric and column.distinct > 2 and not coded


def _type_lines(facts: TableFacts, column: ColumnFacts, classes: SmallClasses) -> Iterator[str]:
    if column.years is not None and column.all_dates:
        yield from _date(column.years)
    elif _is_quantity(column) and rounded_outwards(column):
        yield from _number(column)
    elif column.code is not None and (codes := _codes(facts, column.name)) is not None:
        yield from _code(*codes)
    elif column.order is not None:
        yield "      # Published as a range of neighbours. Check the order."
        yield "      type: ordinal"
        yield from _values(column.order)
    else:
        yield from _category(facts, column, classes)


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


def _codes(facts: TableFacts, name: str) -> tuple[list[str], int, float] | None:
    """Return the codes of the greatest length at which there are few enough, that length, and the share of
    the rows with rarer ones, which are not named; None where no length has as few.
    """
    column = identifier(name)
    longest = facts.connection.execute(f"SELECT max(length({column})) FROM cells").fetchall()[0][0]
    for length in range(longest, 0, -1):
        found = facts.connection.execute(
            f"SELECT left({column}, {length}), count(*) FROM cells WHERE {column} IS NOT NULL GROUP BY ALL"
        ).fetchall()
        if len(found) <= MOST_CODES:
            codes = sorted(code for code, rows in found if rows >= FEWEST_ROWS)
            rest = sum(rows for _, rows in found if rows < FEWEST_ROWS) / sum(rows for _, rows in found)
            return (codes, length, rest) if codes else None
    return None


def _code(codes: list[str], length: int, others: float) -> Iterator[str]:
    yield "      # Its first characters group it: check that they do."
    yield "      type: code"
    yield f"      length: {length}"
    longest = max(map(len, codes))
    if longest > 1:
        yield f"      prefixes: [{', '.join(str(one) for one in range(longest - 1, 0, -1))}]"
    yield from _values(codes)
    if others:
        yield f"      # Codes of fewer than {FEWEST_ROWS} rows ({others:.1%} of all), and those to come, are"
        yield "      # read as this one. NCP does not count what is lost so."
        yield f"      others: {unlike(codes)}"


def _category(facts: TableFacts, column: ColumnFacts, classes: SmallClasses) -> Iterator[str]:
    yield "      type: categorical"
    longest = facts.connection.execute(f"SELECT max(length({identifier(column.name)})) FROM cells").fetchall()
    if longest[0][0] is not None and longest[0][0] > LONGEST:
        yield f"      # {column.distinct} values, some too long to list: write a `hierarchy` for it."
        return
    found = None if column.distinct < 3 else drafted_hierarchy(facts.connection, column.name, classes)
    if found is None:
        if column.distinct <= MANY_VALUES:
            yield from _values(facts.values(column.name))
        else:
            yield f"      # {column.distinct} rare values: drop it, or write a `hierarchy` for it."
        return
    yield "      # Values that small classes mix stand together. Group them as their readers"
    yield "      # would, and name the groups: the names are published."
    yield "      hierarchy:"
    yield from lines_of(found.tree, "        ")
    if found.others is not None:
        rest = number_of(column.distinct - len(found.values), "other value")
        share = facts.share_without(column.name, found.values)
        yield f"      # The {rest}, in {share:.1%} of the rows, and those to come, are read as this one."
        yield "      # NCP does not count what is lost so."
        yield f"      others: {found.others}"


def _values(values: Sequence[str]) -> Iterator[str]:
    first, *more = listed(values, "        ")
    yield f"      values: {first}"
    yield from more
