"""Who is beside whom: people with seats in groups that a method cuts, at least cost to the groups' cells.

A bucket is one person of each position of a signature. A few buckets are a unit, which lies in one group. The
method cuts one person of each unit; then units change places as wholes, and newcomers among themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree

from tasks.history.extent import Extent
from tasks.history.signatures import TOGETHER
from tasks.types import FloatArray, IntArray, PreparedTable, Progress

AT_ONCE = 1_000  # people that are assigned together; more are divided where they lie apart
ROUNDS = 3
PART = 256
POOLS = 4  # of buckets: those of one change places among the others

Cut = Callable[[IntArray, int], IntArray]
"""Groups `rows` among themselves, of so many people for each: labels, -1 for those it leaves out."""


def placed(
    table: PreparedTable,
    seat: IntArray,
    pool: IntArray,
    before: IntArray,
    points: FloatArray,
    least_size: int,
    cut: Cut,
    progress: Progress,
) -> tuple[IntArray, IntArray]:
    """Return labels (m,) and seats (m, 2) in which every group has equally many people in each position.

    Buckets that lie together are a unit; one of `least_size` people is a group of its own. A unit stays in
    the group that its people were in `before` (m,), and groups of twice the least size are cut; `cut` groups
    the others, and smaller ones join the nearest group. Those of one `pool` (m,) may take one another's
    seats; `points` (m, d) are where records lie. -1 where there is no seat, or no place in a group. O(m
    AT_ONCE) for costs, and pools x (m + groups) for cells.
    """
    labels = np.full(len(seat), -1, dtype=np.int64)
    unit = seat[:, 0] // TOGETHER  # -1 for none
    firsts, others = _nearest_to_middles(unit, points)
    if not len(firsts):
        return labels, np.full_like(seat, -1)
    n_people = np.bincount(unit[unit >= 0])
    length = n_people[unit[firsts]]
    whole = length >= least_size
    each = int(np.bincount(length[~whole]).argmax()) if not whole.all() else 0
    own = np.full(len(n_people), -1, dtype=np.int64)
    np.maximum.at(own, unit[unit >= 0], before[unit >= 0])
    own = np.where(whole, -1, own[unit[firsts]])
    size = np.bincount(1 + own, length)
    for group in [-1, *np.flatnonzero(size[1:] >= 2 * least_size).tolist()]:
        mine = firsts[~whole & (length >= each) & (own == group)]
        if len(mine) and (found := cut(mine, each)).max() >= 0:
            labels[mine] = np.where(found >= 0, labels.max() + 1 + found, -1)
    kept = (own >= 0) & (labels[firsts] < 0)
    labels[firsts[kept]] = labels.max() + 1 + own[kept]
    labels[firsts[whole]] = labels.max(initial=-1) + 1 + np.arange(int(whole.sum()))
    small, there = firsts[~whole & (own < 0) & (length < each)], firsts[labels[firsts] >= 0]
    if len(small) and len(there):
        labels[small] = labels[there[cKDTree(points[there]).query(points[small])[1]]]
    labels[firsts] = np.unique(np.append(labels[firsts], -1), return_inverse=True)[1][:-1] - 1
    of = np.full(len(n_people), -1)
    of[unit[firsts]] = labels[firsts]
    labels[others] = of[unit[others]]
    seat = np.where(labels[:, None] >= 0, seat, -1)
    for number in range(ROUNDS):
        progress(number / ROUNDS, "who is beside whom")
        for turn in (2 * number, 2 * number + 1):
            labels = _with_units_exchanged(table, seat[:, 0] // TOGETHER, labels, points, turn)
        seat = _exchanged(table, seat, labels, pool, points, number)
    return labels, seat


def _nearest_to_middles(unit: IntArray, points: FloatArray) -> tuple[IntArray, IntArray]:
    """Return of each unit the person who is nearest to where its people lie, and the others."""
    rows = np.flatnonzero(unit >= 0)
    number = np.unique(unit[rows], return_inverse=True)[1].reshape(-1)
    n = np.bincount(number)
    middle = np.column_stack([np.bincount(number, column) / n for column in points[rows].T])
    apart = ((points[rows] - middle[number]) ** 2).sum(axis=1)
    order = np.lexsort((apart, number))
    first = np.zeros(len(rows), dtype=bool)
    first[order[np.diff(number[order], prepend=-1) != 0]] = True
    return rows[first], rows[~first]


def _exchanged(
    table: PreparedTable, seat: IntArray, labels: IntArray, pool: IntArray, points: FloatArray, turn: int
) -> IntArray:
    """Let the people of each pool change places where that costs less; return their seats."""
    seat = seat.copy()
    n_groups = int(labels.max(initial=-1)) + 1
    rows = np.flatnonzero(labels >= 0)
    rows = rows[np.argsort(pool[rows], kind="stable")]
    for mine in np.split(rows, np.flatnonzero(np.diff(pool[rows])) + 1):
        if len(mine) < 2:
            continue
        without = labels.copy()
        without[mine] = -1
        extent = Extent(table, without, n_groups)
        for some, people in parts(mine, mine, points, turn):
            group, seats = labels[some].copy(), seat[some].copy()
            slot, who = linear_sum_assignment(_cost(extent, group, people))
            labels[people[who]], seat[people[who]] = group[slot], seats[slot]
    return seat


def _with_units_exchanged(
    table: PreparedTable, unit: IntArray, labels: IntArray, points: FloatArray, turn: int
) -> IntArray:
    """Return labels after units of as many people changed places as wholes where that costs less."""
    labels = labels.copy()
    n_groups = int(labels.max(initial=-1)) + 1
    rows = np.flatnonzero(labels >= 0)
    rows = rows[np.argsort(unit[rows], kind="stable")]
    start = np.flatnonzero(np.diff(unit[rows], prepend=-1))
    length = np.diff(np.append(start, len(rows)))
    draw = np.random.default_rng(turn)
    for n in np.unique(length).tolist():
        buckets = rows[start[length == n][:, None] + np.arange(n)]
        pool = draw.integers(0, POOLS, len(buckets))
        for mine in (buckets[pool == number] for number in range(POOLS)):
            without = labels.copy()
            without[mine] = -1
            extent = Extent(table, without, n_groups)
            number = np.arange(len(mine))
            for some, here in parts(number, number, points[mine].mean(axis=1), turn):
                group = labels[mine[some, 0]]
                cost = sum(_cost(extent, group, mine[here, position]) for position in range(n))
                slot, who = linear_sum_assignment(cost)
                labels[mine[here[who]]] = group[slot][:, None]
    return labels


def parts(
    some: IntArray, people: IntArray, points: FloatArray, turn: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Divide both where they lie apart, in halves, until there are at most `AT_ONCE`; `turn` picks where."""
    if max(len(some), len(people)) <= AT_ONCE:
        if len(some) and len(people):
            yield some, people
        return
    spread = points[people].std(axis=0)
    axis = int(np.argsort(-spread, kind="stable")[turn % min(ROUNDS, len(spread))])
    some = some[np.argsort(points[some, axis], kind="stable")]
    people = people[np.argsort(points[people, axis], kind="stable")]
    for half in (0, 1):
        yield from parts(np.array_split(some, 2)[half], np.array_split(people, 2)[half], points, turn)


def _cost(extent: Extent, group: IntArray, rows: IntArray) -> FloatArray:
    """Return what each of `rows` costs in each group, (groups, rows)."""
    total = np.zeros((len(group), len(rows)))
    size = np.maximum(extent.size, 1)
    for first in range(0, len(group), PART):
        part = slice(first, first + PART)
        total[part] = extent.growth(group[part], rows) * size[group[part], None]
    return total
