"""Outliers pushed back into the crowd, and the crowd stirred, one attribute at a time.

Miche et al. (2016), section 4, doi:10.1007/978-3-319-45507-5_13.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tasks.partitioning.medoids import central_values, medians
from tasks.recoding.divergence import divergences
from tasks.recoding.levels import Levels
from tasks.types import FloatArray, IntArray

Stir = Literal["flatten", "shuffle", "resample"]
Move = Literal["noise", "centroid", "member"]


@dataclass(frozen=True)
class Bound:
    """The greatest Kullback-Leibler divergence, in nats, and how many draws are made to keep it."""

    divergence: float = 0.1
    tries: int = 20


@dataclass(frozen=True)
class Column:
    """One attribute of m records: `values` (m,), numbers or codes, and the `levels` of a category."""

    values: FloatArray
    levels: Levels | None = None

    def centroids(self, labels: IntArray, n_groups: int) -> FloatArray:
        """Return each group's medoid (eq. 3), (n_groups,); records with label -1 are left out."""
        if self.levels is None:
            return medians(self.values, labels, n_groups)
        codes = self.values.astype(np.int64)
        return central_values(codes, labels, n_groups, self.levels).astype(np.float64)

    def distance(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return the attribute's own distance, element by element; infinite for a missing number."""
        if self.levels is None:
            away = np.abs(first - second)
            return np.asarray(np.where(np.isnan(away), np.inf, away))
        return self.levels.distance(first.astype(np.int64), second.astype(np.int64)).astype(np.float64)


def pushed_back(
    column: Column,
    group: IntArray,
    core: IntArray,
    how: Move,
    draw: np.random.Generator,
    *,
    bound: Bound | None = None,
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[FloatArray, int]:
    """Return values with those of outliers that lie outside their group replaced (eq. 5), and how many.

    `group` (m,) is everybody's label, `core` (m,) the same for members and -1 for outliers. A value lies
    outside if it is farther from the centroid of the members than any of theirs. It becomes the centroid
    and noise (eq. 6), the centroid (eq. 7) or a member's value (eq. 8). O(m log m).
    """
    centroid = column.centroids(core, int(group.max(initial=-1)) + 1)
    away = column.distance(column.values, centroid[group])
    reach = _reach(away[core >= 0], group[core >= 0], len(centroid))
    out = np.flatnonzero((core < 0) & (away > reach[group]))
    values = column.values.copy()
    if how == "member":
        values[out] = column.values[draw_members(core, group[out], draw)]
    elif how == "noise" and column.levels is None:
        values[out] = noisy_centroids(column, core, group[out], draw, bound or Bound(), limits)
    else:
        values[out] = centroid[group[out]]
    return values, len(out)


def draw_members(labels: IntArray, groups: IntArray, draw: np.random.Generator) -> IntArray:
    """Return for each of `groups` (m,) the position in `labels` of one of its members at random, (m,)."""
    order = np.argsort(labels, kind="stable")
    start = np.searchsorted(labels[order], groups, side="left")
    end = np.searchsorted(labels[order], groups, side="right")
    return np.asarray(order[start + draw.integers(0, end - start)])


def noisy_centroids(
    column: Column,
    core: IntArray,
    groups: IntArray,
    draw: np.random.Generator,
    bound: Bound,
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> FloatArray:
    """Return a number for each of `groups` (m,): its centroid and noise (eq. 6), (m,).

    The noise is the distance of a drawn member to the centroid, to either side, so that a moved value is no
    farther out than the group reaches; it stays inside `limits`. A group's draws are kept if the distances
    of members and moved records together diverge from those of the members by no more than the bound;
    where none of the tries does, its outliers get the centroid. O(tries * records).
    """
    members = np.flatnonzero(core >= 0)
    centroid = column.centroids(core, int(core.max(initial=-1)) + 1)
    near = column.distance(column.values[members], centroid[core[members]])
    reach = _reach(near, core[members], len(centroid))
    found = centroid[groups]
    waiting = np.arange(len(groups))
    for _ in range(bound.tries):
        here = groups[waiting]
        member = column.values[draw_members(core, here, draw)]
        side = draw.choice(np.array([-1.0, 1.0]), len(here))
        trial = np.clip(centroid[here] + side * (member - centroid[here]), *limits)
        distance = np.concatenate([near, np.abs(trial - centroid[here])])
        which = np.concatenate([core[members], here])
        good = divergences(near, core[members], distance, which, reach)[here] <= bound.divergence
        found[waiting[good]] = trial[good]
        waiting = waiting[~good]
    return found


def stirred(
    column: Column, group: IntArray, how: Stir, draw: np.random.Generator, *, bound: Bound | None = None
) -> IntArray:
    """Return for each of m records the position of the one whose value it gets, of the same group, (m,).

    `flatten`: one that has the centroid's value, for all of a group (eq. 9); where all numbers are missing,
    the first. `shuffle`: a permutation, which leaves each group's distances as they are (eq. 10 with a
    divergence of 0). `resample`: draws with replacement, whose distances to the centroid diverge from the
    true ones by no more than the bound (eq. 10); where none of the tries does, a permutation.
    O(m log m), and for resampling as much a try.
    """
    bound = bound or Bound()
    n_groups = int(group.max(initial=-1)) + 1
    order = np.argsort(group, kind="stable")
    centroid = column.centroids(group, n_groups)
    if how == "flatten":
        best = np.lexsort((column.values != centroid[group], group))
        return np.asarray(best[np.searchsorted(group[order], group)])
    position = np.empty(len(group), dtype=np.int64)
    position[order] = np.lexsort((draw.random(len(group)), group))
    if how == "shuffle":
        return position
    away = column.distance(column.values, centroid[group])
    reach = _reach(away, group, n_groups)
    waiting = np.ones(n_groups, dtype=bool)
    for _ in range(bound.tries):
        drawn = draw_members(group, group, draw)
        good = waiting & (divergences(away, group, away[drawn], group, reach) <= bound.divergence)
        position[good[group]] = drawn[good[group]]
        waiting &= ~good
    return position


def _reach(distance: FloatArray, group: IntArray, n_groups: int) -> FloatArray:
    """Return the greatest finite distance in each group, (n_groups,)."""
    reach = np.zeros(n_groups)
    np.maximum.at(reach, group, np.where(np.isfinite(distance), distance, 0.0))
    return reach
