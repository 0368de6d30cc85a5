"""Round numbers that hardly repeat, so that few are one person's alone; or group them in bands."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import duckdb

from tasks.sql import identifier

MOST_SINGLE = 0.05  # of a table's rows that may have a number alone: a quarter of what `unique` allows
MOST_BANDS = 8  # among nine tenths of the numbers
POWERS = 5  # of ten, in which steps are tried


@dataclass(frozen=True)
class Rounding:
    """Multiples of a whole step, from the least to the greatest if they have `ends`."""

    step: float
    ends: tuple[float, float] | None = None
    kept: bool = False  # by most people until the next table, where they are not mostly in one row

    def sql(self, number: str) -> str:
        """Return the SQL of a number that is rounded so."""
        found = f"round(({number}) / {self.step:.0f}) * {self.step:.0f}"
        if self.ends is not None:
            low, high = self.ends
            # least() and greatest() pass over what is missing.
            found = (
                f"CASE WHEN ({number}) IS NOT NULL THEN least(greatest({found}, {low:.0f}), {high:.0f}) END"
            )
        return f"CAST({found} AS BIGINT)"

    @property
    def why(self) -> str:
        """Why numbers are rounded, after what they are called."""
        if self.kept:
            return "are the same people's in the next table, so that a reader could join their rows"
        return "are in one row, so that they identify people"

    @property
    def said(self) -> str:
        """What the query does, in words."""
        if self.ends is None:
            return f"rounds them to multiples of {self.step:.0f}"
        low, high = self.ends
        return f"groups them in steps of {self.step:.0f} from {low:.0f} to {high:.0f}"


def least_rounding(con: duckdb.DuckDBPyConnection, number: str, table: str) -> Rounding | None:
    """Return the least step by which few rows of a table have a number of `cells` alone; None for no such.

    `number` is SQL, `table` the column of the tables' numbers. O(n) a step.
    """
    low, high = con.execute(f"SELECT min({number}), max({number}) FROM cells").fetchall()[0]
    for step in _steps(high - low):
        query = f"""
            SELECT max(share) FROM (
                SELECT count(*) FILTER (n = 1) / sum(n) AS share FROM (
                    SELECT {identifier(table)} AS t, count(*) AS n FROM cells
                    WHERE {number} IS NOT NULL GROUP BY t, {Rounding(step).sql(number)}
                ) GROUP BY t
            )
            """
        if con.execute(query).fetchall()[0][0] <= MOST_SINGLE:
            return Rounding(step)
    return None


def bands(con: duckdb.DuckDBPyConnection, number: str) -> Rounding | None:
    """Return few bands of numbers by which nobody is found again; those beyond a twentieth at each end are
    read as the last band.
    """
    query = f"SELECT quantile_cont({number}, 0.05), quantile_cont({number}, 0.95) FROM cells"
    low, high = con.execute(query).fetchall()[0]
    step = next((one for one in _steps(high - low) if (high - low) / one <= MOST_BANDS), None)
    return None if step is None else Rounding(step, (round(low / step) * step, round(high / step) * step))


def _steps(width: float) -> Iterator[float]:
    """Yield 1, 2 or 5 times a power of ten, whole numbers, up to those of a range."""
    largest = math.floor(math.log10(max(width, 1.0)))
    for power in range(max(largest - POWERS, 0), largest + 1):
        yield from (digit * 10.0**power for digit in (1, 2, 5))
