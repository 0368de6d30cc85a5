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
from tasks.types import BoolArray, FloatArray, IntArray, PreparedTable, Progress

AT_ONCE = 1_000  # people that are assigned together; more are divided where they lie apart
ROUNDS, DRAWS = 4, 3  # in each round, so many draws of people
STAYING = 0.9  # of its cost, counts a unit in the group of before: whoever stays together unlocks nobody
NEAREST = 32  # groups that a unit may join

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
    unit = _units(seat)
    if not (unit >= 0).any():
        return np.full(len(seat), -1, dtype=np.int64), np.full_like(seat, -1)
    n_people = np.bincount(unit[unit >= 0])
    last = np.full(len(n_people), -1, dtype=np.int64)
    np.maximum.at(last, unit[unit >= 0], before[unit >= 0])
    firsts = _firsts(unit, points)
    group, loose = _cut(firsts, n_people, last, least_size, cut)
    labels = np.where(unit >= 0, group[unit], -1)
    group = _joined(table, unit, labels, loose, points, least_size)
    labels = np.where(unit >= 0, np.unique(np.append(group, -1), return_inverse=True)[1][unit] - 1, -1)
    seat = np.where(labels[:, None] >= 0, seat, -1)
    for turn in range(ROUNDS):
        progress(turn / ROUNDS, "who is beside whom")
        labels = _with_units_exchanged(table, _units(seat), labels, before >= 0, points, turn)
        labels, seat = _with_people_exchanged(table, seat, labels, pool, points, turn)
    return labels, seat


def _units(seat: IntArray) -> IntArray:
    """Number the units of records, (m,), -1 for none."""
    rows = seat[:, 0] >= 0
    unit = np.full(len(seat), -1, dtype=np.int64)
    unit[rows] = np.unique(seat[rows, 0] // TOGETHER, return_inverse=True)[1].reshape(-1)
    return unit


def _middles(unit: IntArray, points: FloatArray) -> FloatArray:
    rows = unit >= 0
    sums = [np.bincount(unit[rows], column) for column in points[rows].T]
    return np.asarray(np.column_stack(sums) / np.bincount(unit[rows])[:, None], dtype=np.float64)


def _firsts(unit: IntArray, points: FloatArray) -> IntArray:
    """Return of each unit the person who is nearest to where its people lie."""
    rows = np.flatnonzero(unit >= 0)
    apart = ((points[rows] - _middles(unit, points)[unit[rows]]) ** 2).sum(axis=1)
    order = np.lexsort((apart, unit[rows]))
    return np.asarray(rows[order[np.diff(unit[rows[order]], prepend=-1) != 0]])


def _cut(
    firsts: IntArray, n_people: IntArray, last: IntArray, least_size: int, cut: Cut
) -> tuple[IntArray, BoolArray]:
    """Return the group of each of u units, -1 for those that `cut` left out, and which are loose.

    `last` (u,) are groups that they were in, -1 for none. Loose are units of fewer people than others, or
    all, where these make no group.
    """
    whole = n_people >= least_size
    group, loose = last.copy(), np.zeros(len(last), dtype=bool)
    free = np.flatnonzero(~whole)
    n_groups = int(last.max()) + 1
    if len(free):
        each = int(np.bincount(n_people[free]).argmax())
        size = np.bincount(1 + last[free], n_people[free])
        for one in [-1, *np.flatnonzero(size[1:] >= 2 * least_size).tolist()]:
            of = free[last[free] == one]
            mine = of[n_people[of] >= each]
            found = cut(firsts[mine], each) if len(mine) else mine
            group[mine] = np.where(found >= 0, n_groups + found, one)
            loose[of] = (n_people[of] < each) | (found < 0).all()
            n_groups += int(found.max(initial=-1)) + 1
    group[whole] = n_groups + np.arange(int(whole.sum()))
    return group, loose


def _joined(
    table: PreparedTable,
    unit: IntArray,
    labels: IntArray,
    loose: BoolArray,
    points: FloatArray,
    least_size: int,
) -> IntArray:
    """Return the group of each unit after `loose` ones, and those of too small groups, joined others."""
    group = np.full(len(loose), -1, dtype=np.int64)
    group[unit[unit >= 0]] = labels[unit >= 0]
    if not (labels >= 0).any():
        return group
    extent, cells = Extent(table, labels, int(labels.max()) + 1), Extent(table, unit, len(loose))
    where = _middles(np.unique(np.append(labels, -1), return_inverse=True)[1][:-1] - 1, points)
    there, here = np.unique(labels[labels >= 0]), _middles(unit, points)
    tree, n_near = cKDTree(where), min(NEAREST, len(there))
    small = there[np.argsort(extent.size[there], kind="stable")].tolist()
    of_group = {one: np.flatnonzero(group == one) for one in small}
    for one in [-1, *small]:
        movers = np.flatnonzero(loose & (group < 0)) if one < 0 else of_group[one]
        if one >= 0 and (extent.size[one] >= least_size or n_near == 1):
            continue
        for mover in movers.tolist():
            near = there[tree.query(here[mover], k=[*range(1, 1 + n_near)])[1]]
            near = near[(near != one) & (extent.size[near] > 0)]
            if len(near):
                grown = extent.with_each(near, cells, np.array([mover]))[:, 0] - extent.cost(near)
                best = int(near[grown.argmin()])
                extent.add(best, cells, mover)
                of_group[best] = np.append(of_group[best], mover)
                group[mover] = best
        if one >= 0 and not (group[movers] == one).any():
            extent.size[one] = 0
    return group


def _with_people_exchanged(
    table: PreparedTable, seat: IntArray, labels: IntArray, pool: IntArray, points: FloatArray, turn: int
) -> tuple[IntArray, IntArray]:
    """Return labels and seats after people of a pool, one of a group, changed where that costs less."""
    labels, seat = labels.copy(), seat.copy()
    draw = np.random.default_rng(turn)
    rows = np.flatnonzero(labels >= 0)
    rows = rows[np.argsort(pool[rows], kind="stable")]
    pools = np.split(rows, np.flatnonzero(np.diff(pool[rows])) + 1)
    for of in (draw.permutation(each) for each in pools for _ in range(DRAWS)):
        mine = of[np.unique(labels[of], return_index=True)[1]]
        if len(mine) < 2:
            continue
        group, extent = labels[mine], _without(table, labels, mine)
        cells = Extent(table, _labels(mine, np.arange(len(mine)), len(labels)), len(mine))
        seats = seat[mine]
        number = np.arange(len(mine))
        for some, here in parts(number, number, points[mine], turn):
            slot, who = linear_sum_assignment(extent.with_each(group[some], cells, here))
            labels[mine[here[who]]], seat[mine[here[who]]] = group[some[slot]], seats[some[slot]]
    return labels, seat


def _with_units_exchanged(
    table: PreparedTable, unit: IntArray, labels: IntArray, known: BoolArray, points: FloatArray, turn: int
) -> IntArray:
    """Return labels after units of as many people, one of a group, changed places where that costs less."""
    labels = labels.copy()
    rows = np.flatnonzero(unit >= 0)
    n_people, middle = np.bincount(unit[rows]), _middles(unit, points)
    group = np.zeros(len(n_people), dtype=np.int64)
    group[unit[rows]] = labels[rows]
    stays = np.zeros(len(n_people), dtype=bool)
    stays[unit[rows[known[rows]]]] = True
    order = np.random.default_rng(turn).permutation(len(n_people))
    for n in np.unique(n_people).tolist():
        of = order[n_people[order] == n]
        mine = of[np.unique(group[of], return_index=True)[1]]
        moves = np.flatnonzero(np.isin(unit, mine))
        extent = _without(table, labels, moves)
        cells = Extent(table, np.where(np.isin(unit, mine), unit, -1), len(n_people))
        was = group[mine]
        for some, here in parts(np.arange(len(mine)), np.arange(len(mine)), middle[mine], turn):
            cost = extent.with_each(was[some], cells, mine[here])
            cost[(some[:, None] == here) & stays[mine[here]]] *= STAYING
            slot, who = linear_sum_assignment(cost)
            group[mine[here[who]]] = was[some[slot]]
        labels[rows] = group[unit[rows]]
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


def _without(table: PreparedTable, labels: IntArray, rows: IntArray) -> Extent:
    rest = labels.copy()
    rest[rows] = -1
    return Extent(table, rest, int(labels.max()) + 1)


def _labels(rows: IntArray, labels: IntArray, n: int) -> IntArray:
    found = np.full(n, -1, dtype=np.int64)
    found[rows] = labels
    return found
