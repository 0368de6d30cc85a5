"""The neighbours of groups, the cheapest to merge with first, found without looking at all groups.

The living groups stand in a tree as they were at one time. A node tells by how much any of its groups, and
whatever is merged with it, grow at least, and so what a merge costs at least: where that is more than what
enough near groups cost, nobody looks below. Groups that changed since are looked at beside the tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.geometry.box_tree import FAN, descend, pack_boxes, spatial_order
from tasks.repair.costs import SLACK, Cells, Costs, Nodes
from tasks.repair.groups import Groups
from tasks.repair.measure import Measure
from tasks.threads import in_threads
from tasks.types import BoolArray, FloatArray, IntArray

TRIES = {True: 96, False: 384}  # neighbours within the largest group size, and others
LEAST = 6  # neighbours that are looked for at first
MORE = 6  # times as many where none of them will do
WIDE = 36  # nodes of a height are looked below for a first limit


@dataclass(frozen=True)
class Ranking:
    """The `others` (m,) of a group by `cost` (m,), then number; `complete` if there are no more of them."""

    others: IntArray
    cost: FloatArray
    complete: bool


class Neighbours:
    """The groups, and what merging them costs; `note` tells of every merge."""

    def __init__(self, groups: Groups, measure: Measure, max_group_size: int) -> None:
        self._groups, self._measure, self._most = groups, measure, max_group_size
        boxes = pack_boxes(groups.boxes)
        filled = [column for column, member in enumerate(groups.boxes.member) if member.shape[1]]
        self._costs = Costs(measure, boxes, filled)
        self._cells = self._costs.cells_of(boxes)
        # How much it costs if two are at the ends of a number, or have other values of a set.
        far = [0.0] * (boxes.low.shape[1] + len(filled))
        for number in self._costs.numbers:
            far[number.column] = number.weight / 3  # as far as any two are apart on average
        for each in self._costs.sets:
            far[boxes.low.shape[1] + boxes.ends.index(each.begin)] = 2 * each.weight / each.n_values
        self._order = spatial_order(boxes, far)
        self.look_again()

    def look_again(self) -> None:
        """Take the groups as they are now."""
        groups = self._groups
        self._order = order = self._order[groups.alive[self._order]]
        self.changed = np.zeros(len(groups.alive), dtype=bool)
        self._grown: set[int] = set()
        self._size = groups.size[order]
        self._leaves = self._cells.take(order)
        self._levels = [Nodes.of(self._leaves, self._size)]
        while len(self._levels[-1]) > FAN:
            self._levels.append(self._levels[-1].above())
        self._rankings: dict[tuple[int, bool], Ranking] = {}

    def note(self, group: int, partner: int) -> None:
        """Note that a partner became part of a group."""
        if self._groups.close.widens:
            now = self._costs.cells_of(pack_boxes(self._groups.boxes.take(np.array([group]))))
            for column, one in zip(self._cells.columns(), now.columns(), strict=True):
                column[group] = one[0]
        else:
            self._costs.join(self._cells, group, partner)
        self.changed[[group, partner]] = True
        self._grown.add(group)
        self._grown.discard(partner)

    def look_for(self, asked: Sequence[int], most: int, *, within: bool) -> list[Ranking]:
        """Return the cheapest `most` neighbours of each of many unchanged groups; `nearest` uses them."""
        groups = np.array(asked, dtype=np.int64)
        found = in_threads(lambda part: self._ranked(groups[part], within, most), len(groups))
        self._rankings.update(zip(((group, within) for group in asked), found, strict=True))
        return found

    def nearest(self, group: int) -> Iterator[IntArray]:
        """Yield the living neighbours of a group, in parts: those with which it stays within the largest
        group size, then the others, each by cost, and of each no more than `TRIES`.
        """
        changed = np.array(sorted(self._grown - {group}), dtype=np.int64)
        group_of = np.full(len(changed), group)
        cost = self.cost(group_of, changed)
        small = self._within(group_of, changed)
        for within, limit in TRIES.items():
            also, also_cost = changed[small == within], cost[small == within]
            known = None if self.changed[group] else self._rankings.get((group, within))
            seen, most = 0, LEAST
            while True:
                ranking = known or self._ranked(np.array([group]), within, most)[0]
                still = ~self.changed[ranking.others]
                others, costs = ranking.others[still], ranking.cost[still]
                near = np.flatnonzero(also_cost < np.inf)
                if not ranking.complete:
                    last, last_cost = ranking.others[-1], ranking.cost[-1]
                    near = np.flatnonzero(
                        (also_cost < last_cost) | ((also_cost == last_cost) & (also < last))
                    )
                if len(near):
                    others, costs = np.append(others, also[near]), np.append(costs, also_cost[near])
                    others = others[np.lexsort((others, costs))]
                others = others[seen:limit]
                yield others
                seen += len(others)
                if ranking.complete or seen >= limit:
                    break
                known, most = None, MORE * max(most, len(ranking.others))

    def cost(self, group: IntArray, other: IntArray) -> FloatArray:
        """Return what merging each group with the other beside it costs in NCP, (n,)."""
        groups, cells = self._groups, self._cells
        if not groups.close.widens:
            return self._costs.merged(cells, groups.size, group, cells, groups.size, other)
        size, others = groups.size[group], groups.size[other]
        merged = self._measure.ncp(groups.merged(group, other))
        return np.asarray((others + size) * merged - others * cells.ncp[other] - size * cells.ncp[group])

    def by_cost(self, group: int, others: IntArray) -> IntArray:
        """Return some living groups in the order of `nearest`."""
        group_of = np.full(len(others), group)
        within = self._within(group_of, others)
        by_cost = np.argsort(self.cost(group_of, others), kind="stable")
        small = within[by_cost]
        order = np.concatenate([by_cost[small][: TRIES[True]], by_cost[~small][: TRIES[False]]])
        return np.asarray(others[order])

    def _within(self, group: IntArray, other: IntArray) -> BoolArray:
        return np.asarray(self._groups.size[group] + self._groups.size[other] <= self._most)

    def _ranked(self, asked: IntArray, within: bool, most: int) -> list[Ranking]:
        """Return the cheapest `most` unchanged neighbours of each group, within the size or past it."""
        if not len(asked):
            return []
        cells, size = self._cells.take(asked), self._groups.size[asked]
        limit = self._near_cost(asked, cells, size, within, most)
        found = list[tuple[IntArray, IntArray, FloatArray]]()

        def meet(height: int, line: IntArray, node: IntArray) -> tuple[IntArray, IntArray]:
            nodes = self._levels[height]
            kept = np.flatnonzero(self._may_fit(size.take(line), nodes, node, within))
            line, node = line.take(kept), node.take(kept)
            if height:
                bound = self._costs.least(cells, size, line, nodes, node)
                kept = np.flatnonzero(bound <= limit.take(line))
                return line.take(kept), node.take(kept)
            other = self._order.take(node)
            kept = np.flatnonzero((other != asked.take(line)) & ~self.changed.take(other))
            line, node, other = line.take(kept), node.take(kept), other.take(kept)
            kept, cost = self._costs.merged_within(cells, size, line, self._leaves, self._size, node, limit)
            line, other = line.take(kept), other.take(kept)
            if self._groups.close.widens:
                kept = np.flatnonzero(cost - SLACK <= limit.take(line))
                line, other = line.take(kept), other.take(kept)
                cost = self.cost(asked.take(line), other)
            kept = np.flatnonzero(cost <= limit.take(line))
            found.append((line.take(kept), other.take(kept), cost.take(kept)))
            return line, node

        for _ in descend([len(level) for level in self._levels], len(asked), meet):
            pass
        line, other, cost = (np.concatenate(each) for each in zip(*found, strict=True))
        order = np.lexsort((other, cost, line))
        first = np.searchsorted(line[order], np.arange(len(asked) + 1))
        return [
            Ranking(
                other[order[a : min(a + most, b)]],
                cost[order[a : min(a + most, b)]],
                b - a <= most and bool(np.isinf(end)),
            )
            for a, b, end in zip(first[:-1], first[1:], limit, strict=True)
        ]

    def _near_cost(
        self, asked: IntArray, cells: Cells, size: IntArray, within: bool, most: int
    ) -> FloatArray:
        """Return a cost that the `most` cheapest neighbours of each group do not exceed, (n,).

        Looks below those nodes of each height that may have the cheapest: `WIDE`, or `most`.
        """
        wide = max(most, WIDE)
        node = np.tile(np.arange(len(self._levels[-1])), (len(asked), 1))
        for height in range(len(self._levels) - 1, 0, -1):
            if node.shape[1] > wide:
                nodes = self._levels[height]
                place = np.minimum(node, len(nodes) - 1)
                bound = self._costs.least(cells, size, None, nodes, place)
                bound[~self._may_fit(size[:, None], nodes, place, within) | (node > place)] = np.inf
                near = np.argpartition(bound, wide - 1, axis=1)[:, :wide]
                node = np.take_along_axis(node, near, axis=1)
            # The last node may have fewer below it: what is counted past the last is no group.
            node = (FAN * node[:, :, None] + np.arange(FAN)).reshape(len(asked), -1)
        place = np.minimum(node, len(self._order) - 1)
        other = self._order.take(place)
        no_other = ~self._may_fit(size[:, None], self._levels[0], place, within) | (node > place)
        no_other |= (other == asked[:, None]) | self.changed.take(other)
        if self._groups.close.widens:
            cost = self.cost(np.repeat(asked, node.shape[1]), other.reshape(-1)).reshape(node.shape)
        else:
            cost = self._costs.merged(cells, size, None, self._leaves, self._size, place)
        cost[no_other] = np.inf
        if node.shape[1] < most:
            return np.full(len(asked), np.inf)
        return np.asarray(np.partition(cost, most - 1, axis=1)[:, most - 1])

    def _may_fit(self, size: IntArray, nodes: Nodes, node: IntArray, within: bool) -> BoolArray:
        """Tell of which nodes some group stays within the largest size with one of a `size`, or does not."""
        least, greatest = nodes.size
        both = (least if within else greatest).take(node)
        both += size
        return np.asarray((both <= self._most) == within)
