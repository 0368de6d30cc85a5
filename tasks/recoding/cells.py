"""How a cell is written in a published file, and read from it.

A set of values is sorted and joined by `|`; a literal `|`, `\\` or lone `*` in a value is escaped by `\\`;
`*` alone is the whole domain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

WHOLE = "*"
_SPECIAL = re.compile(r"([|\\])")


def write_set(values: Sequence[str]) -> str:
    """Return the cell of a set of values that is not the whole domain."""
    return "|".join(_escaped(value) for value in sorted(values))


def read_set(cell: str) -> tuple[str, ...] | None:
    """Return the values of a cell, or None for the whole domain.

    Raises ValueError where the cell is none that `write_set` could have written.
    """
    if cell == WHOLE:
        return None
    parts = tuple(_unescaped(part) for part in _split(cell))
    if len(set(parts)) != len(parts) or write_set(parts) != cell:
        raise ValueError("not a cell of a published file")
    return parts


def _escaped(value: str) -> str:
    return "\\*" if value == WHOLE else _SPECIAL.sub(r"\\\1", value)


def _split(cell: str) -> list[str]:
    parts, start, i = [], 0, 0
    while i < len(cell):
        if cell[i] == "\\":
            i += 1
        elif cell[i] == "|":
            parts.append(cell[start:i])
            start = i + 1
        i += 1
    return [*parts, cell[start:]]


def _unescaped(part: str) -> str:
    return re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL)
