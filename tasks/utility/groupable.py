"""By what an analyst can group the published rows: how exact, wide and scattered the cells of a column are.

NCP alone hides this: a column of 500 values that is published as eight scattered ones a row loses 1% by NCP,
and nobody can count by any of its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from policy.categorical import CategoricalQuasiIdentifier
from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, SetCells
from tasks.types import BoolArray, FloatArray, IntArray
from tasks.utility.released import Released

MOST_LABELS = 30  # of a column without an order: a table of more groups is read by nobody
LEAST_CONTIGUOUS = 0.5
HIDDEN_BY = 0.25  # of NCP: what loses more by NCP is not hidden by it


@dataclass(frozen=True)
class Groupable:
    """One published quasi-identifier, by its rows.

    `labels` is the number of different cells; `exact` the share of rows with a single value; `median` the
    median number of values of a row's cell, or the width of its interval; `contiguous` the share of rows
    whose cell is one value, one interval, one range of an order, one node of a hierarchy, or `*`. `ordered`
    tells whether its cells are ranges.
    """

    labels: int
    exact: float
    median: float
    contiguous: float
    ordered: bool

    def document(self) -> dict[str, Any]:
        """Return it as plain JSON, shares to 4 decimals."""
        return {
            **asdict(self),
            "exact": round(self.exact, 4),
            "contiguous": round(self.contiguous, 4),
        }


def groupable_columns(classes: EquivalenceClasses, policy: ReleasePolicy) -> dict[str, Groupable]:
    """Return by what the rows of n classes can be grouped, a quasi-identifier each; none of no rows.

    Columns whose values were replaced or noised have no cells, and are left out. It reads published cells
    alone.
    O(n_classes log n_classes) a number, O(n_classes x n_values) a category.
    """
    if not classes.size.sum():
        return {}
    found = {}
    for name in policy.roles.quasi_identifiers:
        if name in classes.replaced:
            continue
        if name in classes.intervals:
            found[name] = groupable_intervals(classes.intervals[name], classes.size)
        elif name in classes.sets:
            qi = policy.roles.categorical[name]
            found[name] = groupable_sets(classes.sets[name], classes.size, qi, policy.source.missing_label)
    return found


def groups(released: Released) -> dict[str, float | None]:
    """Return the mean share of exact and of contiguous rows of a column, and how many columns are lost."""
    found = groupable_columns(released.classes, released.policy).values()
    return {
        "exact_rows": float(np.mean([one.exact for one in found])) if found else None,
        "contiguous_rows": float(np.mean([one.contiguous for one in found])) if found else None,
        "lost_columns": float(sum(map(is_lost, found))) if found else None,
    }


def groupable_intervals(interval: FloatArray, size: IntArray) -> Groupable:
    """Return it of a number: `interval` (n_classes, 2) its cells' ends, `size` (n_classes,) their rows."""
    width = interval[:, 1] - interval[:, 0]
    return Groupable(
        labels=len(np.unique(interval, axis=0)),
        exact=_share(width == 0, size),
        median=weighted_median(width, size),
        contiguous=1.0,
        ordered=True,
    )


def groupable_sets(
    cells: SetCells, size: IntArray, qi: CategoricalQuasiIdentifier, missing: str
) -> Groupable:
    """Return it of a category: `cells` are those of n classes, `size` (n_classes,) the rows of each.

    `*` has as many values as the policy lists, or else as the cells name. The label of `missing` values
    beside a range or node leaves it contiguous.
    """
    n_values = np.where(cells.whole, len(qi.allowed or cells.values), cells.member.sum(axis=1))
    first, of_class = _different(cells)
    named = [[cells.values[i] for i in np.flatnonzero(cells.member[c])] for c in first]
    one = np.array(
        [
            bool(cells.whole[c]) or _is_contiguous(values, qi, missing)
            for c, values in zip(first, named, strict=True)
        ]
    )
    return Groupable(
        labels=len(first),
        exact=_share(n_values == 1, size),
        median=weighted_median(n_values.astype(np.float64), size),
        contiguous=_share(one[of_class], size),
        ordered=qi.order is not None,
    )


def _different(cells: SetCells) -> tuple[list[int], IntArray]:
    """Return the first class with each different cell, and which of these cells each class has, (n_classes,).

    By the bits of a cell as text: sorting whole rows of values would cost their length at each comparison.
    """
    bits = np.packbits(np.column_stack([cells.whole, cells.member]), axis=1)
    number: dict[bytes, int] = {}
    first: list[int] = []
    of_class = np.empty(len(bits), dtype=np.int64)
    for c, row in enumerate(bits):
        of_class[c] = number.setdefault(row.tobytes(), len(number))
        if len(number) > len(first):
            first.append(c)
    return first, of_class


def is_lost(column: Groupable) -> bool:
    """Tell whether hardly anybody can group by a column.

    Most of its rows are then scattered values, or it has no order, few exact rows and too many labels for a
    table.
    """
    if column.contiguous < LEAST_CONTIGUOUS:
        return True
    return not column.ordered and column.exact < LEAST_CONTIGUOUS and column.labels > MOST_LABELS


def weighted_median(values: FloatArray, weight: IntArray) -> float:
    """Return the median of `values` (n,) that occur `weight` (n,) times each; the mean of the middle two."""
    order = np.argsort(values, kind="stable")
    until = np.cumsum(weight[order])
    middle = [(until[-1] - 1) // 2, until[-1] // 2]
    return float(values[order][np.searchsorted(until, middle, side="right")].mean())


def _share(which: BoolArray, size: IntArray) -> float:
    return float(size[which].sum() / size.sum())


def _is_contiguous(values: Sequence[str], qi: CategoricalQuasiIdentifier, missing: str) -> bool:
    inside = frozenset(values) - {missing}
    if len(inside) < 2:
        return True
    if qi.order is not None:
        rank = {value: place for place, value in enumerate(qi.order)}
        ranks = sorted(rank[value] for value in inside if value in rank)
        return len(ranks) == len(inside) and ranks[-1] - ranks[0] == len(ranks) - 1
    return inside in _nodes(qi)


def _nodes(qi: CategoricalQuasiIdentifier) -> frozenset[frozenset[str]]:
    """Return the leaves under each node of a hierarchy, the root's among them."""
    leaves: dict[tuple[str, ...], set[str]] = {}
    for path in qi.tree.paths if qi.tree is not None else ():
        for depth in range(1, len(path)):
            leaves.setdefault(path[depth:], set()).add(path[0])
    return frozenset(map(frozenset, leaves.values()))
