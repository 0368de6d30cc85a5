"""Interval and value-set generalization: groups become classes, classes become published cells."""

from __future__ import annotations

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, SetCells
from tasks.counting import counted
from tasks.recoding.base import as_published, rows_of, rows_of_distinct, rows_of_records, set_texts
from tasks.recoding.closure import closure_of, covers_of
from tasks.recoding.intervals import close_intervals, intervals_of_one_level, with_levels
from tasks.recoding.labels import labels_of
from tasks.recoding.reused import cells_of_groups, with_reused_cells
from tasks.sorting import stable_order
from tasks.types import FloatArray, IntArray, PreparedTable, Recoded


def generalized(table: PreparedTable, labels: IntArray, policy: ReleasePolicy) -> EquivalenceClasses:
    """Return the classes that groups `labels` (n,) become; records with label -1 are left out.

    A numeric quasi-identifier becomes [least, greatest] of the group's known values (the policy's bounds
    where none is known), a categorical one the set of the group's values. Ordered values become the range
    that covers them, codes their prefix. With `recoding: hierarchy`, other cells are closed too, where the
    policy has widths or a hierarchy: to the narrowest of its intervals, to the lowest node that covers them.
    With `recoding: full-domain` all cells of a column are closed to the lowest level at which one node covers
    each group, which is no lower than the policy's. With `ends: rounded` intervals end on a grid. Groups
    whose records a cell of an earlier release takes have that cell (`ReusedCells`). O(n) a column.
    """
    if table.reduction is not None:
        distinct, labels = table.reduction.in_groups(labels)
        table = distinct.table
    kept = np.flatnonzero(labels >= 0)
    order = kept[stable_order(labels[kept])]
    n_records = np.bincount(labels[kept])
    starts = np.cumsum(n_records) - n_records
    rows = None if table.rows is None else table.rows[order]
    size = n_records.astype(np.int64) if rows is None else np.add.reduceat(rows, starts)
    one_level = policy.method.recoding == "full-domain"
    levels = policy.method.levels
    intervals: dict[str, FloatArray] = {}
    for column, name in enumerate(table.numeric_names):
        values = table.numeric[order, column]
        bounds = np.column_stack([np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)])
        unknown = np.isnan(bounds[:, 0])
        bounds[unknown] = policy.roles.numeric[name].bounds
        if one_level:
            missing = np.isnan(values).astype(np.int64)
            n_missing = np.add.reduceat(missing if rows is None else missing * rows, starts)
            qi = with_levels(policy.roles.numeric[name])
            bounds = intervals_of_one_level(bounds, n_missing, size, qi, levels.get(name, 0))
        intervals[name] = close_intervals(bounds, name, policy)
    sets: dict[str, SetCells] = {}
    for column, name in enumerate(table.categorical_names):
        domain = table.domains[name]
        member = np.zeros((len(size), len(domain)), dtype=bool)
        member[labels[kept], table.codes[kept, column]] = True
        sets[name] = SetCells(domain, member, np.asarray(member.all(axis=1) & (len(domain) > 1)))
        if one_level:
            covers = covers_of(policy.roles.categorical[name].tree, domain)
            least = levels.get(name, 0)
            nodes = covers.closed(covers.among_all(member), one_level=True, least=least)
            sets[name] = SetCells(covers.values, *nodes)
        elif (closure := closure_of(policy, name, domain)) is not None:
            sets[name] = SetCells(closure.values, *closure.closed(closure.among_all(member)))
    counts = {
        name: count_cells(
            labels[order], table.sensitive[order, i], len(size), len(table.sensitive_values[name]), rows
        )
        for i, name in enumerate(table.sensitive_names)
    }
    classes = EquivalenceClasses(size, intervals, sets, dict(table.sensitive_values), counts)
    if table.reused is None:
        return classes
    return with_reused_cells(classes, table.reused.cells, cells_of_groups(table.reused, labels))


def count_cells(
    labels: IntArray, codes: np.ndarray, n_groups: int, n_values: int, rows: IntArray | None = None
) -> IntArray:
    """Return how often each code stands in each group, (n_groups, n_values); a record may be `rows` (n,)."""
    flat = counted(labels * n_values + codes, rows, n_groups * n_values)
    return flat.reshape(n_groups, n_values).astype(np.int64, copy=False)


def generalized_rows(table: PreparedTable, labels: IntArray, policy: ReleasePolicy) -> Recoded:
    """Return one row a record of a group, with the cells of its class."""
    classes = generalized(table, labels, policy)
    cells: dict[str, np.ndarray] = {}
    for name, bounds in classes.intervals.items():
        cells[f"{name}_min"] = as_published(bounds[:, 0], policy, name)
        cells[f"{name}_max"] = as_published(bounds[:, 1], policy, name)
    for name, each in classes.sets.items():
        cells[name] = set_texts(each.values, each.member, each.whole, labels_of(policy, name))
    if table.reduction is not None and not policy.roles.kept:
        return rows_of_records(*table.reduction.in_groups(labels), policy, cells)
    if table.rows is not None:
        return rows_of_distinct(table, labels, policy, cells)
    kept = np.flatnonzero(labels >= 0)
    return rows_of(table, policy, kept, cells, group=labels[kept])
