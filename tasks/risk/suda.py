"""SUDA: how much the smallest combinations of values that single a record out tell of its risk.

A minimal sample unique (MSU) of a record is a set of attributes on whose values the record is alone, and on
no proper subset of them (Elliot, Manning and Ford, 2002). The fewer attributes, and the more MSUs, the
likelier a record is unique in the population too. Of M attributes, an MSU of k adds
(M - k)(M - k - 1) ... (M - m) to the record's score, where m is the largest size that is looked for, at most
M - 1; an MSU of all M adds 1.

DIS-SUDA turns scores into probabilities that a match with a sample unique is right. Their harmonic mean over
the sample uniques is the probability of data intrusion simulation, f1 p / (f1 p + 2 f2 (1 - p)), where f1
records are alone, f2 pairs are alike, and p is the sampling fraction (Elliot, 2001).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from tasks.geometry.space import distinct_rows
from tasks.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class SudaScores:
    """Of n records and M attributes: `score` (n,), 0 for records without an MSU; `msus` (n, M), how many
    of each size 1, 2, ...; `contribution` (n, M), the share of the score from MSUs with the attribute.
    `records` are how many records have each set of attributes as an MSU, of those sets that some record has.
    """

    score: FloatArray
    msus: IntArray
    contribution: FloatArray
    records: Mapping[tuple[int, ...], int]

    def by_attribute(self) -> FloatArray:
        """Return each attribute's share of all scores, (M,); they add up to over 1, as MSUs share."""
        return np.asarray(self.score @ self.contribution / max(float(self.score.sum()), 1.0))


def suda(codes: NDArray[np.integer], largest: int | None = None) -> SudaScores:
    """Score n records by their values `codes` (n, M), looking at combinations of up to `largest` attributes.

    Without `largest`: of up to all M. Cost: O(n) for each of the combinations, of which there are 2^M without
    a limit. Raises ValueError where `largest` is not from 1 to M.
    """
    n, width = codes.shape
    largest = width if largest is None else largest
    if not 1 <= largest <= width:
        raise ValueError(f"largest is {largest}, but there are {width} attributes")
    m = min(largest, width - 1)
    score, msus, by_attribute = np.zeros(n), np.zeros((n, width), np.int64), np.zeros((n, width))
    below: dict[tuple[int, ...], BoolArray] = {(): np.full(n, n == 1)}
    records: dict[tuple[int, ...], int] = {}
    for size in range(1, largest + 1):
        level: dict[tuple[int, ...], BoolArray] = {}
        weight = float(prod(range(width - m, width - size + 1)))
        for chosen in combinations(range(width), size):
            smaller = np.any([below[chosen[:i] + chosen[i + 1 :]] for i in range(size)], axis=0)
            alone = smaller if smaller.all() else _alone(codes[:, chosen])
            level[chosen] = alone
            minimal = np.flatnonzero(alone & ~smaller)
            if len(minimal):
                records[chosen] = len(minimal)
            msus[minimal, size - 1] += 1
            score[minimal] += weight
            by_attribute[minimal[:, None], np.array(chosen)] += weight
        below = level
    contribution = by_attribute / np.where(score > 0, score, 1.0)[:, None]
    return SudaScores(score, msus, contribution, records)


def dis_suda(codes: NDArray[np.integer], scores: SudaScores, fraction: float) -> FloatArray:
    """Return the probability that a match with each record is right, (n,); 0 for records without a score.

    The sample is the share `fraction`, over 0 and at most 1, of the population. The odds of record i are
    proportional to score(i)^q with q = 1 + (8 - M) / 20, scaled as in sdcMicro.
    """
    _, own = distinct_rows(codes.T)
    sizes = np.bincount(own)
    ones, pairs = int((sizes == 1).sum()), int((sizes == 2).sum())
    scored = scores.score > 0
    found = np.zeros(len(codes))
    if not ones or not scored.any():
        return found
    dis = ones * fraction / (ones * fraction + 2 * pairs * (1 - fraction))
    power = scores.score[scored] ** (1 + (8 - codes.shape[1]) / 20)
    found[scored] = 1 / (1 + ones * (1 / dis - 1) / (power * (1 / power).sum()))
    return found


def _alone(codes: NDArray[np.integer]) -> BoolArray:
    """Tell which rows are no other's, (n,)."""
    _, own = distinct_rows(codes.T)
    return np.asarray(np.bincount(own)[own] == 1)
