"""Whether a table that was read can hold the policy's model, as results of validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from expectations.numbers import as_numbers
from policy.model import ReleasePolicy
from tasks.counting import counted
from tasks.types import FloatArray, IntArray, SourceTable
from tasks.validation.check import ExpectationResult
from tasks.validation.whole_table import shortfalls

NAME = "expect_table_to_hold_the_model"


def feasible(table: SourceTable, policy: ReleasePolicy) -> list[ExpectationResult]:
    """Return a result for k and one for each sensitive attribute, as `shortfalls`. O(n)."""
    whole = FrameOfTable(table.frame, policy, table.rows)
    return [
        ExpectationResult(
            NAME, one.column, not one.said, None, whole.rows, one.said, one.hint if one.said else ""
        )
        for one in shortfalls(whole, policy)
    ]


@dataclass(frozen=True)
class FrameOfTable:
    """What is counted of a table in a frame, whose rows may stand for several: a `WholeTable`."""

    frame: pd.DataFrame
    policy: ReleasePolicy
    times: IntArray | None = None

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return len(self.frame) if self.times is None else int(self.times.sum())

    def distinct(self, column: str) -> int:
        """Return how many values a column has, missing ones left out."""
        return int(self.frame[column].nunique())

    def stands_for(self) -> float:
        """Return how many people of the population all rows stand for; a person's several rows count once."""
        policy, frame = self.policy, self.frame
        weight, fraction = policy.roles.weight, policy.linkage.sampling_fraction
        whose = frame[policy.roles.key] if policy.rows == "several" and policy.roles.key else None
        if weight is None or fraction is not None:
            return (self.rows if whose is None else int(whose.nunique())) / (fraction or 1.0)
        weights = pd.to_numeric(frame[weight], errors="coerce")
        return float((weights if whose is None else weights.groupby(whose).min()).sum(skipna=False))

    def values(self, name: str) -> Sequence[str | None]:
        """Return the distinct values of an attribute in the order of their first rows; None: missing."""
        _, distinct = pd.factorize(self.frame[name], use_na_sentinel=False)
        return [None if pd.isna(value) else str(value) for value in distinct]

    def counts(self, name: str, groups: IntArray | None, key: str | None) -> IntArray:
        """Return how many rows or people have each value, or one of each group, (m,)."""
        codes, distinct = pd.factorize(self.frame[name], use_na_sentinel=False)
        n_values = len(distinct) if groups is None else int(groups.max(initial=-1)) + 1
        if groups is not None:
            codes = groups[codes]
        if key is not None:
            whose = pd.factorize(self.frame[key])[0]
            codes = codes[np.unique(np.column_stack([whose, codes]), axis=0, return_index=True)[1]]
        return counted(codes, self.times, n_values)

    def span(self, name: str) -> tuple[float, float] | None:
        """Return the least and the greatest number of an attribute; None: doubles do not hold them all."""
        column = self.frame[name]
        if column.dtype.kind != "f":
            return None
        known = column.dropna()
        return (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)

    def combinations(self) -> IntArray:
        """Return how many rows have each combination of quasi-identifiers."""
        names = list(self.policy.roles.quasi_identifiers)
        times = pd.Series(1 if self.times is None else self.times, index=self.frame.index)
        columns = [pd.factorize(self.frame[name], use_na_sentinel=False)[0] for name in names]
        return np.asarray(times.groupby(columns, sort=False).sum(), dtype=np.int64)

    def numbers(self, name: str) -> FloatArray:
        """Return the numbers that the values of an attribute stand for, (m,), nan where one is none."""
        _, distinct = pd.factorize(self.frame[name], use_na_sentinel=False)
        return as_numbers(pd.Series(distinct))
