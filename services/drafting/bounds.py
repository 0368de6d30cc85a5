"""Bounds and ranges of numbers, found in a table and rounded."""

from __future__ import annotations

import math

from services.drafting.facts import ColumnFacts


def rounded_outwards(column: ColumnFacts) -> tuple[str, str] | None:
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
    return yaml_number(low), yaml_number(high)


def rounded_down(value: float) -> float:
    """Return the greatest of 1, 2, 5, 10, 20 and so on that is at most a value of 1 or more; else 1."""
    if value < 1:
        return 1.0
    scale = 10.0 ** math.floor(math.log10(value))
    return max(scale * step for step in (1, 2, 5) if scale * step <= max(value, scale))


def yaml_number(value: float) -> str:
    """Write a number that YAML reads as one: an exponent needs a point before it."""
    if value == int(value) and abs(value) < 2**53:
        return str(int(value))
    text = repr(float(f"{value:.15g}")) if float(f"{value:.15g}") == value else repr(value)
    return text if "." in text else text.replace("e", ".0e")
