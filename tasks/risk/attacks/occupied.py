"""What a published cell tells of groups of values: somebody of the class is in one, or outside it.

Where cells are tight, a group is a value: somebody is at each end of an interval and has each value of a set
(`inversion_columns`). A rounded interval has somebody in its first step and somebody in its last. A cell that
was closed up to a hierarchy is no narrower since no child of its node holds everybody: somebody is outside
each child. A cell of `recoding: full-domain` has the level of its column, and tells nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from policy.categorical import CategoricalQuasiIdentifier
from policy.model import ReleasePolicy
from policy.roles import NumericQuasiIdentifier
from release_store.records import EquivalenceClasses, SetCells
from tasks.recoding.closure import covers_of
from tasks.recoding.grid import steps_of
from tasks.recoding.intervals import grid_step, grid_steps, interval_levels
from tasks.risk.attacks.inversion_columns import columns_of, knows_a_number
from tasks.types import BoolArray, FloatArray, IntArray, PreparedTable


@dataclass(frozen=True)
class Occupied:
    """Groups of one column's values, numbered from 0: class and group of each pair, (m,) and (m,).

    Somebody of the class has a value of the group, or, where `outside`, one that is not in it. `codes` (n,)
    are the groups of the population; -1 where the value is unknown.
    """

    classes: IntArray
    groups: IntArray
    codes: IntArray
    outside: bool = False


def occupied(
    classes: EquivalenceClasses,
    tables: Sequence[PreparedTable],
    policy: ReleasePolicy,
    reused: BoolArray | None = None,
) -> list[Occupied]:
    """Return what the cells of every quasi-identifier tell; the population is that of all `tables` in order.

    The recoding is one whose cells hold their people. Classes that are `reused` (N,) have cells of an earlier
    release, which tell nothing of their people. Cost: O(classes times values + n) a column and level.
    """
    found = []
    read = [columns_of(classes, table, policy) for table in tables]
    for columns in zip(*read, strict=True):
        owner, value = columns[0].column.sure
        found.append(Occupied(owner, value, np.concatenate([each.codes for each in columns])))
    for name, qi in policy.roles.quasi_identifiers.items():
        if policy.attained(name) or policy.method.recoding == "full-domain":
            continue
        if isinstance(qi, NumericQuasiIdentifier):
            numbers = [table.numeric[:, table.numeric_names.index(name)] for table in tables]
            found += _of_intervals(name, qi, classes.intervals[name], np.concatenate(numbers), policy)
        else:
            values = [_values(table, name) for table in tables]
            missing = policy.source.missing_label
            found += _of_nodes(qi, classes.sets[name], np.concatenate(values), missing)
    return found if reused is None else [_without(each, reused) for each in found]


def _without(told: Occupied, classes: BoolArray) -> Occupied:
    kept = ~classes[told.classes]
    return replace(told, classes=told.classes[kept], groups=told.groups[kept])


def _of_intervals(
    name: str, qi: NumericQuasiIdentifier, cells: FloatArray, numbers: FloatArray, policy: ReleasePolicy
) -> list[Occupied]:
    known = np.flatnonzero(knows_a_number(name, cells, policy))
    if policy.method.recoding == "hierarchy" and qi.widths:
        return _of_widths(qi, cells, known, numbers, rounded=policy.method.ends == "rounded")
    first, last = grid_steps(cells[known], qi).astype(np.int64).T
    of_low, of_high = grid_steps(np.column_stack([numbers, numbers]), qi).T
    return [_of_groups(known, first, of_low), _of_groups(known, last, of_high)]


def _of_widths(
    qi: NumericQuasiIdentifier, cells: FloatArray, known: IntArray, numbers: FloatArray, *, rounded: bool
) -> list[Occupied]:
    """Tell of the parts of each interval: those of the level below, or single integers.

    Of other numbers, intervals of the first level tell that two differ, which is not looked at.
    """
    least = 1.0 if qi.type == "integer" else 0.0
    ends = cells if least else np.column_stack([cells[:, 0], np.nextafter(cells[:, 1], cells[:, 0])])
    level = interval_levels(ends, qi)
    found = []
    for at, width in enumerate([least, *qi.widths], start=1):
        if not width or (rounded and width < grid_step(qi)):
            continue  # an interval that was rounded may have one part alone
        here = known[level[known] == at]
        part = steps_of(cells[here], qi.bounds[0], width).astype(np.int64)
        owner, group = _within(here, part)
        codes = steps_of(numbers, qi.bounds[0], width)
        found.append(_of_groups(owner, group, codes, outside=True))
    return found


def _within(classes: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """Return each class (m,) with each number from the first of its `ends` (m, 2) to the last."""
    many = ends[:, 1] - ends[:, 0] + 1
    begin = np.repeat(np.cumsum(many) - many, many)
    return np.repeat(classes, many), np.repeat(ends[:, 0], many) + np.arange(many.sum()) - begin


def _of_groups(classes: IntArray, groups: IntArray, codes: FloatArray, *, outside: bool = False) -> Occupied:
    """Number groups from 0; codes are nan where the value is unknown."""
    known = ~np.isnan(codes)
    numbered = np.full(len(codes), -1)
    numbered[known] = codes[known]
    least = min(groups.min(initial=0), numbered[known].min(initial=0))
    numbered[known] -= least
    return Occupied(classes, groups - least, numbered, outside)


def _of_nodes(
    qi: CategoricalQuasiIdentifier, cells: SetCells, values: np.ndarray, missing: str
) -> list[Occupied]:
    if qi.tree is None:
        return []
    covers = covers_of(qi.tree, cells.values, missing=missing)
    member = covers.among_all(cells.member)
    top = len(covers.node) - 1
    level = np.where(cells.whole, top, covers.levels(member))
    member[cells.whole] = True
    member &= ~covers.apart
    rank = {value: place for place, value in enumerate(covers.values)}
    # A value that is in no cell and no hierarchy is outside every child.
    distinct, inverse = np.unique(values.astype(str), return_inverse=True)
    code = np.array([rank.get(str(value), len(rank)) for value in distinct], dtype=np.int64)[inverse]
    found = []
    for at in range(1, top + 1):
        here = np.flatnonzero(level == at)
        rows, columns = np.nonzero(member[here])
        node = np.append(covers.node[at - 1], covers.node[at - 1].max(initial=-1) + 1)
        pairs = np.unique(np.column_stack([here[rows], node[columns]]), axis=0)
        found.append(Occupied(pairs[:, 0], pairs[:, 1], node[code], outside=True))
    return found


def _values(table: PreparedTable, name: str) -> np.ndarray:
    domain = np.array(table.domains[name], dtype=object)
    return np.asarray(domain[table.codes[:, table.categorical_names.index(name)]])
