"""For how many of the people in two tables a column changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from policy.text import number_of
from tasks.sql import identifier

FEWEST_PEOPLE = 50  # in two tables, from which a share of them is told
OUTLIERS = 0.005  # of the people, at each end of what numbers move by, that are left out


@dataclass(frozen=True)
class Change:
    """How many people have a value in two tables, and how many of them another one in the later table."""

    people: int
    changed: int
    moves: tuple[float, float] | None = None  # of numbers, from each table to the next

    @property
    def share(self) -> float:
        """The share of the people whose value changed."""
        return self.changed / self.people

    @property
    def said(self) -> str:
        """How many people have another value, in a sentence."""
        people = number_of(self.people, "person", "people")
        return f"Of {people} in two tables, {self.share:.1%} have another value in the later one."


def moves_of(
    con: duckdb.DuckDBPyConnection, key: str, number: str, numbers: Mapping[str, str]
) -> Mapping[str, tuple[float, float]]:
    """Return how far the numbers of people move from each table to the next, without OUTLIERS.

    `numbers` is the SQL of each column's numbers over `cells`; `key` is unique in each table.
    """
    if not numbers:
        return {}
    person, table = identifier(key), identifier(number)
    columns = ", ".join(f"{sql} AS x{place}" for place, sql in enumerate(numbers.values()))
    ends = ", ".join(
        f"count(b.x{n} - a.x{n}), quantile_disc(b.x{n} - a.x{n}, {OUTLIERS}), "
        f"quantile_disc(b.x{n} - a.x{n}, {1 - OUTLIERS})"
        for n in range(len(numbers))
    )
    found = con.execute(
        f"""
        WITH people AS (SELECT {person} AS whose, {table} AS t, {columns} FROM cells)
        SELECT {ends} FROM people AS a JOIN people AS b ON a.whose = b.whose AND b.t = a.t + 1
        """
    ).fetchall()[0]
    moves = zip(numbers, found[::3], found[1::3], found[2::3], strict=True)
    return {name: (low, high) for name, people, low, high in moves if people >= FEWEST_PEOPLE}


def changes_of(
    con: duckdb.DuckDBPyConnection, key: str, number: str, columns: Sequence[str]
) -> Mapping[str, Change]:
    """Return the change of each column between the two tables that differ most in it.

    `cells` has the rows of all tables, with the table's number in the column `number`; `key` is unique in
    each. Columns without FEWEST_PEOPLE people in any two tables are left out. Two tables of n rows are joined
    in O(n), and every two of them are.
    """
    if not columns:
        return {}
    person, table = identifier(key), identifier(number)
    cells = [identifier(name) for name in columns]
    counts = ", ".join(
        f"count(*) FILTER (a.{cell} IS NOT NULL AND b.{cell} IS NOT NULL), "
        f"count(*) FILTER (a.{cell} <> b.{cell})"
        for cell in cells
    )
    rows = con.execute(
        f"""
        SELECT {counts} FROM cells AS a JOIN cells AS b ON a.{person} = b.{person} AND a.{table} < b.{table}
        GROUP BY a.{table}, b.{table} ORDER BY a.{table}, b.{table}
        """
    ).fetchall()
    found: dict[str, Change] = {}
    for place, name in enumerate(columns):
        changes = [Change(*row[2 * place : 2 * place + 2]) for row in rows]
        enough = [one for one in changes if one.people >= FEWEST_PEOPLE]
        if enough:
            found[name] = max(enough, key=lambda one: one.share)
    return found
