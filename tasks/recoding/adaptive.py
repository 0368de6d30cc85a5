"""Adaptive generalization of categories and Laplace noise on numbers.

Majeed, Lee and Hwang (2025), sections 4.4 to 4.6, doi:10.3390/app152111849.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from policy.model import ReleasePolicy
from policy.roles import NumericQuasiIdentifier
from tasks.privacy.diversity import entropy
from tasks.recoding.base import as_published, rows_of, set_texts
from tasks.recoding.closure import covers_of
from tasks.recoding.generalize import count_cells
from tasks.recoding.numbers import imputed, laplace_noise, within_bounds
from tasks.types import BoolArray, FloatArray, IntArray, Note, PreparedTable, Recoded, Representation


@dataclass(frozen=True)
class AdaptiveRule:
    """Which categories are kept, and how much noise the numbers get.

    `threshold` is the least diversity of a diverse cluster; None: the paper's 0.65 for a sensitive
    attribute with two values, 0.60 for others. `dominance` is the least share of its cluster that a
    dominating value has (ours: the paper gives none). `epsilon_kept` is for clusters whose categories are
    all kept, `epsilon_raised` for others. `noise_on` says whether every record's own number gets noise,
    or the cluster's mean, which its records then have in common.
    """

    threshold: float | None = None
    dominance: float = 0.5
    epsilon_kept: float = 0.5
    epsilon_raised: float = 0.3
    noise_on: Literal["record", "cluster"] = "record"

    def least_diversity(self, n_values: int) -> float:
        """Return the threshold for a sensitive attribute of so many values."""
        return self.threshold if self.threshold is not None else 0.65 if n_values <= 2 else 0.60


def adaptive(
    table: PreparedTable,
    _where: Representation,
    labels: IntArray,
    policy: ReleasePolicy,
    seed: int,
    *,
    rule: AdaptiveRule | None = None,
) -> Recoded:
    """Return the rows of clusters `labels` (n,); records with label -1 are left out.

    A quasi-identifier is kept in a diverse cluster where the value that dominates the cluster is also the
    table's most frequent (a general pattern); else its values are raised one level of its hierarchy,
    where the policy gives one. Algorithm 3 prints the same treatment for both sides of its test of
    diversity; the text around it, more anonymity where diversity is low, is what is built.

    The paper then leaves the values of a cluster's records different from each other, which is not
    k-anonymous. Here all records of a cluster have the same cell, the set of their kept or raised values, a
    node standing for all its leaves. So the categories alone are k-anonymous, k the least size of a cluster.
    With noise on every record the published numbers differ within a cluster, and rows that are equal in all
    columns may be fewer than k; with `noise_on: cluster` whole rows are k-anonymous.

    Numbers get Laplace noise of scale sensitivity / epsilon, of the policy's declared sensitivity or else the
    width of its bounds, never of the data; a cluster's mean moves by sensitivity / size at most, given the
    clusters. The result is clipped to the bounds, integers are rounded. Missing numbers are imputed before
    that and counted. The notes have the sensitivities, and the epsilon spent: over clusters the largest, as
    they have no record in common, and over attributes the sum. Under a declared sensitivity, this epsilon
    is that of two numbers so far apart; `epsilon_over_bounds` is that of the two bounds.
    This is no differential privacy of the release: clusters, categories and sensitive values depend on the
    data without noise, and who knows the seed and the rows' order can take the noise off. O(n) an attribute
    and value.
    """
    rule = rule or AdaptiveRule()
    records = np.flatnonzero(labels >= 0)
    cluster = labels[records]
    n_clusters = int(cluster.max(initial=-1)) + 1
    diverse = diverse_clusters(table, records, cluster, n_clusters, rule)
    kept, cells, lookups = _categories(table, records, cluster, diverse, policy, rule.dominance)
    epsilon = np.where(kept.all(axis=1) & diverse, rule.epsilon_kept, rule.epsilon_raised)
    n_imputed = {}
    sensitivity = {name: policy.roles.numeric[name].noise_sensitivity for name in table.numeric_names}
    for i, name in enumerate(table.numeric_names):
        qi = policy.roles.numeric[name]
        values = imputed(table.numeric[records, i], cluster, qi.bounds)
        n_imputed[name] = int(np.isnan(table.numeric[records, i]).sum())
        draw = np.random.default_rng([seed, i])
        noised = within_bounds(_noised(values, cluster, epsilon, qi, draw, rule.noise_on), qi)
        cells[name] = as_published(noised, policy, name)
    spent = float(epsilon.max()) if n_clusters else 0.0
    notes: dict[str, Note] = {
        "diverse_clusters": int(diverse.sum()),
        "clusters_kept": int((kept.all(axis=1) & diverse).sum()),
        "hierarchy_lookups": lookups,
        "epsilon_by_attribute": dict.fromkeys(table.numeric_names, spent),
        "epsilon_total": spent * len(table.numeric_names),
        "sensitivity_by_attribute": sensitivity,
        "epsilon_over_bounds": {
            name: spent * (high - low) / sensitivity[name]
            for name in table.numeric_names
            for low, high in [policy.roles.numeric[name].bounds]
        },
        "noise_on": rule.noise_on,
        "imputed_numbers": n_imputed,
    }
    return rows_of(table, policy, records, cells, notes=notes)


def diversity(codes: IntArray, labels: IntArray, n_values: int, n_groups: int) -> FloatArray:
    """Return each group's entropy of a sensitive attribute, at most 1, (n_groups,).

    Eq. 7, with the natural logarithm that it prints, and with the paper's range of 0 to 1: an entropy over
    1 counts as 1. This alone gives the paper's three examples (eq. 8): <0,0,0> has 0, <0,1,0> has 0.637
    (0.63 in print) and <0,1,2>, whose entropy is 1.099, has 1. A group with two values has at most 0.693.
    `n_values` counts the table's values. O(n).
    """
    return np.minimum(entropy(count_cells(labels, codes, n_groups, n_values)), 1.0)


def diverse_clusters(
    table: PreparedTable, records: IntArray, cluster: IntArray, n_clusters: int, rule: AdaptiveRule
) -> BoolArray:
    """Return which clusters are diverse in every sensitive attribute, (n_clusters,)."""
    diverse = np.ones(n_clusters, dtype=bool)
    for i, name in enumerate(table.sensitive_names):
        n_values = len(table.sensitive_values[name])
        codes = table.sensitive[records, i].astype(np.int64)
        diverse &= diversity(codes, cluster, n_values, n_clusters) >= rule.least_diversity(n_values)
    return diverse


def general(counts: IntArray, dominance: float) -> BoolArray:
    """Return for groups (n_groups,) whether the value that dominates them is the table's most frequent one.

    `counts` (n_groups, n_values) are the groups' values; `dominance` the least share of a dominating value.
    Ties in the table go to the lower code.
    """
    frequent = counts.sum(axis=0).argmax()
    share = counts[:, frequent] / np.maximum(counts.sum(axis=1), 1)
    return np.asarray((share >= dominance) & (counts[:, frequent] == counts.max(axis=1)))


def _categories(
    table: PreparedTable,
    records: IntArray,
    cluster: IntArray,
    diverse: BoolArray,
    policy: ReleasePolicy,
    dominance: float,
) -> tuple[BoolArray, dict[str, np.ndarray], int]:
    """Return which categories are kept (n_clusters, q), their cells, and how many values were looked up."""
    n_clusters = len(diverse)
    kept = np.ones((n_clusters, len(table.categorical_names)), dtype=bool)
    cells: dict[str, np.ndarray] = {}
    lookups = 0
    for i, name in enumerate(table.categorical_names):
        domain, hierarchy = table.domains[name], policy.roles.categorical[name].tree
        counts = count_cells(cluster, table.codes[records, i], n_clusters, len(domain))
        kept[:, i] = diverse & general(counts, dominance)
        member = counts > 0
        if hierarchy is not None:
            covers = covers_of(hierarchy, domain)
            domain, member = covers.values, covers.among_all(member)
            member = np.where(kept[:, i, None], member, _raised(member, covers.node[1]))
            lookups += int(counts[~kept[:, i]].sum())
        whole = np.asarray(member.all(axis=1) & (len(domain) > 1))
        cells[name] = set_texts(domain, member, whole)[cluster]
    return kept, cells, lookups


def _raised(member: BoolArray, node: IntArray) -> BoolArray:
    """Return sets (n, n_values) of values with all others of their nodes, `node` (n_values,)."""
    reached = np.zeros((len(member), int(node.max(initial=0)) + 1), dtype=bool)
    rows, values = np.nonzero(member)
    reached[rows, node[values]] = True
    return reached[:, node]


def _noised(
    values: FloatArray,
    cluster: IntArray,
    epsilon: FloatArray,
    qi: NumericQuasiIdentifier,
    draw: np.random.Generator,
    noise_on: Literal["record", "cluster"],
) -> FloatArray:
    """Return numbers (m,) with Laplace noise, by clusters' `epsilon` (n_clusters,)."""
    sensitivity = qi.noise_sensitivity
    if noise_on == "record":
        return values + laplace_noise(_scale(sensitivity, epsilon)[cluster], draw)
    size = np.bincount(cluster, minlength=len(epsilon))
    mean = np.bincount(cluster, weights=values, minlength=len(epsilon)) / size
    return np.asarray((mean + laplace_noise(_scale(sensitivity / size, epsilon), draw))[cluster])


def _scale(sensitivity: FloatArray | float, epsilon: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(sensitivity / epsilon, np.finfo(np.float64).max))
