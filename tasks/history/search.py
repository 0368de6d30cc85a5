"""The search for possible values: what was found so far, and who still lacks some.

What is possible is kept as codes, cohort * m + tuple for m tuples of values, in order and each once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from tasks.history.attribute import Attribute, least_values
from tasks.history.cohorts import ABSENT, Cohorts
from tasks.history.kept import Changes
from tasks.history.numbering import distinct_codes
from tasks.history.transient import NOT_ASKED, RowValues
from tasks.types import BoolArray, IntArray


@dataclass(frozen=True)
class Limits:
    """Where the search ends: pairs of values, changes tried for chains, calls of the solver, their size.

    That is in variables, `questions` that are asked at once, and nodes. A large call counts as several.
    """

    pairs: int = 5_000
    visits: int = 2_000_000
    calls: int = 20_000
    variables: int = 100_000
    questions: int = 300
    nodes: int = 1_000


@dataclass
class Search:
    """What is known of c cohorts of which some lack values, of the m tuples that a `world` gives them.

    `published` (classes, m): how often each class has each tuple. `row_values` tells of attributes that may
    change, after the stable `attributes`. `found` are possible tuples; `changes` make the solver's worlds;
    `calls` of the solver; `spent` if a limit ended the search, `stopped` if one
    for whole numbers ran out of nodes.
    """

    cohorts: Cohorts
    world: csr_array
    published: csr_array
    attributes: tuple[Attribute, ...]
    enough: int
    limits: Limits
    row_values: list[RowValues]
    found: IntArray
    changes: list[Changes] = field(default_factory=list)
    calls: int = 0
    spent: bool = False
    stopped: bool = False

    @cached_property
    def least(self) -> IntArray:
        """How many values have to be possible of each attribute that is asked about, (n_places,)."""
        told = [each.attribute for each in self.row_values]
        return least_values([*self.attributes, *told], self.enough)

    @property
    def n_values(self) -> int:
        """How many tuples there are."""
        return int(self.world.shape[1])

    @property
    def n_places(self) -> int:
        """How many attributes are asked about, those that may change once for each release."""
        return len(self.attributes) + len(self.row_values)


def codes_of(entries: csr_array, n_values: int) -> IntArray:
    """Return the codes of the entries of a matrix of cohorts and tuples, in COO form."""
    return distinct_codes(entries.row.astype(np.int64) * n_values + entries.col, entries.shape[0] * n_values)


def values_of(codes: IntArray, n_cohorts: int, n_values: int, attributes: tuple[Attribute, ...]) -> IntArray:
    """Return how many values of each attribute are among the tuples of each cohort, (c, s)."""
    if not attributes:
        return np.empty((n_cohorts, 0), dtype=np.int64)
    return np.stack([counted_values(codes, n_cohorts, n_values, each) for each in attributes], axis=1)


def counted_values(codes: IntArray, n_cohorts: int, n_values: int, attribute: Attribute) -> IntArray:
    """Return how many values of an attribute each cohort has, by codes (cohort * n_values + tuple)."""
    cohort, value = codes // n_values, attribute.value[codes % n_values]
    if attribute.number is None or not attribute.width:
        span = int(attribute.value.max(initial=0)) + 1
        return np.bincount(
            distinct_codes(cohort * span + value, n_cohorts * span) // span, minlength=n_cohorts
        )
    number = attribute.number[value]
    order = np.lexsort((number, cohort))
    cohort, number = cohort[order], number[order]
    counted = np.zeros(n_cohorts, dtype=np.int64)
    # From the least number of each cohort on, skip all that are within the width: one step for all cohorts.
    reach = np.full(n_cohorts, -np.inf)
    while len(number):
        over = number > reach[cohort]
        cohort, number = cohort[over], number[over]
        present, first = np.unique(cohort, return_index=True)
        counted[present] += 1
        reach[present] = number[first] + attribute.width
    return counted


def values_left(search: Search, codes: IntArray, among: IntArray) -> IntArray:
    """Return how many values the tuples `codes` of the cohorts `among`, in order, leave them, (a, s)."""
    n_values = search.n_values
    place = np.full(len(search.cohorts.size), -1, dtype=np.int64)
    place[among] = np.arange(len(among))
    own = codes[place[codes // n_values] >= 0]
    cohort, tuples = place[own // n_values], own % n_values
    found = [values_of(cohort * n_values + tuples, len(among), n_values, search.attributes)]
    for column, attribute in zip(found[0].T, search.attributes, strict=True):
        column[~_in_its_releases(search.cohorts, attribute, among)] = NOT_ASKED
    for told in search.row_values:
        of_row, values = told.values(search.cohorts, among[cohort], tuples, n_values)
        span = len(told.attribute.value)
        counted = counted_values(np.unique(cohort[of_row] * span + values), len(among), span, told.attribute)
        found.append(np.where(told.asked[among], counted, NOT_ASKED)[:, None])
    return np.concatenate(found, axis=1)


def _in_its_releases(cohorts: Cohorts, attribute: Attribute, among: IntArray) -> BoolArray:
    """Tell which of some cohorts are in a release that has the attribute."""
    if attribute.published is None:
        return np.ones(len(among), dtype=bool)
    return np.asarray((cohorts.place[among][:, attribute.published] != ABSENT).any(axis=1))


def short_cohorts(search: Search, among: IntArray | None = None) -> IntArray:
    """Return the cohorts, or those of them in order, that lack possible values."""
    if among is None:
        among = np.arange(len(search.cohorts.size))
    return among[(values_left(search, search.found, among) < search.least).any(axis=1)]


def open_tuples(search: Search, cohort: int, place: int, candidates: IntArray) -> IntArray:
    """Return the candidates whose value is not known to be possible; none where the cohort has enough."""
    own = tuples_of(search, cohort)
    if most_values(search, cohort, place, candidates[:0]) >= search.least[place]:
        return candidates[:0]
    if place < len(search.attributes):
        attribute = search.attributes[place]
        return candidates[~np.isin(attribute.value[candidates], attribute.value[own])]
    of_candidate, values = _values_of_rows(search, cohort, place, candidates)
    known = _values_of_rows(search, cohort, place, own)[1]
    return candidates[np.unique(of_candidate[~np.isin(values, known)])]


def most_values(search: Search, cohort: int, place: int, candidates: IntArray) -> int:
    """Return how many values a cohort has by what it may have, and these candidates."""
    left = np.union1d(candidates, tuples_of(search, cohort))
    if place < len(search.attributes):
        attribute = search.attributes[place]
        if not _in_its_releases(search.cohorts, attribute, np.array([cohort]))[0]:
            return NOT_ASKED
        return int(counted_values(left, 1, search.n_values, attribute)[0])
    told = search.row_values[place - len(search.attributes)]
    if not told.asked[cohort]:
        return NOT_ASKED
    values = np.unique(_values_of_rows(search, cohort, place, left)[1])
    return int(counted_values(values, 1, len(told.attribute.value), told.attribute)[0])


def _values_of_rows(search: Search, cohort: int, place: int, tuples: IntArray) -> tuple[IntArray, IntArray]:
    """Return what the rows of the cohort's class with these tuples have: which tuple of them, and value."""
    told = search.row_values[place - len(search.attributes)]
    return told.values(search.cohorts, np.full(len(tuples), cohort), tuples, search.n_values)


def tuples_of(search: Search, cohort: int) -> IntArray:
    """Return the tuples that are known to be possible for a cohort."""
    first, end = np.searchsorted(search.found, [cohort * search.n_values, (cohort + 1) * search.n_values])
    return search.found[first:end] - cohort * search.n_values


def add(search: Search, cohort: IntArray, value: IntArray) -> None:
    """Add possible tuples. O(found), but where none is new O(added x log found)."""
    codes = distinct_codes(cohort * search.n_values + value, len(search.cohorts.size) * search.n_values)
    place = np.searchsorted(search.found, codes)
    known = search.found[np.minimum(place, len(search.found) - 1)] == codes
    if not known.all():
        search.found = np.insert(search.found, place[~known], codes[~known])
