"""Which values people may have by one release in which a person may have several rows.

The reader knows how many rows each person has in each class. A stable attribute has one value for a person,
in all of her rows, so a world gives every person one tuple of stable values, and that tuple counts in each
class as often as the person has rows there:

    sum over v of y[c, v] = size of c;  sum over c of rows[c, C] * y[c, v] = how often class C has v

Whoever has as many rows in each class as another person is in one cohort with her. The two can exchange all
of their rows, whatever else these say, so everything that a cohort has is possible for all its members. A
value that some class has less often than a person has rows in it is impossible for her. The solver decides
the rest (`solving`), exactly as far as its limits reach.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.history.attribute import Attribute
from tasks.history.cohorts import ABSENT, Cohorts, published_of, values_shared, world_of
from tasks.history.exchange import divisions_of_classes
from tasks.history.search import Limits, Search, codes_of, values_left
from tasks.history.solving import solve
from tasks.history.subjects import Unfit
from tasks.history.worlds import Possible, add_exchanges, possible_by
from tasks.types import BoolArray, IntArray

QUESTIONS = 10  # of one linear program: rows that count twice leave few solutions of many whole
MOST_CELLS = 50_000_000  # people times the most classes of a person, for memory


@dataclass(frozen=True)
class People:
    """The n subjects of m rows: `person` (n,) whose each is, `value` (n,) the tuple that it has.

    A person is one subject, or one for each tuple where her rows have several. `cohorts` are of subjects.
    """

    person: IntArray
    value: IntArray
    cohorts: Cohorts

    @property
    def n_several(self) -> int:
        """Return how many people have rows with several tuples."""
        return int((np.unique(self.person, return_counts=True)[1] > 1).sum())

    def of_subjects(self, chosen: BoolArray) -> IntArray:
        """Return the people of chosen subjects (n,), each once and in order."""
        return np.unique(self.person[chosen])


def people_of_rows(person: IntArray, place: IntArray, value: IntArray) -> People:
    """Return the subjects of m rows, by the person, the class and the tuple of each, (m,).

    Raises Unfit where people are in so many classes that memory does not suffice. O(m log m + n x the most
    classes of a person).
    """
    n_values, n_classes = int(value.max(initial=-1)) + 1, int(place.max(initial=-1)) + 1
    codes, subject = np.unique(person * n_values + value, return_inverse=True)
    pairs, rows = np.unique(subject.reshape(-1) * n_classes + place, return_counts=True)
    whose, where = pairs // max(n_classes, 1), pairs % max(n_classes, 1)
    n_own = np.bincount(whose, minlength=len(codes))
    n, most = len(codes), int(n_own.max(initial=0))
    if n * most > MOST_CELLS:
        raise Unfit(f"{n} people have rows in up to {most} classes each")
    column = np.arange(len(pairs)) - np.repeat(np.cumsum(n_own) - n_own, n_own)
    vector = np.full((n, 2 * most), ABSENT, dtype=np.int64)
    vector[whose, column] = where
    vector[whose, most + column] = rows
    distinct, number, size = np.unique(vector, axis=0, return_inverse=True, return_counts=True)
    cohorts = Cohorts(
        distinct[:, :most],
        size.astype(np.int64),
        number.reshape(-1).astype(np.int64),
        n_classes,
        distinct[:, most:],
    )
    return People(codes // max(n_values, 1), codes % max(n_values, 1), cohorts)


def possible_by_rows(
    people: People, attributes: tuple[Attribute, ...], enough: int, limits: Limits
) -> Possible:
    """Return what the people may have: at least `enough` values of each attribute are looked for.

    Cohorts and sets of values cost O(rows x values of a class); each call of the solver is one of `limits`.
    """
    cohorts, n_values = people.cohorts, len(attributes[0].value)
    world = world_of(cohorts, people.value, n_values)
    published, own = published_of(cohorts, world), codes_of(world.tocoo(), n_values)
    search = Search(cohorts, world, published, attributes, enough, limits, [], own)
    shared = values_shared(cohorts, published)
    everybody = np.arange(len(cohorts.size))
    add_exchanges(search, shared, divisions_of_classes(cohorts))
    by_sets = values_left(search, codes_of(shared.tocoo(), n_values), everybody)
    most = by_sets.copy()
    solve(search, shared, most)
    least = values_left(search, search.found, everybody)
    return possible_by(search, least, most, by_sets)
