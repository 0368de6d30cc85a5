"""Groups that are published with equal cells, and so are one equivalence class."""

from __future__ import annotations

import numpy as np

from policy.model import ReleasePolicy
from tasks.geometry.space import distinct_rows
from tasks.recoding.generalize import generalized
from tasks.types import IntArray, PreparedTable


def joined_equal(table: PreparedTable, labels: IntArray, policy: ReleasePolicy) -> IntArray:
    """Return labels (n,) in which groups with equal published cells are one; -1 stays -1.

    The number of a class is the least of its groups', counted without gaps. O(n) a column.
    """
    classes = generalized(table, labels, policy)
    bits = [np.packbits(cells.member | cells.whole[:, None], axis=1) for cells in classes.sets.values()]
    columns = [*(ends for both in classes.intervals.values() for ends in both.T)]
    columns += [column for each in bits for column in each.T]
    first, place = distinct_rows(columns)
    if len(first) == classes.n_classes:
        return labels
    number = np.unique(first[place], return_inverse=True)[1]
    return np.where(labels < 0, -1, number[labels])
