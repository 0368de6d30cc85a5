"""Numbers that change by one rule for everybody: releases are told in the numbers of the first.

Whoever knows that every salary was raised by 2% takes the raise back, and has an attribute that never
changed. The rule need not be known from elsewhere: among the people of two releases it is the factor, or the
sum, that most of them follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from policy.model import ReleasePolicy
from tasks.history.subjects import Rows
from tasks.types import BoolArray, FloatArray, IntArray

LEAST_FOLLOWED = 3  # people who follow a rule; two numbers follow some rule always
RELATIVE = 1e-9  # of a number: what arithmetic with floating point loses


@dataclass(frozen=True)
class Change:
    """The rule that most of `people` follow from one release to a later one: after = factor * before + sum.

    `followed` is how many of them do, within half of the last decimal place that the later release shows.
    """

    factor: float
    sum: float
    people: int
    followed: int

    @property
    def common(self) -> bool:
        """Whether more than half of the people, and three at least, follow it."""
        return self.followed >= LEAST_FOLLOWED and 2 * self.followed > self.people


def followed_attributes(policy: ReleasePolicy) -> tuple[list[str], list[str]]:
    """Return the stable attributes, and those that may change and are numbers.

    Nothing is asked of what may change where the policy ignores it (`gates.transient`).
    """
    sensitive = policy.roles.sensitive
    ignored = policy.gates.transient == "ignore"
    stable = [name for name, each in sensitive.items() if each.stability == "stable"]
    may_change = [name for name, each in sensitive.items() if name not in stable and each.type == "numeric"]
    return stable, [] if ignored else may_change


def undone(releases: Sequence[Rows], name: str) -> tuple[Sequence[Rows], Change] | None:
    """Return the releases, oldest first, with the numbers of an attribute as they were before they changed.

    Each release is laid beside the earlier one with which it has most people in common. A number that no
    number there becomes by the rule is one of its own, as are all numbers where no rule is common. The rule
    is that of the last release; None if it has none, or where a release was published without the attribute.
    O(releases x rows log rows).
    """
    if any(name not in each.texts for each in releases):
        return None
    told: list[Rows] = []
    scales: list[tuple[float, float]] = []  # of each release: the number told is factor * number + sum
    used: set[str] = set()
    last: Change | None = None
    for release in releases:
        near, change, texts, scale = -1, None, list(release.texts[name]), (1.0, 0.0)
        if told:
            near, ours, theirs = _nearest(release, releases[: len(told)])
            change = _common_change(releases[near], theirs, release, ours, name)
            texts, scale = _told(release, releases[near], told[near], scales[near], change, name, used)
        last = change if change is not None and change.common else None
        used.update(texts)
        told.append(replace(release, texts={**release.texts, name: texts}))
        scales.append(scale)
    return None if last is None else (told, last)


def change_of(before: FloatArray, after: FloatArray, tolerance: FloatArray) -> Change:
    """Return the factor, or the sum, that most of n people follow, whose numbers are given. O(n log n).

    All arrays are (n,), and without missing numbers; `tolerance` is how far off `after` may be.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack([(after - tolerance) / before, (after + tolerance) / before])
    ends = np.sort(ends, axis=0)
    still = before == 0
    always = int((still & (np.abs(after) <= tolerance)).sum())
    factor, by_factor = _most_covered(ends[0, ~still], ends[1, ~still])
    added, by_sum = _most_covered(after - before - tolerance, after - before + tolerance)
    if by_sum >= by_factor + always:
        return Change(1.0, added, len(before), by_sum)
    return Change(factor, 0.0, len(before), by_factor + always)


def _most_covered(low: FloatArray, high: FloatArray) -> tuple[float, int]:
    """Return a point that most of the closed intervals hold, and how many do."""
    if not len(low):
        return 1.0, 0
    ends = np.concatenate([low, high])
    order = np.lexsort((np.repeat([0, 1], len(low)), ends))
    open_ = np.cumsum(np.where(order < len(low), 1, -1))
    best = int(open_.argmax())
    # Up to the next end, which closes one, the same intervals are open: the middle is off from neither.
    return float((ends[order[best]] + ends[order[best + 1]]) / 2), int(open_[best])


def _nearest(release: Rows, earlier: Sequence[Rows]) -> tuple[int, IntArray, IntArray]:
    """Return the earlier release with most of the people, the later of two, and their rows in both."""
    known = pd.Series(list[object](release.person), dtype=object)
    rows = np.flatnonzero(known.notna().to_numpy())
    best = (-1, rows[:0], rows[:0])
    for place, each in enumerate(earlier):
        theirs = pd.Series(list[object](each.person), dtype=object)
        there = np.flatnonzero(theirs.notna().to_numpy())
        found = pd.Index(theirs.iloc[there]).get_indexer(pd.Index(known.iloc[rows]))
        if best[0] < 0 or (found >= 0).sum() >= len(best[1]):
            best = (place, rows[found >= 0], there[found[found >= 0]])
    return best


def _numbers(texts: Sequence[str]) -> tuple[FloatArray, float]:
    """Return the numbers of texts, NaN for what is none, and half of the last decimal place shown."""
    series = pd.Series(texts, dtype=object)
    numbers = pd.to_numeric(series, errors="coerce").to_numpy(dtype=np.float64)
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    shown = series[~np.isnan(numbers)].astype(str)
    places = shown.str.extract(r"\.(\d*?)0*$", expand=False).str.len().max() if len(shown) else 0
    return numbers, 0.5 * 10.0 ** -(0 if pd.isna(places) else int(places))


def _common_change(before: Rows, theirs: IntArray, after: Rows, ours: IntArray, name: str) -> Change:
    old, new = (
        _numbers(rows.texts[name])[0][rows.of(name)[chosen]]
        for rows, chosen in ((before, theirs), (after, ours))
    )
    both = ~(np.isnan(old) | np.isnan(new))
    half = _numbers(after.texts[name])[1]
    return change_of(old[both], new[both], half + RELATIVE * np.abs(new[both]))


def _told(
    release: Rows,
    near: Rows,
    told: Rows,
    scale: tuple[float, float],
    change: Change,
    name: str,
    used: set[str],
) -> tuple[list[str], tuple[float, float]]:
    """Return the texts of a release's numbers as they are told, and its scale.

    `near` is the release beside which it lies, `told` the same as it is told, on `scale`.
    """
    numbers, half = _numbers(release.texts[name])
    texts = list(release.texts[name])
    if not change.common:
        scale, matched = (1.0, 0.0), np.full(len(texts), -1, dtype=np.int64)
    else:
        matched = _matched(numbers, half, change.factor * _numbers(near.texts[name])[0] + change.sum)
        factor = scale[0] / change.factor if change.factor else scale[0]
        scale = (factor, scale[1] - factor * change.sum)
    for i, number in enumerate(numbers):
        if matched[i] >= 0:
            texts[i] = told.texts[name][matched[i]]
        elif not np.isnan(number):
            own = scale[0] * number + scale[1]
            while repr(float(own)) in used:
                own = np.nextafter(own, np.inf)
            texts[i] = repr(float(own))
            used.add(texts[i])
    return texts, scale


def _matched(numbers: FloatArray, half: float, expected: FloatArray) -> IntArray:
    """Return for each number (m,) which of the expected it is, the nearest within `half`, or -1."""
    matched = np.full(len(numbers), -1, dtype=np.int64)
    order = np.argsort(expected)[: int((~np.isnan(expected)).sum())]
    asked = np.flatnonzero(~np.isnan(numbers))
    if not len(order) or not len(asked):
        return matched
    at = np.searchsorted(expected[order], numbers[asked])
    sides = np.stack([order[np.clip(at - 1, 0, len(order) - 1)], order[np.clip(at, 0, len(order) - 1)]])
    off = np.abs(expected[sides] - numbers[asked])
    side = off.argmin(axis=0)
    chosen, off = sides[side, np.arange(len(asked))], off.min(axis=0)
    near: BoolArray = off <= half + RELATIVE * np.abs(numbers[asked])
    first = np.lexsort((numbers[asked], off, chosen))
    once = np.zeros(len(asked), dtype=bool)
    once[first[np.unique(chosen[first], return_index=True)[1]]] = True
    good = near & once
    matched[asked[good]] = chosen[good]
    return matched
