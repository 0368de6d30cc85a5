"""NCP with every quasi-identifier as a value set, the measure in which the authors' program was rerun."""

from __future__ import annotations

import numpy as np

from tasks.types import IntArray, PreparedTable


def ncp_of_sets(table: PreparedTable, class_of: IntArray) -> float:
    """Return the NCP if the classes `class_of` (n,) published sets of their people's numbers too.

    A set costs its share of the values in the table, a single value nothing. The mean is over the records
    that have a class (-1: none) and, with equal weights, over the quasi-identifiers.
    """
    kept = np.flatnonzero(class_of >= 0)
    classes, own = np.unique(class_of[kept], return_inverse=True)
    costs = []
    for values in (*table.numeric.T, *table.codes.T):
        domain, code = np.unique(values, return_inverse=True)
        held = np.zeros((len(classes), len(domain)), dtype=bool)
        held[own, code[kept]] = True
        n_values = held.sum(axis=1)
        costs.append(np.where(n_values > 1, n_values / len(domain), 0.0)[own].mean())
    return float(np.mean(costs))
