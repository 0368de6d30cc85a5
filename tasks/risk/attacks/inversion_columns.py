"""What a published cell tells whoever knows the recoding: its values, and which of them are somebody's.

Both ends of an interval or a range, and all values of a set, are attained where cells are tight: see
`ReleasePolicy.attained`. A cell that was closed up to a hierarchy or rounded promises less: a node has
somebody in two of its children at least, a rounded interval somebody in its first step and in its last.
Where that is one value, it is attained. A cell of `recoding: full-domain` promises nothing. Where numbers
may be missing, the policy's bounds may be nobody's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from policy.categorical import CategoricalQuasiIdentifier
from policy.model import ReleasePolicy
from policy.roles import NumericQuasiIdentifier
from release_store.records import EquivalenceClasses, SetCells
from tasks.recoding.closure import Ranges, covers_of, ranges_of
from tasks.recoding.intervals import grid_step, interval_levels
from tasks.risk.attacks.inversion import MOST_VALUES, Column
from tasks.types import BoolArray, FloatArray, IntArray, PreparedTable


@dataclass(frozen=True)
class Truth:
    """A column as the attacker reads it, and the source's values as it numbers them, (n,): -1 for others."""

    column: Column
    codes: IntArray


def columns_of(
    classes: EquivalenceClasses, table: PreparedTable, policy: ReleasePolicy, reused: BoolArray | None = None
) -> list[Truth]:
    """Return every quasi-identifier, with the source's values in the attacker's numbering.

    The recoding is one whose cells hold their people. Classes that are `reused` (N,) have cells of an earlier
    release, whose values need be nobody's. O(classes times values) a column.
    """
    found = []
    for name, qi in policy.roles.quasi_identifiers.items():
        if isinstance(qi, NumericQuasiIdentifier):
            numbers = table.numeric[:, table.numeric_names.index(name)]
            found.append(_of_intervals(name, qi, classes.intervals[name], numbers, policy))
        else:
            codes = table.codes[:, table.categorical_names.index(name)]
            found.append(_of_sets(name, qi, classes.sets[name], table.domains[name], codes, policy))
    if reused is None or not reused.any():
        return found
    return [_without(each, reused, classes) for each in found]


def _without(truth: Truth, reused: BoolArray, classes: EquivalenceClasses) -> Truth:
    """Return a column of which no value is sure that only reused cells tell of."""
    owner, value = truth.column.sure
    kept = ~reused[owner]
    if truth.column.member is not None:  # `*` has the values of today, which other cells of today name
        whole = classes.sets[truth.column.name].whole
        named = np.asarray(truth.column.member[~reused & ~whole].any(axis=0))
        kept &= ~whole[owner] | named[value]
    return replace(truth, column=replace(truth.column, sure=(owner[kept], value[kept])))


def _of_intervals(
    name: str, qi: NumericQuasiIdentifier, cells: FloatArray, numbers: FloatArray, policy: ReleasePolicy
) -> Truth:
    shown = np.unique(cells)
    if qi.type == "integer" and len(shown) and shown[-1] - shown[0] < MOST_VALUES:
        shown = np.arange(shown[0], shown[-1] + 1)
    first, last = (np.searchsorted(shown, end) for end in cells.T)
    at_low, at_high = _attained_ends(qi, cells, policy, attained=policy.attained(name))
    known = knows_a_number(name, cells, policy)
    at_low, at_high = at_low & known, at_high & known
    classes = np.concatenate([np.flatnonzero(at_low), np.flatnonzero(at_high)])
    values = np.concatenate([first[at_low], last[at_high]])
    codes = np.minimum(np.searchsorted(shown, numbers), max(len(shown) - 1, 0))
    is_shown = shown[codes] == numbers if len(shown) else np.zeros(len(numbers), dtype=bool)
    column = Column(name, len(shown), (classes, values), first=first, last=last)
    return Truth(column, np.where(is_shown, codes, -1))


def knows_a_number(name: str, cells: FloatArray, policy: ReleasePolicy) -> BoolArray:
    """Tell of intervals (n, 2) whether the class is sure to have a number.

    Where numbers may be missing, a class in which none is known is published with the policy's bounds.
    """
    expected = policy.expectations
    if expected.missing_in.get(name, expected.missing) > 0:
        return np.asarray((cells != np.array(policy.roles.numeric[name].bounds)).any(axis=1))
    return np.ones(len(cells), dtype=bool)


def _attained_ends(
    qi: NumericQuasiIdentifier, cells: FloatArray, policy: ReleasePolicy, *, attained: bool
) -> tuple[BoolArray, BoolArray]:
    """Return for each interval (n, 2) whether somebody is known to be at its low end, and at its high end."""
    nobody = np.zeros(len(cells), dtype=bool)
    if attained:
        return ~nobody, ~nobody
    if qi.type != "integer" or policy.method.recoding == "full-domain":
        return nobody, nobody
    place = cells - qi.bounds[0]
    if policy.method.recoding == "hierarchy" and qi.widths:
        level = interval_levels(cells, qi)
        child = np.array([1.0, 1.0, *qi.widths])[level]
        # Two parts of an interval are both taken; a rounded one of the first level may be one number's.
        both = (level > 0) & (np.floor(place[:, 1] / child) - np.floor(place[:, 0] / child) == 1)
        both &= (level > 1) | (policy.method.ends == "attained")
    else:
        child = np.full(len(cells), grid_step(qi))
        both = np.floor(place[:, 1] / child) > np.floor(place[:, 0] / child)
    return both & (child == 1), both & (place[:, 1] % child == 0)


def _of_sets(
    name: str,
    qi: CategoricalQuasiIdentifier,
    cells: SetCells,
    domain: tuple[str, ...],
    codes: np.ndarray,
    policy: ReleasePolicy,
) -> Truth:
    closed = not policy.attained(name)
    # Values that only `*` stands for are known from the policy, if from anywhere.
    unnamed = (qi.allowed or ()) if closed or cells.whole.any() else ()
    values = (*cells.values, *(value for value in unnamed if value not in cells.values))
    # `*` is two values at least, even if only one of them is known.
    n_values = len(values) + bool(len(values) == 1 and cells.whole.any())
    member = np.zeros((len(cells.member), n_values), dtype=bool)
    member[:, : len(cells.values)] = cells.member
    member[cells.whole] = True
    if policy.method.recoding == "full-domain":
        classes = sure = np.zeros(0, dtype=np.int64)
    elif closed and qi.order is not None:
        classes, sure = _ends_of_ranges(ranges_of(qi.order, values), cells, member)
    elif not closed or qi.tree is None:
        # Every value of the source is in `*`: those that another cell names, and one more where they are one.
        n_sure = len(values) if len(values) == 2 else len(cells.values)
        classes, sure = np.nonzero(member[:, :n_sure])
    else:
        covers = covers_of(qi.tree, values, missing=policy.source.missing_label)
        level = np.where(cells.whole, len(covers.node) - 1, covers.levels(member))
        inside = member & ~covers.apart
        pairs = [_sole_children(inside, level, node, at) for at, node in enumerate(covers.node[:-1], 1)]
        pairs.append(_beside(member, cells.whole, covers.apart))
        classes, sure = (np.concatenate(each) for each in zip(*pairs, strict=True))
    rank = {value: code for code, value in enumerate(values)}
    place = np.array([rank.get(value, -1) for value in domain], dtype=np.int64)
    return Truth(Column(name, n_values, (classes, sure), member=member), place[codes])


def _ends_of_ranges(ranges: Ranges, cells: SetCells, member: BoolArray) -> tuple[IntArray, IntArray]:
    """Return (classes, values) of the first and last value of each range, and of what stands beside it.

    Both ends are somebody's, those of `*` too: it is the range of all values.
    """
    first, last = ranges.ends(member)
    here = np.flatnonzero(last >= 0)
    code = np.argsort(ranges.rank, kind="stable")[int((ranges.rank < 0).sum()) :]  # of each rank
    classes, values = _beside(member, cells.whole, ranges.rank < 0)
    return np.concatenate([here, here, classes]), np.concatenate(
        [code[first[here]], code[last[here]], values]
    )


def _beside(member: BoolArray, whole: BoolArray, apart: BoolArray) -> tuple[IntArray, IntArray]:
    """Return (classes, values) of what stands beside a node or a range: it is somebody's."""
    classes, values = np.nonzero(member & apart & ~whole[:, None])
    return classes, values


def _sole_children(member: BoolArray, level: IntArray, node: IntArray, at: int) -> tuple[IntArray, IntArray]:
    """Return (classes, values) of the children of nodes `at` a level that are a value, and one of two."""
    here = np.flatnonzero(level == at)
    children = np.zeros((len(here), int(node.max(initial=0)) + 1), dtype=np.int64)
    rows, values = np.nonzero(member[here])
    np.add.at(children, (rows, node[values]), 1)
    two = (children > 0).sum(axis=1) == 2
    sole = two[rows] & (children[rows, node[values]] == 1)
    return here[rows[sole]], values[sole]
