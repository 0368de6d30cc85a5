"""Closing intervals: the narrowest declared interval, a grid for ends, or the intervals of one level."""

from __future__ import annotations

import math

import numpy as np

from policy.model import ReleasePolicy
from policy.roles import NumericQuasiIdentifier
from tasks.recoding.grid import points_of, steps_of
from tasks.types import FloatArray, IntArray

STEPS = 20  # of a grid across the bounds, at least


def close_intervals(intervals: FloatArray, name: str, policy: ReleasePolicy) -> FloatArray:
    """Return intervals (n, 2) of a quasi-identifier's least and greatest numbers as they are published."""
    qi = policy.roles.numeric[name]
    found = intervals
    if policy.method.recoding == "hierarchy" and qi.widths:
        found = covering_intervals(found, qi)
    return rounded_intervals(found, qi) if policy.method.ends == "rounded" else found


def grid_step(qi: NumericQuasiIdentifier) -> float:
    """Return the step of the grid on which rounded intervals end.

    The first of the widths; without any the largest of 1, 2 and 5 times a power of ten that lies at least
    `STEPS` times in the bounds. An integer's step is 2 at least: ends on a grid of 1 would be somebody's.
    """
    least = 2.0 if qi.type == "integer" else 0.0
    given = [width for width in qi.widths if width >= least]
    if given:
        return given[0]
    largest = (qi.bounds[1] - qi.bounds[0]) / STEPS
    power = 10.0 ** math.floor(math.log10(largest))
    step = max(power * one for one in (1, 2, 5) if one == 1 or power * one <= largest)
    return max(step, least)


def with_levels(qi: NumericQuasiIdentifier) -> NumericQuasiIdentifier:
    """Return the quasi-identifier with the widths of its levels, for a lattice of levels.

    They are those that the policy gives; without any, the step of the grid and its doubles, as long as they
    are under the width of the bounds.
    """
    if qi.widths:
        return qi
    whole = qi.bounds[1] - qi.bounds[0] + (1 if qi.type == "integer" else 0)
    widths, width = list[float](), grid_step(qi)
    while width < whole:
        widths.append(width)
        width *= 2
    return qi.model_copy(update={"widths": tuple(widths)})


def rounded_intervals(intervals: FloatArray, qi: NumericQuasiIdentifier) -> FloatArray:
    """Return the narrowest intervals (n, 2) that hold `intervals` and end on the grid, or at the upper bound.

    The grid is counted from the lower bound and depends on no record. An integer's interval ends one before
    the next step; a number of another type that lies on the grid ends its interval there. A closure: rounding
    a union of rounded intervals gives what rounding the union of the intervals gives.
    """
    step, (low, high) = grid_step(qi), qi.bounds
    steps = grid_steps(intervals, qi)
    first = points_of(steps[:, 0], low, step)
    last = points_of(steps[:, 1] + 1, low, step) - (1 if qi.type == "integer" else 0)
    # A value beyond the bounds is covered all the same.
    return np.column_stack(
        [np.minimum(first, intervals[:, 0]), np.maximum(np.minimum(last, high), intervals[:, 1])]
    )


def grid_steps(intervals: FloatArray, qi: NumericQuasiIdentifier) -> FloatArray:
    """Return the numbers of the steps of the grid in which `intervals` (n, 2) begin and end, (n, 2).

    Step 0 begins at the lower bound. Of numbers that are no integers, one on the grid begins a step and ends
    the one before.
    """
    low, step = qi.bounds[0], grid_step(qi)
    steps = steps_of(intervals, low, step)
    if qi.type != "integer":
        steps[:, 1] -= points_of(steps[:, 1], low, step) == intervals[:, 1]
    return steps


def covering_intervals(
    intervals: FloatArray, qi: NumericQuasiIdentifier, level: IntArray | None = None
) -> FloatArray:
    """Return the narrowest intervals of the numeric hierarchy that hold `intervals` (n, 2), as (n, 2); or
    those of the given levels (n,), at which one holds each.

    Level 0 is the value itself; then intervals of `qi.widths`, counted from the lower bound, the last one cut
    off at the upper; above them the bounds. An integer's interval ends one before the next begins.
    """
    level = interval_levels(intervals, qi) if level is None else level
    low, high = (float(end) for end in qi.bounds)
    closed = np.tile(np.array([low, high]), (len(intervals), 1))
    closed[level == 0] = intervals[level == 0]
    for place, width in enumerate(qi.widths, start=1):
        here = level == place
        steps = steps_of(intervals[here, 0], low, width)
        last = points_of(steps + 1, low, width) - (1 if qi.type == "integer" else 0)
        closed[here] = np.column_stack([points_of(steps, low, width), np.minimum(last, high)])
    # A value beyond the bounds is covered all the same.
    return np.column_stack(
        [np.minimum(closed[:, 0], intervals[:, 0]), np.maximum(closed[:, 1], intervals[:, 1])]
    )


def intervals_of_one_level(
    intervals: FloatArray, n_missing: IntArray, size: IntArray, qi: NumericQuasiIdentifier, least: int = 0
) -> FloatArray:
    """Return the groups' intervals (n, 2) of the lowest level from `least` at which one holds each group.

    A group of `size` (n,) has `n_missing` (n,) unknown numbers, which the whole alone holds; a group in which
    no number is known has the bounds as `intervals`, and keeps them at every level.
    """
    known = np.flatnonzero(n_missing < size)
    level = interval_levels(intervals[known], qi)
    if n_missing[known].any():
        level[:] = len(qi.widths) + 1
    found = intervals.copy()
    found[known] = covering_intervals(intervals[known], qi, np.full_like(level, level.max(initial=least)))
    return found


def interval_levels(intervals: FloatArray, qi: NumericQuasiIdentifier) -> IntArray:
    """Return the level of the narrowest interval that holds each of `intervals` (n, 2), (n,).

    0: a single value; i: the i-th of the widths; one more than there are widths: the whole.
    """
    low = float(qi.bounds[0])
    level = np.full(len(intervals), len(qi.widths) + 1, dtype=np.int64)
    for place, width in reversed(list(enumerate(qi.widths, start=1))):
        bins = steps_of(intervals, low, width)
        level[bins[:, 0] == bins[:, 1]] = place
    level[intervals[:, 0] == intervals[:, 1]] = 0
    return level
