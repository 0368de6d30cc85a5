"""For how many of the people in two tables a column changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from tasks.sql import identifier

FEWEST_PEOPLE = 50  # in two tables, from which a share of them is told


@dataclass(frozen=True)
class Change:
    """How many people have a value in two tables, and how many of them another one in the later table."""

    people: int
    changed: int

    @property
    def share(self) -> float:
        """The share of the people whose value changed."""
        return self.changed / self.people


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
