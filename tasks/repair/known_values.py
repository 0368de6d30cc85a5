"""k^m-anonymity and LKC-privacy by merging: groups that known values single out, with near ones.

They look at the cells of all groups at once, and ask nothing of a group by itself. Where cells contain their
people, two groups as one match whatever either matched: of what is known, no fewer rows match than before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.geometry.space import space_of
from tasks.privacy.combinations import TOLERANCE
from tasks.privacy.partial_knowledge import Question, held_by_each_class
from tasks.recoding.generalize import generalized
from tasks.repair.closing import closing_of
from tasks.repair.groups import Groups, groups_of
from tasks.repair.measure import Measure
from tasks.repair.neighbours import Neighbours
from tasks.repair.shortages import Shortage, questions_of, shortages
from tasks.types import BoolArray, FloatArray, IntArray, PreparedTable, Progress, no_progress
from tasks.utility.ncp import scale_of

DIRECT = 4096  # groups that are all looked at for a partner; of more, the nearest
MEMBERS = 8  # of the groups that match, those for which a partner is looked for


def asks_for_known_values(policy: ReleasePolicy) -> bool:
    """Tell whether groups are merged for k^m or LKC: rows are people, and no class holds them by itself."""
    models = policy.gates.models
    return (
        (models.km is not None or models.lkc is not None)
        and policy.rows == "one_per_person"
        and not held_by_each_class(policy.method.recoding)
    )


def merged_for_known_values(
    table: PreparedTable,
    labels: IntArray,
    policy: ReleasePolicy,
    max_group_size: int,
    progress: Progress = no_progress,
) -> IntArray:
    """Return labels (n,) of groups that satisfy the policy's k^m and LKC, by merging groups; -1 stays -1.

    Of the groups that match a failing combination together, one is merged with the group outside that costs
    least NCP, if possible within `max_group_size`; again until enough rows match, and no value is too sure;
    then all combinations are looked at again. Each merge leaves a group less, and one group of all satisfies
    both where the records with a label do. Where they do not, all are one group. Where nothing fails,
    `labels` are returned as they are.

    A round costs O(n) a column for the cells, what the gate costs on so many classes, and for each merge a
    look at up to `DIRECT` groups, or at the nearest of more in a tree. There are few rounds.
    """
    merged = labels
    while True:
        classes = generalized(table, merged, policy)
        if classes.n_classes <= 1:
            return merged
        failing = shortages(classes, policy)
        if not failing:
            return merged
        if any(_whole_fails(question) for question in questions_of(classes, policy)):
            return np.where(merged >= 0, 0, -1).astype(np.int64)
        progress(0.0, f"{sum(len(one.matching) for one in failing)} sets of groups show too much")
        before, merged = merged, _merge_round(table, merged, policy, classes, failing, max_group_size)
        if merged.max() == before.max():  # what fails by less than rounding
            return merged


def _whole_fails(question: Question) -> bool:
    return Shortage(question.weights, question.k, question.c, []).fails(question.weights.sum(axis=1))


def _merge_round(
    table: PreparedTable,
    labels: IntArray,
    policy: ReleasePolicy,
    classes: EquivalenceClasses,
    failing: Sequence[Shortage],
    max_group_size: int,
) -> IntArray:
    space = space_of([classes], table)
    groups = groups_of(labels, classes, space, closing_of(policy, table, space))
    groups.join_equal()
    measure = Measure(scale_of(table, policy), space)
    merging = _Merging(groups, Neighbours(groups, measure, max_group_size), max_group_size)
    for shortage in failing:
        weights = np.zeros_like(shortage.weights)
        np.add.at(weights.T, groups.parent, shortage.weights.T)
        for matching in shortage.matching:
            merging.until_it_holds(matching, shortage, weights)
    return _labels(labels, groups)


def _labels(labels: IntArray, groups: Groups) -> IntArray:
    number = np.cumsum(groups.alive) - 1
    return np.where(labels >= 0, number[groups.parent[np.maximum(labels, 0)]], -1)


@dataclass
class _Merging:
    """Merges groups of a set that matches with groups outside."""

    groups: Groups
    neighbours: Neighbours
    max_group_size: int

    def until_it_holds(self, matching: IntArray, shortage: Shortage, weights: FloatArray) -> None:
        """Merge until what `matching` groups match suffices.

        `weights` (w, n_groups) are those of the living groups, and follow the merges.
        """
        while True:
            inside = np.unique(self.groups.parent[matching])
            sums = weights[:, inside].sum(axis=1)
            if not shortage.fails(sums):
                return
            group, partner = self._pair(inside, shortage, weights, sums)
            self.groups.join(group, partner)
            self.neighbours.note(group, partner)
            weights[:, group] += weights[:, partner]
            weights[:, partner] = 0

    def _pair(
        self, inside: IntArray, shortage: Shortage, weights: FloatArray, sums: FloatArray
    ) -> tuple[int, int]:
        """Return one of the groups `inside` and the group outside that costs least to merge with it."""
        helps = suffices = np.ones(weights.shape[1], dtype=bool)
        chosen = inside[np.argsort(self.groups.size[inside], kind="stable")]
        if sums[0] >= shortage.k:
            # The value whose share is farthest over c, and groups in which it is not.
            value = 1 + int((sums[1:] - shortage.c * sums[0]).argmax())
            over = weights[value] - (shortage.c + TOLERANCE) * weights[0]
            helps, suffices = over < 0, over <= -over[inside].sum()
            chosen = inside[np.argsort(-over[inside], kind="stable")]
        helps[inside] = suffices[inside] = False
        best = None
        for group in chosen[:MEMBERS].tolist():
            partner = self._partner(group, suffices, helps)
            cost = float(self.neighbours.cost(np.array([group]), np.array([partner]))[0])
            large = int(self.groups.size[group] + self.groups.size[partner]) > self.max_group_size
            if best is None or (large, cost, group, partner) < best:
                best = (large, cost, group, partner)
        assert best is not None  # noqa: S101 -- a set that matches has a group
        return best[2], best[3]

    def _partner(self, group: int, suffices: BoolArray, helps: BoolArray) -> int:
        """Return the cheapest group that suffices, else that helps; of many groups, only near ones count."""
        living = self.groups.living
        near = self._near_partner(group, suffices, helps) if len(living) > DIRECT else None
        if near is not None:
            return near
        wanted = suffices if suffices[living].any() else helps
        return int(self.neighbours.by_cost(group, living[wanted[living]])[0])

    def _near_partner(self, group: int, suffices: BoolArray, helps: BoolArray) -> int | None:
        """Return the first neighbour that suffices, else that helps, None where none of the nearest does."""
        first = None
        for part in self.neighbours.nearest(group):
            for other in part[helps[part]].tolist():
                if suffices[other]:
                    return int(other)
                first = other if first is None else first
        return first
