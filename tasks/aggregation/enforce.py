"""Merge groups that break the model with near ones, whatever method made them.

A method that knows only k, or nothing, meets the whole model by this. O(n) for the counts, O(g log g) a
round for the tree of g groups, and a few array operations over at most 4,096 neighbours of a failing group
at each merge. A round merges every group that still fails.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tasks.counting import counted
from tasks.partitioning.constraints import Constraints
from tasks.sorting import stable_order
from tasks.types import BoolArray, FloatArray, IntArray, Note

NEIGHBOURS = 64
MOST_NEIGHBOURS = 4096
MERGED_FOR_MODEL = "merged_for_the_model"  # a note
CHUNK_GROUPS = 10_000


def enforced(
    points: FloatArray | Callable[[], FloatArray],
    labels: IntArray,
    constraints: Constraints,
    max_group_size: int,
) -> tuple[IntArray, dict[str, Note]]:
    """Return labels (n,) of groups that satisfy `constraints`, and notes of what was merged.

    A group of `points` (n, d) that breaks the model is merged with one of the 4,096 groups of nearest
    centroids: the nearest with which it holds and has at most `max_group_size` records, else the nearest with
    which it holds, else the nearest; and again until every group holds. One that stands for too few people of
    the population is merged with the nearest. Where the records with a label do not hold all together, no
    grouping can, and they are one group, unless people or households are counted, who may be in several. -1
    stays -1. Where nothing fails, `labels` are returned as they are, and points that are computed when they
    are asked for are not. Models that compare with the whole table compare with the records with a label.
    """
    kept = np.flatnonzero(labels >= 0)
    constraints = constraints.among(kept)
    names, group = _numbered(labels[kept])
    groups = _Groups(kept, group, len(names), constraints)
    left = np.arange(len(names))
    failing = left[~groups.holds(left)]
    if not len(failing):
        return labels, _notes(len(names), groups.size, 0, max_group_size)
    if constraints.person is None and not constraints.group_holds(kept):
        # No grouping can hold: in some part a value's share is no smaller than in the whole, and in some
        # part the entropy is no greater; no part has more values or a wider range.
        whole = np.where(labels >= 0, 0, -1).astype(np.int64)
        return whole, _notes(len(names), np.array([constraints.size(kept)]), 1, max_group_size)
    groups.lie_at((points() if callable(points) else points)[kept])
    while len(failing) and len(left) > 1:
        groups.merge_round(left, failing, max_group_size)
        left = np.unique(groups.root)
        failing = left[~groups.holds(left)]
    merged = np.full(len(labels), -1, dtype=np.int64)
    merged[kept] = np.searchsorted(left, groups.root)[group]
    return merged, _notes(len(names), groups.size[left], len(failing), max_group_size)


def holding(labels: IntArray, constraints: Constraints) -> tuple[IntArray, BoolArray]:
    """Return the labels (g,) of groups of records (n,), and whether each group satisfies `constraints`, (g,).

    -1 is no group. O(n) an attribute.
    """
    kept = np.flatnonzero(labels >= 0)
    names, group = _numbered(labels[kept])
    groups = _Groups(kept, group, len(names), constraints)
    return names, groups.holds(np.arange(len(names)))


def _numbered(labels: IntArray) -> tuple[IntArray, IntArray]:
    """Return the different labels in order, and the place of each of `labels` (n,) among them."""
    if int(labels.max(initial=0)) > 2 * len(labels):
        names, place = np.unique(labels, return_inverse=True)
        return names, place.reshape(-1)
    there = np.bincount(labels) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[labels]


def _notes(n_before: int, sizes: IntArray, n_failing: int, max_group_size: int) -> dict[str, Note]:
    return {
        MERGED_FOR_MODEL: n_before - len(sizes),
        "groups_that_break_the_model": n_failing,
        "groups_over_max_group_size": int((sizes > max_group_size).sum()),
    }


class _Groups:
    """What the model and the distances need to know of g groups, while they are merged.

    `root` (g,) is the group that each has become part of, directly after every round; the arrays
    are right at the roots. They are merged once it is known where their records lie (`lie_at`).
    """

    def __init__(self, records: IntArray, group: IntArray, n_groups: int, limits: Constraints) -> None:
        self.root = np.arange(n_groups)
        self._group, self._records, self._sums = group, records, np.zeros((n_groups, 1))
        rows = None if limits.rows is None else limits.rows[records]
        self.size = counted(group, rows, n_groups)
        self._limits = limits
        self._people = None if limits.person is None else _People(limits, records, group, n_groups)
        self._stand_for = np.zeros(n_groups) if self._people is None else self._people.stand_for
        if self._people is None and limits.weights is not None:
            self._stand_for += np.bincount(group, limits.weights[records], minlength=n_groups)
        self._counts: list[IntArray] = []
        self._ranges: list[tuple[FloatArray, FloatArray] | None] = []
        with_numbers = any(column.numbers is not None for column in limits.columns)
        order = stable_order(group) if with_numbers else group
        n_records = np.bincount(group, minlength=n_groups)
        starts = np.cumsum(n_records) - n_records
        for column in limits.columns:
            if self._people is None:
                flat = group * column.n_values + column.codes[records]
                count = counted(flat, rows, n_groups * column.n_values)
                self._counts.append(count.reshape(n_groups, column.n_values))
            if column.numbers is None or not n_groups:
                self._ranges.append(None)
            else:
                numbers = column.numbers[records][order]
                self._ranges.append((np.fmin.reduceat(numbers, starts), np.fmax.reduceat(numbers, starts)))
        if self._people is not None:
            self._counts = self._people.counts

    def lie_at(self, points: FloatArray) -> None:
        """Take the points of the records, (n, d), whose means the groups lie at."""
        n_groups, limits = len(self.root), self._limits
        rows = None if limits.rows is None else limits.rows[self._records]
        sums = [_sums(self._group, column, rows, n_groups) for column in points.T]
        self._sums = np.column_stack([np.zeros(n_groups), *sums])

    def holds(self, groups: IntArray) -> BoolArray:
        """Tell for each of `groups` whether it satisfies the model."""
        return self._hold(groups, None)

    def merge_round(self, left: IntArray, failing: IntArray, max_group_size: int) -> None:
        """Merge each failing group with neighbours until it holds or has taken them all.

        `left` are all groups; distances are those between the centroids at the start of the round.
        """
        near = _Neighbours(left, self._sums[left] / self.size[left, None])
        merged: set[int] = set()
        for first in range(0, len(failing), CHUNK_GROUPS):
            part = failing[first : first + CHUNK_GROUPS]
            for group, candidates in zip(part.tolist(), near.of(part, NEIGHBOURS), strict=True):
                own = int(self._found(np.array([group]))[0])
                if own not in merged or not self.holds(np.array([own]))[0]:
                    merged.add(self._merge_until_it_holds(own, group, candidates, near, max_group_size))
        self.root = self._found(self.root)

    def _merge_until_it_holds(
        self, own: int, group: int, candidates: IntArray, near: _Neighbours, max_group_size: int
    ) -> int:
        """Return what the group `own` has become part of; `candidates` are the neighbours of `group`."""
        while True:
            others = self._found(candidates)
            others = others[others != own]
            good = self._hold(others, own)
            fits = good & (self.size[others] + self.size[own] <= max_group_size)
            if not fits.any() and len(candidates) <= min(MOST_NEIGHBOURS, near.n_others):
                candidates = near.of(np.array([group]), MOST_NEIGHBOURS)[0]
                continue
            if not len(others):
                return own
            if self._stands_for_few(own) and not fits.any():
                own = self._merge(
                    own, int(others[0])
                )  # of classes that hold alone, some would grow without end
                if self.holds(np.array([own]))[0]:
                    return own
                continue
            choice = fits if fits.any() else good
            own = self._merge(own, int(others[int(choice.argmax())]))
            if choice.any():
                return own

    def _hold(self, groups: IntArray, beside: int | None) -> BoolArray:
        """Tell whether each of `groups`, or each together with the group `beside`, satisfies the model."""
        sizes = self.size if self._people is None else self._people.size
        size = sizes[groups] + (0 if beside is None else sizes[beside])
        holds = np.asarray(size >= self._limits.k)
        if self._limits.weights is not None:
            people = self._stand_for[groups] + (0.0 if beside is None else self._stand_for[beside])
            holds &= people >= self._limits.k_map * (1 - 1e-12)
        for column, counts, ranges in zip(self._limits.columns, self._counts, self._ranges, strict=True):
            count = counts[groups]
            low, high = (None, None) if ranges is None else (ranges[0][groups], ranges[1][groups])
            if beside is not None:
                count = count + counts[beside]
                if low is not None and high is not None and ranges is not None:
                    low, high = np.fmin(low, ranges[0][beside]), np.fmax(high, ranges[1][beside])
            holds &= self._limits.column_holds(
                column, count, low, high, None if self._people is None else size
            )
        return holds

    def _stands_for_few(self, group: int) -> bool:
        few = self._stand_for[group] < self._limits.k_map * (1 - 1e-12)
        return bool(self._limits.weights is not None and few)

    def _merge(self, one: int, other: int) -> int:
        kept, gone = min(one, other), max(one, other)
        self.root[gone] = kept
        self.size[kept] += self.size[gone]
        self._sums[kept] += self._sums[gone]
        if self._people is not None:
            self._people.merge(kept, gone)
        else:
            self._stand_for[kept] += self._stand_for[gone]
        for counts, ranges in zip(self._counts, self._ranges, strict=True):
            if self._people is None:
                counts[kept] += counts[gone]
            if ranges is not None:
                ranges[0][kept] = np.fmin(ranges[0][kept], ranges[0][gone])
                ranges[1][kept] = np.fmax(ranges[1][kept], ranges[1][gone])
        return kept

    def _found(self, groups: IntArray) -> IntArray:
        found = self.root[groups]
        while (found != self.root[found]).any():
            found = self.root[found]
        return np.asarray(found)


def _sums(group: IntArray, values: FloatArray, rows: IntArray | None, n_groups: int) -> FloatArray:
    """Return the sum of a column of points in each group, (n_groups,)."""
    found = np.bincount(group, values if rows is None else values * rows, minlength=n_groups)
    return found.astype(np.float64, copy=False)


class _People:
    """The people of each group, of whom one may have records in several; right at the roots.

    `size` (g,) and `counts[attribute]` (g, n_values) are of people, and `stand_for` (g,) is of those of the
    population. Of two groups that are not merged their
    sums are bounds from above: a person may be in both. What a merge gives is counted anew.
    """

    def __init__(self, limits: Constraints, records: IntArray, group: IntArray, n_groups: int) -> None:
        self._limits = limits
        order = np.argsort(group, kind="stable")
        ends = np.cumsum(np.bincount(group, minlength=n_groups))[:-1]
        self._records: list[IntArray] = np.split(records[order], ends)
        self.size = np.zeros(n_groups, dtype=np.int64)
        self.stand_for = np.zeros(n_groups)
        self.counts = [np.zeros((n_groups, column.n_values), dtype=np.int64) for column in limits.columns]
        for number in range(n_groups):
            self._count(number)

    def merge(self, kept: int, gone: int) -> None:
        """Give the records of `gone` to `kept`."""
        self._records[kept] = np.concatenate([self._records[kept], self._records[gone]])
        self._records[gone] = self._records[gone][:0]
        self._count(kept)

    def _count(self, number: int) -> None:
        own, limits = self._records[number], self._limits
        self.size[number] = 0 if limits.person is None else len(np.unique(limits.person[own]))
        self.stand_for[number] = limits.stands_for(own)
        for column, counts in zip(limits.columns, self.counts, strict=True):
            counts[number] = limits.counts(column, own)


class _Neighbours:
    """The groups around each of the groups `left` (g,), by their centroids (g, d)."""

    def __init__(self, left: IntArray, centroids: FloatArray) -> None:
        from scipy.spatial import cKDTree

        self.n_others = len(left) - 1
        self._left = left
        self._centroids = centroids
        self._tree = cKDTree(centroids)

    def of(self, groups: IntArray, most: int) -> IntArray:
        """Return the `most` nearest groups of each, nearest first, of equally near the least number first.

        The group itself is one more of them; where more than `most` lie at one place it may be missing.
        """
        n_near = min(most, self.n_others) + 1
        distance, place = self._tree.query(self._centroids[np.searchsorted(self._left, groups)], k=n_near)
        order = np.lexsort((place, distance), axis=1)
        return np.asarray(self._left[np.take_along_axis(place, order, axis=1)])
