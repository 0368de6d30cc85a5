"""The five attacks by slow loops, written straight from the definitions; shares no code with the product.

A person is a pair: the true values of the quasi-identifiers (None: unknown), and of the sensitive attributes.
A published row is a pair: its cells, and its sensitive values. A cell is an interval (low, high), a frozenset
of values, or None for `*`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Any

Cell = tuple[float, float] | frozenset[str] | None
Person = tuple[tuple[Any, ...], tuple[str, ...]]
Row = tuple[tuple[Cell, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Knows:
    """Places of the quasi-identifiers that the attacker knows, and of the sensitive attribute, if any."""

    columns: tuple[int, ...]
    sensitive: int | None = None


def holds(cell: Cell, value: Any) -> bool:
    """Tell whether a cell holds a value; one that is unknown is held by every cell."""
    if value is None or cell is None:
        return True
    return value in cell if isinstance(cell, frozenset) else cell[0] <= value <= cell[1]


def fitting(rows: Sequence[Row], known: Person, knows: Knows) -> list[Row]:
    """R(x): the rows that fit all that is known."""
    return [
        row
        for row in rows
        if all(holds(row[0][c], known[0][c]) for c in knows.columns)
        and (knows.sensitive is None or row[1][knows.sensitive] == known[1][knows.sensitive])
    ]


def guess(rows: Sequence[Row], attribute: int) -> tuple[Fraction, list[str]] | None:
    """Return the largest share of a value among the rows, and the values that have it; None without rows."""
    counts = Counter(row[1][attribute] for row in rows)
    if not counts:
        return None
    top = max(counts.values())
    return Fraction(top, len(rows)), [value for value, count in counts.items() if count == top]


def may_hold(rows: Sequence[Row], truth: Person, known: Person) -> bool:
    """Tell whether a class that fits what is known holds the true cells, and all sensitive values."""
    for cells in {row[0] for row in rows}:
        mine = [row for row in rows if row[0] == cells]
        fits = all(holds(c, v) and holds(c, w) for c, v, w in zip(cells, truth[0], known[0], strict=True))
        if fits and all(any(row[1][a] == v for row in mine) for a, v in enumerate(truth[1])):
            return True
    return False


def choices(cell: Cell, column: int, source: Sequence[Person], n_values: Sequence[int]) -> int:
    """How many values a cell leaves to choose from: of a number those that stand in the source."""
    if isinstance(cell, tuple):
        known = {person[0][column] for person in source} - {None}
        return max(1, sum(holds(cell, value) for value in known))
    return n_values[column] if cell is None else max(1, len(cell))


def unknown_cells(
    fit: Sequence[Row], truth: Person, knows: Knows, source: Sequence[Person], n_values: Sequence[int]
) -> Fraction:
    """Mean over R(x) of the chance to draw all true values that are not known from a row's cells."""
    unknown = [c for c in range(len(truth[0])) if c not in knows.columns]
    chances = [
        Fraction(
            all(holds(row[0][c], truth[0][c]) for c in unknown),
            prod(choices(row[0][c], c, source, n_values) for c in unknown),
        )
        for row in fit
    ]
    return sum(chances, Fraction(0)) / max(len(chances), 1)


def halves(n_columns: int) -> list[tuple[int, ...]]:
    """Return every set of half of the columns, rounded up."""
    return list(combinations(range(n_columns), (n_columns + 1) // 2))
