"""Whether one column tells what another tells of the same people, beyond chance.

Four relations are looked for: equal texts, a function of categories or bands, the same order, and a sum or
difference. Chance is what people reach who are put together at random within a stratum, people who are alike
already: their mean where it is known, and else what random permutations of the second column reach.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from itertools import permutations

import numpy as np
import pandas as pd
from scipy.special import gammaln

from tasks.types import BoolArray, FloatArray, IntArray

LEAST_EQUAL = 3  # people with equal texts or sums, beyond chance
LEAST_NEIGHBOURS = 4  # pairs of neighbours, or people in order, beyond chance
LEAST_CHANCE = 0.01  # that nobody differs: fewer people are enough where it is less
N_PERMUTATIONS = 20
ORDERED = 1 / 3  # columns with more distinct values than this share of the people are compared by their order
NUMBER = re.compile(r"[^\d-]*(-?\d+(?:[.,]\d+)*)\D*")  # one number, with what stands before and after it


class Column:
    """A column of n people: `texts` (n,), and the `numbers` (n,) that they are, NaN for what is none.

    A column of numbers (`are_numbers`) is one of which most texts are, with a unit or without.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        known = {text: _number(text) for text in set(texts)}
        self.numbers: FloatArray = np.array([known[text] for text in texts], dtype=np.float64)
        self.are_numbers = 2 * int(np.isfinite(self.numbers).sum()) > len(texts)

    @property
    def plain(self) -> list[str]:
        """The words and numbers of each text, sorted: without case, signs, leading zeros and order."""
        known = {text: _plain(text) for text in set(self.texts)}
        return [known[text] for text in self.texts]

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

    @property
    def unit(self) -> float:
        """The power of ten that half of the numbers are multiples of, without zeros; 1 if there is none."""
        some = self.numbers[np.isfinite(self.numbers) & (self.numbers != 0)].tolist()
        exponents = [int(Decimal(repr(number)).normalize().as_tuple().exponent) for number in some]
        return float(10.0 ** int(np.median(exponents))) if exponents else 1.0


def _number(text: str) -> float:
    try:
        return float(Decimal(text))
    except InvalidOperation:
        found = NUMBER.fullmatch(text)
    if found is None:
        return float("nan")
    *whole, last = re.split("[.,]", found[1])
    return float("".join(whole) + ("." if len(last) != 3 else "") + last) if whole else float(last)


def _plain(text: str) -> str:
    words = re.findall(r"\d+|[^\W\d_]+", text.casefold())
    return " ".join(sorted(word.lstrip("0") or "0" for word in words)) or text


def is_equal(first: Column, second: Column, strata: IntArray) -> bool:
    """Tell whether most people, or most pairs of people with equal texts, have one text in both columns.

    Case, signs, and the order of words and numbers do not count. `strata` (n,) number people who are alike.
    """
    codes = pd.factorize(np.array([*first.plain, *second.plain], dtype=object))[0]
    return _is_match(codes[: len(strata)], codes[len(strata) :], strata)


def _is_match(first: IntArray, second: IntArray, strata: IntArray) -> bool:
    n, same = len(first), int((first == second).sum())
    if not n:
        return False
    width = int(max(first.max(), second.max())) + 1
    size = np.bincount(strata)
    before, after = (np.unique(strata * width + each, return_counts=True) for each in (first, second))
    both, i, j = np.intersect1d(before[0], after[0], assume_unique=True, return_indices=True)
    pairs = before[1][i] * after[1][j]
    by_chance = float((pairs / size[both // width]).sum())
    if same == n and gammaln(after[1] + 1).sum() - gammaln(size + 1).sum() <= np.log(LEAST_CHANCE):
        return True
    precise = 2 * same > int(pairs.sum())
    return same - by_chance >= LEAST_EQUAL and (precise or is_most(same, by_chance, n))


def is_most(reached: float, by_chance: float, most: float) -> bool:
    """Tell whether more than half is reached of what chance leaves (Cohen's kappa)."""
    return 2 * (reached - by_chance) > most - by_chance


def is_function(first: Column, second: Column, strata: IntArray) -> bool:
    """Tell whether one column gives the other: its group, its band, or its place in the order.

    Also if it does so only for those who have the most frequent value of neither.
    """
    a, b = first.codes, second.codes
    rare = _is_rare(a) & _is_rare(b)
    parts = ((a, b, strata), (a[rare], b[rare], strata[rare]))
    return any(_tells(*part) for part in parts if len(part[0]) > LEAST_NEIGHBOURS)


def _is_rare(codes: IntArray) -> BoolArray:
    return np.asarray(codes != np.bincount(codes, minlength=1).argmax())


def _tells(first: IntArray, second: IntArray, strata: IntArray) -> bool:
    n = len(first)
    if _is_beyond_chance(_neighbours, first, second, strata, n - 1):
        return True
    if _is_beyond_chance(_neighbours, second, first, strata, n - 1):
        return True
    many = min(len(np.unique(first)), len(np.unique(second))) > ORDERED * n
    return many and _is_beyond_chance(_in_order, first, second, strata, n)


def _is_beyond_chance(
    measure: Callable[[IntArray, IntArray], int],
    first: IntArray,
    second: IntArray,
    strata: IntArray,
    most: int,
) -> bool:
    reached = measure(first, second)
    if 2 * reached <= most:
        return False
    by_chance = [measure(first, permuted(second, strata, seed)) for seed in range(N_PERMUTATIONS)]
    mean = float(np.mean(by_chance))
    return reached > max(by_chance) and reached - mean >= LEAST_NEIGHBOURS and is_most(reached, mean, most)


def permuted(values: IntArray, strata: IntArray, seed: int) -> IntArray:
    """Return the values (n,), permuted within each stratum."""
    random = np.random.default_rng(seed).random(len(values))
    found = np.empty_like(values)
    found[np.argsort(strata, kind="stable")] = values[np.lexsort((random, strata))]
    return found


def _neighbours(first: IntArray, second: IntArray) -> int:
    """Return how many pairs of people next to each other by the first column have one value of the second.

    People with one value of the first stand in a random order.
    """
    ordered = second[np.lexsort((np.random.default_rng(0).random(len(first)), first))]
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


def is_sum(total: Column, parts: tuple[Column, Column], strata: IntArray) -> bool:
    """Tell whether a column is the sum, or the difference, of two others for most people; all are numbers.

    Numbers may be rounded to the largest of the units of the three.
    """
    unit = max(each.unit for each in (total, *parts))
    with np.errstate(over="ignore", invalid="ignore"):
        ways = [parts[0].numbers + parts[1].numbers]
        ways += [one.numbers - other.numbers for one, other in permutations(parts)]
        rounded = [np.rint(each / unit) for each in (total.numbers, *ways)]
    known = np.isfinite(rounded).all(axis=0)
    for way in rounded[1:]:
        codes = pd.factorize(np.concatenate([rounded[0][known], way[known]]))[0]
        if _is_match(codes[: len(codes) // 2], codes[len(codes) // 2 :], strata[known]):
            return True
    return False
