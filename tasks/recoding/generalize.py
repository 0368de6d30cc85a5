"""Interval and value-set generalization: groups become classes, classes become published cells."""

from __future__ import annotations

import numpy as np
import pandas as pd

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, SetCells
from tasks.recoding.cells import WHOLE, write_set
from tasks.types import FloatArray, IntArray, Partition, PreparedTable


def generalized(table: PreparedTable, labels: IntArray, policy: ReleasePolicy) -> EquivalenceClasses:
    """Return the classes that groups `labels` (n,) become; records with label -1 are left out.

    A numeric quasi-identifier becomes [least, greatest] of the group's known values (the policy's bounds
    where none is known), a categorical one the set of the group's values. O(n) a column.
    """
    kept = np.flatnonzero(labels >= 0)
    order = kept[np.argsort(labels[kept], kind="stable")]
    size = np.bincount(labels[kept]).astype(np.int64)
    starts = np.cumsum(size) - size
    intervals: dict[str, FloatArray] = {}
    for column, name in enumerate(table.numeric_names):
        values = table.numeric[order, column]
        bounds = np.column_stack([np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)])
        unknown = np.isnan(bounds[:, 0])
        bounds[unknown] = policy.roles.numeric[name].bounds
        intervals[name] = bounds
    sets: dict[str, SetCells] = {}
    for column, name in enumerate(table.categorical_names):
        domain = table.domains[name]
        member = counted(labels[kept], table.codes[kept, column], len(size), len(domain)) > 0
        sets[name] = SetCells(domain, member, np.asarray(member.all(axis=1) & (len(domain) > 1)))
    counts = {
        name: counted(labels[kept], table.sensitive[kept, i], len(size), len(table.sensitive_values[name]))
        for i, name in enumerate(table.sensitive_names)
    }
    return EquivalenceClasses(size, intervals, sets, dict(table.sensitive_values), counts)


def counted(labels: IntArray, codes: np.ndarray, n_groups: int, n_values: int) -> IntArray:
    """Return how often each code stands in each group, (n_groups, n_values)."""
    flat = np.bincount(labels * n_values + codes, minlength=n_groups * n_values)
    return flat.reshape(n_groups, n_values).astype(np.int64)


def published_frame(table: PreparedTable, partition: Partition, policy: ReleasePolicy) -> pd.DataFrame:
    """Return the rows as they will be published, in an order that says nothing about the input's.

    One row a record that is not suppressed; the rows are sorted by all their published cells.
    """
    classes = generalized(table, partition.labels, policy)
    kept = np.flatnonzero(partition.labels >= 0)
    group = partition.labels[kept]
    columns: dict[str, object] = {}
    for name, qi in policy.roles.quasi_identifiers.items():
        if name in classes.intervals:
            low, high = classes.intervals[name].T
            columns[f"{name}_min"] = _number(low[group], whole=qi.type == "integer")
            columns[f"{name}_max"] = _number(high[group], whole=qi.type == "integer")
        else:
            columns[name] = pd.array(_set_texts(classes.sets[name])[group], dtype="str")
    for i, name in enumerate(table.sensitive_names):
        if name in table.sensitive_numbers:
            columns[name] = table.sensitive_numbers[name][kept]
        else:
            values = np.array(table.sensitive_values[name], dtype=object)
            columns[name] = pd.array(values[table.sensitive[kept, i]], dtype="str")
    for name in policy.roles.kept:
        columns[name] = table.frame[name].iloc[kept].reset_index(drop=True)
    frame = pd.DataFrame(columns)
    return frame.sort_values(list(frame.columns), kind="stable", na_position="last", ignore_index=True)


def _number(values: FloatArray, *, whole: bool) -> np.ndarray:
    return values.astype(np.int64) if whole else values


def _set_texts(cells: SetCells) -> np.ndarray:
    texts = np.empty(len(cells.member), dtype=object)
    packed = np.packbits(cells.member, axis=1)
    written: dict[bytes, str] = {}
    for i, row in enumerate(packed):
        key = row.tobytes()
        if key not in written:
            covered = [cells.values[v] for v in np.flatnonzero(cells.member[i])]
            written[key] = WHOLE if cells.whole[i] else write_set(covered)
        texts[i] = written[key]
    return texts
