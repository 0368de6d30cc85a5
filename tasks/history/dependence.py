"""Whether one column tells what another tells of the same people, beyond chance.

Four relations are looked for: equal texts, a function of categories or bands, the same order, and a sum or
difference. Chance is what people reach who are put together at random: their mean where it is known, and
else what random permutations of the second column reach.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np
import pandas as pd

from tasks.types import BoolArray, FloatArray, IntArray

LEAST_EQUAL = 3  # people with equal texts or sums, beyond chance
LEAST_NEIGHBOURS = 4  # pairs of neighbours, or people in order, beyond chance
N_PERMUTATIONS = 20
ORDERED = 1 / 3  # columns with more distinct values than this share of the people are compared by their order


class Column:
    """A column of n people: `texts` (n,), and the `numbers` (n,) that they are, NaN for what is none.

    A column of numbers (`are_numbers`) is one of which most texts are.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        known = pd.to_numeric(pd.Series(list(texts), dtype=object), errors="coerce")
        self.numbers: FloatArray = known.to_numpy(dtype=np.float64)
        self.are_numbers = 2 * int(np.isfinite(self.numbers).sum()) > len(texts)

    @property
    def plain(self) -> list[str]:
        """The texts without what spellings differ by: case, spaces and signs."""
        return ["".join(each for each in text.casefold() if each.isalnum()) or text for text in self.texts]

    @property
    def codes(self) -> IntArray:
        """The values as codes (n,) in their order; of a column of numbers, numbers first."""
        texts = np.array(self.texts, dtype=object)
        if not self.are_numbers:
            return pd.factorize(texts, sort=True)[0].astype(np.int64)
        known = np.isfinite(self.numbers)
        codes = np.empty(len(texts), dtype=np.int64)
        codes[known] = pd.factorize(self.numbers[known], sort=True)[0]
        codes[~known] = len(texts) + pd.factorize(texts[~known], sort=True)[0]
        return codes


def is_equal(first: Column, second: Column) -> bool:
    """Tell whether most people, or most pairs of people with equal texts, have one text in both columns.

    Case, spaces and signs do not count.
    """
    codes = pd.factorize(np.array([*first.plain, *second.plain], dtype=object))[0]
    return _is_match(*np.split(codes, 2))


def _is_match(first: IntArray, second: IntArray) -> bool:
    n, same = len(first), int((first == second).sum())
    width = int(max(first.max(initial=0), second.max(initial=0))) + 1
    pairs = int(np.bincount(first, minlength=width) @ np.bincount(second, minlength=width))
    by_chance = pairs / max(n, 1)
    return same - by_chance >= LEAST_EQUAL and (2 * same > pairs or is_most(same, by_chance, n))


def is_most(reached: float, by_chance: float, most: float) -> bool:
    """Tell whether more than half is reached of what chance leaves (Cohen's kappa)."""
    return 2 * (reached - by_chance) > most - by_chance


def is_function(first: Column, second: Column) -> bool:
    """Tell whether one column gives the other: its group, its band, or its place in the order.

    Also if it does so only for those who have the most frequent value of neither.
    """
    a, b = first.codes, second.codes
    rare = _is_rare(a) & _is_rare(b)
    return any(_tells(x, y) for x, y in ((a, b), (a[rare], b[rare])) if len(x) > LEAST_NEIGHBOURS)


def _is_rare(codes: IntArray) -> BoolArray:
    return np.asarray(codes != np.bincount(codes, minlength=1).argmax())


def _tells(first: IntArray, second: IntArray) -> bool:
    n = len(first)
    if _is_beyond_chance(_neighbours, first, second, n - 1) or _is_beyond_chance(
        _neighbours, second, first, n - 1
    ):
        return True
    many = min(len(np.unique(first)), len(np.unique(second))) > ORDERED * n
    return many and _is_beyond_chance(_in_order, first, second, n)


def _is_beyond_chance(
    measure: Callable[[IntArray, IntArray], int], first: IntArray, second: IntArray, most: int
) -> bool:
    reached = measure(first, second)
    if 2 * reached <= most:
        return False
    shuffled = [np.random.default_rng(seed).permutation(second) for seed in range(N_PERMUTATIONS)]
    by_chance = [measure(first, each) for each in shuffled]
    mean = float(np.mean(by_chance))
    return reached > max(by_chance) and reached - mean >= LEAST_NEIGHBOURS and is_most(reached, mean, most)


def _neighbours(first: IntArray, second: IntArray) -> int:
    """Return how many pairs of people next to each other by the first column have one value of the second."""
    ordered = second[np.lexsort((second, first))]
    return int((ordered[1:] == ordered[:-1]).sum())


def _in_order(first: IntArray, second: IntArray) -> int:
    """Return how many people the second column has in the order of the first, or in its reverse."""
    ordered = second[np.lexsort((second, first))]
    return max(_longest_rise(ordered), _longest_rise(-ordered))


def _longest_rise(values: IntArray) -> int:
    """Return the length of the longest subsequence of (n,) that does not fall. O(n log n)."""
    ends: list[int] = []
    for value in values.tolist():
        place = bisect_right(ends, value)
        ends[place : place + 1] = [value]
    return len(ends)


def is_sum(total: Column, parts: tuple[Column, Column]) -> bool:
    """Tell whether a column is the sum, or the difference, of two others for most people; all are numbers."""
    known = np.isfinite([each.numbers for each in (total, *parts)]).all(axis=0)
    ways = [parts[0].numbers + parts[1].numbers]
    ways += [one.numbers - other.numbers for one, other in permutations(parts)]
    numbers = [each[known] for each in (total.numbers, *ways)]
    unit = 1e-9 * max(float(np.abs(each).max(initial=0.0)) for each in numbers) or 1.0
    rounded = [np.rint(each / unit) for each in numbers]
    return any(
        _is_match(*np.split(pd.factorize(np.concatenate([rounded[0], way]))[0], 2)) for way in rounded[1:]
    )
