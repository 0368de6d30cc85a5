"""How many rows match what somebody knows of some quasi-identifiers: every combination of their atoms.

For k^m-anonymity and LKC-privacy, by the gates on the published classes and by the repair on groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.types import BoolArray, FloatArray, IntArray

# In multiplications: a start counts as a million of them, a number copied as twenty.
MOST_WORK = 5e10
START = 1e6
COPY = 20
CELLS = 4_000_000
TOLERANCE = 1e-9  # of a share

Rows = NDArray[np.floating[Any]]
Known = tuple[tuple[int, int], ...]  # (quasi-identifier, atom), each quasi-identifier once


class Unfinished(Exception):
    """There is more to look at than may be spent."""


@dataclass
class Budget:
    """How much work is left."""

    left: float

    def spend(self, work: float) -> None:
        """Take the work off. Raises Unfinished where not so much is left."""
        self.left -= work
        if self.left < 0:
            raise Unfinished


@dataclass(frozen=True)
class Matches:
    """How many rows match: `rows` (w, a, b) for the atoms `fixed` and any atom of each of `last`.

    The first of w is the number of rows, the others those with one sensitive value. Where only one
    quasi-identifier is known, `last` has one and a is 1. `classes` (m,) are those that cover what is fixed,
    `first_covers` (a, m) and `last_covers` (m, b) which of them cover the atoms.
    """

    rows: Rows
    fixed: Known
    last: tuple[int, ...]
    first_atom: int
    classes: IntArray
    first_covers: Rows
    last_covers: Rows

    def known(self, a: int, b: int) -> Known:
        """Return the combination at [:, a, b]."""
        atoms = (a + self.first_atom, b)[-len(self.last) :]
        return (*self.fixed, *zip(self.last, atoms, strict=True))

    @property
    def shares(self) -> FloatArray:
        """The largest share of a sensitive value in the rows that match, (a, b); 0: none is looked at."""
        largest = self.rows[1:].max(axis=0, initial=0.0)
        return np.asarray(largest / np.maximum(self.rows[0], 1).astype(np.float64))

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of `values` (n_classes,) over the classes that match, (a, b)."""
        return np.asarray((self.first_covers * values[self.classes]) @ self.last_covers.astype(np.float64))

    def matching(self, a: int, b: int) -> IntArray:
        """Return the classes that match the combination at [:, a, b]."""
        return np.asarray(self.classes[(self.first_covers[a] > 0) & (self.last_covers[:, b] > 0)])

    def too_few(self, k: int) -> BoolArray:
        """Tell which combinations match a row, but fewer than k, (a, b)."""
        return np.asarray((self.rows[0] > 0) & (self.rows[0] < k))

    def too_sure(self, c: float) -> BoolArray:
        """Tell in the rows of which combinations a sensitive value has a share over c, (a, b)."""
        return np.asarray(self.shares > c + TOLERANCE)


def matches(covers: Sequence[BoolArray], weights: FloatArray, sizes: Sequence[int]) -> Iterator[Matches]:
    """Yield the matching rows of every combination of atoms of so many quasi-identifiers, 0 where none is.

    `covers[q]` (n_classes, n_atoms), `weights` (w, n_classes). Cost: for each subset of quasi-identifiers
    w n_classes times the product of their numbers of atoms at most, as products of matrices of the two
    with most atoms; the others are walked. Raises Unfinished where that is over MOST_WORK.
    """
    # Whole numbers under 2**24 are exact in single precision.
    exact: Rows = weights.astype(np.float32 if weights[0].sum() < 2**24 else np.float64)
    budget = Budget(MOST_WORK)
    everyone = np.arange(weights.shape[1])
    for size in sizes:
        for chosen in combinations(range(len(covers)), size):
            rest = sorted(chosen, key=lambda q: covers[q].shape[1])
            yield from _walk(covers, exact, everyone, (), rest, budget)


def _walk(
    covers: Sequence[BoolArray],
    weights: Rows,
    classes: IntArray,
    fixed: Known,
    rest: list[int],
    budget: Budget,
) -> Iterator[Matches]:
    if not len(classes):
        return
    if len(rest) > 2:
        for atom in range(covers[rest[0]].shape[1]):
            budget.spend(START + COPY * len(classes))
            inside = classes[covers[rest[0]][classes, atom]]
            yield from _walk(covers, weights, inside, (*fixed, (rest[0], atom)), rest[1:], budget)
        return
    dtype = weights.dtype
    budget.spend(COPY * len(classes) * covers[rest[-1]].shape[1])
    last = covers[rest[-1]][classes].astype(dtype)
    beside = covers[rest[0]][classes].astype(dtype) if len(rest) > 1 else np.ones((len(classes), 1), dtype)
    step = max(1, CELLS // (last.shape[1] * len(weights)))
    for first in range(0, beside.shape[1], step):
        part = beside[:, first : first + step].T
        budget.spend(START + len(weights) * part.size * (last.shape[1] + COPY))
        rows = np.stack([(part * weight[classes]) @ last for weight in weights])
        yield Matches(rows, fixed, tuple(rest), first, classes, part, last)
