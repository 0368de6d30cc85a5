"""Subjects by the classes that they are in, and worlds: who has which value.

A subject is a person whom the reader of every release can follow. Subjects who are in the same class of every
release are one cohort: nothing that was published tells them apart, so worlds are counted by cohort.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from tasks.history.numbering import number_rows
from tasks.types import IntArray

ABSENT = -1


@dataclass(frozen=True)
class Cohorts:
    """Which subjects share their classes in r releases; c cohorts of n subjects.

    `place` (c, r): the class of the cohort in each release, classes counted from 0 over all releases, or
    `ABSENT`; `size` (c,): how many subjects it has; `number` (n,): the cohort of each subject. `rows` (c, r):
    how many rows each member has in each class; None where everybody has one.
    """

    place: IntArray
    size: IntArray
    number: IntArray
    n_classes: int
    rows: IntArray | None = None

    @cached_property
    def incidence(self) -> csr_array:
        """How many rows a member of each cohort has in each class, (classes, c)."""
        cohort, release = np.nonzero(self.place != ABSENT)
        shape = (self.n_classes, len(self.place))
        return csr_array((self.rows_at(cohort, release), (self.place[cohort, release], cohort)), shape)

    @cached_property
    def n_present(self) -> IntArray:
        """Return in how many releases each cohort is, (c,)."""
        return np.asarray((self.place != ABSENT).sum(axis=1))

    def rows_at(self, cohort: IntArray, release: IntArray) -> IntArray:
        """Return how many rows a member of some cohorts (e,) has in the class of some releases (e,)."""
        return np.ones(len(cohort), dtype=np.int64) if self.rows is None else self.rows[cohort, release]


def cohorts_of(classes: IntArray) -> Cohorts:
    """Return the cohorts of n subjects in r releases.

    `classes` (n, r): the subject's class in each release, numbered from 0 within the release, or `ABSENT`.
    O(n r log n).
    """
    first = np.concatenate([[0], np.cumsum(classes.max(axis=0, initial=ABSENT) + 1)])
    place = np.where(classes == ABSENT, ABSENT, classes + first[:-1])
    number, rows = number_rows(place + 1, int(first[-1]) + 1)
    return Cohorts(place[rows], np.bincount(number, minlength=len(rows)), number, int(first[-1]))


def world_of(cohorts: Cohorts, value: IntArray, n_values: int) -> csr_array:
    """Return how many subjects of each cohort have each value, (c, n_values), by `value` (n,)."""
    ones = np.ones(len(value), dtype=np.int64)
    world = csr_array((ones, (cohorts.number, value)), (len(cohorts.size), n_values))
    world.sum_duplicates()
    return world


def published_of(cohorts: Cohorts, world: csr_array) -> csr_array:
    """Return how often each class has each value, (classes, n_values)."""
    return (cohorts.incidence @ world).tocsr()


def values_shared(cohorts: Cohorts, published: csr_array) -> csr_array:
    """Return for each cohort the values that all its classes have as often as a member has rows, entries 1.

    (c, n_values); no other value is possible for it. Cohorts in no release have none.
    """
    members = cohorts.incidence.T.tocsr()
    if cohorts.rows is None:
        held = (members @ published.astype(bool).astype(np.int64)).tocoo()
    else:
        of_class = members.tocoo()
        found = published[of_class.col].tocoo()
        often = found.data >= of_class.data[found.row]
        ones = np.ones(int(often.sum()), dtype=np.int64)
        at = (of_class.row[found.row[often]], found.col[often])
        held = csr_array((ones, at), (members.shape[0], published.shape[1])).tocoo()
        held.sum_duplicates()
    everywhere = held.data == cohorts.n_present[held.row]
    entries = np.ones(int(everywhere.sum()), dtype=np.int64)
    return csr_array((entries, (held.row[everywhere], held.col[everywhere])), held.shape)
