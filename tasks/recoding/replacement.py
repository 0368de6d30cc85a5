"""Microaggregation's own recoding: one record, or one centre, stands for all records of its group.

Domingo-Ferrer and Mateo-Sanz, 2002 (centroid); the median of a group is the record with the least summed
distance to the others (manifold MDAV, Algorithm 1). The cells need not be true of anybody.
"""

from __future__ import annotations

import numpy as np

from policy.model import ReleasePolicy
from tasks.aggregation.centres import geodesic_medoids, medoids, squared_error
from tasks.recoding.base import as_published, rows_of, set_texts
from tasks.recoding.generalize import count_cells
from tasks.recoding.numbers import laplace_noise, within_bounds
from tasks.types import FloatArray, IntArray, PreparedTable, Recoded, Representation


def centroids(
    table: PreparedTable,
    labels: IntArray,
    policy: ReleasePolicy,
    *,
    perturbation: float = 0.0,
    seed: int = 0,
) -> Recoded:
    """Put the mean of the group's known numbers, and its most frequent category, in place of all of them.

    Where no number is known: the middle of the policy's bounds. Ties of categories: the first in order.

    With a `perturbation`, Laplace noise is added to each mean, one draw a group and attribute, whose scale is
    so many times the group's mean absolute deviation: it adapts to how far the members are apart, and is 0
    where all are equal. The result stays within the policy's bounds. This is a reading of APMCA (Xiong, Chen
    and Lan, 2025; cited by Hu et al., 2026), of which we have no text; the scale depends on the data, so that
    it satisfies no differential privacy. O(n) an attribute.
    """
    kept = np.flatnonzero(labels >= 0)
    group = labels[kept]
    n_groups = int(group.max(initial=-1)) + 1
    cells: dict[str, np.ndarray] = {}
    for column, name in enumerate(table.numeric_names):
        values = table.numeric[kept, column]
        mean = _means(values, group, n_groups, _middle(policy, name))
        if perturbation:
            deviation = _means(np.abs(values - mean[group]), group, n_groups, 0.0)
            noise = laplace_noise(perturbation * deviation, np.random.default_rng([seed, column]))
            mean = within_bounds(mean + noise, policy.roles.numeric[name])
        cells[name] = as_published(mean, policy, name)
    for column, name in enumerate(table.categorical_names):
        counts = count_cells(group, table.codes[kept, column], n_groups, len(table.domains[name]))
        cells[name] = _single(table.domains[name])[counts.argmax(axis=1)]
    notes = {"perturbation": perturbation} if perturbation else {}
    return rows_of(table, policy, kept, cells, group=group, notes=notes)


def medians(
    table: PreparedTable,
    representation: Representation,
    labels: IntArray,
    policy: ReleasePolicy,
    *,
    neighbours: int = 10,
) -> Recoded:
    """Put the values of the group's median record, in the representation, in place of all.

    Distances go along the graph of `neighbours` where the representation has blocks, else straight. A number
    that this record lacks is the mean of the group's known ones. The notes tell the objective, the sum of
    squared distances to the medians.
    """
    kept = np.flatnonzero(labels >= 0)
    group = labels[kept]
    n_groups = int(group.max(initial=-1)) + 1
    if not n_groups:
        chosen = np.empty(0, dtype=np.int64)
    elif representation.blocks is None:
        chosen = medoids(representation.latent, labels)
    else:
        chosen = geodesic_medoids(representation.latent, labels, representation.blocks, neighbours=neighbours)
    cells: dict[str, np.ndarray] = {}
    for column, name in enumerate(table.numeric_names):
        mean = _means(table.numeric[kept, column], group, n_groups, _middle(policy, name))
        own = table.numeric[chosen, column]
        cells[name] = as_published(np.where(np.isnan(own), mean, own), policy, name)
    for column, name in enumerate(table.categorical_names):
        cells[name] = _single(table.domains[name])[table.codes[chosen, column]]
    error = squared_error(representation.latent, labels, representation.latent[chosen])
    return rows_of(table, policy, kept, cells, group=group, notes={"squared_error_to_medians": error})


def _means(values: FloatArray, group: IntArray, n_groups: int, default: float) -> FloatArray:
    known = ~np.isnan(values)
    total = np.bincount(group[known], weights=values[known], minlength=n_groups)
    number = np.bincount(group[known], minlength=n_groups)
    return np.where(number > 0, total / np.maximum(number, 1), default)


def _middle(policy: ReleasePolicy, name: str) -> float:
    low, high = policy.roles.numeric[name].bounds
    return (low + high) / 2


def _single(domain: tuple[str, ...]) -> np.ndarray:
    return set_texts(domain, np.eye(len(domain), dtype=bool), np.zeros(len(domain), dtype=bool))
