"""The measures of utility as their papers define them: rows, loops and sets, and no code of the product.

A published row has its cells: an interval of numbers as a tuple, a frozenset of values, or `WHOLE`. A
record of the source is its values: a number (None: unknown) or a text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WHOLE = "*"
Cell = tuple[float, float] | frozenset[str] | str
Paths = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Row:
    """A published row: its cells, its group, the record that it is about, and a sensitive number."""

    cells: dict[str, Cell]
    group: int
    record: dict[str, Any]
    number: float | None
    group_key: tuple[Any, ...]


def classes(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows of each equivalence class."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(row.group_key, []).append(row)
    return list(found.values())


def level(cell: Cell, paths: Paths | None, widths: Sequence[float]) -> tuple[int, int]:
    """Return the level of a cell, and the height of its attribute's hierarchy."""
    if isinstance(cell, tuple):
        steps = [0.0, *widths, math.inf]
        return next(i for i, width in enumerate(steps) if cell[1] - cell[0] <= width), len(steps) - 1
    if paths is None:
        return (0 if cell != WHOLE and len(cell) == 1 else 1), 1
    height = max(len(path) for path in paths.values()) - 1
    for place in range(height):
        above = {paths[value][place] if value in paths else (value, place) for value in cell}
        if cell != WHOLE and (len(cell) == 1 or len(above) == 1):
            return place, height
    return height, height


def meeting(cell: Cell, own: Any) -> Cell:
    """Return the cell that holds both the published and the true value."""
    if isinstance(cell, tuple):
        return cell if own is None else (min(cell[0], own), max(cell[1], own))
    return cell if cell == WHOLE else frozenset(cell) | {own}


def chance(cell: Cell, asked: tuple[float, float] | str, domain: Sequence[str], whole_numbers: bool) -> float:
    """Return how likely a value drawn from the cell meets the condition."""
    if isinstance(asked, str):
        values = list(domain) if cell == WHOLE else sorted(cell)
        return values.count(asked) / len(values)
    low, high = cell
    first, last = asked
    if math.isnan(first):
        return 0.0
    if low == high:
        return 1.0 if first <= low <= last else 0.0
    if whole_numbers:
        numbers = range(round(low), round(high) + 1)
        return sum(first <= number <= last for number in numbers) / len(numbers)
    return max(0.0, min(high, last) - max(low, first)) / (high - low)


def meets(value: Any, asked: tuple[float, float] | str) -> bool:
    """Tell whether a true value meets the condition."""
    if isinstance(asked, str):
        return bool(value == asked)
    return value is not None and asked[0] <= value <= asked[1]


def joined(chances: Sequence[float], either: bool) -> float:
    """Return the chance that all conditions hold, or one of them."""
    if either:
        return 1 - math.prod(1 - one for one in chances)
    return math.prod(chances)


def squared_errors(records: Sequence[Mapping[str, float]], groups: Sequence[int]) -> float:
    """Return the sum of squared distances of vectors to their group's mean."""
    total = 0.0
    for group in set(groups):
        mine = [record for record, of in zip(records, groups, strict=True) if of == group]
        for name in records[0]:
            mean = math.fsum(record[name] for record in mine) / len(mine)
            total += math.fsum((record[name] - mean) ** 2 for record in mine)
    return total
