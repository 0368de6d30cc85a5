"""Repair from the leaves up: groups that fail beside earlier releases are merged, and suppressed last.

The comparison is not monotone: a part that fails can be cut into parts that pass, so a cut is never
refused because of it. Instead every failing group is merged with the neighbour that costs least NCP and with
which it passes, first among those with which it stays within the largest group size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from policy.model import ReleasePolicy
from policy.text import number_of
from release_store.records import EquivalenceClasses
from release_store.summary import Repair
from tasks.geometry.space import space_of
from tasks.history.intersection import compared_attributes
from tasks.history.required import required_of
from tasks.recoding.generalize import generalized
from tasks.repair.closing import closing_of
from tasks.repair.followers import Followers
from tasks.repair.groups import Groups, groups_of
from tasks.repair.growing import Growing
from tasks.repair.judge import Judge
from tasks.repair.measure import Measure
from tasks.repair.neighbours import LEAST, MORE, TRIES, Neighbours
from tasks.repair.nesting import Nesting, nesting_of
from tasks.repair.round_cache import RoundCache
from tasks.repair.worlds import Questions, Worlds
from tasks.threads import in_threads
from tasks.types import BoolArray, IntArray, Partition, PreparedTable, Progress, no_progress
from tasks.utility.ncp import scale_of

AHEAD = 256  # failing groups whose neighbours are looked for at once
BESIDE = 32  # failing groups that are laid beside nested classes at once, with a neighbour each
FIRST, NEXT = 4, 12  # neighbours that are judged at once
SPARE = 32  # neighbours that are looked for beside those that are judged at most
WORLD_ROUNDS = 2  # of merges of the groups that somebody is pinned by


def repair(
    table: PreparedTable,
    partition: Partition,
    policy: ReleasePolicy,
    earlier: Sequence[tuple[str, EquivalenceClasses]],
    *,
    max_group_size: int,
    apart: Sequence[tuple[int, int]] | None = None,
    followers: Followers | None = None,
    worlds: Worlds | Questions | None = None,
    cache: RoundCache | None = None,
    progress: Progress = no_progress,
) -> Partition:
    """Return the partition with failing groups merged or, where no merge helps, suppressed (label -1).

    `earlier` are the classes of the earlier releases, oldest first, `apart` as in `history_of`. With
    `followers`, no person whom their hash joins with earlier classes stays narrowed either; with `worlds`,
    groups by which all releases at once pin somebody are merged too, though somebody may stay pinned. The
    notes count merged and suppressed groups. `cache` is what a round leaves to the next one of the same table
    and releases. Cost: groups times what overlaps them, in the earlier releases and of people, and for each
    failing group a look for neighbours in a tree.
    """
    attributes = compared_attributes(policy)
    if not earlier or not attributes:
        return partition
    classes = generalized(table, partition.labels, policy)
    if not classes.n_classes:
        return partition
    space = space_of([classes, *(c for _, c in earlier)], table)
    followed, judge = (cache or RoundCache()).judge(table, policy, earlier, space, apart, followers)
    nesting = None
    if followers and followed is not None:
        nesting = nesting_of(
            followed,
            partition.labels,
            earlier,
            followers.earlier,
            space,
            required_of(policy, space, attributes),
        )
    groups = groups_of(partition.labels, classes, space, closing_of(policy, table, space))
    growing = None
    if policy.population == "cumulative":
        growing = Growing(earlier, space, policy, attributes, apart)
    alike = groups.join_equal()
    beside = _Beside(growing, nesting)
    look = _Search(groups, judge, beside, Measure(scale_of(table, policy), space), max_group_size)
    living = groups.living
    failing = living[
        judge.fails_still(groups.boxes.take(living), [groups.members[one] for one in living.tolist()])
    ]
    by_size = failing[np.argsort(groups.size[failing], kind="stable")].tolist()
    merged, hopeless = look.merge(by_size, progress)
    # A neighbour that has grown since may take in what nobody could before.
    more, suppressed = look.merge(hopeless, no_progress)
    merged += more
    groups.alive[suppressed] = False
    more, left_out = _undone_together(groups, beside, look, progress)
    merged, suppressed = alike + merged + more, suppressed + left_out
    if worlds is not None:
        more, left_out = _pinned_by_all(partition.labels, groups, beside, look, worlds, progress)
        merged, suppressed = merged + more, suppressed + left_out
    counts = Repair(
        failing_groups=len(failing),
        merged=merged,
        suppressed_groups=len(suppressed),
        suppressed_records=int(classes.size[np.isin(groups.parent, suppressed)].sum()),
        over_max_group_size=int((groups.size[groups.alive] > max_group_size).sum()),
    )
    number = np.full(len(groups.alive), -1, dtype=np.int64)
    number[groups.alive] = np.arange(groups.alive.sum())
    now = _labels(partition.labels, groups)
    merged_labels = np.where(now >= 0, number[np.maximum(now, 0)], -1)
    return replace(partition, labels=merged_labels, repair=counts)


@dataclass(frozen=True)
class _Beside:
    """What a group's people and records tell beside nested classes, where the policy asks for it."""

    growing: Growing | None
    nesting: Nesting | None

    def undoes(self, groups: Groups, group: IntArray, partner: IntArray) -> tuple[BoolArray, list[IntArray]]:
        """Tell of two groups each whether they are undone as one, and of which groups this depends."""
        if self.nesting is not None:
            undone, by = self.nesting.undoes(groups, group, partner)
        else:
            undone, by = np.zeros(len(group), dtype=bool), list(np.stack([group, partner], axis=1))
        if self.growing is not None:
            counts = {name: each[group] + each[partner] for name, each in groups.counts.items()}
            size = groups.size[group] + groups.size[partner]
            undone |= self.growing.fails(groups.merged(group, partner), size, counts, together=False)
        return undone, by

    def undone(self, groups: Groups) -> BoolArray:
        """Tell for each living group whether it is undone, alone or together with others."""
        living = groups.living
        failing = np.zeros(len(living), dtype=bool)
        if self.nesting is not None:
            failing |= self.nesting.undone(groups)
        if self.growing is not None:
            counts = {name: each[living] for name, each in groups.counts.items()}
            boxes, size = groups.boxes.take(living), groups.size[living]
            failing |= self.growing.fails(boxes, size, counts, together=True)
        return failing


@dataclass
class _Search:
    """Looks for neighbours; `mended` are the groups that took one in, and passed as they then were.

    `fails` keeps whether two groups fail as one, as long as neither changes, and `undone` whether they are
    undone, as long as none of some groups does; `failures` beside which earlier classes a group fails, and
    `passing` with which neighbours it passes.
    """

    groups: Groups
    judge: Judge
    beside: _Beside
    measure: Measure
    max_group_size: int
    mended: set[int] = field(default_factory=set)
    fails: dict[tuple[int, int], bool] = field(default_factory=dict)
    undone: dict[tuple[int, int], tuple[bool, IntArray]] = field(default_factory=dict)
    failures: dict[int, IntArray] = field(default_factory=dict)
    passing: dict[int, list[int]] = field(default_factory=dict)

    @cached_property
    def neighbours(self) -> Neighbours:
        """The neighbours of the groups."""
        return Neighbours(self.groups, self.measure, self.max_group_size)

    def merge(
        self,
        failing: Sequence[int],
        progress: Progress,
        *,
        also_grown: bool = False,
        among: Mapping[int, IntArray] | None = None,
    ) -> tuple[int, list[int]]:
        """Merge each failing group with its partner; return how many were, and those that found none.

        One that has taken in another meanwhile passes, unless what others became can undo it: `also_grown`.
        `among` names groups that are tried first.
        """
        merged, stuck = 0, []

        def passes(group: int) -> bool:
            return not self.groups.alive[group] or (group in self.mended and not also_grown)

        for done, group in enumerate(failing):
            progress(done / len(failing), f"{merged} of {len(failing)} failing groups merged")
            if done % AHEAD == 0:
                self._look_ahead([one for one in failing[done : done + AHEAD] if not passes(one)])
            if done % BESIDE == 0:
                self._lay_beside([one for one in failing[done : done + BESIDE] if not passes(one)])
            if passes(group):
                continue
            partner = None
            if among is not None and group in among:
                partner = self._partner(group, [self._living(group, among[group])])
            if partner is None:
                partner = self._partner(group, self.neighbours.nearest(group))
            if partner is None:
                stuck.append(group)
            else:
                self.groups.join(group, partner)
                self.neighbours.note(group, partner)
                self.mended.add(group)
                merged += 1
        return merged, stuck

    def _living(self, group: int, among: IntArray) -> IntArray:
        """Return what `among` has become, the group itself apart, the cheapest first."""
        others = np.unique(self.groups.parent[among])
        others = others[self.groups.alive[others] & (others != group)]
        return self.neighbours.by_cost(group, others)

    def _partner(self, group: int, tried: Iterable[IntArray]) -> int | None:
        """Return the first neighbour with which the group passes, or None."""
        changed = self.neighbours.changed
        known: Mapping[tuple[int, int], bool] = {} if changed[group] else self.fails
        other: int
        fails: dict[int, bool] = {}
        for part in tried:
            others = part.tolist()
            for place, other in enumerate(others):
                if other not in fails and (group, other) in known and not changed[other]:
                    fails[other] = known[group, other]
                elif other not in fails:
                    asked = others[place : place + NEXT]
                    fails.update(zip(asked, self._judge([(group, one) for one in asked]), strict=True))
                if fails[other]:
                    continue
                if not self._undoes(group, other):
                    return other
        return None

    def _undoes(self, group: int, other: int) -> bool:
        """Tell whether two groups are undone as one."""
        undone, by = self.undone.get((group, other), (False, None))
        if by is None or self.neighbours.changed[by].any():
            undone = bool(self.beside.undoes(self.groups, np.array([group]), np.array([other]))[0][0])
        return undone

    def _judge(self, pairs: Sequence[tuple[int, int]]) -> list[bool]:
        """Tell for each two groups whether they fail as one."""
        failing = self._fails_beside(pairs)
        rest = np.flatnonzero(~failing)
        if len(rest):
            group, other = np.array(pairs, dtype=np.int64)[rest].T
            members = self.groups.members
            both = [np.concatenate([members[one] for one in pairs[pair]]) for pair in rest.tolist()]
            boxes = self.groups.merged(group, other)
            failing[rest] = in_threads(
                lambda part: self.judge.fails(
                    boxes.take(part), [both[one] for one in part.tolist()]
                ).tolist(),
                len(rest),
            )
        found: list[bool] = failing.tolist()
        return found

    def _fails_beside(self, pairs: Sequence[tuple[int, int]]) -> BoolArray:
        """Tell for each two groups whether they fail as one where the first fails beside an earlier class.

        Cells that hold others overlap no fewer earlier classes.
        """
        group, other = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        none = np.empty((0, 2), dtype=np.int64)
        present = [each[group] | each[other] for each in self.groups.boxes.present]
        return self.judge.fails_beside([self.failures.get(one, none) for one, _ in pairs], present)

    def _look_ahead(self, asked: Sequence[int]) -> None:
        """Look for the neighbours of many groups at once, and judge the nearest until each has one."""
        self.fails.clear()
        self.neighbours.look_again()
        failures = self.judge.failures(self.groups.boxes.take(np.array(asked, dtype=np.int64)))
        self.failures = dict(zip(asked, failures, strict=True))
        open_ = list(asked)
        for within, limit in TRIES.items():
            waiting, open_ = open_, []
            most = 0
            while waiting:
                most = min(MORE * most, limit) or LEAST
                # Some of the last may have changed when they come to be needed.
                asked_for = most if most < limit else most + SPARE
                found = self.neighbours.look_for(waiting, asked_for, within=within)
                near = {
                    group: each.others[:most].tolist() for group, each in zip(waiting, found, strict=True)
                }
                near = self._failing_with(near)
                open_ += [group for group, others in near.items() if len(others) < most or most == limit]
                waiting = [group for group, others in near.items() if len(others) == most < limit]
        self.passing.clear()
        for (group, other), fails in self.fails.items():
            if not fails:
                self.passing.setdefault(group, []).append(other)

    def _lay_beside(self, groups: Sequence[int]) -> None:
        """Ask of each group, and the nearest unchanged neighbour with which it passes, whether they are
        undone as one; and of the next where they are.
        """
        self.undone.clear()
        changed = self.neighbours.changed
        left = {
            group: [other for other in self.passing.get(group, ()) if not changed[other]]
            for group in groups
            if not changed[group]
        }
        while left := {group: others for group, others in left.items() if others}:
            pairs = [(group, others[0]) for group, others in left.items()]
            undone, by = self.beside.undoes(self.groups, *np.array(pairs, dtype=np.int64).T)
            self.undone.update(zip(pairs, zip(undone.tolist(), by, strict=True), strict=True))
            left = {pair[0]: left[pair[0]][1:] for pair in pairs if self.undone[pair][0]}

    def _failing_with(self, near: Mapping[int, list[int]]) -> dict[int, list[int]]:
        """Return the groups that fail with all of these of their neighbours; judge no more than it takes."""
        pairs = [(group, one) for group, others in near.items() for one in others]
        failing = self._fails_beside(pairs)
        self.fails.update(dict.fromkeys((pairs[one] for one in np.flatnonzero(failing).tolist()), True))
        left = {
            group: [one for one in others if (group, one) not in self.fails] for group, others in near.items()
        }
        found, at_once = set(near), FIRST
        while left := {group: others for group, others in left.items() if others and group in found}:
            pairs = [(group, one) for group, others in left.items() for one in others[:at_once]]
            self.fails.update(zip(pairs, self._judge(pairs), strict=True))
            found -= {pair[0] for pair in pairs if not self.fails[pair]}
            left = {group: others[at_once:] for group, others in left.items()}
            at_once = NEXT
        return {group: others for group, others in near.items() if group in found}


def _undone_together(
    groups: Groups, beside: _Beside, look: _Search, progress: Progress
) -> tuple[int, list[int]]:
    """Merge, and at last suppress, the groups that others can undo; return how many, and which.

    A merge changes what its neighbours are nested with, so all groups are looked at again after each round,
    every one of which merges or suppresses a group.
    """
    merged = 0
    suppressed: list[int] = []
    while True:
        merged += groups.join_equal()
        failing = groups.living[beside.undone(groups)]
        if not len(failing):
            return merged, suppressed
        by_size = failing[np.argsort(groups.size[failing], kind="stable")].tolist()
        more, stuck = look.merge(by_size, progress, also_grown=True)
        merged += more
        if not more:
            groups.alive[stuck] = False
            suppressed += stuck


def _labels(labels: IntArray, groups: Groups) -> IntArray:
    """Return the living group of each record, -1 for one that is left out."""
    now = groups.parent[np.maximum(labels, 0)]
    return np.where((labels >= 0) & groups.alive[now], now, -1)


def _pinned_by_all(
    labels: IntArray,
    groups: Groups,
    beside: _Beside,
    look: _Search,
    worlds: Worlds | Questions,
    progress: Progress,
) -> tuple[int, list[int]]:
    """Merge the groups by which all releases together pin somebody, and return as `_undone_together` does.

    In `WORLD_ROUNDS` rounds: a merge need not help, and somebody may be pinned still.
    """
    merged = 0
    suppressed: list[int] = []
    for _ in range(WORLD_ROUNDS):
        now = _labels(labels, groups)
        failing = worlds.failing(now)
        short = number_of(worlds.n_short, "person is", "people are")
        progress(1.0, f"{short} pinned by all releases together, or undecided")
        if not len(failing):
            break
        by_size = failing[np.argsort(groups.size[failing], kind="stable")]
        more, _ = look.merge(by_size.tolist(), no_progress, also_grown=True, among=worlds.partners(now))
        merged += more
        more, left_out = _undone_together(groups, beside, look, no_progress)
        merged, suppressed = merged + more, suppressed + left_out
    return merged, suppressed
