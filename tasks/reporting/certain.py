"""What published cells tell for certain: how many people of each bin, in each way to read them.

A class whose cell lies inside one bin places all its people there. A class whose cell lies in several bins
places those by whom the cell came about. The ends of an interval of recoding `sets` are somebody's, and so is
each value of a set, and of `*`, which is written where a class has all values of the source: one person for
each, in each class. Cells that are closed up to a hierarchy promise less, as a node with two children has
somebody in both. How much less depends on the hierarchy and on what else is known of the source, so that one
person is counted for each bin, or value, in which the class has anybody: no reader can count more.

Numbers that are missing make no cell. So where there are any, classes are read as if nobody's were, and again
with nothing certain but the ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from policy.model import ReleasePolicy
from policy.recoding import Form
from tasks.counting import counted
from tasks.geometry.space import distinct_rows
from tasks.reporting.number_bins import NumberBins
from tasks.reporting.suppression import Public, components, nothing_certain
from tasks.reporting.value_bins import Cells
from tasks.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Classes:
    """c classes of m rows, by all their cells: `first` (c,) a row of each, `of` (m,) each row's class.

    A row may stand several `times` (m,).
    """

    first: IntArray
    of: IntArray
    times: IntArray | None = None

    @property
    def rows(self) -> IntArray:
        """How many rows each has, (c,)."""
        return counted(self.of, self.times, len(self.first)).astype(np.int64)

    def pairs(self, codes: IntArray, among: BoolArray) -> tuple[IntArray, IntArray]:
        """Return the distinct pairs of a class and a code (m,), of the rows `among` (m,). O(m)."""
        wide = int(codes.max(initial=0)) + 1
        found = np.sort(pd.unique(self.of[among] * wide + codes[among]))
        return found // wide, found % wide


def classes_of(
    published: pd.DataFrame, policy: ReleasePolicy, times: IntArray | None = None, *, noised: bool = False
) -> Classes:
    """Return the classes of the published rows, of which each may stand several `times` (m,).

    With `noised`, numbers with noise are cells like others. O(m) a column.
    """
    first, of = distinct_rows(_cells_of(published, policy, noised))
    if len(of) < len(published):  # there is no such column: all rows are one class
        return Classes(np.zeros(1, dtype=np.int64), np.zeros(len(published), dtype=np.int64), times)
    return Classes(first, of, times)


def _cells_of(published: pd.DataFrame, policy: ReleasePolicy, noised: bool) -> Iterator[np.ndarray]:
    for name in policy.roles.quasi_identifiers:
        form = policy.form(name)
        if name not in policy.roles.numeric:
            yield pd.factorize(published[name])[0]
        elif form is Form.CONTAINS:
            yield from (published[f"{name}_{end}"].to_numpy(dtype=np.float64) for end in ("min", "max"))
        elif noised or form is Form.REPLACED:
            yield published[name].to_numpy(dtype=np.float64)


def of_intervals(
    bins: NumberBins,
    classes: Classes,
    ends: tuple[FloatArray, FloatArray],
    values: FloatArray,
    after: FloatArray,
    *,
    closed: bool,
) -> list[Public]:
    """Return the readings of intervals with `ends` (m,) that hold the `values` (m,), NaN for missing.

    `closed`: they are those of a hierarchy, whose ends need not be anybody's. `after` has one bin more than
    `bins` where any are missing.
    """
    n_bins = len(after)
    low, high = (end[classes.first] for end in ends)
    at, to = bins.place(low), bins.place(high)
    inside, rows = at == to, classes.rows
    known = ~np.isnan(values)
    place = bins.place(np.where(known, values, 0.0))
    if closed:
        owner, bin_of = classes.pairs(place, known)
    else:
        is_low, is_high = (known & (values == end) for end in ends)
        # The two ends of a class are two people, in one bin or in two.
        owner, high_end = classes.pairs(is_high.astype(np.int64), is_low | is_high)
        bin_of = np.where(high_end > 0, to[owner], at[owner])
    across = ~inside[owner]
    taken = np.bincount(owner, minlength=len(rows))
    sure = np.bincount(at[inside], weights=rows[inside], minlength=n_bins).astype(np.int64)
    attained = np.bincount(bin_of[across], minlength=n_bins).astype(np.int64)
    free = ~inside if closed else ~inside & (rows > taken)
    readings = [
        Public(sure, components(_linked(at[~inside], to[~inside], n_bins)), after),
        Public(sure + attained, components(_linked(at[free], to[free], n_bins)), after),
    ]
    if not known.all():
        anywhere = np.zeros(n_bins, dtype=np.int64)
        ends_alone = np.bincount(bin_of, minlength=n_bins).astype(np.int64)
        readings += [nothing_certain(after), Public(ends_alone, anywhere, after)]
    return readings


def _linked(first: IntArray, last: IntArray, n_bins: int) -> BoolArray:
    """Return which bins lie in one interval, of those from `first` (n,) to `last` (n,); (b, b)."""
    linked = np.zeros((n_bins, n_bins), dtype=bool)
    for one, other in {*zip(first.tolist(), last.tolist(), strict=True)}:
        linked[one : other + 1, one : other + 1] = True
    return linked


def of_sets(
    cells: Cells,
    member: BoolArray,
    classes: Classes,
    codes: IntArray,
    place: IntArray,
    after: FloatArray,
    *,
    closed: bool,
) -> list[Public]:
    """Return the readings of sets that hold the values `codes` (m,), of which v has its bin at `place[v]`.

    `member` (cells, b) says in which bins each of the `cells` lies; `closed`: they are unions of nodes, whose
    values need not all be there.
    """
    cell, rows = cells.of_row[classes.first], classes.rows
    inside = (member.sum(axis=1) == 1)[cell]
    sure = member[cell[inside]].T.astype(np.int64) @ rows[inside]
    owner, code = classes.pairs(codes, np.ones(len(codes), dtype=bool))
    attained = np.bincount(place[code[~inside[owner]]], minlength=len(after)).astype(np.int64)
    taken = np.bincount(owner, minlength=len(rows))
    free = ~inside if closed else ~inside & (rows > taken)
    return [
        Public(sure, components(_joined(member[np.unique(cell[~inside])])), after),
        Public(sure + attained, components(_joined(member[np.unique(cell[free])])), after),
    ]


def of_sets_beside_noise(
    cells: Cells, member: BoolArray, classes: Classes, codes: IntArray, place: IntArray, after: FloatArray
) -> Public:
    """Return the reading of `of_sets` by `classes` that have a number with noise in common as well.

    Noise may be a class's or a record's. Only rows that have all values of their cell can be a class.
    """
    cell, rows = cells.of_row[classes.first], classes.rows
    inside = (member.sum(axis=1) == 1)[cell]
    sure = member[cell[inside]].T.astype(np.int64) @ rows[inside]
    owner, code = classes.pairs(codes, np.ones(len(codes), dtype=bool))
    named = np.bincount(cells.cell, minlength=len(cells.rows))
    named[cells.whole] = len(np.unique(codes))
    complete = np.bincount(owner, minlength=len(rows)) == named[cell]
    counted = (complete & ~inside)[owner]
    attained = np.bincount(place[code[counted]], minlength=len(after)).astype(np.int64)
    return Public(sure + attained, components(_joined(member[np.unique(cell[~inside])])), after)


def _joined(several: BoolArray) -> BoolArray:
    lies = several.astype(np.float64)
    return np.asarray((lies.T @ lies) > 0)


def of_replaced(
    classes: Classes, is_true: BoolArray, place: IntArray, after: FloatArray, *, share: int = 0
) -> list[Public]:
    """Return the readings of single cells that stand in bins `place` (m,) and for all of a class.

    `is_true` (m,): the row's person has that very value. One is counted for each class in which anybody has,
    and of a most frequent one of `share` values as many as it must have. The others may be anywhere.
    """
    anybody = np.bincount(classes.of, weights=is_true, minlength=len(classes.first)) > 0
    least = -(-classes.rows // share) if share else np.ones(len(classes.first), dtype=np.int64)
    amount = np.where(anybody, least, 0)
    found = np.bincount(place[classes.first], weights=amount, minlength=len(after))
    base = nothing_certain(after)
    return [base, Public(found.astype(np.int64), base.component, after)]
