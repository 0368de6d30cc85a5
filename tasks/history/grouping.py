"""Whether people who share a value of one column share a value of another, whatever the values are called.

Wards that get other names, are merged or divided are seen by whom they put together, however many there are.
All people count: a sample leaves few of a small ward together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import bdtrc

from tasks.history.dependence import N_PERMUTATIONS, is_most, permuted
from tasks.types import FloatArray, IntArray

LEAST_TOGETHER = 4  # people beyond chance who share a value of the other column
MOST_CHANCE = 1e-4  # that as many people share one


class _Together(NamedTuple):
    """Of `most` people who share a value with somebody, `reached` share the other column's value too.

    Each counts by the share of the others with their value of whom this is true. `free` are the people
    without one of each value: the number of comparisons of which none follows from others.
    """

    reached: float
    most: float
    free: float

    def is_beyond(self, by_chance: FloatArray) -> bool:
        """Tell whether more is reached than by chance, by what several permutations reach, (p,)."""
        mean = float(by_chance.mean())
        comparisons = np.ceil(self.reached / self.most * self.free - 1e-9)
        return (
            self.reached > by_chance.max()
            and self.reached - mean >= LEAST_TOGETHER
            and is_most(self.reached, mean, self.most)
            and bool(bdtrc(comparisons - 1, self.free, mean / self.most) <= MOST_CHANCE)
        )


def is_grouping(first: IntArray, second: IntArray, strata: Callable[[], Sequence[IntArray]]) -> bool:
    """Tell whether most people who share a value of one column (n,) share one of the other, beyond chance.

    Also if only people count who have the most frequent value of neither. Chance is what random permutations
    reach within strata, people who are alike already: `strata` gives several ways to number them, (n,) each,
    and is called only where more than half is reached. The order of people decides nothing. O(n log n).
    """
    if not len(first):
        return False
    a, b, count = _table(first, second)
    modes = np.bincount(a, weights=count).argmax(), np.bincount(b, weights=count).argmax()
    asked: Sequence[IntArray] = ()
    for rare in (False, True):
        pairs = (a != modes[0]) & (b != modes[1]) if rare else np.ones(len(a), dtype=bool)
        for one, other, group in ((first, second, a), (second, first, b)):
            found = _together(group[pairs], count[pairs])
            if 2 * found.reached <= found.most:
                continue
            people = (first != modes[0]) & (second != modes[1]) if rare else slice(None)
            asked = asked or strata()
            if any(_is_beyond_chance(found, one[people], other[people], each[people]) for each in asked):
                return True
    return False


def _is_beyond_chance(found: _Together, first: IntArray, second: IntArray, strata: IntArray) -> bool:
    """Tell it by the mean where tables are small, and by as many permutations as show that it is chance."""
    if not is_most(found.reached, _mean_by_chance(first, second, strata), found.most):
        return False
    group = first[np.lexsort((first, strata))]
    order = np.lexsort((second, strata))
    values, strata = second[order], strata[order]
    by_chance: list[float] = []
    for seed in range(N_PERMUTATIONS):
        drawn, _, count = _table(group, permuted(values, strata, seed))
        by_chance.append(_together(drawn, count).reached)
        mean = float(np.mean(by_chance))
        if found.reached <= by_chance[-1] or not is_most(found.reached, mean, found.most):
            return False
    return found.is_beyond(np.array(by_chance))


def _mean_by_chance(first: IntArray, second: IntArray, strata: IntArray) -> float:
    """Return the mean of all permutations, exactly; 0 where its tables have more cells than there are people.

    Two people of one stratum have one value of the second column as often as all pairs of it have, and two of
    different strata as often as all pairs of these.
    """
    n_first, n_second, n_strata = (int(each.max()) + 1 for each in (first, second, strata))
    if n_strata * (n_first + n_second) + n_first * n_second > len(first):
        return 0.0
    of_first, of_second = (
        np.bincount(strata * width + each, minlength=n_strata * width).reshape(n_strata, width).astype(float)
        for each, width in ((first, n_first), (second, n_second))
    )
    size = of_second.sum(axis=1, keepdims=True)
    share = of_second / np.maximum(size, 1)
    within = (share * (of_second - 1)).sum(axis=1, keepdims=True) / np.maximum(size - 1, 1)
    apart = ((of_first.T @ share) ** 2).sum(axis=1) - (of_first.T**2 @ share**2).sum(axis=1)
    pairs = apart + (of_first * (of_first - 1) * within).sum(axis=0)
    return float((pairs / np.maximum(of_first.sum(axis=0) - 1, 1)).sum())


def _table(first: IntArray, second: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the pairs of values that occur, (m,) each, and how many people have them."""
    width = int(second.max(initial=0)) + 1
    cells = (int(first.max(initial=0)) + 1) * width
    if cells <= len(first):
        count = np.bincount(first * width + second, minlength=cells)
        pairs = np.flatnonzero(count)
        count = count[pairs]
    else:
        pairs, count = np.unique(first * width + second, return_counts=True)
    return pairs // width, pairs % width, count


def _together(group: IntArray, count: IntArray) -> _Together:
    """Return who is together: `group` (m,) are values of a column, with `count` people each by the other."""
    size = np.bincount(group, weights=count, minlength=1)
    reached = float((count * (count - 1) / np.maximum(size[group] - 1, 1)).sum())
    several = size[size > 1]
    return _Together(reached, float(several.sum()), float((several - 1).sum()))
