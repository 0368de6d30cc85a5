"""Polish: records are swapped between neighbouring groups where that lowers the NCP or makes classes overlap.

Our own step. With an `overlap_weight` a swap also counts what it does to the people who are in one class
only (Hu et al., 2026, eq. 12): it may widen two classes a little where both then contain whom one did.
Group sizes do not change, both groups of a swap keep the constraints, and none gets the cells of another of
its block. Groups are looked at in blocks of neighbours: O(n s) a round for blocks of s records, and a fixed
number of rounds; with an overlap weight O(n g / 64) a sweep for regions of g groups, at most 1,000.

With `widened_classes`, swaps are tried for each of those people too (`tasks.aggregation.ambiguity`). A block
then also counts the people of its region outside it who are in at most two classes, one of them its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.aggregation.ambiguity import swaps_around
from tasks.aggregation.boxes import GroupCells
from tasks.aggregation.ke_mdav import LocalRule, aggregate
from tasks.partitioning.attributes import Attributes
from tasks.partitioning.constraints import Constraints
from tasks.partitioning.mondrian import SplitRule, partition
from tasks.types import FloatArray, IntArray, Progress, no_progress

LEAST_GAIN = 1e-9
IDLE_ROUNDS = 3
MOST_CENTRES = 1_000
MOST_FREED = 4
"""A swap that costs more than the weight of so many people is not asked how many it frees."""


@dataclass(frozen=True)
class PolishRule:
    """How long and for what records are swapped.

    `overlap_weight` is what one person in a single class costs, in units of one record's NCP (0: only the NCP
    counts); for each of them, swaps are tried that widen one of the `widened_classes` other classes that cost
    least to widen. Blocks have about `block_size` records; `sweeps` times all groups are laid out in other
    blocks, each with up to `rounds` rounds. In a round, a third as many pairs of record and group as a block
    has records are tried, each with `partners` records to swap for; `noise` stirs which, drawn from `seed`.
    """

    overlap_weight: float = 0.0
    widened_classes: int = 0
    block_size: int = 400
    sweeps: int = 2
    rounds: int = 8
    partners: int = 2
    noise: float = 0.02
    seed: int = 42

    @property
    def widens(self) -> bool:
        """Whether classes are widened for the sake of people in a single class."""
        return self.overlap_weight > 0 and self.widened_classes > 0


def polish(
    labels: IntArray,
    attributes: Attributes,
    constraints: Constraints,
    rule: PolishRule,
    progress: Progress = no_progress,
) -> IntArray:
    """Return labels (n,) of groups of the same sizes, whose cells cost less; -1 stays as it is.

    A group that satisfies `constraints` goes on doing so; one that does not takes part in no swap.
    """
    labels = labels.copy()
    if rule.rounds < 1 or labels.max(initial=-1) < 1:
        return labels
    for sweep in range(rule.sweeps):
        region_of, block_of = _blocks(labels, attributes, rule, sweep)
        n_classes = np.zeros_like(labels)
        regions = _records_of(region_of, labels)
        if rule.overlap_weight > 0:
            for people in regions:
                n_classes[people] = _containing(labels, people, attributes, people)
        blocks = _records_of(block_of, labels)
        for number, records in enumerate(blocks):
            draw = np.random.default_rng([rule.seed, sweep, number])
            names, group_of = np.unique(labels[records], return_inverse=True)
            people = regions[region_of[names[0]]] if rule.widens else records[:0]
            before = _containing(labels, records, attributes, people)
            outside = np.setdiff1d(people[(before > 0) & (n_classes[people] <= 2)], records)
            block = _Block(attributes, constraints, rule, records, outside, group_of.ravel(), n_classes, draw)
            labels[records] = names[block.improved()]
            n_classes[people] += _containing(labels, records, attributes, people) - before
            progress(
                (sweep + (number + 1) / len(blocks)) / rule.sweeps, f"sweep {sweep + 1} of {rule.sweeps}"
            )
    return labels


def _records_of(part_of: IntArray, labels: IntArray) -> list[IntArray]:
    """Return the records of each part, whose groups are those of `part_of` (n_groups,)."""
    kept = np.flatnonzero(labels >= 0)
    part = part_of[labels[kept]]
    return np.split(kept[np.argsort(part, kind="stable")], np.cumsum(np.bincount(part))[:-1])


def _blocks(
    labels: IntArray, attributes: Attributes, rule: PolishRule, sweep: int
) -> tuple[IntArray, IntArray]:
    """Return the region and the block of each group, (n_groups,): neighbours by their centres.

    A region has at most `MOST_CENTRES` groups; blocks lie inside regions, and are others each sweep.
    """
    kept = np.flatnonzero(labels >= 0)
    size = np.bincount(labels[kept])
    centres = np.column_stack(
        [np.bincount(labels[kept], weights=c[kept]) / np.maximum(size, 1) for c in attributes.points().T]
    )
    nothing = Constraints(1, 1.0, 0.0, 0.0, ())
    coarse = partition(centres, nothing, SplitRule(stop_size=MOST_CENTRES, score="widest", quantiles=(0.5,)))
    wanted = max(round(rule.block_size / max(float(size.mean()), 1.0) / (1 + sweep % 2 / 2)), 2)
    return coarse, aggregate(centres, coarse, nothing, LocalRule(2 * wanted, group_size=wanted))


def _containing(labels: IntArray, records: IntArray, attributes: Attributes, people: IntArray) -> IntArray:
    """Return how many groups of `records` have cells that contain each of m people. O(m groups / 64)."""
    n_classes = np.zeros(len(people), dtype=np.int64)
    if not len(people):
        return n_classes
    from tasks.geometry.candidates import find_containing  # here: they are slow to import
    from tasks.geometry.cells import true_cells

    order = records[np.argsort(labels[records], kind="stable")]
    new = np.diff(labels[order], prepend=-1) != 0
    starts, number = np.flatnonzero(new), np.cumsum(new) - 1
    numbers = attributes.numeric[order]
    low, high = (part.reduceat(numbers, starts, axis=0) for part in (np.fmin, np.fmax))
    member = []
    for codes, n_values in zip(attributes.codes[order].T, attributes.n_values.tolist(), strict=True):
        table = np.zeros((len(starts), n_values), dtype=bool)
        table[number, codes] = True
        member.append(table)
    cells = true_cells(np.nan_to_num(low, nan=-np.inf), np.nan_to_num(high, nan=np.inf), tuple(member))
    there = attributes.take(people)
    for found in find_containing(there.numeric, there.codes.astype(np.int32), cells):
        n_classes[found.people] = found.n_classes()
    return n_classes


class _Block:
    """Neighbouring groups while their records are swapped."""

    def __init__(
        self,
        attributes: Attributes,
        constraints: Constraints,
        rule: PolishRule,
        records: IntArray,
        outside: IntArray,
        group_of: IntArray,
        n_classes: IntArray,
        draw: np.random.Generator,
    ) -> None:
        self.records, self.constraints, self.rule, self.draw = records, constraints, rule, draw
        everybody = np.concatenate([records, outside])
        self.groups = GroupCells(attributes.take(everybody), group_of)
        self.valid = np.array([self._holds(group) for group in range(len(self.groups))])
        self.inside = self.groups.now_contained()
        self.elsewhere = n_classes[everybody] - self.inside.sum(axis=0)

    def improved(self) -> IntArray:
        """Return the group of each record when no more swaps are found, (m,)."""
        idle = 0
        for _ in range(self.rule.rounds if len(self.groups) > 1 else 0):
            idle = 0 if self._round() else idle + 1
            if idle == IDLE_ROUNDS:
                break
        return self.groups.group_of

    def _round(self) -> int:
        """Make the best swaps that touch no group twice; return how many."""
        one, other = self._pairs()
        if self.rule.widens:
            near = self._pairs_around_single()
            one, other = (np.concatenate(both) for both in zip((one, other), near, strict=True))
        gains = self._gains(one, other)
        touched = np.zeros(len(self.groups), dtype=bool)
        for pair in np.argsort(-gains, kind="stable").tolist():
            if gains[pair] <= LEAST_GAIN:
                break
            both = self.groups.group_of[[one[pair], other[pair]]]
            if not touched[both].any() and self._swapped(int(one[pair]), int(other[pair]), both):
                touched[both] = True
        changed = np.flatnonzero(touched)
        if len(changed):
            self.groups.settle(changed)
            self.inside = self.groups.now_contained()
        return len(changed) // 2

    def _pairs(self) -> tuple[IntArray, IntArray]:
        """Propose swaps: records that would save much in another group, and whom it would give for them."""
        groups, noise = self.groups, self.rule.noise
        saving = groups.saved()[:, None] - groups.added
        saving[np.arange(len(saving)), groups.group_of] = -np.inf
        stirred = saving + noise * self.draw.random(saving.shape)
        target = stirred.argmax(axis=1)
        one = np.argsort(-stirred[np.arange(len(stirred)), target], kind="stable")[: -(-len(saving) // 3)]
        there = target[one]
        members = groups.members[there]
        back = saving[members, groups.group_of[one][:, None]] + noise * self.draw.random(members.shape)
        back[members < 0] = -np.inf
        partner = np.argsort(-back, axis=1, kind="stable")[:, : self.rule.partners]
        other = np.take_along_axis(members, partner, axis=1)
        one = np.repeat(one, other.shape[1])
        other = other.ravel()
        here, there = groups.group_of[one], groups.group_of[other]
        usable = (other >= 0) & self.valid[here] & self.valid[there] & (here != there)
        return one[usable], other[usable]

    def _pairs_around_single(self) -> tuple[IntArray, IntArray]:
        """Propose swaps after which a second class contains somebody whom one alone contained."""
        n_classes = self.inside.sum(axis=0) + self.elsewhere
        single = np.flatnonzero(n_classes[: len(self.records)] == 1)
        most_cost = self.rule.overlap_weight * MOST_FREED
        return swaps_around(self.groups, single, self.valid, self.rule.widened_classes, most_cost)

    def _gains(self, one: IntArray, other: IntArray) -> FloatArray:
        """Return what each swap gains, in units of one record's NCP, (N,)."""
        groups = self.groups
        here, there = groups.group_of[one], groups.group_of[other]
        cells = groups.after(here, one, other), groups.after(there, other, one)
        gains = groups.size[here] * (groups.cost[here] - groups.costs(cells[0]))
        gains += groups.size[there] * (groups.cost[there] - groups.costs(cells[1]))
        weight = self.rule.overlap_weight
        if weight > 0:
            near = np.flatnonzero(gains > -weight * MOST_FREED)
            now = self.inside.sum(axis=0) + self.elsewhere
            change = np.zeros((len(near), len(now)), dtype=np.int8)
            for of_side, cell, out, into in ((here, cells[0], one, other), (there, cells[1], other, one)):
                side = of_side[near]
                change += groups.contained(side, out[near], into[near], cell.take(near))
                change -= self.inside[side]
            alone = (now[None, :] + change == 1).sum(axis=1)
            gains[near] += weight * (int((now == 1).sum()) - alone)
        return np.asarray(gains)

    def _swapped(self, one: int, other: int, both: IntArray) -> bool:
        """Swap two records, unless a group would break the constraints or have the cells of another."""
        self.groups.swap(one, other)
        if self._holds(int(both[0])) and self._holds(int(both[1])):
            self.groups.refresh(both)
            if not (self.groups.has_equal(int(both[0])) or self.groups.has_equal(int(both[1]))):
                return True
        self.groups.swap(one, other)
        self.groups.refresh(both)
        return False

    def _holds(self, group: int) -> bool:
        members = self.groups.members[group]
        return self.constraints.group_holds(self.records[members[members >= 0]])
