"""One value in place of others: outliers pushed back into their group, and the group flattened or shuffled.

Miche et al. (2016), section 4, doi:10.1007/978-3-319-45507-5_13.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from policy.model import ReleasePolicy
from tasks.partitioning.epsilon_ball import BallRule, outlying
from tasks.recoding.base import as_published, rows_of, set_texts
from tasks.recoding.crowd import Bound, Column, Move, Stir, pushed_back, stirred
from tasks.recoding.levels import category_levels
from tasks.recoding.numbers import imputed, within_bounds
from tasks.types import BoolArray, IntArray, Note, PreparedTable, Recoded, Representation


@dataclass(frozen=True)
class QuantizedRule:
    """How outliers are moved, and how the groups are stirred.

    `outliers` is what an outlier gets in an attribute that lies outside its group, `stir` what happens to the
    quasi-identifiers of a group, `sensitive` what happens to its sensitive attributes. `bound` is for
    noise and resampling. `balls` is the rule by which the groups were made, under `balls_seed`: it tells
    which records were outliers.
    """

    outliers: Move = "member"
    stir: Stir = "flatten"
    sensitive: Literal["keep"] | Stir = "keep"
    bound: Bound = field(default_factory=Bound)
    balls: BallRule = field(default_factory=BallRule)
    balls_seed: int = 0


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
    stay missing. O(n log n) an attribute, and as much for each try at noise and resampling.
    """
    rule = rule or QuantizedRule()
    records = np.flatnonzero(labels >= 0)
    group = labels[records]
    outside = outlying(table, policy.roles, policy.privacy.k, rule=rule.balls, seed=rule.balls_seed)[records]
    core = core_of(group, outside)
    cells: dict[str, np.ndarray] = {}
    n_moved: dict[str, int] = {}
    n_imputed: dict[str, int] = {}
    for i, name in enumerate(table.numeric_names):
        qi, draw = policy.roles.numeric[name], np.random.default_rng([seed, 0, i])
        true = table.numeric[records, i]
        n_imputed[name] = int(np.isnan(true).sum())
        column = Column(imputed(true, group, qi.bounds))
        moved, n_moved[name] = pushed_back(
            column, group, core, rule.outliers, draw, bound=rule.bound, limits=qi.bounds
        )
        chosen = stirred(Column(moved), group, rule.stir, draw, bound=rule.bound)
        cells[name] = as_published(within_bounds(moved[chosen], qi), policy, name)
    for i, name in enumerate(table.categorical_names):
        domain, draw = table.domains[name], np.random.default_rng([seed, 1, i])
        levels = category_levels(domain, policy.roles.categorical[name].tree)
        column = Column(table.codes[records, i].astype(np.float64), levels)
        moved, n_moved[name] = pushed_back(column, group, core, rule.outliers, draw, bound=rule.bound)
        chosen = stirred(Column(moved, levels), group, rule.stir, draw, bound=rule.bound)
        single = set_texts(domain, np.eye(len(domain), dtype=bool), np.zeros(len(domain), dtype=bool))
        cells[name] = single[moved[chosen].astype(np.int64)]
    notes: dict[str, Note] = {
        "outliers": int((core < 0).sum()),
        "moved_values": n_moved,
        "imputed_numbers": n_imputed,
        "stir": rule.stir,
        "sensitive": rule.sensitive,
    }
    mixed = None if rule.sensitive == "keep" else _mixed(table, records, group, rule, rule.sensitive, seed)
    return rows_of(table, policy, records, cells, sensitive=mixed, notes=notes)


def core_of(group: IntArray, outside: BoolArray) -> IntArray:
    """Return the labels of the members that make up each group, -1 for its outliers.

    In a group of outliers alone all are members.
    """
    n_groups = int(group.max(initial=-1)) + 1
    has_core = np.bincount(group[~outside], minlength=n_groups) > 0
    return np.where(outside & has_core[group], -1, group)


def _mixed(
    table: PreparedTable, records: IntArray, group: IntArray, rule: QuantizedRule, how: Stir, seed: int
) -> dict[str, IntArray]:
    """Return for each sensitive attribute the record whose value each of `records` (m,) gets."""
    found = {}
    for i, name in enumerate(table.sensitive_names):
        if name in table.sensitive_numbers:
            column = Column(table.sensitive_numbers[name][records])
        else:
            levels = category_levels(table.sensitive_values[name], None)
            column = Column(table.sensitive[records, i].astype(np.float64), levels)
        draw = np.random.default_rng([seed, 2, i])
        found[name] = records[stirred(column, group, how, draw, bound=rule.bound)]
    return found
