"""The rule by which most numbers changed from one release to another: a factor, a sum, or both."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tasks.types import BoolArray, FloatArray

LEAST_FOLLOWED = 3  # people who follow a rule; two numbers follow some rule always
RELATIVE = 1e-9  # of a number: what arithmetic with floating point loses


@dataclass(frozen=True)
class Change:
    """The rule that most of `people` follow from one release to a later one: after = factor * before + sum.

    `followed` is how many of them do; of people who are put together at random a share of `by_chance` does.
    `half_before` and `half_after`: how far off the numbers of either release may be; 0 if they are exact.
    """

    factor: float = 1.0
    sum: float = 0.0
    people: int = 0
    followed: int = 0
    by_chance: float = 0.0
    half_before: float = 0.0
    half_after: float = 0.0

    @property
    def common(self) -> bool:
        """Whether more than half of the people, and three at least, follow it, or nobody's number changed."""
        unchanged = self.factor == 1 and self.sum == 0 and self.followed == self.people > 0
        return unchanged or (self.followed >= LEAST_FOLLOWED and 2 * self.followed > self.people)

    @property
    def beyond_chance(self) -> bool:
        """Whether most people follow it, and by over half of what chance leaves open (Cohen's kappa)."""
        share = self.followed / max(self.people, 1)
        most = self.followed >= LEAST_FOLLOWED and 2 * self.followed > self.people
        return most and 2 * (share - self.by_chance) > 1 - self.by_chance

    @property
    def weight(self) -> tuple[float, int]:
        """How rules compare: the share who follow one beyond those who would by chance, and how many do."""
        return round(self.followed / max(self.people, 1) - self.by_chance, 9), self.followed

    def repeated(self, times: int) -> Change:
        """Return the rule that holds after this one has held so many times, backwards if negative."""
        factor, added = 1.0, 0.0
        for _ in range(abs(times)):
            factor, added = self.factor * factor, self.factor * added + self.sum
        return Change(factor, added) if times >= 0 else Change(1 / factor, -added / factor)

    def then(self, other: Change) -> Change:
        """Return the rule that holds after this one and then another held."""
        return Change(other.factor * self.factor, other.factor * self.sum + other.sum)

    def expected(self, before: FloatArray) -> FloatArray:
        """Return the numbers after the change."""
        return self.factor * before + self.sum

    def follows(self, before: FloatArray, after: FloatArray) -> BoolArray:
        """Tell whose numbers, (n,) before and after, follow the rule; none that are missing."""
        off = self.half_after + abs(self.factor) * self.half_before + 2 * RELATIVE * np.abs(after)
        expected = self.expected(before)
        return np.asarray(np.isfinite(expected) & (np.abs(expected - after) <= off))


def change_of(
    before: FloatArray, after: FloatArray, half_before: float = 0.0, half_after: float = 0.5
) -> Change:
    """Return the factor, or the sum, or both, that most of n people follow; (n,) numbers, none missing.

    `before` is in order. Numbers were rounded to twice `half_after`, or those before to twice `half_before`
    as well, or both are as they are. Of these the one is taken that most people follow beyond as many as
    would by chance, of several the closest; a factor with a sum, which two people always follow, only if two
    more do. O(n log n).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _change_of(before, after, half_before, half_after)


def _change_of(before: FloatArray, after: FloatArray, half_before: float, half_after: float) -> Change:
    best = Change(people=len(before))
    exactness = ((0.0, 0.0), (0.0, half_after), (half_before, half_after))
    for tolerance in exactness:
        for found in (_best_sum(before, after, *tolerance), _best_factor(before, after, *tolerance)):
            if found is not None and found.weight > best.weight:
                best = found
    for tolerance in exactness:
        found = _best_of_both(before, after, *tolerance)
        if found is not None and found.weight > best.weight and found.followed >= best.followed + 2:
            best = found
    return best


def _best_sum(before: FloatArray, after: FloatArray, half_before: float, half_after: float) -> Change | None:
    off = half_before + half_after + RELATIVE * np.abs(after)
    added = _most_covered(after - before - off, after - before + off)
    return (
        None if added is None else count_followers(Change(1.0, added), before, after, half_before, half_after)
    )


def _best_factor(
    before: FloatArray, after: FloatArray, half_before: float, half_after: float
) -> Change | None:
    """Return the best factor: how far the numbers before are off grows with it."""
    some = before != 0
    off, size = half_after + RELATIVE * np.abs(after[some]), np.abs(before[some])
    sign = np.sign(before[some]) * after[some]
    with np.errstate(all="ignore"):
        ends = [(sign - off) / size, (sign + off) / size]
        if half_before:
            over, under = size + half_before, np.maximum(size - half_before, RELATIVE)
            ends = [
                np.minimum((sign - off) / over, (sign - off) / under),
                np.maximum((sign + off) / over, (sign + off) / under),
            ]
    known = np.isfinite(ends[0]) & np.isfinite(ends[1])
    factor = _most_covered(ends[0][known], ends[1][known])
    return None if factor is None else count_followers(Change(factor), before, after, half_before, half_after)


def _best_of_both(
    before: FloatArray, after: FloatArray, half_before: float, half_after: float
) -> Change | None:
    """Return the best factor with a sum; `before` is in order.

    The factor is the slope between people far apart in that order, as most pairs have it, and is fitted to
    those who follow it about: an error of the slope is multiplied by the largest number.
    """
    half = len(before) // 2
    if half < LEAST_FOLLOWED:
        return None
    between, rise = before[half : 2 * half] - before[:half], after[half : 2 * half] - after[:half]
    some = between > 0
    between, rise = between[some], rise[some]
    off = 2 * (half_after + half_before + RELATIVE * np.abs(after).max(initial=0.0))
    factor = _most_covered((rise - off) / between, (rise + off) / between)
    if factor is None:
        return None
    spread = off * (1 + float(np.ptp(before)) / float(np.median(between)))
    rest = after - factor * before
    added = _most_covered(rest - spread, rest + spread)
    near = np.abs(rest - (added or 0.0)) <= spread
    centred = before[near] - before[near].mean() if near.any() else np.zeros(0)
    if (squares := float(centred @ centred)) > 0:
        factor = float(centred @ after[near]) / squares
    found = _best_sum(factor * before, after, abs(factor) * half_before, half_after)
    if found is None:
        return None
    return count_followers(Change(factor, found.sum), before, after, half_before, half_after)


def count_followers(
    rule: Change, before: FloatArray, after: FloatArray, half_before: float, half_after: float
) -> Change:
    """Return the rule with how many of n people follow it, by their numbers (n,), and would by chance.

    Nobody follows one whose factor or sum is too large for a number.
    """
    change = Change(rule.factor, rule.sum, len(before), 0, 0.0, half_before, half_after)
    if not np.isfinite([rule.factor, rule.sum]).all():
        return change
    with np.errstate(over="ignore", invalid="ignore"):
        expected, ordered = change.expected(before), np.sort(after)
        off = half_after + abs(rule.factor) * half_before + 2 * RELATIVE * np.abs(expected)
        low, high = expected - off, expected + off
        followed = int(change.follows(before, after).sum())
    near = np.searchsorted(ordered, high, side="right") - np.searchsorted(ordered, low)
    by_chance = float(near.mean() / len(after)) if len(after) else 0.0
    return replace(change, followed=followed, by_chance=by_chance)


def _most_covered(low: FloatArray, high: FloatArray) -> float | None:
    """Return a point that most of the closed intervals hold, in their middle; None without any."""
    if not len(low):
        return None
    ends = np.concatenate([low, high])
    order = np.lexsort((np.repeat([0, 1], len(low)), ends))
    open_ = np.cumsum(np.where(order < len(low), 1, -1))
    best = int(open_.argmax())
    # Up to the next end, which closes one, the same intervals are open.
    return float((ends[order[best]] + ends[order[best + 1]]) / 2)
