"""Which values each subject may have, by everything that was published together.

A world gives every subject one tuple of sensitive values, so that in every class of every release the tuples
come out as often as they were published. A value is possible for a subject if some world has it. Whoever
holds all releases and knows who is in which class can tell nothing more.

One world is known: the true one. What is possible is found from below, by members of one cohort, by
balanced signatures (`signatures`), by exchanges (`exchange`), by chains of them (`chains`) and by worlds
of the solver (`neighbourhood`); from above, by the values that all classes of a subject share, by what
two releases and one value tell (`outer`), and by what the solver says has no solution. With two values
and two releases exchanges are exact; in general the question is NP-hard (De Loera and Onn, 2006), and
what a limit ends is undecided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tasks.counting import numbers_from
from tasks.history.attribute import Attribute
from tasks.history.chains import Chains
from tasks.history.cohorts import Cohorts, cohorts_of, published_of, values_shared, world_of
from tasks.history.exchange import divisions, exchanged
from tasks.history.kept import Kept
from tasks.history.outer import possible_by_two
from tasks.history.search import (
    Limits,
    Search,
    add,
    codes_of,
    open_tuples,
    short_cohorts,
    tuples_of,
    values_left,
    values_of,
)
from tasks.history.signatures import balanced, interchanged
from tasks.history.solving import solve
from tasks.history.transient import Transient, row_values
from tasks.types import BoolArray, IntArray

FAILURES = 200  # searches for a chain in a row that find none, after which the solver is asked
LEAST_RELEASES = 3  # in which chains may show what exchanges along cycles do not


@dataclass
class Possible:
    """What is known of c cohorts and s attributes: the stable ones, then the others, each by release.

    `least` (c, s): how many values are possible at least, by worlds that were found; `most` (c, s): how many
    at most; where both agree, or `least` reaches what was asked, the cohort is decided. `by_sets` (c, s): how
    many values all its classes share. All are `NOT_ASKED` where no release tells of the cohort. `found` (f,)
    are the possible tuples, as cohort * m + tuple, in order. Of attributes that may change, values past those
    asked for need not be counted. `calls` of the solver, `spent` if a limit ended the search, `stopped` if
    one for whole numbers ran out of nodes. `more` (s,): so many values more than of others have to be
    possible.
    """

    cohorts: Cohorts
    least: IntArray
    most: IntArray
    by_sets: IntArray
    found: IntArray
    calls: int = 0
    spent: bool = False
    kept: Kept | None = None
    more: IntArray | int = 0
    stopped: bool = False

    def pinned(self, enough: int) -> BoolArray:
        """Tell for each subject (n,) whether an attribute has under `enough` possible values for certain."""
        return np.asarray((self.most < enough + self.more).any(axis=1))[self.cohorts.number]

    def undecided(self, enough: int) -> BoolArray:
        """Tell for each subject (n,) whether worlds neither reach `enough` everywhere nor rule it out."""
        lacks, pinned = ((counted < enough + self.more).any(axis=1) for counted in (self.least, self.most))
        return np.asarray(lacks & ~pinned)[self.cohorts.number]

    def why_undecided(self, calls: int) -> str:
        """Say in brackets which limits ended the search, `calls` being that of the policy; "" if none did."""
        why = [f"`gates.worlds.calls` is {calls}"] if self.spent else []
        if self.stopped:
            why.append("the solver ran out of nodes in some searches for whole numbers")
        return f" ({'; '.join(why)})" if why else ""


def possible_values(
    classes: IntArray,
    value: IntArray,
    attributes: tuple[Attribute, ...],
    enough: int,
    limits: Limits | None = None,
    seat: IntArray | None = None,
    kept: Kept | None = None,
    transient: tuple[Transient, ...] = (),
) -> Possible:
    """Return what n subjects may have, by r releases and their true tuples.

    `classes` (n, r): the class of each subject in each release, numbered from 0 within it, or `ABSENT`;
    `value` (n,): the tuple of each; `enough`: how many values of each attribute a subject has to keep, past
    which nothing more is looked for; `seat` (n, 2): the signature and position of each, if they have any,
    which count where they are balanced; `transient` further attributes, of which as many values have to be
    possible in each release. `kept` are worlds of the same subjects in other classes, which are checked.
    """
    search, shared = _begun(classes, value, attributes, enough, limits or Limits(), seat, transient)
    cohorts, n_values = search.cohorts, search.n_values
    if kept is not None:
        kept = kept.that_hold(cohorts, value)
        add(search, cohorts.number[kept.subject], kept.value)
    add_exchanges(search, shared, divisions(cohorts))
    everybody = np.arange(len(cohorts.size))
    by_sets = values_left(search, codes_of(shared.tocoo(), n_values), everybody)
    chains = _chain(search, classes, value)
    most = by_sets
    short = short_cohorts(search)
    if len(short):
        asked = np.unique(shared[short].indices).astype(np.int64)
        shared = possible_by_two(cohorts, search.world, shared, asked)
        most = values_left(search, codes_of(shared.tocoo(), n_values), everybody)
    most = most.copy()
    solve(search, shared, most)
    least = values_left(search, search.found, everybody)
    kept = (kept or Kept.none()).and_also(chains).and_also(Kept.of(search.changes, cohorts, value))
    return possible_by(search, least, most, by_sets, kept)


def possible_by(
    search: Search, least: IntArray, most: IntArray, by_sets: IntArray, kept: Kept | None = None
) -> Possible:
    """Return what a search that ended found; the counts (c, s) are as in `Possible`."""
    more = search.least - search.enough
    ended = search.calls, search.spent, kept, more, search.stopped
    return Possible(search.cohorts, least, most, by_sets, search.found, *ended)


def short_of(
    classes: IntArray,
    value: IntArray,
    attributes: tuple[Attribute, ...],
    enough: int,
    limits: Limits,
    seat: IntArray,
) -> BoolArray:
    """Tell for each subject (n,) whether signatures and exchanges leave an attribute under `enough` values.

    The solver is not asked: some of them may have more. Shapes as those of `possible_values`.
    """
    search, shared = _begun(classes, value, attributes, enough, limits, seat)
    add_exchanges(search, shared, divisions(search.cohorts))
    short = np.zeros(len(search.cohorts.size), dtype=bool)
    short[short_cohorts(search)] = True
    return short[search.cohorts.number]


def values_shown(
    classes: IntArray,
    value: IntArray,
    attributes: tuple[Attribute, ...],
    enough: int,
    limits: Limits,
    seat: IntArray,
    found: Possible,
) -> IntArray:
    """Return how many values of each attribute certificates show to be possible for each subject, (n, s).

    They are signatures, exchanges and the worlds that were `found`. More than `enough` are not looked for,
    though more may be known. Shapes as those of `possible_values`.
    """
    search, shared = _begun(classes, value, attributes, enough, limits, seat)
    add(search, found.found // search.n_values, found.found % search.n_values)
    add_exchanges(search, shared, divisions(search.cohorts))
    shown = values_of(search.found, len(search.cohorts.size), search.n_values, attributes)
    return np.asarray(shown[search.cohorts.number])


def distinct_values(tuples: IntArray, attributes: tuple[Attribute, ...]) -> IntArray:
    """Return how many values of each attribute are among some tuples, (s,)."""
    n_values = len(attributes[0].value)
    return np.asarray(values_of(np.unique(tuples), 1, n_values, attributes)[0])


def _begun(
    classes: IntArray,
    value: IntArray,
    attributes: tuple[Attribute, ...],
    enough: int,
    limits: Limits,
    seat: IntArray | None,
    transient: tuple[Transient, ...] = (),
) -> tuple[Search, csr_array]:
    """Return the search with what signatures tell, and what all classes of a cohort have."""
    cohorts = cohorts_of(classes)
    n_values = int(value.max(initial=-1)) + 1
    world = world_of(cohorts, value, n_values)
    published, own = published_of(cohorts, world), codes_of(world.tocoo(), n_values)
    rows = row_values(cohorts, value, transient, n_values, enough)
    search = Search(cohorts, world, published, attributes, enough, limits, rows, own)
    if seat is not None:
        subject, other = interchanged(value, seat, balanced(classes, value, seat))
        add(search, cohorts.number[subject], other)
    return search, values_shared(cohorts, published)


def add_exchanges(search: Search, shared: csr_array, sides: Sequence[tuple[IntArray, IntArray]]) -> None:
    """Add what exchanges of two values over some divisions, `sides`, give to those who lack some.

    In each turn every cohort that lacks values names the pair of values that most people have, of those that
    were not tried.
    """
    short = short_cohorts(search)
    if not len(short):
        return
    by_value = search.world.tocsc()
    cohort, pair, weight = _pairs(search, shared, short)
    tried = 0
    while len(short) and len(cohort) and tried < search.limits.pairs:
        best = np.lexsort((pair, -weight, cohort))
        chosen = np.unique(pair[best[np.unique(cohort[best], return_index=True)[1]]])
        tried += len(chosen)
        for side in sides:
            asked = np.unique(pair[np.isin(pair, chosen) & np.isin(cohort, short)])
            if not len(asked):
                break
            ends = np.stack([asked // search.n_values, asked % search.n_values], axis=1)
            who, value = exchanged(by_value, ends, side)
            add(search, who, value)
            short = short_cohorts(search, short)
        left = np.isin(cohort, short) & ~np.isin(pair, chosen)
        cohort, pair, weight = cohort[left], pair[left], weight[left]
    search.spent |= bool(len(short) and len(cohort))


def _pairs(search: Search, shared: csr_array, short: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return for each cohort in `short` the pairs of a value that it has and one that it may have.

    As (cohort, pair, weight): a pair is `low * n_values + high`, its weight how many people have either.
    """
    have = search.world[short].tocsr()
    may = shared[short].tocsr()
    n_have, n_may = np.diff(have.indptr), np.diff(may.indptr)
    place = np.repeat(np.arange(len(short)), n_have)
    one = np.repeat(have.indices.astype(np.int64), n_may[place])
    other = may.indices[numbers_from(may.indptr[place], n_may[place])].astype(np.int64)
    cohort = short[np.repeat(place, n_may[place])]
    apart = one != other
    cohort, low, high = cohort[apart], np.minimum(one, other)[apart], np.maximum(one, other)[apart]
    people = np.asarray(search.world.sum(axis=0)).reshape(-1)
    return cohort, low * search.n_values + high, people[low] + people[high]


def _chain(search: Search, classes: IntArray, value: IntArray) -> Kept:
    """Add what chains of exchanges give to those who lack values, and return them; two releases need none."""
    kept, short = Kept.none(), short_cohorts(search)
    if not len(short) or classes.shape[1] < LEAST_RELEASES:
        return kept
    chains = Chains(classes, value, np.zeros(len(value), dtype=bool))
    member = np.zeros(len(search.cohorts.size), dtype=np.int64)
    member[search.cohorts.number] = np.arange(len(value))
    for third in (False, True):
        waiting = short
        # Again where somebody took a value in somebody else's chain, but may lack further ones.
        while len(waiting):
            found = _chained(search, chains, member, waiting, third=third)
            if not len(found.world):
                break
            changed = search.cohorts.number[found.subject]
            add(search, changed, found.value)
            kept = kept.and_also(found)
            waiting = short_cohorts(search, waiting[np.isin(waiting, changed)])
        short = short_cohorts(search, short)
    return kept


def _chained(search: Search, chains: Chains, member: IntArray, short: IntArray, *, third: bool) -> Kept:
    """Return chains for the `short` cohorts, of each of which `member` (c,) is somebody.

    Whoever takes a value in an earlier one is not asked about.
    """
    found: list[tuple[int, int, int]] = []
    got: set[int] = set()
    n_chains = n_failures = 0
    for cohort in short.tolist():
        if chains.visits >= search.limits.visits or n_failures == FAILURES:
            break
        if cohort in got:
            continue
        subject, own = int(member[cohort]), tuples_of(search, cohort)
        for other in chains.values_beside(subject).tolist():
            if not _is_new(search, cohort, own, other):
                continue
            chain = chains.find(subject, other, third=third)
            n_failures = n_failures + 1 if chain is None else 0
            if chain is not None:
                found += [(n_chains, *each) for each in chain.changed]
                got.update(search.cohorts.number[[one for one, _ in chain.changed]].tolist())
                n_chains += 1
                break
    return Kept(*np.array(found, dtype=np.int64).reshape(-1, 3).T)


def _is_new(search: Search, cohort: int, own: IntArray, other: int) -> bool:
    """Tell whether a tuple gives a cohort that has its `own` ones a further value of any attribute."""
    if any(attribute.apart(own, other).all() for attribute in search.attributes):
        return True
    places = range(len(search.attributes), search.n_places)
    return any(open_tuples(search, cohort, place, np.array([other])).size for place in places)
