"""Who is in the table for certain, to an attacker who knows everybody who may be.

The attacker knows the quasi-identifiers of a whole population, of which some are in the release and others
are not, and how many rows each class has. Two things tell them that somebody is in it:

- *places*: everybody is assigned to a class whose cells contain them, or to none, so that each class has as
  many people as rows. Who is in a class in every assignment is in the release. *None* is one more class that
  contains everybody (`forced`);
- *attained values*: where cells are tight, somebody of the class is at each end of an interval and has each
  value of a set (`inversion_columns`). Where one person of the population alone fits the class and has that
  value, it is that person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.risk.candidates import find
from tasks.risk.cells import Cells, true_cells
from tasks.risk.forced import possible_classes
from tasks.types import BoolArray, FloatArray, IntArray

NOBODY = -1


@dataclass(frozen=True)
class Attained:
    """Values of one column that somebody of a class has: class and value of each, (m,) and (m,).

    `codes` (n,) are the values of the population, numbered alike; -1 for any other.
    """

    classes: IntArray
    values: IntArray
    codes: IntArray


@dataclass(frozen=True)
class Members:
    """Who of the population (n,) is in the release for certain, by places and by attained values.

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
    attained: Sequence[Attained],
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
    return Members(alike & (own >= 0), _sole(numbers, codes, cells, attained), alike & (own < 0))


def _with_none(cells: Cells) -> Cells:
    """Return the cells of the classes, and of one more that contains everybody."""
    low, high = (np.full((1, cells.low.shape[1]), end) for end in (-np.inf, np.inf))
    return true_cells(
        np.vstack([cells.low, low]),
        np.vstack([cells.high, high]),
        tuple(np.vstack([member, np.ones((1, member.shape[1]), dtype=bool)]) for member in cells.member),
    )


def _sole(
    numbers: FloatArray, codes: NDArray[np.int32], cells: Cells, attained: Sequence[Attained]
) -> BoolArray:
    """Tell of each person whether they alone fit some class and have a value that somebody there has."""
    n = len(numbers)
    found = np.zeros(n, dtype=bool)
    spans = [int(each.values.max(initial=-1)) + 1 for each in attained]
    wanted = [
        np.unique(each.classes * span + each.values) for each, span in zip(attained, spans, strict=True)
    ]
    many = [np.zeros(len(keys), dtype=np.int64) for keys in wanted]
    last = [np.full(len(keys), NOBODY, dtype=np.int64) for keys in wanted]
    for part in find(numbers, codes, cells):
        person = np.repeat(part.people, part.n_classes())
        for place, (each, span) in enumerate(zip(attained, spans, strict=True)):
            own = each.codes[person]
            known = np.flatnonzero((own >= 0) & (own < span))
            keys = part.classes[known] * span + own[known]
            at = np.searchsorted(wanted[place], keys)
            there = np.flatnonzero(at < len(wanted[place]))
            there = there[wanted[place][at[there]] == keys[there]]
            many[place] += np.bincount(at[there], minlength=len(many[place]))
            last[place][at[there]] = person[known[there]]
    for count, person in zip(many, last, strict=True):
        found[person[count == 1]] = True
    return found
