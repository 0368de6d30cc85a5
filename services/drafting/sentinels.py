"""Numbers that may say "unknown": 9999, -1 and their kin, where they stand far from all others."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from policy.model import Source
from services.drafting.steps import is_number

CUSTOMARY = (-1, -9, -99, -999, -9999, 99, 999, 9999, 99999, 999999)
FEWEST_ROWS = 5  # with such a number: a single one may be a person's
FEWEST_OTHERS = 3  # distinct numbers, so that there is something to be far from


@dataclass(frozen=True)
class Sentinels:
    """Customary numbers for "unknown" as a column writes them, their rows, and the bounds of the others."""

    written: tuple[str, ...]
    rows: int
    low: float
    high: float


def find_sentinels(con: duckdb.DuckDBPyConnection, column: str, source: Source) -> Sentinels | None:
    """Return those customary numbers that are in several rows and far from the others of a numeric column.

    Far is: as far as the others' range, or below zero where no other is.
    """
    customary = ", ".join(map(str, CUSTOMARY))
    numbers = (
        f"(SELECT {column} AS v, {is_number(column, source)} AS x FROM cells WHERE {column} IS NOT NULL)"
    )
    low, high, others = con.execute(
        f"SELECT min(x), max(x), count(DISTINCT x) FROM {numbers} WHERE x NOT IN ({customary})"
    ).fetchall()[0]
    if others < FEWEST_OTHERS:
        return None
    found = con.execute(
        f"SELECT v, x, count(*) FROM {numbers} WHERE x IN ({customary}) GROUP BY ALL ORDER BY x, v"
    ).fetchall()
    far = [(text, rows) for text, number, rows in found if rows >= FEWEST_ROWS and _is_far(number, low, high)]
    rows = sum(count for _, count in far)
    return Sentinels(tuple(text for text, _ in far), rows, low, high) if far else None


def _is_far(number: float, low: float, high: float) -> bool:
    return number >= high + (high - low) or number <= low - (high - low) or number < 0 <= low
