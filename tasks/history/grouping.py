"""Whether people who share a value of one column share a value of another, whatever the values are called.

Wards that get other names, are merged or divided are seen by whom they put together, however many there are.
All people count: a sample leaves few of a small ward together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import bdtrc

from tasks.history.dependence import LEAST_NEIGHBOURS, N_PERMUTATIONS, is_most, permuted
from tasks.types import IntArray

MOST_CHANCE = 1e-4  # that as many people have one value of the other column


def is_grouping(
    first: IntArray, second: IntArray, strata: Callable[[], Sequence[IntArray]], *, differ: bool = False
) -> bool:
    """Tell whether most people who share a value of one column (n,) share one of the other, beyond chance.

    Also if only people count who have the most frequent value of neither. Chance is what random permutations
    reach within strata, people who are alike already: `strata` gives several ways to number them, (n,) each,
    and is called only where more than half is reached. With `differ`, the people are those whose two values,
    which have one numbering, are not the same: chance is then among the pairs that differ too. The order of
    people decides nothing. O(n log n).
    """
    if not len(first):
        return False
    a, b, count = _table(first, second)
    modes = np.bincount(a, weights=count).argmax(), np.bincount(b, weights=count).argmax()
    asked: Sequence[IntArray] = ()
    for rare in (False, True):
        pairs = (a != modes[0]) & (b != modes[1]) if rare else np.ones(len(a), dtype=bool)
        for one, other, group in ((first, second, a), (second, first, b)):
            reached, most = _together(group[pairs], count[pairs])
            if 2 * reached <= most:
                continue
            people = (first != modes[0]) & (second != modes[1]) if rare else slice(None)
            asked = asked or strata()
            if any(
                _is_beyond_chance(reached, most, one[people], other[people], each[people], differ)
                for each in asked
            ):
                return True
    return False


def _is_beyond_chance(
    reached: int, most: int, first: IntArray, second: IntArray, strata: IntArray, differ: bool
) -> bool:
    """Tell whether permutations reach less; as few are made as show that they do not."""
    if not differ and not is_most(reached, _least_by_chance(first, second, strata), most):
        return False
    group = first[np.lexsort((first, strata))]
    order = np.lexsort((second, strata))
    values, strata = second[order], strata[order]
    by_chance: list[float] = []
    for seed in range(N_PERMUTATIONS):
        drawn, other, count = _table(group, permuted(values, strata, seed))
        apart = drawn != other if differ else np.ones(len(drawn), dtype=bool)
        by_luck, most_by_luck = _together(drawn[apart], count[apart])
        by_chance.append(by_luck * most / max(most_by_luck, 1))
        mean = float(np.mean(by_chance))
        if reached <= by_chance[-1] or not is_most(reached, mean, most):
            return False
    return reached - mean >= LEAST_NEIGHBOURS and bool(bdtrc(reached - 1, most, mean / most) <= MOST_CHANCE)


def _least_by_chance(first: IntArray, second: IntArray, strata: IntArray) -> float:
    """Return less than permutations reach in the mean; 0 where tables have more cells than there are people.

    The most people with one pair of values are no fewer, in the mean, than of each pair in the mean.
    """
    n_first, n_second, n_strata = (int(each.max()) + 1 for each in (first, second, strata))
    if n_strata * (n_first + n_second) + n_first * n_second > len(first):
        return 0.0
    of_first, of_second = (
        np.bincount(strata * width + each, minlength=n_strata * width).reshape(n_strata, width)
        for each, width in ((first, n_first), (second, n_second))
    )
    share = of_second / np.maximum(of_second.sum(axis=1, keepdims=True), 1)
    return float((of_first.T @ share).max(axis=1).sum() - (of_first.any(axis=0)).sum())


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


def _together(group: IntArray, count: IntArray) -> tuple[int, int]:
    """Return how many people are together, and the most there can be, besides one of each value.

    `group` (m,) are values of a column in pairs with values of another, of `count` people each. Together are
    the most people of each value who have one pair.
    """
    largest = np.zeros(int(group.max(initial=0)) + 1, dtype=np.int64)
    np.maximum.at(largest, group, count)
    alone = int((largest > 0).sum())
    return int(largest.sum()) - alone, int(count.sum()) - alone
