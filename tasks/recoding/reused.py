"""Cells of an earlier release in place of those that groups have by their own records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from release_store.records import EquivalenceClasses, SetCells
from tasks.types import IntArray, ReusedCells


def cells_of_groups(reused: ReusedCells, labels: IntArray) -> IntArray:
    """Return the number of the cell that takes all records of each group, (g,), else -1.

    `labels` (n,) are those of groups, -1 for the records that are left out. O(n).
    """
    kept = np.flatnonzero(labels >= 0)
    n_groups = int(labels.max(initial=-1)) + 1
    cell = reused.of_record[kept]
    least, most = np.full(n_groups, len(reused.cells.size)), np.full(n_groups, -1)
    np.minimum.at(least, labels[kept], cell)
    np.maximum.at(most, labels[kept], cell)
    return np.where(least == most, most, -1)


def with_reused_cells(
    classes: EquivalenceClasses, cells: EquivalenceClasses, number: IntArray
) -> EquivalenceClasses:
    """Return classes (g,), of which those with a `number` (g,) over -1 have that cell of `cells`."""
    here = np.flatnonzero(number >= 0)
    intervals = {name: own.copy() for name, own in classes.intervals.items()}
    for name, own in intervals.items():
        own[here] = cells.intervals[name][number[here]]
    sets = {}
    for name, each in classes.sets.items():
        earlier = cells.sets[name]
        values = (*each.values, *(value for value in earlier.values if value not in each.values))
        place = {value: at for at, value in enumerate(values)}
        member = np.zeros((len(number), len(values)), dtype=bool)
        member[:, : len(each.values)] = each.member
        member[each.whole] = True
        member[here] = False
        at = np.array([place[value] for value in earlier.values], dtype=np.int64)
        member[np.ix_(here, at)] = earlier.member[number[here]]
        whole = each.whole.copy()
        whole[here] = earlier.whole[number[here]]
        member[whole] = True
        sets[name] = SetCells(values, member, whole)
    return replace(classes, intervals=intervals, sets=sets)
