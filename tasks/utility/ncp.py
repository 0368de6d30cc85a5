"""Normalized certainty penalty: how wide the published cells are.

Xu et al., 2006; Hu et al., 2026, section 5.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.types import FloatArray, PreparedTable


@dataclass(frozen=True)
class Scale:
    """What a cell is measured against: the source's `span` of numbers, number of `values`, and weights."""

    span: dict[str, float]
    values: dict[str, int]
    weight: dict[str, float]


def scale_of(table: PreparedTable, policy: ReleasePolicy) -> Scale:
    """Take the spans and domains from the source, the weights from the policy."""
    span = {
        name: float(np.nanmax(values) - np.nanmin(values))
        for name, values in zip(table.numeric_names, table.numeric.T, strict=True)
    }
    values = {name: len(domain) for name, domain in table.domains.items()}
    weight = {name: qi.weight for name, qi in policy.roles.quasi_identifiers.items()}
    return Scale(span, values, weight)


def penalties(classes: EquivalenceClasses, scale: Scale) -> dict[str, FloatArray]:
    """Return each quasi-identifier's penalty a class, (n_classes,), between 0 and 1.

    An interval costs (greatest - least) / span; a set |S| / |domain|, 0 for a single value; `*` costs 1.
    Values put in place of others have no width and are left out: for them see `tasks.utility.moved`.
    """
    found: dict[str, FloatArray] = {}
    for name, interval in classes.intervals.items():
        if name in classes.replaced:
            continue
        span = scale.span[name]
        found[name] = (
            np.minimum((interval[:, 1] - interval[:, 0]) / span, 1.0) if span > 0 else np.zeros(len(interval))
        )
    for name, cells in classes.sets.items():
        if name in classes.replaced:
            continue
        size = cells.member.sum(axis=1)
        share = np.where(size > 1, np.minimum(size / max(scale.values[name], 1), 1.0), 0.0)
        alone = scale.values[name] <= 1
        found[name] = np.where(cells.whole, 0.0 if alone else 1.0, share)
    return found


def ncp(classes: EquivalenceClasses, scale: Scale) -> float:
    """Return the mean penalty over the published records and, by weight, the quasi-identifiers."""
    return float(np.average(class_ncp(classes, scale), weights=classes.size)) if classes.n_classes else 0.0


def class_ncp(classes: EquivalenceClasses, scale: Scale) -> FloatArray:
    """Return the weighted mean penalty of each class, (n_classes,)."""
    found = penalties(classes, scale)
    names = list(found)
    return np.asarray(
        np.average(
            np.column_stack([found[n] for n in names]), axis=1, weights=[scale.weight[n] for n in names]
        )
    )
