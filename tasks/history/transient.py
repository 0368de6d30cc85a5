"""Values that may change, which the rows of one release tell beside the values that do not.

Rows are published whole. Whoever knows that somebody's illness is flu or asthma looks at the rows of their
class with one of these, and reads whatever all of them have in another column. People of one class and
one tuple of stable values may have any of their rows: so of an attribute that may change, what somebody may
have had in a release is what the rows of the class have whose stable tuples are possible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.counting import numbers_from
from tasks.history.attribute import Attribute
from tasks.history.cohorts import ABSENT, Cohorts
from tasks.types import BoolArray, IntArray

NOT_ASKED = np.iinfo(np.int32).max  # values of who is not in the release, or of whom it tells none


@dataclass(frozen=True)
class Transient:
    """An attribute of n subjects that may change, by r releases: `value` (n, r), -1 where it is not told.

    `attribute` says of its values which count as one, each value a tuple of itself.
    """

    value: IntArray
    attribute: Attribute


@dataclass(frozen=True)
class RowValues:
    """What one release tells of such an attribute: the values (rows,) of classes and stable tuples.

    `key` (rows,) is class * m + tuple for m tuples, in order, classes as in `Cohorts.place`; `asked` (c,) of
    which cohorts the release tells a value.
    """

    release: int
    key: IntArray
    value: IntArray
    attribute: Attribute
    asked: BoolArray

    def values(
        self, cohorts: Cohorts, cohort: IntArray, tuples: IntArray, m: int
    ) -> tuple[IntArray, IntArray]:
        """Return what cohorts may have that may have these stable tuples: the place of each, and values."""
        place = cohorts.place[cohort, self.release]
        return values_at(self.key, self.value, np.where(place == ABSENT, -1, place * m + tuples))


def values_at(key: IntArray, value: IntArray, wanted: IntArray) -> tuple[IntArray, IntArray]:
    """Return the values that stand at some keys, `key` being in order: the place of each, and values."""
    first, end = (np.searchsorted(key, wanted, side) for side in ("left", "right"))
    n = end - first
    return np.repeat(np.arange(len(wanted)), n), value[numbers_from(first, n)]


def row_values(
    cohorts: Cohorts, value: IntArray, transient: tuple[Transient, ...], m: int, enough: int
) -> list[RowValues]:
    """Return what each release tells of each attribute; `value` (n,) are stable tuples, m of them.

    Of a class and tuple with more than `enough` values, of which each counts, so many are kept.
    """
    found = []
    for each in transient:
        for release in range(cohorts.place.shape[1]):
            place = cohorts.place[cohorts.number, release]
            here = (place != ABSENT) & (each.value[:, release] >= 0)
            if here.any():
                rows = np.column_stack([place[here] * m + value[here], each.value[here, release]])
                key, of_key = np.unique(rows, axis=0).T
                if not each.attribute.width:
                    few = np.arange(len(key)) - np.searchsorted(key, key) < enough + each.attribute.more
                    key, of_key = key[few], of_key[few]
                asked = np.zeros(len(cohorts.size), dtype=bool)
                asked[cohorts.number[here]] = True
                found.append(RowValues(release, key, of_key, each.attribute, asked))
    return found
