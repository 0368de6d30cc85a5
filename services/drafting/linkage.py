"""Whether equal values of a column in consecutive tables belong to the same people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import duckdb

from tasks.sql import identifier

SHARED = 0.25  # of the values of the smaller of two tables, from which these are tables about the same people
FEWEST_PAIRS = 50  # of rows with equal values
AGREEMENT = 0.9  # beyond chance, from which a column is a person's own
DISAGREEMENT = 0.5  # beyond chance, up to which it is not
VARIED = 0.05  # of pairs of rows that are not a person's, the least share that must differ in a column


@dataclass(frozen=True)
class Linkage:
    """How far a column's values link the rows of one table to those of the next.

    `shared` is the share of the values of the smaller table that the other has, too; `column` is the one in
    which linked rows agree most often beyond chance, in a share `agreement` of them.
    """

    pairs: int = 0
    shared: float = 0.0
    column: str = ""
    agreement: float = 0.0
    beyond_chance: float = 0.0

    @property
    def of_people(self) -> bool:
        """Whether equal values are the same person's: linked rows agree where others differ."""
        return self._is_enough and self.beyond_chance >= AGREEMENT

    @property
    def of_nobody(self) -> bool:
        """Whether equal values are different people's, as those of a running number of the rows."""
        return self._is_enough and bool(self.column) and self.beyond_chance <= DISAGREEMENT

    @property
    def _is_enough(self) -> bool:
        return self.pairs >= FEWEST_PAIRS and self.shared >= SHARED


def link_tables(con: duckdb.DuckDBPyConnection, name: str, number: str, others: Iterable[str]) -> Linkage:
    """Link the rows of `cells` with equal values in the column `name`, each table's with the next one's.

    The column is unique in each table; `number` is that of the tables' numbers. Agreement beyond chance is
    as in Cohen's kappa (1960). Chance is how often a row agrees with the one that is linked to its neighbour
    in the order of the column: tables that are both sorted by a group agree in it at the same place, whoever
    stands there.
    """
    column, table = identifier(name), identifier(number)
    compared = list(others)
    told = "".join(f", b.{identifier(one)} AS b{place}" for place, one in enumerate(compared))
    own = "".join(f", a.{identifier(one)} AS a{place}" for place, one in enumerate(compared))
    counts = "".join(
        f", count(*) FILTER (a{p} = b{p}), count(*) FILTER (a{p} IS NOT NULL AND b{p} IS NOT NULL), "
        f"count(*) FILTER (a{p} = n{p}), count(*) FILTER (a{p} IS NOT NULL AND n{p} IS NOT NULL)"
        for p in range(len(compared))
    )
    order = "OVER (PARTITION BY t ORDER BY try_cast(k AS DOUBLE), k)"
    beside = "".join(f", lead(b{p}) {order} AS n{p}" for p in range(len(compared)))
    query = f"""
        WITH linked AS (
            SELECT a.{table} AS t, a.{column} AS k{own}{told}
            FROM cells AS a JOIN cells AS b ON a.{column} = b.{column} AND b.{table} = a.{table} + 1
        )
        SELECT count(*){counts} FROM (SELECT *{beside} FROM linked)
        """
    pairs, *found = con.execute(query).fetchall()[0]
    smaller = con.execute(
        f"""
        SELECT sum(least(n, m)) FROM (
            SELECT n, lead(n) OVER (ORDER BY t) AS m
            FROM (SELECT {table} AS t, count({column}) AS n FROM cells GROUP BY ALL)
        ) WHERE m IS NOT NULL
        """
    ).fetchall()[0][0]
    best = Linkage(pairs, pairs / smaller if smaller else 0.0)
    for place, one in enumerate(compared):
        equal, known, by_chance, neighbours = found[4 * place : 4 * place + 4]
        if known < FEWEST_PAIRS or not neighbours or by_chance > (1 - VARIED) * neighbours:
            continue
        agreement, chance = equal / known, by_chance / neighbours
        beyond = (agreement - chance) / (1 - chance)
        if not best.column or beyond > best.beyond_chance:
            best = Linkage(best.pairs, best.shared, one, agreement, beyond)
    return best
