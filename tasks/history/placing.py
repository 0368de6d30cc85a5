"""Who is beside whom: people with seats in groups that a method cuts, at least cost to the groups' cells.

A bucket is one person of each position of a signature. A few buckets are a unit, which lies in one group. The
method cuts one person of each unit; then units change places as wholes, and newcomers among themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree

from tasks.history.extent import Extent
from tasks.history.signatures import unit_of
from tasks.types import BoolArray, FloatArray, IntArray, PreparedTable, Progress

AT_ONCE = 1_000  # people that are assigned together; more are divided where they lie apart
ROUNDS, DRAWS = 4, 3  # in each round, so many draws of people
STAYING = 0.8  # times its penalty in the group of before: people who stay together protect each other
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
    the others, smaller ones join a near group, and a group that became too small takes a unit that another
    can spare, or ends. Those of one `pool` (m,) may take one another's
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
    unit[rows] = np.unique(unit_of(seat[rows, 0]), return_inverse=True)[1].reshape(-1)
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
    """Return the group of each unit after `loose` ones joined others, and too small groups grew or ended."""
    group = np.full(len(loose), -1, dtype=np.int64)
    group[unit[unit >= 0]] = labels[unit >= 0]
    if not (labels >= 0).any():
        return group
    groups = _Groups(table, unit, labels, group, points)
    for mover in np.flatnonzero(loose & (group < 0)).tolist():
        groups.move(mover, groups.best(mover)[1])
    for one in groups.smallest_first():
        while 0 < groups.size(one) < least_size:
            own = groups.units(one)
            apart = [groups.best(mover) for mover in own]
            if min(to for _, to in apart) < 0:
                break
            ended = sum(more for more, _ in apart) - groups.cost(own)
            more, unit_of_others = groups.best_of_others(one, least_size)
            if unit_of_others >= 0 and more <= ended:
                groups.move(unit_of_others, one)
            else:
                for mover in own:
                    groups.move(mover, groups.best(mover)[1])
    return group


class _Groups:
    """Groups of units as they change: `group` (u,) of each unit, changed in place."""

    def __init__(
        self, table: PreparedTable, unit: IntArray, labels: IntArray, group: IntArray, points: FloatArray
    ) -> None:
        self._group = group
        self._extent = Extent(table, labels, int(labels.max()) + 1)
        self._cells = Extent(table, unit, len(group))
        self._there, place = np.unique(labels[labels >= 0], return_inverse=True)
        self._tree = cKDTree(
            _middles(_labels(np.flatnonzero(labels >= 0), place.reshape(-1), len(labels)), points)
        )
        self._middle = _middles(unit, points)
        self._units = {one: np.flatnonzero(group == one).tolist() for one in self._there.tolist()}

    def smallest_first(self) -> list[int]:
        """Return the groups in order of their people."""
        order = np.argsort(self._extent.size[self._there], kind="stable")
        return [int(one) for one in self._there[order]]

    def units(self, one: int) -> list[int]:
        """Return the units of a group."""
        return list(self._units[one])

    def size(self, one: int) -> int:
        """Return how many people a group has."""
        return int(self._extent.size[one])

    def cost(self, units: Sequence[int]) -> float:
        """Return the penalty of some units together."""
        return self._cells.together(units)

    def _near(self, unit: int) -> IntArray:
        """Return the groups near a unit that have people, but for its own."""
        n = min(NEAREST, len(self._there))
        near = self._there[self._tree.query(self._middle[unit], k=[*range(1, 1 + n)])[1]]
        return np.asarray(near[(near != self._group[unit]) & (self._extent.size[near] > 0)])

    def best(self, unit: int) -> tuple[float, int]:
        """Return by how much the penalty of the group that a unit is best put in grows, and it, or -1."""
        near = self._near(unit)
        if not len(near):
            return 0.0, -1
        more = self._extent.with_each(near, self._cells, np.array([unit]))[:, 0] - self._extent.cost(near)
        return float(more.min()), int(near[more.argmin()])

    def best_of_others(self, one: int, least_size: int) -> tuple[float, int]:
        """Return by how much the penalty grows if a group gets the best unit that others can spare; or -1."""
        best, found = np.inf, -1
        here, own = np.array([one]), self.cost(self._units[one])
        for other in self._near(self._units[one][0]).tolist():
            for unit in self._units[other]:
                if self.size(other) - int(self._cells.size[unit]) >= least_size:
                    rest = [each for each in self._units[other] if each != unit]
                    more = float(self._extent.with_each(here, self._cells, np.array([unit]))[0, 0]) - own
                    more += self.cost(rest) - self.cost(self._units[other])
                    if more < best:
                        best, found = more, unit
        return best, found

    def move(self, unit: int, to: int) -> None:
        """Put a unit into a group; into none if it is -1."""
        if to < 0:
            return
        if (was := int(self._group[unit])) >= 0:
            self._units[was].remove(unit)
            self._extent.replace(was, self._cells, self._units[was])
        self._group[unit] = to
        self._units[to].append(unit)
        self._extent.replace(to, self._cells, self._units[to])


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
