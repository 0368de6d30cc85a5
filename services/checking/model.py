"""Whether the whole table can hold the policy's model, by counts of DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from expectations.number_text import WHOLE_LIMIT
from policy.model import ReleasePolicy
from services.checking.findings import Finding
from tasks.intake.cell_table import TABLE, Cells
from tasks.sql import identifier
from tasks.types import FloatArray, IntArray
from tasks.validation.whole_table import shortfalls


def model_findings(cells: Cells, policy: ReleasePolicy) -> list[Finding]:
    """Return what no class can satisfy because the whole table does not; it must have the roles' columns."""
    return [
        Finding(cells.where, "" if one.column is None else f"column '{one.column}'", one.said, one.hint)
        for one in shortfalls(CellsOfTable(cells, policy), policy)
        if one.said
    ]


@dataclass(frozen=True)
class CellsOfTable:
    """What is counted of a table in DuckDB: a `WholeTable`."""

    cells: Cells
    policy: ReleasePolicy

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.cells.rows

    def distinct(self, column: str) -> int:
        """Return how many values a column has, missing ones left out."""
        return int(self.cells.one(f"SELECT count(DISTINCT {identifier(column)}) FROM {TABLE}")[0])

    def stands_for(self) -> float:
        """Return how many people of the population all rows stand for; a person's several rows count once."""
        policy, cells = self.policy, self.cells
        weight, fraction = policy.roles.weight, policy.linkage.sampling_fraction
        whose = policy.roles.key if policy.rows == "several" else None
        if weight is None or fraction is not None:
            return (cells.rows if whose is None else self.distinct(whose)) / (fraction or 1.0)
        column = cells.number(weight)
        if whose is None:
            total, known, rows = cells.one(f"SELECT sum({column}), count({column}), count(*) FROM {TABLE}")
        else:
            total, known, rows = cells.one(
                f"SELECT sum(w), count(w), count(*) FROM (SELECT min({column}) AS w FROM {TABLE} "
                f"WHERE {identifier(whose)} IS NOT NULL GROUP BY {identifier(whose)})"
            )
        return float(total) if known == rows and total is not None else float("nan")

    def values(self, name: str) -> Sequence[str | None]:
        """Return the distinct values of an attribute, sorted, the missing one last."""
        found = self.cells.all(f"SELECT DISTINCT {self._value(name)} FROM {TABLE} ORDER BY 1 NULLS LAST")
        return [None if value is None else str(value) for (value,) in found]

    def counts(self, name: str, groups: IntArray | None, key: str | None) -> IntArray:
        """Return how many rows or people have each value, or one of each group, (m,)."""
        count = "count(*)" if key is None else "count(DISTINCT whose)"
        whose = "0" if key is None else f"coalesce({identifier(key)}, '')"
        value = self._value(name)
        if groups is None:
            cells = f"SELECT {value} AS v, {whose} AS whose FROM {TABLE}"
            found = self.cells.all(f"SELECT {count} FROM ({cells}) GROUP BY v ORDER BY v NULLS LAST")
            return np.array([number for (number,) in found], dtype=np.int64)
        cells = (
            f"SELECT dense_rank() OVER (ORDER BY {value} NULLS LAST) AS place, {whose} AS whose FROM {TABLE}"
        )
        found = self.cells.all(
            f"SELECT list_extract(?::BIGINT[], place) AS g, {count} FROM ({cells}) GROUP BY g",
            [groups.tolist()],
        )
        counts = np.zeros(int(groups.max(initial=-1)) + 1, dtype=np.int64)
        for group, number in found:
            counts[group] = number
        return counts

    def combinations(self) -> IntArray:
        """Return how many rows have each combination of quasi-identifiers."""
        names = ", ".join(map(identifier, self.policy.roles.quasi_identifiers))
        found = self.cells.all(
            f"SELECT n, count(*) FROM (SELECT count(*) AS n FROM {TABLE} GROUP BY {names}) GROUP BY n"
        )
        sizes, times = np.array(found, dtype=np.int64).T
        return np.repeat(sizes, times)

    def span(self, name: str) -> tuple[float, float] | None:
        """Return the least and the greatest number of an attribute; None: doubles do not hold them all."""
        if not self._is_number(name):
            return None
        number = self.cells.number(name)
        low, high = self.cells.one(f"SELECT min({number}), max({number}) FROM {TABLE}")
        if low is None:
            return 0.0, 0.0
        return (float(low), float(high)) if max(-low, high) < WHOLE_LIMIT else None

    def numbers(self, name: str) -> FloatArray:
        """Return the numbers that the values of an attribute stand for, (m,), nan where one is none."""
        if not self._is_number(name):
            return np.full(len(self.values(name)), np.nan)
        return np.array([np.nan if one is None else float(one) for one in self.values(name)])

    def _value(self, name: str) -> str:
        """Return the SQL of an attribute's values: numbers where all are."""
        return self.cells.number(name) if self._is_number(name) else identifier(name)

    def _is_number(self, name: str) -> bool:
        if self.policy.roles.sensitive[name].type != "numeric":
            return False
        return self._numeric[name]

    @cached_property
    def _numeric(self) -> dict[str, bool]:
        """Whether all values of each numeric attribute are numbers."""
        found = {}
        for name, attribute in self.policy.roles.sensitive.items():
            if attribute.type == "numeric":
                known, numbers = self.cells.one(
                    f"SELECT count({identifier(name)}), count({self.cells.number(name)}) FROM {TABLE}"
                )
                found[name] = bool(known == numbers)
        return found
