"""Outliers pushed back into the crowd, and the crowd stirred: flattened to its centroid, or shuffled.

Miche et al. (2016), eq. 3 and 5 to 10, doi:10.1007/978-3-319-45507-5_13.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from policy.model import NumericQuasiIdentifier, ReleasePolicy
from tasks.partitioning.epsilon_ball import BallRule, outlying
from tasks.partitioning.medoids import central_values, medians
from tasks.preprocessing.levels import Levels, category_levels
from tasks.recoding.base import Recoded
from tasks.recoding.columns import imputed, kept_columns, number_column, value_texts, within_bounds
from tasks.recoding.divergence import divergences
from tasks.types import BoolArray, FloatArray, IntArray, PreparedTable, Representation

Stir = Literal["flatten", "shuffle", "resample"]


@dataclass(frozen=True)
class QuantizedRule:
    """How outliers are moved, and how the groups are stirred.

    `outliers` is what an outlier gets in an attribute that lies outside its group: the centroid and noise
    (eq. 6), the centroid (eq. 7) or a member's value (eq. 8). `stir` is for the quasi-identifiers,
    `sensitive` for the sensitive attributes: `flatten` to the centroid (eq. 9), `shuffle` by a permutation,
    which leaves every group's distribution as it is, or `resample` by draws with replacement (both eq. 10).
    `divergence` bounds the Kullback-Leibler divergence of noise and resampling, in nats; `tries` draws are
    made for it. `balls` is the rule by which the groups were made, under the same seed: it tells which
    records were outliers.
    """

    outliers: Literal["noise", "centroid", "member"] = "member"
    stir: Stir = "flatten"
    sensitive: Literal["keep"] | Stir = "keep"
    divergence: float = 0.1
    tries: int = 20
    balls: BallRule = field(default_factory=BallRule)


@dataclass(frozen=True)
class Column:
    """One attribute of m records: `values` (m,), numbers or codes, and the `levels` of a category."""

    values: FloatArray
    levels: Levels | None

    def centroids(self, labels: IntArray, n_groups: int) -> FloatArray:
        """Return each group's medoid (eq. 3), (n_groups,); records with label -1 are left out."""
        if self.levels is None:
            return medians(self.values, labels, n_groups)
        codes = self.values.astype(np.int64)
        return central_values(codes, labels, n_groups, self.levels).astype(np.float64)

    def distance(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return the attribute's own distance, element by element; infinite for a missing number."""
        if self.levels is None:
            away = np.abs(first - second)
            return np.asarray(np.where(np.isnan(away), np.inf, away))
        return self.levels.distance(first.astype(np.int64), second.astype(np.int64)).astype(np.float64)


def quantized(
    table: PreparedTable,
    _where: Representation,
    labels: IntArray,
    policy: ReleasePolicy,
    seed: int,
    *,
    rule: QuantizedRule | None = None,
) -> Recoded:
    """Return the rows of groups `labels` (n,), each with single values; records with label -1 are left out.

    Flattened quasi-identifiers make each group one class. Shuffled or resampled ones leave the rows of a
    group different, so that the published rows are not k-anonymous: that is what the paper does, and
    the gate on k refuses it. A flattened sensitive attribute is one value a group, and stands more often
    in the release than in the source: the gates on the model and on truth refuse that. A shuffled one is
    right in number in each group, and no longer beside the person's other values.

    Missing numbers are imputed with their group's median and counted, those of a numeric sensitive attribute
    stay missing. O(n log n) an attribute, and `tries` passes for noise and resampling.
    """
    rule = rule or QuantizedRule()
    records = np.flatnonzero(labels >= 0)
    group = labels[records]
    outside = outlying(table, policy.roles, policy.privacy.k, rule=rule.balls, seed=seed)[records]
    core = _core(group, outside)
    columns: dict[str, Any] = {}
    notes: dict[str, Any] = {"outliers": int((core < 0).sum()), "moved_values": {}, "imputed_numbers": {}}
    for place, (name, qi) in enumerate(policy.roles.quasi_identifiers.items()):
        draw = np.random.default_rng([seed, 0, place])
        if isinstance(qi, NumericQuasiIdentifier):
            true = table.numeric[records, table.numeric_names.index(name)]
            notes["imputed_numbers"][name] = int(np.isnan(true).sum())
            column = Column(imputed(true, group, qi.bounds), None)
        else:
            codes = table.codes[records, table.categorical_names.index(name)]
            column = Column(codes.astype(np.float64), category_levels(table.domains[name], qi.hierarchy))
        bounds = qi.bounds if isinstance(qi, NumericQuasiIdentifier) else (-np.inf, np.inf)
        moved, n_moved = pushed_back(column, group, core, rule, draw, bounds)
        notes["moved_values"][name] = n_moved
        stirred = stir(Column(moved, column.levels), group, rule.stir, rule, draw)
        if isinstance(qi, NumericQuasiIdentifier):
            columns[name] = number_column(within_bounds(stirred, qi), qi)
        else:
            texts = value_texts(stirred.astype(np.int64), table.domains[name])
            columns[name] = pd.array(texts, dtype="str")
    columns |= kept_columns(table, records)
    if rule.sensitive != "keep":
        for place, name in enumerate(table.sensitive_names):
            draw = np.random.default_rng([seed, 1, place])
            columns[name] = _stirred_sensitive(table, records, group, place, rule, rule.sensitive, draw)
    return Recoded(records, pd.DataFrame(columns), notes)


def _core(group: IntArray, outside: BoolArray) -> IntArray:
    """Return the labels of the members that make up each group, -1 for its outliers.

    A group of outliers alone has no other: they are its members.
    """
    n_groups = int(group.max(initial=-1)) + 1
    has_core = np.bincount(group[~outside], minlength=n_groups) > 0
    return np.where(outside & has_core[group], -1, group)


def pushed_back(
    column: Column,
    group: IntArray,
    core: IntArray,
    rule: QuantizedRule,
    draw: np.random.Generator,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[FloatArray, int]:
    """Return values with those of outliers that lie outside their group replaced (eq. 5), and how many.

    `group` (m,) is everybody's label, `core` (m,) the same for members and -1 for outliers. A value lies
    outside if it is farther from the centroid of the members than any of theirs. Noise stays in `bounds`.
    """
    centroid = column.centroids(core, int(group.max(initial=-1)) + 1)
    away = column.distance(column.values, centroid[group])
    reach = _reach(away[core >= 0], group[core >= 0], len(centroid))
    out = np.flatnonzero((core < 0) & (away > reach[group]))
    values = column.values.copy()
    if rule.outliers == "member":
        values[out] = column.values[drawn_members(core, group[out], draw)]
    elif rule.outliers == "noise" and column.levels is None:
        values[out] = noisy_centroids(column, core, group[out], rule, draw, bounds)
    else:
        values[out] = centroid[group[out]]
    return values, len(out)


def drawn_members(core: IntArray, groups: IntArray, draw: np.random.Generator) -> IntArray:
    """Return for each of `groups` (m,) one of its members at random, as positions in `core` (eq. 8), (m,)."""
    order = np.argsort(core, kind="stable")
    start = np.searchsorted(core[order], groups, side="left")
    end = np.searchsorted(core[order], groups, side="right")
    return np.asarray(order[start + draw.integers(0, end - start)] if len(groups) else order[:0])


def noisy_centroids(
    column: Column,
    core: IntArray,
    groups: IntArray,
    rule: QuantizedRule,
    draw: np.random.Generator,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> FloatArray:
    """Return a number for each of `groups` (m,): its centroid and noise (eq. 6), (m,).

    The noise is a signed distance of a drawn member to the centroid, so that a moved value is no farther
    out than the group reaches. A group's draws are kept if the distances of members and moved records
    together diverge from those of the members by `divergence` at most; where no draw of `tries` does, its
    outliers get the centroid. A category has no noise to be given: it gets the centroid, too.
    """
    members = np.flatnonzero(core >= 0)
    centroid = column.centroids(core, int(core.max(initial=-1)) + 1)
    near = column.distance(column.values[members], centroid[core[members]])
    reach = _reach(near, core[members], len(centroid))
    found = centroid[groups]
    waiting = np.arange(len(groups))
    for _ in range(rule.tries):
        here = groups[waiting]
        member = column.values[drawn_members(core, here, draw)]
        sign = draw.choice(np.array([-1.0, 1.0]), len(here))
        trial = np.clip(centroid[here] + sign * (member - centroid[here]), *bounds)
        distance = np.concatenate([near, np.abs(trial - centroid[here])])
        which = np.concatenate([core[members], here])
        good = divergences(near, core[members], distance, which, reach)[here] <= rule.divergence
        found[waiting[good]] = trial[good]
        waiting = waiting[~good]
    return found


def stir(
    column: Column, group: IntArray, how: Stir, rule: QuantizedRule, draw: np.random.Generator
) -> FloatArray:
    """Return the values of groups (m,) flattened, shuffled or resampled (eq. 9 and 10), (m,).

    A group whose resamples all diverge too far is shuffled instead.
    """
    n_groups = int(group.max(initial=-1)) + 1
    centroid = column.centroids(group, n_groups)
    if how == "flatten":
        return centroid[group]
    order = np.argsort(group, kind="stable")
    mixed = np.lexsort((draw.random(len(group)), group))
    values = np.empty(len(group))
    values[order] = column.values[mixed]
    if how == "shuffle":
        return values
    away = column.distance(column.values, centroid[group])
    reach = _reach(away, group, n_groups)
    open_ = np.ones(n_groups, dtype=bool)
    for _ in range(rule.tries):
        trial = column.values[drawn_members(group, group, draw)]
        distance = column.distance(trial, centroid[group])
        good = open_ & (divergences(away, group, distance, group, reach) <= rule.divergence)
        values[good[group]] = trial[good[group]]
        open_ &= ~good
    return values


def _reach(distance: FloatArray, group: IntArray, n_groups: int) -> FloatArray:
    """Return the greatest finite distance in each group, (n_groups,)."""
    reach = np.zeros(n_groups)
    np.maximum.at(reach, group, np.where(np.isfinite(distance), distance, 0.0))
    return reach


def _stirred_sensitive(
    table: PreparedTable,
    records: IntArray,
    group: IntArray,
    place: int,
    rule: QuantizedRule,
    how: Stir,
    draw: np.random.Generator,
) -> Any:
    name = table.sensitive_names[place]
    if name in table.sensitive_numbers:
        return stir(Column(table.sensitive_numbers[name][records], None), group, how, rule, draw)
    values = table.sensitive_values[name]
    column = Column(table.sensitive[records, place].astype(np.float64), category_levels(values, None))
    codes = stir(column, group, how, rule, draw).astype(np.int64)
    return pd.array(np.array(values, dtype=object)[codes], dtype="str")
