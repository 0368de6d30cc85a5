"""A table that no policy describes, as numbers: equal cells of a column have one code, a missing cell too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.geometry.space import distinct_rows
from tasks.types import FloatArray, IntArray


@dataclass(frozen=True)
class CodedTable:
    """n rows: the codes (n,) of each quasi-identifier and sensitive attribute, and whose the rows are.

    `numbers[name]` (n_values,) are those that the codes of a numeric sensitive attribute stand for, nan for a
    missing one. `person` (n,) is given where somebody has several rows, `household` (n,) where households
    count. `weights` (n,) are people of the population that a row stands for, over 0.
    """

    quasi_identifiers: dict[str, IntArray]
    sensitive: dict[str, IntArray]
    numbers: dict[str, FloatArray]
    person: IntArray | None = None
    household: IntArray | None = None
    weights: FloatArray | None = None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.quasi_identifiers.values())))

    @property
    def unit(self) -> IntArray | None:
        """Whose a row is to the privacy models, (n,): a household's or a person's; None: its own."""
        return self.person if self.household is None else self.household


@dataclass(frozen=True)
class RowClasses:
    """The equivalence classes of n rows: `first` (n_classes,) a row of each, `own` (n,) each row's class.

    `people` and `units` (n_classes,) are how many people, and households where these count, a class has.
    """

    first: IntArray
    own: IntArray
    people: IntArray
    units: IntArray


def row_classes(table: CodedTable) -> RowClasses:
    """Group the rows by equal cells of all quasi-identifiers. O(n log n)."""
    first, own = distinct_rows(table.quasi_identifiers.values())
    people = count_in_classes(own, table.person, len(first))
    units = people if table.household is None else count_in_classes(own, table.household, len(first))
    return RowClasses(first, own, people, units)


def count_in_classes(own: IntArray, whose: IntArray | None, n_classes: int) -> IntArray:
    """Count those of whom any row is in each class, (n_classes,), each once; rows where `whose` is None."""
    if whose is None:
        return np.bincount(own, minlength=n_classes)
    once, _ = distinct_rows([own, whose])
    return np.bincount(own[once], minlength=n_classes)


def smallest_of_each(own: IntArray, size: NDArray[np.number], whose: IntArray | None) -> FloatArray:
    """Return the smallest `size` (n_classes,) of the classes of each person, (n_people,), or of each row."""
    if whose is None:
        return size[own].astype(np.float64)
    _, person = distinct_rows([whose])
    found = np.full(int(person.max(initial=-1)) + 1, np.inf)
    np.minimum.at(found, person, size[own])
    return found


def n_people_under(columns: Iterable[IntArray], whose: IntArray | None, n_rows: int, least: int) -> int:
    """Count the people who are in a class of fewer than `least`, where classes are equal in `columns`."""
    listed = list(columns)
    _, own = distinct_rows(listed) if listed else (None, np.zeros(n_rows, dtype=np.int64))
    size = count_in_classes(own, whose, int(own.max(initial=-1)) + 1)
    return int((smallest_of_each(own, size, whose) < least).sum())
