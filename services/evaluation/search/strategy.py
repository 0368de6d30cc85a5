"""Search grids for the point of least score: steps along one axis at a time, and fewer grids as time goes.

Each grid is climbed from its start by coordinate search: from the best point so far, the neighbours along one
axis are measured, and the axis is kept as long as that helps. Of several grids, fewer and fewer go on as the
budget is used (successive halving: Jamieson and Talwalkar, 2016, arXiv:1502.07943). Where no neighbour is
left, points are drawn at random, from each of which the climb may go on. So a budget of as many trials as
there are points finds the least score of all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

DRAWN = 4  # points of a random draw, measured together
_TRIES = 100  # draws until the points that are left are looked for one by one

Score = tuple[float, ...]
"""Less is better."""


@dataclass(frozen=True)
class Axis:
    """The values that one parameter may have.

    Neighbours are the values before and after in an ordered axis, else all others. An axis counts only where
    the axis `needs[0]`, an earlier one, has one of the values `needs[1]`.
    """

    name: str
    values: tuple[Any, ...]
    ordered: bool = True
    needs: tuple[str, tuple[Any, ...]] | None = None


@dataclass(frozen=True)
class Grid:
    """All combinations of the values of some axes; `start` is a place on each axis."""

    axes: tuple[Axis, ...]
    start: tuple[int, ...]

    def canonical(self, places: Sequence[int]) -> tuple[int, ...]:
        """Return the point with every axis that does not count at its start: such points are the same."""
        value = {axis.name: axis.values[place] for axis, place in zip(self.axes, places, strict=True)}
        return tuple(
            first if axis.needs is not None and value[axis.needs[0]] not in axis.needs[1] else place
            for axis, place, first in zip(self.axes, places, self.start, strict=True)
        )

    def neighbours(self, places: tuple[int, ...], at: int) -> Iterator[tuple[int, ...]]:
        """Yield the points that differ from one in the axis `at`, by one step if it is ordered."""
        axis, here = self.axes[at], places[at]
        steps = (here - 1, here + 1) if axis.ordered else range(len(axis.values))
        for place in steps:
            if 0 <= place < len(axis.values) and place != here:
                yield self.canonical((*places[:at], place, *places[at + 1 :]))

    def points(self) -> Iterator[tuple[int, ...]]:
        """Yield every point, some of them several times."""
        for places in product(*(range(len(axis.values)) for axis in self.axes)):
            yield self.canonical(places)


@dataclass(frozen=True)
class Point:
    """A point of one of several grids."""

    grid: int
    places: tuple[int, ...]


@dataclass
class Budget:
    """How many trials may be begun, and CPU seconds that all together may take before no other is begun."""

    trials: int | None
    cpu_seconds: float | None = None
    used_trials: int = field(default=0, init=False)
    used_seconds: float = field(default=0.0, init=False)

    def charge(self, cpu_seconds: float) -> None:
        """Count one trial that has ended."""
        self.used_trials += 1
        self.used_seconds += cpu_seconds

    @property
    def share(self) -> float:
        """The share that is used, from 0 to 1."""
        trials = 0.0 if self.trials is None else self.used_trials / self.trials
        seconds = 0.0 if self.cpu_seconds is None else self.used_seconds / self.cpu_seconds
        return min(max(trials, seconds), 1.0)

    @property
    def left(self) -> int | None:
        """How many trials may still be begun; None if only the seconds count and some are left."""
        if self.share >= 1:
            return 0
        return None if self.trials is None else self.trials - self.used_trials


Measure = Callable[[Sequence[Point]], Sequence[Score]]
"""Measures points, charges the budget, and returns their scores in order: fewer, where the budget ran out."""


def search(grids: Sequence[Grid], measure: Measure, budget: Budget, seed: int) -> dict[Point, Score]:
    """Measure points until the budget or the grids are used up; return each with its score, in order.

    The first are the grids' starts. The same scores, budget of trials and seed give the same points.
    """
    climb = _Climb(grids, measure, budget)
    rng = np.random.default_rng(seed)
    climb.take([Point(number, grid.canonical(grid.start)) for number, grid in enumerate(grids)])
    while budget.left != 0:
        batch = climb.steps() or climb.drawn(rng)
        if not batch:
            break
        climb.take(batch)
    return climb.tried


class _Climb:
    """What was measured so far, and the best point and next axis of each grid."""

    def __init__(self, grids: Sequence[Grid], measure: Measure, budget: Budget) -> None:
        self.grids, self.measure, self.budget = grids, measure, budget
        self.tried: dict[Point, Score] = {}
        self.best: dict[int, Point] = {}
        self.axis = [0] * len(grids)

    def take(self, points: Sequence[Point]) -> None:
        """Measure points that were not yet, as far as the budget goes; an axis that did not help is left."""
        new = [point for point in dict.fromkeys(points) if point not in self.tried][: self.budget.left]
        before = dict(self.best)
        for point, score in zip(new, self.measure(new), strict=False):
            self.tried[point] = score
            if point.grid not in self.best or score < self.tried[self.best[point.grid]]:
                self.best[point.grid] = point
        for grid in {point.grid for point in new}:
            if grid in before and before[grid] == self.best[grid]:
                self.axis[grid] += 1

    def steps(self) -> list[Point]:
        """Return the next neighbours in each grid that is still in the race, else in the best of the others.

        Empty where every neighbour of every best point was measured.
        """
        order = sorted(self.best, key=lambda grid: self.tried[self.best[grid]])
        racing = self._n_racing()
        batch = [point for grid in order[:racing] for point in self._next(grid)]
        for grid in order[racing:]:
            batch = batch or self._next(grid)
        return batch

    def _n_racing(self) -> int:
        n = len(self.grids)
        rounds = math.ceil(math.log2(n)) + 1
        halvings = int(self.budget.share * rounds)
        return max(1, math.ceil(n / (1 << halvings)))

    def _next(self, grid: int) -> list[Point]:
        """Return the neighbours of a grid's best point along its next axis that has any unmeasured."""
        here, n_axes = self.best[grid].places, len(self.grids[grid].axes)
        for _ in range(n_axes):
            at = self.axis[grid] % n_axes
            found = [Point(grid, places) for places in self.grids[grid].neighbours(here, at)]
            if new := [point for point in dict.fromkeys(found) if point not in self.tried]:
                return new
            self.axis[grid] += 1
        return []

    def drawn(self, rng: np.random.Generator) -> list[Point]:
        """Return some points that were not measured, at random; none where all were."""
        found: dict[Point, None] = {}
        for _ in range(_TRIES):
            number = int(rng.integers(len(self.grids)))
            grid = self.grids[number]
            places = [int(rng.integers(len(axis.values))) for axis in grid.axes]
            point = Point(number, grid.canonical(places))
            if point not in self.tried:
                found[point] = None
            if len(found) == DRAWN:
                break
        return list(found) or self._first_left()

    def _first_left(self) -> list[Point]:
        for number, grid in enumerate(self.grids):
            for places in grid.points():
                if (point := Point(number, places)) not in self.tried:
                    return [point]
        return []
