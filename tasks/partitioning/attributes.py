"""What published cells are made of, and what they cost: NCP on arrays, before anything is published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from policy.roles import Roles
from tasks.recoding.levels import Levels
from tasks.types import FloatArray, IntArray, PreparedTable

WIDE = 256


@dataclass(frozen=True)
class ClosedSets:
    """How many values the closed sets of a column hold, whose codes stand in the order of its ranges or in
    that of its hierarchy's leaves. `levels` are those of the hierarchy, None where sets become ranges;
    `missing` is the code that stands beside them, -1 where there is none.
    """

    levels: Levels | None
    missing: int = -1

    def numbers(self, codes: IntArray) -> FloatArray:
        """Return codes (n,) as numbers, NaN for the missing value."""
        return np.where(codes == self.missing, np.nan, codes)

    def is_missing(self, codes: IntArray) -> FloatArray:
        """Return 1 for the missing value, 0 for others, (n,)."""
        return np.asarray(codes == self.missing, dtype=np.float64)

    def sizes(self, low: FloatArray, high: FloatArray, missing: FloatArray) -> IntArray:
        """Return how many values the closed sets from the codes `low` to `high` hold, none where low > high,
        and one more where `missing` is 1.
        """
        known = low <= high
        first, last = (np.where(known, end, 0).astype(np.int64) for end in (low, high))
        if self.levels is None:
            found = np.where(known, last - first + 1, 0)
        else:
            found = np.where(known, self._values_of[self.levels.distance(first, last), first], 0)
            found = np.minimum(found, self.levels.n_values - (missing > 0))  # the root has the missing one
        return np.asarray(found + (missing > 0), dtype=np.int64)

    @cached_property
    def _values_of(self) -> IntArray:
        """The number of values of the node of each value at each level, (levels, values)."""
        assert self.levels is not None  # noqa: S101 -- asked for where there is a hierarchy alone
        return np.stack([np.bincount(node)[node] for node in self.levels.node])


@dataclass(frozen=True)
class Attributes:
    """The quasi-identifiers as they are published: `numeric` (n, p) with NaN for missing, `codes` (n, q).

    `span` (p,) and `n_values` (q,) are the table's, which cells are measured against; `weight` (p + q,)
    are the weights of the NCP, numbers first, with a sum of 1. `closed` are the categories (their places)
    whose sets are closed up to a range or a node.
    """

    numeric: FloatArray
    codes: IntArray
    span: FloatArray
    n_values: IntArray
    weight: FloatArray
    closed: Mapping[int, ClosedSets] = field(default_factory=dict)

    def interval_cost(self, column: int, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the weighted cost of intervals [low, high]; without a known number (low > high): whole."""
        if self.span[column] <= 0:
            return np.zeros(np.shape(low))
        known = low <= high
        width = np.where(known, high, 0.0) - np.where(known, low, 0.0)
        return np.asarray(self.weight[column] * np.where(known, width / self.span[column], 1.0))

    def set_cost(self, column: int, distinct: IntArray) -> FloatArray:
        """Return the weighted cost of sets of `distinct` values; a single value costs nothing."""
        share = distinct / max(int(self.n_values[column]), 1)
        return np.asarray(self.weight[self.numeric.shape[1] + column] * np.where(distinct > 1, share, 0.0))

    def points(self) -> FloatArray:
        """Return (n, d) points whose squared distances grow with the NCP that two records together have.

        A number is its share of the span (missing: the median), a category one-hot, so that two values are
        2 / |domain| apart, each by the square root of its weight. A category of more than `WIDE` values,
        where that is next to nothing, is one column, its place in the domain.
        """
        blocks = []
        for p, values in enumerate(self.numeric.T):
            missing = np.isnan(values)
            known = np.where(missing, np.median(values[~missing]), values) if missing.any() else values
            blocks.append(self.weight[p] ** 0.5 * known[:, None] / (self.span[p] or 1.0))
        for q, codes in enumerate(self.codes.T):
            apart = (2 * self.weight[self.numeric.shape[1] + q]) ** 0.5 / max(int(self.n_values[q]), 1)
            n_values = int(self.n_values[q])
            if n_values > WIDE:
                blocks.append(apart * codes[:, None] / n_values)
            else:
                blocks.append(apart * (codes[:, None] == np.arange(n_values)))
        return np.concatenate(blocks, axis=1)

    def take(self, records: IntArray) -> Attributes:
        """Return the attributes of some records, measured against the same table."""
        return replace(self, numeric=self.numeric[records], codes=self.codes[records])


def weights_of(roles: Roles) -> dict[str, float]:
    """Return the weight of each quasi-identifier in NCP."""
    return {name: qi.weight for name, qi in roles.quasi_identifiers.items()}


def attributes_of(
    table: PreparedTable,
    weight: Mapping[str, float] | None = None,
    closed: Mapping[int, ClosedSets] | None = None,
) -> Attributes:
    """Return a table's quasi-identifiers beside the spans and domains of its values; None: equal weights."""
    names = [*table.numeric_names, *table.categorical_names]
    weights = np.array([1.0 if weight is None else weight[name] for name in names])
    span = [float(np.nanmax(values) - np.nanmin(values)) for values in table.numeric.T]
    return Attributes(
        table.numeric,
        table.codes.astype(np.int64),
        np.array(span),
        np.array([len(table.domains[name]) for name in table.categorical_names], dtype=np.int64),
        weights / weights.sum(),
        closed or {},
    )
