"""Swaps that make a group of nearest records valid: (k,e)-MDAV's way to mend what the nearest would break."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tasks.partitioning.constraints import Constraints
from tasks.privacy.diversity import entropy
from tasks.types import FloatArray, IntArray


def shortfall(groups: IntArray, limits: Constraints, max_spread: float | None = None) -> FloatArray:
    """Return how far groups of records `groups` (..., size) are from the conditions on sensitive values.

    (...,); 0: they hold. Each attribute adds the records over p_max, the entropy under h_min, the distinct
    values (numbers: the range, relative to e) under e, those over `max_spread`, and what its conditions miss.
    """
    short = np.zeros(groups.shape[:-1])
    size = groups.shape[-1]
    for column in limits.columns:
        own = limits.limits_of(column)
        values = column.codes[groups]
        counts = (values[..., None] == np.arange(column.n_values)).sum(axis=-2)
        short += _over(counts.max(axis=-1), own.p_max * size + 1e-9)
        if own.h_min > 0:
            short += _over(own.h_min - 1e-12, entropy(counts))
        if column.numbers is None:
            spread = (counts > 0).sum(axis=-1).astype(np.float64)
            short += _over(own.e, spread)
        else:
            low, high = np.fmin.reduce(column.numbers[groups], -1), np.fmax.reduce(column.numbers[groups], -1)
            spread = np.where(np.isnan(low), -np.inf, high - low)
            short += np.minimum(_over(own.e, spread) / max(own.e, 1e-300), 1e6) if own.e > 0 else 0.0
        for condition in column.conditions:
            short += condition.shortfall(counts, np.asarray(size))
        if max_spread is not None:
            short += np.maximum(_over(spread, max_spread), 0.0)
    return short


def _over(value: FloatArray | float, most: FloatArray | float) -> FloatArray:
    return np.asarray(np.maximum(np.subtract(value, most), 0.0))


def anybody(_member: int, _record: int) -> bool:
    """Let every swap be made: the records outside belong to no group yet."""
    return True


def repair_groups(
    group: IntArray,
    others: IntArray,
    limits: Constraints,
    max_spread: float | None = None,
    allowed: Callable[[int, int], bool] = anybody,
) -> tuple[IntArray, list[tuple[int, int]]] | None:
    """Swap members of `group` (nearest first; the first stays) for records of `others` (nearest first).

    Each swap takes the nearest record that brings the group nearer to its conditions, for the member of the
    value in excess that helps most, of several the farthest; `allowed(member, record)` may refuse it, and
    else takes note of it.
    Return the group and the swaps (member, record), or None where the conditions cannot be met so.
    O(|others| |group| m) a swap for m sensitive values.
    """
    swaps: list[tuple[int, int]] = []
    record = np.concatenate([group, others])
    # Places in that order of the records inside, of whom a swap takes one's place, and of those outside.
    inside, outside = np.arange(len(group)), np.arange(len(group), len(record))
    short = float(shortfall(group, limits, max_spread))
    while short > 0:
        found = _swap(record, inside, outside, limits, max_spread, short, allowed)
        if found is None:
            return None
        place, other, short = found
        gone, came = inside[place], outside[other]
        swaps.append((int(record[gone]), int(record[came])))
        inside[place] = came
        outside = np.delete(outside, other)
        outside = np.insert(outside, np.searchsorted(outside, gone), gone)
    return record[inside], swaps


def _swap(
    record: IntArray,
    inside: IntArray,
    outside: IntArray,
    limits: Constraints,
    max_spread: float | None,
    short: float,
    allowed: Callable[[int, int], bool],
) -> tuple[int, int, float] | None:
    """Return the places in `inside` and `outside` of the next swap, and how far the group then is."""
    tried: dict[tuple[int, ...], FloatArray] = {}
    group = record[inside]
    for other, came in enumerate(record[outside].tolist()):
        # Records of equal sensitive values mend a group alike; numbers differ one by one.
        key = tuple(int(c.codes[came]) if c.numbers is None else -1 - came for c in limits.columns)
        if key not in tried:
            with_it = np.repeat(group[None, :], len(group), axis=0)
            np.fill_diagonal(with_it, came)
            tried[key] = shortfall(with_it[1:], limits, max_spread)
        after = tried[key]
        for place in np.lexsort([-inside[1:], after]).tolist():
            if after[place] >= short - 1e-12:
                break
            if allowed(int(group[place + 1]), came):
                return place + 1, other, float(after[place])
    return None
