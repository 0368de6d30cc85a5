"""How likely it is that somebody of a population is in the release (delta-presence, Nergiz et al., 2007).

The attacker knows the quasi-identifiers of a whole population, and how many rows each class has. Of the m
people of the population whose values fit a class of s rows, each is in it with probability s / m. Where
classes overlap, a person may be in any of several: the probability of being in the release is at least
the largest of theirs and at most their sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.geometry.candidates import find_containing
from tasks.geometry.cells import Cells
from tasks.geometry.space import distinct_rows
from tasks.types import FloatArray, IntArray


@dataclass(frozen=True)
class Presence:
    """Bounds `low` and `high` (n,) on each person's probability, and the people who fit each class, (N,).

    The two are equal where no person fits several classes.
    """

    low: FloatArray
    high: FloatArray
    fitting: IntArray


def presence(numbers: FloatArray, codes: NDArray[np.int32], cells: Cells, size: IntArray) -> Presence:
    """Bound the presence of n people `numbers` (n, p), `codes` (n, q) in N classes of `size` (N,) rows.

    A class that fewer people fit than it has rows has a share over 1. Cost: twice that of `find_containing`.
    """
    first, place = distinct_rows([*numbers.T, *codes.T])
    alike = np.zeros(len(numbers), dtype=np.int64)
    alike[first] = np.bincount(place, minlength=len(first))
    fitting = np.zeros(len(cells), dtype=np.int64)
    for found in find_containing(numbers, codes, cells, first):
        np.add.at(fitting, found.classes, np.repeat(alike[found.people], found.n_classes()))
    share = size / np.maximum(fitting, 1)
    low, high = np.zeros(len(numbers)), np.zeros(len(numbers))
    for found in find_containing(numbers, codes, cells, first):
        low[found.people] = np.maximum.reduceat(share[found.classes], found.starts)
        high[found.people] = np.add.reduceat(share[found.classes], found.starts)
    return Presence(low[first[place]], np.minimum(high, 1.0)[first[place]], fitting)
