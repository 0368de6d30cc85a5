"""What each published quasi-identifier lost: by its cells' width, or by how far its values were moved."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.types import FloatArray, IntArray, PreparedTable
from tasks.utility.moved import categories_moved, numbers_moved
from tasks.utility.ncp import penalties, scale_of

Noised = Mapping[str, tuple[FloatArray, IntArray]]
"""The published numbers (m,) of each noised quasi-identifier, and how many rows have each (m,)."""


def loss_by_attribute(
    classes: EquivalenceClasses, table: PreparedTable, policy: ReleasePolicy, noised: Noised
) -> dict[str, float]:
    """Return the mean loss of each quasi-identifier over the published rows, between 0 and 1.

    The penalty of NCP for cells that hold their people, the earth mover's distance for others.
    """
    found = {}
    for name, penalty in penalties(classes, scale_of(table, policy)).items():
        found[name] = float(np.average(penalty, weights=classes.size)) if classes.n_classes else 0.0
    for name, (values, rows) in noised.items():
        found[name] = numbers_moved(_numbers(table, name), values, rows)
    for name in classes.replaced:
        if name in classes.intervals:
            found[name] = numbers_moved(_numbers(table, name), classes.intervals[name][:, 0], classes.size)
        else:
            found[name] = _moved_set(classes, table, name)
    return {name: found[name] for name in policy.roles.quasi_identifiers}


def loss(by_attribute: Mapping[str, float], policy: ReleasePolicy) -> float:
    """Return the mean over the quasi-identifiers by their weights: NCP, where all cells hold their people."""
    weights = [policy.roles.quasi_identifiers[name].weight for name in by_attribute]
    return float(np.average(list(by_attribute.values()), weights=weights))


def _numbers(table: PreparedTable, name: str) -> FloatArray:
    return table.numeric[:, table.numeric_names.index(name)]


def _moved_set(classes: EquivalenceClasses, table: PreparedTable, name: str) -> float:
    values = tuple(dict.fromkeys([*table.domains[name], *classes.sets[name].values]))
    place = {value: i for i, value in enumerate(values)}
    codes = table.codes[:, table.categorical_names.index(name)]
    source = np.bincount(codes, minlength=len(values)).astype(np.float64)
    published = np.zeros(len(values))
    columns = [place[value] for value in classes.sets[name].values]
    published[columns] = (classes.sets[name].member * classes.size[:, None]).sum(axis=0)
    return categories_moved(source, published)
