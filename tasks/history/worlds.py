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

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tasks.history.attribute import Attribute
from tasks.history.chains import Chains
from tasks.history.cohorts import ABSENT, Cohorts, cohorts_of, published_of, values_shared, world_of
from tasks.history.exchange import divisions, exchanged, ranges
from tasks.history.neighbourhood import Near, another_world, impossible, near, widen
from tasks.history.outer import possible_by_two
from tasks.history.signatures import balanced, interchanged
from tasks.history.transient import NOT_ASKED, RowValues, Transient, row_values
from tasks.types import BoolArray, IntArray

VARIABLES_OF_A_CALL = 2_000  # of the solver; a larger one counts as several, by the square
LEAST_RELEASES = 3  # in which chains may show what exchanges along cycles do not
# Of chains, and whether by three values: longer ones for who is left.
STEPS = ((2, False), (3, False), (4, False), (2, True), (3, True), (4, True), (5, True))


@dataclass(frozen=True)
class Limits:
    """Where the search ends: pairs of values, visits of people for chains, calls of the solver, their size.

    That is in variables and in nodes. A large call counts as several.
    """

    pairs: int = 5_000
    visits: int = 5_000_000
    calls: int = 20_000
    variables: int = 100_000
    nodes: int = 1_000


@dataclass
class Possible:
    """What is known of c cohorts and s attributes: the stable ones, then the others, each by release.

    `least` (c, s): how many values are possible at least, by worlds that were found; `most` (c, s): how many
    at most; where both agree, or `least` reaches what was asked, the cohort is decided. `by_sets` (c, s): how
    many values all its classes share. All are `NOT_ASKED` where no release tells of the cohort. `found` (f,)
    are the possible tuples, as cohort * m + tuple, in order. Of attributes that may change, values past those
    asked for need not be counted. `calls` of the solver, `spent` if a limit ended the search.
    """

    cohorts: Cohorts
    least: IntArray
    most: IntArray
    by_sets: IntArray
    found: IntArray
    calls: int = 0
    spent: bool = False

    def pinned(self, enough: int) -> BoolArray:
        """Tell for each subject (n,) whether an attribute has under `enough` possible values for certain."""
        return np.asarray((self.most < enough).any(axis=1))[self.cohorts.number]

    def undecided(self, enough: int) -> BoolArray:
        """Tell for each subject (n,) whether worlds neither reach `enough` everywhere nor rule it out."""
        lacks, pinned = ((counted < enough).any(axis=1) for counted in (self.least, self.most))
        return np.asarray(lacks & ~pinned)[self.cohorts.number]


@dataclass
class _Search:
    cohorts: Cohorts
    world: csr_array
    published: csr_array  # (classes, m): how often each class has each tuple
    attributes: tuple[Attribute, ...]
    enough: int
    limits: Limits
    row_values: list[RowValues]
    found: IntArray  # cohort * m + tuple, in order, each once
    calls: int = 0
    spent: bool = False

    @property
    def n_values(self) -> int:
        return int(self.world.shape[1])

    @property
    def n_places(self) -> int:
        return len(self.attributes) + len(self.row_values)


def possible_values(
    classes: IntArray,
    value: IntArray,
    attributes: tuple[Attribute, ...],
    enough: int,
    limits: Limits | None = None,
    seat: IntArray | None = None,
    finer: Possible | None = None,
    transient: tuple[Transient, ...] = (),
) -> Possible:
    """Return what n subjects may have, by r releases and their true tuples.

    `classes` (n, r): the class of each subject in each release, numbered from 0 within it, or `ABSENT`;
    `value` (n,): the tuple of each; `enough`: how many values of each attribute a subject has to keep, past
    which nothing more is looked for; `seat` (n, 2): the signature and position of each, if they have any,
    which count where they are balanced; `transient` further attributes, of which as many values have to be
    possible in each release. `finer` is what is known of the same subjects where some of these
    classes are divided further: each world of those is one of these.
    """
    search, shared = _begun(classes, value, attributes, enough, limits or Limits(), seat, finer, transient)
    cohorts, n_values = search.cohorts, search.n_values
    everybody = np.arange(len(cohorts.size))
    by_sets = _left(search, _codes(shared.tocoo(), n_values), everybody)
    _chain(search, classes, value)
    most = by_sets
    short = _short(search)
    if len(short):
        asked = np.unique(shared[short].indices).astype(np.int64)
        shared = possible_by_two(cohorts, search.world, shared, asked)
        most = _left(search, _codes(shared.tocoo(), n_values), everybody)
    most = most.copy()
    _solve(search, shared, most)
    least = _left(search, search.found, everybody)
    return Possible(cohorts, least, most, by_sets, search.found, search.calls, search.spent)


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
    search, _ = _begun(classes, value, attributes, enough, limits, seat)
    short = np.zeros(len(search.cohorts.size), dtype=bool)
    short[_short(search)] = True
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
    search, _ = _begun(classes, value, attributes, enough, limits, seat, found)
    shown = _counted(search.found, len(search.cohorts.size), search.n_values, attributes)
    return np.asarray(shown[search.cohorts.number])


def distinct_values(tuples: IntArray, attributes: tuple[Attribute, ...]) -> IntArray:
    """Return how many values of each attribute are among some tuples, (s,)."""
    n_values = len(attributes[0].value)
    return np.asarray(_counted(np.unique(tuples), 1, n_values, attributes)[0])


def _begun(
    classes: IntArray,
    value: IntArray,
    attributes: tuple[Attribute, ...],
    enough: int,
    limits: Limits,
    seat: IntArray | None,
    finer: Possible | None = None,
    transient: tuple[Transient, ...] = (),
) -> tuple[_Search, csr_array]:
    """Return the search with what signatures and exchanges found, and what all classes of a cohort have."""
    cohorts = cohorts_of(classes)
    n_values = int(value.max(initial=-1)) + 1
    world = world_of(cohorts, value, n_values)
    published, own = published_of(cohorts, world), _codes(world.tocoo(), n_values)
    rows = row_values(cohorts, value, transient, n_values, enough)
    search = _Search(cohorts, world, published, attributes, enough, limits, rows, own)
    if seat is not None:
        subject, other = interchanged(value, seat, balanced(classes, value, seat))
        _add(search, cohorts.number[subject], other)
    if finer is not None:
        somebody = np.zeros(len(finer.cohorts.size), dtype=np.int64)
        somebody[finer.cohorts.number] = np.arange(len(value))
        _add(search, cohorts.number[somebody[finer.found // n_values]], finer.found % n_values)
    shared = values_shared(cohorts, published)
    _exchange(search, shared)
    return search, shared


def _codes(entries: csr_array, n_values: int) -> IntArray:
    return np.unique(entries.row.astype(np.int64) * n_values + entries.col)


def _counted(codes: IntArray, n_cohorts: int, n_values: int, attributes: tuple[Attribute, ...]) -> IntArray:
    """Return how many values of each attribute are among the tuples of each cohort, (c, s)."""
    if not attributes:
        return np.empty((n_cohorts, 0), dtype=np.int64)
    return np.stack([counted_values(codes, n_cohorts, n_values, each) for each in attributes], axis=1)


def counted_values(codes: IntArray, n_cohorts: int, n_values: int, attribute: Attribute) -> IntArray:
    """Return how many values of an attribute each cohort has, by codes (cohort * n_values + tuple)."""
    cohort, value = codes // n_values, attribute.value[codes % n_values]
    if attribute.number is None or not attribute.width:
        span = int(attribute.value.max(initial=0)) + 1
        return np.bincount(np.unique(cohort * span + value) // span, minlength=n_cohorts)
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


def _left(search: _Search, codes: IntArray, among: IntArray) -> IntArray:
    """Return how many values the tuples `codes` of the cohorts `among`, in order, leave them, (a, s)."""
    n_values = search.n_values
    place = np.full(len(search.cohorts.size), -1, dtype=np.int64)
    place[among] = np.arange(len(among))
    own = codes[place[codes // n_values] >= 0]
    cohort, tuples = place[own // n_values], own % n_values
    found = [_counted(cohort * n_values + tuples, len(among), n_values, search.attributes)]
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


def _short(search: _Search, among: IntArray | None = None) -> IntArray:
    """Return the cohorts, or those of them in order, that lack possible values."""
    if among is None:
        among = np.arange(len(search.cohorts.size))
    return among[(_left(search, search.found, among) < search.enough).any(axis=1)]


def _exchange(search: _Search, shared: csr_array) -> None:
    """Add what exchanges of two values give to those who lack some.

    In each turn every cohort that lacks values names the pair of values that most people have, of those that
    were not tried.
    """
    short = _short(search)
    if not len(short):
        return
    by_value, sides = search.world.tocsc(), divisions(search.cohorts)
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
            _add(search, who, value)
            short = _short(search, short)
        left = np.isin(cohort, short) & ~np.isin(pair, chosen)
        cohort, pair, weight = cohort[left], pair[left], weight[left]
    search.spent |= bool(len(short) and len(cohort))


def _pairs(search: _Search, shared: csr_array, short: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return for each cohort in `short` the pairs of a value that it has and one that it may have.

    As (cohort, pair, weight): a pair is `low * n_values + high`, its weight how many people have either.
    """
    have = search.world[short].tocsr()
    may = shared[short].tocsr()
    n_have, n_may = np.diff(have.indptr), np.diff(may.indptr)
    place = np.repeat(np.arange(len(short)), n_have)
    one = np.repeat(have.indices.astype(np.int64), n_may[place])
    other = may.indices[ranges(may.indptr[place], n_may[place])].astype(np.int64)
    cohort = short[np.repeat(place, n_may[place])]
    apart = one != other
    cohort, low, high = cohort[apart], np.minimum(one, other)[apart], np.maximum(one, other)[apart]
    people = np.asarray(search.world.sum(axis=0)).reshape(-1)
    return cohort, low * search.n_values + high, people[low] + people[high]


def _chain(search: _Search, classes: IntArray, value: IntArray) -> None:
    """Add what chains of exchanges give to those who lack values; two releases need none."""
    short = _short(search)
    if not len(short) or classes.shape[1] < LEAST_RELEASES:
        return
    chains = Chains(classes, value, np.zeros(len(value), dtype=bool))
    member = np.zeros(len(search.cohorts.size), dtype=np.int64)
    member[search.cohorts.number] = np.arange(len(value))
    for steps, third in STEPS:
        found: list[tuple[int, int]] = []
        for cohort in short.tolist():
            if chains.visits > search.limits.visits:
                break
            subject, own = int(member[cohort]), _tuples(search, cohort)
            for other in chains.values_beside(subject).tolist():
                if not any(attribute.apart(own, other).all() for attribute in search.attributes) and not any(
                    _open(search, cohort, place, np.array([other])).size
                    for place in range(len(search.attributes), search.n_places)
                ):
                    continue
                chain = chains.find(subject, other, steps, third=third)
                if chain is not None:
                    found += chain.changed
                    break
        if found:
            changed, taken = np.array(found, dtype=np.int64).T
            _add(search, search.cohorts.number[changed], taken)
            short = _short(search, short)


@dataclass
class _Question:
    """Which further values of an attribute a cohort can have: `candidates` are not ruled out.

    `chosen` are the cohorts that vary, in order; `done` if a larger neighbourhood tells nothing more.
    """

    cohort: int
    place: int
    candidates: IntArray
    chosen: IntArray
    done: bool = False


def _solve(search: _Search, shared: csr_array, most: IntArray) -> None:
    """Ask the solver about everybody who still lacks values; lowers `most`.

    First about all in their smallest neighbourhoods, which are cheap, then in growing ones. Nothing more is
    asked of those who are pinned by one attribute.
    """
    open_ = [
        _Question(cohort, place, shared[[cohort]].indices.astype(np.int64), np.array([cohort]))
        for cohort in _short(search).tolist()
        for place in range(search.n_places)
    ]
    while open_:
        for question in open_:
            cohort, place = question.cohort, question.place
            if (most[cohort] < search.enough).any() or not _open(
                search, cohort, place, question.candidates
            ).size:
                question.done = True
                continue
            if search.calls >= search.limits.calls:
                search.spent = True
                return
            _widen(search, shared, question)
            most[cohort, place] = _most(search, cohort, place, question.candidates)
        open_ = [question for question in open_ if not question.done]


def _widen(search: _Search, shared: csr_array, question: _Question) -> None:
    """Ask the solver in a neighbourhood that is larger by the classes of its cohorts."""
    wider = widen(search.cohorts, question.chosen)
    variables = int(shared[wider].nnz)
    if variables > search.limits.variables:
        search.spent = question.done = True
        return
    question.done, question.chosen = len(wider) == len(question.chosen), wider
    problem = near(search.cohorts, search.world, search.published, shared, wider)
    weight = max(1, (variables // VARIABLES_OF_A_CALL) ** 2)
    question.candidates = _asked(search, problem, question, weight)


def _asked(search: _Search, problem: Near, question: _Question, weight: int) -> IntArray:
    """Look near a cohort for worlds with further values; return the candidates that are not ruled out."""
    here, candidates = problem.cohort == question.cohort, question.candidates
    while (open_ := _open(search, question.cohort, question.place, candidates)).size:
        if search.calls >= search.limits.calls:
            search.spent = True
            break
        search.calls += weight
        wished = (here & np.isin(problem.value, open_)).astype(float)
        answer = another_world(problem, wished, nodes=search.limits.nodes)
        if answer.world is not None:
            _add(search, problem.cohort[answer.world > 0], problem.value[answer.world > 0])
            continue
        ruled_out = answer.impossible
        if not ruled_out and not problem.whole:
            search.calls += weight
            ruled_out = impossible(problem, wished, nodes=search.limits.nodes)
        return candidates[~np.isin(candidates, open_)] if ruled_out else candidates
    return candidates


def _open(search: _Search, cohort: int, place: int, candidates: IntArray) -> IntArray:
    """Return the candidates whose value is not known to be possible; none where the cohort has enough."""
    own = _tuples(search, cohort)
    if _most(search, cohort, place, candidates[:0]) >= search.enough:
        return candidates[:0]
    if place < len(search.attributes):
        attribute = search.attributes[place]
        return candidates[~np.isin(attribute.value[candidates], attribute.value[own])]
    of_candidate, values = _values_of_rows(search, cohort, place, candidates)
    known = _values_of_rows(search, cohort, place, own)[1]
    return candidates[np.unique(of_candidate[~np.isin(values, known)])]


def _most(search: _Search, cohort: int, place: int, candidates: IntArray) -> int:
    """Return how many values a cohort has by what it may have, and these candidates."""
    left = np.union1d(candidates, _tuples(search, cohort))
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


def _values_of_rows(search: _Search, cohort: int, place: int, tuples: IntArray) -> tuple[IntArray, IntArray]:
    """Return what the rows of the cohort's class with these tuples have: which tuple of them, and value."""
    told = search.row_values[place - len(search.attributes)]
    return told.values(search.cohorts, np.full(len(tuples), cohort), tuples, search.n_values)


def _tuples(search: _Search, cohort: int) -> IntArray:
    first, end = np.searchsorted(search.found, [cohort * search.n_values, (cohort + 1) * search.n_values])
    return search.found[first:end] - cohort * search.n_values


def _add(search: _Search, cohort: IntArray, value: IntArray) -> None:
    """Add possible tuples. O(found), but where none is new O(added x log found)."""
    codes = np.unique(cohort * search.n_values + value)
    place = np.searchsorted(search.found, codes)
    known = search.found[np.minimum(place, len(search.found) - 1)] == codes
    if not known.all():
        search.found = np.insert(search.found, place[~known], codes[~known])
