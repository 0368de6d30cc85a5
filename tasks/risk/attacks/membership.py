"""Who is in the table for certain, to an attacker who knows everybody who may be.

The attacker knows the quasi-identifiers of a whole population, of which some are in the release and others
are not, and how many rows each class has. Two things tell them that somebody is in it:

- *places*: everybody is assigned to a class whose cells contain them, or to none, so that each class has as
  many people as rows. Who is in a class in every assignment is in the release. *None* is one more class that
  contains everybody (`forced`);
- *values*: of some groups of values the cells tell that somebody of the class is in them, or outside them
  (`occupied`). Where one person of the population alone fits the class and is there, it is that person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.geometry.candidates import find_containing
from tasks.geometry.cells import Cells, true_cells
from tasks.risk.attacks.forced import possible_classes
from tasks.risk.attacks.occupied import Occupied
from tasks.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Members:
    """Who of the population (n,) is in the release for certain, by places and by values.

    `outside` (n,): who is in no class for certain.
    """

    by_place: BoolArray
    by_value: BoolArray
    outside: BoolArray

    @property
    def certain(self) -> BoolArray:
        """Who is in the release for certain, (n,)."""
        return self.by_place | self.by_value


def members(
    numbers: FloatArray,
    codes: NDArray[np.int32],
    own: IntArray,
    cells: Cells,
    told: Sequence[Occupied],
) -> Members:
    """Find who of n people `numbers` (n, p), `codes` (n, q) is in the release for certain.

    `own` (n,) is the class of each, or -1; `cells` are those of the N classes, and contain their people.
    Cost: three times that of `candidates.find`. Raises NoAssignment as `possible_classes` does.
    """
    n_classes = len(cells)
    inside = np.zeros((n_classes + 1, 2), dtype=np.int64)
    inside[:n_classes, 0] = inside[n_classes, 1] = 1
    placed = np.where(own < 0, n_classes, own)
    found = possible_classes(numbers, codes, placed, _with_none(cells), {"in the release": inside})
    # Where all possible classes are alike, they are those of the release or none, as the person's own is.
    alike = found.certain["in the release"]
    return Members(alike & (own >= 0), _sole(numbers, codes, cells, told), alike & (own < 0))


def _with_none(cells: Cells) -> Cells:
    """Return the cells of the classes, and of one more that contains everybody."""
    low, high = (np.full((1, cells.low.shape[1]), end) for end in (-np.inf, np.inf))
    return true_cells(
        np.vstack([cells.low, low]),
        np.vstack([cells.high, high]),
        tuple(np.vstack([member, np.ones((1, member.shape[1]), dtype=bool)]) for member in cells.member),
    )


def _sole(numbers: FloatArray, codes: NDArray[np.int32], cells: Cells, told: Sequence[Occupied]) -> BoolArray:
    """Tell of each person whether they alone fit some class and are where somebody of it is."""
    counts = [_Count.of(each, len(cells)) for each in told]
    for part in find_containing(numbers, codes, cells):
        person = np.repeat(part.people, part.n_classes())
        for count in counts:
            count.add(person, part.classes)
    found = np.zeros(len(numbers), dtype=bool)
    for count in counts:
        found[count.alone()] = True
    return found


@dataclass(frozen=True)
class _Count:
    """How many people fit a class, (N, 2), and are in a group of `pairs` (m,) besides, (m, 2), and the sum of
    their numbers, by which one who is alone is known.
    """

    told: Occupied
    span: int
    pairs: IntArray  # class times span plus group, ascending
    inside: IntArray
    all_of: IntArray

    @classmethod
    def of(cls, told: Occupied, n_classes: int) -> _Count:
        """Return a count of nobody."""
        span = max(int(told.groups.max(initial=-1)), int(told.codes.max(initial=-1))) + 1
        pairs = np.unique(told.classes * span + told.groups)
        return cls(told, span, pairs, np.zeros((len(pairs), 2), np.int64), np.zeros((n_classes, 2), np.int64))

    def add(self, person: IntArray, classes: IntArray) -> None:
        """Count people who fit classes, (m,) and (m,)."""
        code = self.told.codes[person]
        person, classes, code = (each[code >= 0] for each in (person, classes, code))
        if self.told.outside:
            np.add.at(self.all_of, classes, np.column_stack([np.ones_like(person), person]))
        keys = classes * self.span + code
        at = np.searchsorted(self.pairs, keys)
        there = np.flatnonzero(at < len(self.pairs))
        there = there[self.pairs[at[there]] == keys[there]]
        np.add.at(self.inside, at[there], np.column_stack([np.ones_like(there), person[there]]))

    def alone(self) -> IntArray:
        """Return those who are the only one to be where somebody of a class is."""
        found = self.inside
        if self.told.outside:
            found = self.all_of[self.pairs // max(self.span, 1)] - found
        many, total = found.T
        return np.asarray(total[many == 1])
