"""One distance for each attribute, mapped so that distances of different attributes can be compared.

Miche et al. (2016), section 3.2: each distance is mapped to a distribution that they have in common.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policy.roles import Roles
from tasks.recoding.levels import Levels, category_levels
from tasks.types import FloatArray, IntArray, PreparedTable


@dataclass(frozen=True)
class Attribute:
    """One quasi-identifier's values and its distance.

    A numeric one has `values` (n,), NaN for missing, and the absolute difference; two missing numbers are at
    distance 0, a missing and a known one at infinity. A categorical one has codes as `values` (n,) and
    `levels`, the level of the lowest common node. `steps` (m,) are the distances of a sample of pairs, sorted
    and each once; `within` (m + 1,) is the share of the pairs that are among the first i steps.
    """

    name: str
    values: FloatArray
    levels: Levels | None
    steps: FloatArray
    within: FloatArray

    def distance(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return the distance of values that broadcast together."""
        return _distance(self.levels, first, second)

    def mapped(self, distance: FloatArray) -> FloatArray:
        """Return the share, in [0, 1], of sampled pairs that are nearer, half of those as near included.

        This is the reading of the quantile map: it does not fall as the distance grows, and distance 0
        stays 0.
        """
        after = np.searchsorted(self.steps, distance, side="right")
        sampled = (after > 0) & (self.steps[np.maximum(after - 1, 0)] == distance)
        share = (self.within[after - sampled] + self.within[after]) / 2
        return np.asarray(np.where(distance > 0, share, 0.0))

    def radius(self, epsilon: float) -> float:
        """Return the greatest sampled distance that is mapped to `epsilon` at most; 0 where none is."""
        near = np.flatnonzero(self.mapped(self.steps) <= epsilon)
        return float(self.steps[near[-1]]) if len(near) else 0.0


def attributes_of(table: PreparedTable, roles: Roles, *, pairs: int, seed: int) -> list[Attribute]:
    """Return the quasi-identifiers, numeric ones first, each measured on the same `pairs` drawn pairs.

    A pair is two different records. O(pairs * attributes).
    """
    draw = np.random.default_rng(seed)
    n = table.n_records
    one = draw.integers(0, n, pairs)
    other = (one + draw.integers(1, n, pairs)) % n if n > 1 else one
    found = []
    for column, name in enumerate(table.numeric_names):
        found.append(_attribute(name, table.numeric[:, column], None, one, other))
    for column, name in enumerate(table.categorical_names):
        levels = category_levels(table.domains[name], roles.categorical[name].tree)
        found.append(_attribute(name, table.codes[:, column].astype(np.float64), levels, one, other))
    return found


def _attribute(
    name: str, values: FloatArray, levels: Levels | None, one: IntArray, other: IntArray
) -> Attribute:
    sample = _distance(levels, values[one], values[other])
    steps, count = np.unique(sample, return_counts=True)
    within = np.concatenate([[0.0], np.cumsum(count) / len(sample)])
    return Attribute(name, values, levels, steps, within)


def _distance(levels: Levels | None, first: FloatArray, second: FloatArray) -> FloatArray:
    if levels is not None:
        return levels.distance(first.astype(np.int64), second.astype(np.int64)).astype(np.float64)
    away = np.abs(first - second)
    both = np.isnan(first) & np.isnan(second)
    return np.asarray(np.where(both, 0.0, np.where(np.isnan(away), np.inf, away)))
