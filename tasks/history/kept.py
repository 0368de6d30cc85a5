"""Worlds that were found, kept as who changes which value: once classes change, each is checked against them.

A world holds for any classes that keep their values in it. So what was found before groups are merged, or
before somebody leaves one, need not be searched for again where it holds still.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.history.cohorts import ABSENT, Cohorts
from tasks.sorting import stable_order
from tasks.types import IntArray

AT_ONCE = 200_000  # changes that are checked at once


@dataclass(frozen=True)
class Changes:
    """How many more members of a cohort have a value in a world, or how many fewer, (e,) entries."""

    world: IntArray
    cohort: IntArray
    value: IntArray
    more: IntArray


@dataclass(frozen=True)
class Kept:
    """Which `subject` takes which `value` in which `world`, (e,); worlds are numbered from 0, in order."""

    world: IntArray
    subject: IntArray
    value: IntArray

    @classmethod
    def none(cls) -> Kept:
        """Return no worlds."""
        return cls(*(np.empty(0, dtype=np.int64) for _ in range(3)))

    @classmethod
    def of(cls, found: Sequence[Changes], cohorts: Cohorts, value: IntArray) -> Kept:
        """Return who changes in the worlds that were found, by the `value` (n,) of each subject.

        Where members of a cohort are alike in it, the first ones do. O(n log n + e log e).
        """
        first = np.cumsum([0, *(int(each.world.max(initial=-1)) + 1 for each in found)])
        none = [np.empty(0, dtype=np.int64)]
        world = np.concatenate([*none, *(n + each.world for n, each in zip(first, found, strict=False))])
        cohort, taken, more = (
            np.concatenate([*none, *(getattr(each, name) for each in found)])
            for name in ("cohort", "value", "more")
        )
        n_values = int(max(value.max(initial=-1), taken.max(initial=-1))) + 1
        codes = cohorts.number * n_values + value
        members = stable_order(codes)
        order = np.lexsort((taken, cohort, world))
        world, cohort, taken, more = world[order], cohort[order], taken[order], more[order]
        # Of each cohort in a world as many take a value as give one up: in order, one by one.
        less, added = np.maximum(-more, 0), np.maximum(more, 0)
        start = np.searchsorted(codes[members], cohort * n_values + taken)
        nth = np.arange(int(less.sum())) - np.repeat(np.cumsum(less) - less, less)
        subject = members[np.repeat(start, less) + nth]
        return cls(np.repeat(world, less), subject, np.repeat(taken, added))

    def and_also(self, other: Kept) -> Kept:
        """Return these worlds and others."""
        after = int(self.world.max(initial=-1)) + 1
        return Kept(
            np.concatenate([self.world, after + other.world]),
            np.concatenate([self.subject, other.subject]),
            np.concatenate([self.value, other.value]),
        )

    def that_hold(self, cohorts: Cohorts, value: IntArray) -> Kept:
        """Return the worlds in which every class keeps its values. O(e r log e)."""
        n = int(self.world.max(initial=-1)) + 1
        holds = np.ones(n, dtype=bool)
        first = 0
        while first < len(self.world):
            last = self.world[min(first + AT_ONCE, len(self.world)) - 1]
            end = int(np.searchsorted(self.world, last, "right"))
            part = slice(first, end)
            uneven = _uneven(self.world[part], self.subject[part], self.value[part], cohorts, value)
            holds[uneven] = False
            first = end
        entries = holds[self.world]
        return Kept(np.cumsum(holds)[self.world[entries]] - 1, self.subject[entries], self.value[entries])


def _uneven(
    world: IntArray, subject: IntArray, taken: IntArray, cohorts: Cohorts, value: IntArray
) -> IntArray:
    """Return the worlds in which a class does not keep its values."""
    place = cohorts.place[cohorts.number[subject]]
    entry, release = np.nonzero(place != ABSENT)
    n_values = int(max(value.max(initial=-1), taken.max(initial=-1))) + 1
    numbers, number = np.unique(world, return_inverse=True)
    there = (number.reshape(-1)[entry] * cohorts.n_classes + place[entry, release]) * n_values
    codes = np.concatenate([there + taken[entry], there + value[subject[entry]]])
    steps = np.repeat([1, -1], len(entry))
    distinct, at = np.unique(codes, return_inverse=True)
    net = np.bincount(at.reshape(-1), steps, len(distinct))
    return np.asarray(numbers[np.unique(distinct[net != 0] // n_values // max(cohorts.n_classes, 1))])
