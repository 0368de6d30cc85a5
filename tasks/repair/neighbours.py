"""The neighbours of groups, the cheapest to merge with first, found without looking at all groups.

The living groups stand in a tree as they were at one time. A node tells by how much any of its groups, and
whatever is merged with it, grow at least, and so what a merge costs at least: where that is more than what
enough near groups cost, nobody looks below. Groups that changed since are looked at beside the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tasks.geometry.bitsets import Words
from tasks.geometry.box_tree import FAN, below, descend, pack_boxes, spatial_order
from tasks.repair.groups import Groups
from tasks.repair.measure import Measure
from tasks.types import BoolArray, FloatArray, IntArray

T = TypeVar("T", np.float64, np.int64)
Grown = Callable[[IntArray, IntArray], tuple[FloatArray, FloatArray]]

TRIES = {True: 96, False: 384}  # neighbours within the largest group size, and others
LEAST = 6  # neighbours that are looked for at first
MORE = 6  # times as many where none of them will do
WIDE = 36  # nodes of a height are looked below for a first limit
SLACK = 1e-9  # by which the bound of a cost gives way to rounding


@dataclass(frozen=True)
class _Nodes:
    """n nodes: the least and the greatest of the bounds (n, p) and sizes (n,) of their groups, and of how
    many values their sets have, `count` (n, s).

    `some` (n, w) are the values that any group has, `every` those that all have.
    """

    low: tuple[FloatArray, FloatArray]
    high: tuple[FloatArray, FloatArray]
    size: tuple[IntArray, IntArray]
    count: tuple[IntArray, IntArray]
    some: Words
    every: Words

    def __len__(self) -> int:
        return len(self.some)

    def above(self) -> _Nodes:
        """Return one node for every `FAN` neighbours."""
        first = np.arange(0, len(self), FAN)

        def ends(both: tuple[NDArray[T], NDArray[T]]) -> tuple[NDArray[T], NDArray[T]]:
            return np.minimum.reduceat(both[0], first), np.maximum.reduceat(both[1], first)

        return _Nodes(
            ends(self.low),
            ends(self.high),
            ends(self.size),
            ends(self.count),
            np.bitwise_or.reduceat(self.some, first),
            np.bitwise_and.reduceat(self.every, first),
        )


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
        self._boxes = pack_boxes(groups.boxes)
        self._ncp = measure.ncp(groups.boxes)
        # The words of each set that counts, with its weight and the number of its values.
        filled = np.cumsum([member.shape[1] > 0 for member in groups.boxes.member]) - 1
        ends = self._boxes.ends
        self._words = [
            (ends[filled[column]], ends[filled[column] + 1], weight, n_values)
            for column, weight, n_values in measure.sets
            if groups.boxes.member[column].shape[1]
        ]
        # How much it costs if two are at the ends of a number, or have other values of a set.
        far = [0.0] * (len(groups.boxes.low.T) + len(ends) - 1)
        for column, weight, _ in measure.numbers:
            far[column] = weight / 3  # as far as any two are apart on average
        for begin, _, weight, n_values in self._words:
            far[len(groups.boxes.low.T) + ends.index(begin)] = 2 * weight / n_values
        self._order = spatial_order(self._boxes, far)
        self._count = self._counted(self._boxes.bits)
        self.look_again()

    def _counted(self, bits: Words) -> IntArray:
        """Return how many values each set that counts has, (n, s)."""
        found = np.zeros((len(bits), len(self._words)), dtype=np.int64)
        for place, (begin, end, _, _) in enumerate(self._words):
            found[:, place] = np.bitwise_count(bits[:, begin:end]).sum(axis=1)
        return found

    def look_again(self) -> None:
        """Take the groups as they are now."""
        groups = self._groups
        self._order = order = self._order[groups.alive[self._order]]
        self._at = np.zeros(len(groups.alive), dtype=np.int64)
        self._at[order] = np.arange(len(order))
        self.changed = np.zeros(len(groups.alive), dtype=bool)
        boxes, size = self._boxes.take(order), groups.size[order]
        count = self._count[order]
        self._levels = [
            _Nodes(
                (boxes.low, boxes.low),
                (boxes.high, boxes.high),
                (size, size),
                (count, count),
                boxes.bits,
                boxes.bits,
            )
        ]
        while len(self._levels[-1]) > FAN:
            self._levels.append(self._levels[-1].above())
        self._rankings: dict[tuple[int, bool], Ranking] = {}

    def note(self, group: int, partner: int) -> None:
        """Note that a partner became part of a group."""
        one = self._groups.boxes.take(np.array([group]))
        box = pack_boxes(one)
        self._boxes.low[group], self._boxes.high[group] = box.low[0], box.high[0]
        self._boxes.bits[group] = box.bits[0]
        self._count[group] = self._counted(box.bits)[0]
        self._ncp[group] = self._measure.ncp(one)[0]
        self.changed[[group, partner]] = True

    def look_for(self, asked: Sequence[int], most: int, *, within: bool) -> list[Ranking]:
        """Return the cheapest `most` neighbours of each of many unchanged groups; `nearest` uses them."""
        found = self._ranked(np.array(asked, dtype=np.int64), within, most)
        self._rankings.update(zip(((group, within) for group in asked), found, strict=True))
        return found

    def nearest(self, group: int) -> Iterator[IntArray]:
        """Yield the living neighbours of a group, in parts: those with which it stays within the largest
        group size, then the others, each by cost, and of each no more than `TRIES`.
        """
        changed = np.flatnonzero(self.changed & self._groups.alive)
        changed = changed[changed != group]
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
                near = also_cost < np.inf
                if not ranking.complete:
                    last, last_cost = ranking.others[-1], ranking.cost[-1]
                    near = (also_cost < last_cost) | ((also_cost == last_cost) & (also < last))
                others, costs = np.append(others, also[near]), np.append(costs, also_cost[near])
                others = others[np.lexsort((others, costs))][seen:limit]
                yield others
                seen += len(others)
                if ranking.complete or seen >= limit:
                    break
                known, most = None, MORE * max(most, len(ranking.others))

    def cost(self, group: IntArray, other: IntArray) -> FloatArray:
        """Return what merging each group with the other beside it costs in NCP, (n,)."""
        size, others = self._groups.size[group], self._groups.size[other]
        merged = self._measure.ncp(self._groups.merged(group, other))
        return np.asarray((others + size) * merged - others * self._ncp[other] - size * self._ncp[group])

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
        limit = self._near_cost(asked, within, most)

        def meet(height: int, line: IntArray, node: IntArray) -> tuple[IntArray, IntArray]:
            return self._met(asked, height, line, node, within, limit)[:2]

        found = list(descend([len(level) for level in self._levels], len(asked), meet))
        line, other = (
            np.concatenate([each[0] for each in found]),
            self._order[np.concatenate([each[1] for each in found])],
        )
        kept = (other != asked[line]) & ~self.changed[other]
        line, other = line[kept], other[kept]
        cost = self.cost(asked[line], other)
        kept = cost <= limit[line]
        line, other, cost = line[kept], other[kept], cost[kept]
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

    def _near_cost(self, asked: IntArray, within: bool, most: int) -> FloatArray:
        """Return a cost that the `most` cheapest neighbours of each group do not exceed, (n,).

        Looks below those nodes of each height that may have the cheapest: `WIDE`, or `most`.
        """
        top, endless = len(self._levels[-1]), np.full(len(asked), np.inf)
        line, node = np.repeat(np.arange(len(asked)), top), np.tile(np.arange(top), len(asked))
        for height in range(len(self._levels) - 1, -1, -1):
            line, node, bound = self._met(asked, height, line, node, within, endless)
            if height:
                order = np.lexsort((bound, line))
                order = order[_place_in_run(line[order]) < max(most, WIDE)]
                line, node = below(line[order], node[order], len(self._levels[height - 1]))
        other = self._order[node]
        kept = (other != asked[line]) & ~self.changed[other]
        line, other = line[kept], other[kept]
        cost = self.cost(asked[line], other)
        order = np.lexsort((cost, line))
        limit = np.full(len(asked), np.inf)
        last = order[_place_in_run(line[order]) == most - 1]
        limit[line[last]] = cost[last]
        return limit

    def _met(
        self,
        asked: IntArray,
        height: int,
        line: IntArray,
        node: IntArray,
        within: bool,
        limit: FloatArray,
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Return those of the pairs of a group and a node that may cost no more than `limit`, and how little.

        Nodes without groups within the largest size, or without others, are left out.
        """
        nodes, size = self._levels[height], self._groups.size[asked]
        least, greatest = nodes.size
        small = size[line] + (least if within else greatest)[node] <= self._most
        kept = np.flatnonzero(small == within)
        line, node = line[kept], node[kept]
        if not height:
            cost = self._open_cost(asked[line], self._order[node]) - SLACK
            kept = np.flatnonzero(cost <= limit[line])
            return line[kept], node[kept], cost[kept]
        cost = np.full(len(line), -SLACK)
        for grown in (*self._grown_numbers(nodes), *self._grown_sets(nodes)):
            mine, theirs = grown(asked[line], node)
            cost += size[line] * mine + least[node] * theirs
            kept = np.flatnonzero(cost <= limit[line])
            if 2 * len(kept) < len(cost):
                line, node, cost = line[kept], node[kept], cost[kept]
        kept = np.flatnonzero(cost <= limit[line])
        return line[kept], node[kept], cost[kept]

    def _open_cost(self, group: IntArray, other: IntArray) -> FloatArray:
        """Return what merging costs before the cells are closed, which is no more than after it, (n,)."""
        boxes, merged = self._boxes, np.zeros(len(group))
        for column, weight, span in self._measure.numbers:
            high = np.maximum(boxes.high[group, column], boxes.high[other, column])
            low = np.minimum(boxes.low[group, column], boxes.low[other, column])
            merged += weight * np.minimum((high - low) / span, 1.0)
        for begin, end, weight, n_values in self._words:
            covered = np.bitwise_count(boxes.bits[group, begin] | boxes.bits[other, begin]).astype(np.int64)
            for word in range(begin + 1, end):
                covered += np.bitwise_count(boxes.bits[group, word] | boxes.bits[other, word])
            penalty = np.minimum(np.arange(64 * (end - begin) + 1) / n_values, 1.0)
            penalty[1] = 0.0
            merged += weight * penalty[covered]
        size, others = self._groups.size[group], self._groups.size[other]
        return np.asarray((others + size) * merged - others * self._ncp[other] - size * self._ncp[group])

    def _grown_numbers(self, nodes: _Nodes) -> Iterator[Grown]:
        """Yield for each number what returns how much more a group, and any of a node, cost as one at least.

        A cell that would be wider than the table is taken not to grow at all.
        """
        for column, weight, span in self._measure.numbers:

            def grown(
                group: IntArray,
                node: IntArray,
                column: int = column,
                span: float = span,
                weight: float = weight,
            ) -> tuple[FloatArray, FloatArray]:
                low, high = self._boxes.low[group, column], self._boxes.high[group, column]
                (low_least, low_most), (high_least, high_most) = (
                    [each[node, column] for each in both] for both in (nodes.low, nodes.high)
                )
                fits = np.maximum(high, high_most) <= np.minimum(low, low_least) + span
                with np.errstate(invalid="ignore"):  # of cells without end, which do not fit
                    mine = np.maximum(low - low_most, 0) + np.maximum(high_least - high, 0)
                    theirs = np.maximum(low_least - low, 0) + np.maximum(high - high_most, 0)
                return weight / span * np.where(fits, mine, 0.0), weight / span * np.where(fits, theirs, 0.0)

            yield grown

    def _grown_sets(self, nodes: _Nodes) -> Iterator[Grown]:
        """Yield the same for each set; one with more values than the table is taken not to grow."""
        for place, (begin, end, weight, n_values) in enumerate(self._words):

            def grown(
                group: IntArray,
                node: IntArray,
                place: int = place,
                begin: int = begin,
                end: int = end,
                weight: float = weight,
                n_values: int = n_values,
            ) -> tuple[FloatArray, FloatArray]:
                added, missing, common, everything = (np.zeros(len(node), dtype=np.int64) for _ in range(4))
                for word in range(begin, end):
                    own, some = self._boxes.bits[group, word], nodes.some[node, word]
                    everything += np.bitwise_count(own | some)
                    common += np.bitwise_count(own & some)
                    added += np.bitwise_count(nodes.every[node, word] & ~own)
                    missing += np.bitwise_count(own & ~some)
                least, greatest = nodes.count[0][node, place], nodes.count[1][node, place]
                added = np.where(common == 0, np.maximum(added, least), added)
                # A set of one value costs nothing, and one of two values as much as two.
                added += (self._count[group, place] == 1) & (added > 0)
                missing += (greatest == 1) & (missing > 0)
                fits = everything <= n_values
                return weight / n_values * np.where(fits, added, 0), weight / n_values * np.where(
                    fits, missing, 0
                )

            yield grown


def _place_in_run(line: IntArray) -> IntArray:
    """Return how many equal ones stand before each of some sorted numbers."""
    first = np.searchsorted(line, line)
    return np.arange(len(line)) - first
