"""How likely each value of each subject is: worlds are sampled by random exchanges, from two far apart.

To whoever holds all releases and knows who is in which class all worlds are alike: a value is as likely as
the share of worlds that have it. Worlds are a Markov chain here, whose stationary distribution is uniform.
One begins at the known world, another where signatures are exchanged, and worlds that were found: what only
one of them says was not measured. Every move proposes a world from which the same move leads back with the
same probability, and each class keeps its tuples:

- members of a cohort change places at random;
- `exchange`: for pairs of tuples and a division of the releases (`exchange`), a walk goes from an end along a
  subject that is drawn of all who lead from it, until it comes to an end again; those along the cycle
  exchange their tuples. Reversing a cycle leaves the number of subjects that lead from each end, so that the
  way back is drawn as often;
- `interchange`: in every class of every release the subjects with one tuple of a pair are matched at random
  with those with the other; where all of a component are matched, it may exchange its tuples (as Kempe chains
  in colourings do). With signatures, subjects are matched with those of their own signature too;
- `redraw`: a few subjects who share classes have all worlds in which nobody else differs counted, and one is
  drawn.

All worlds of two tuples in two releases are reached, and those of a few subjects. Where subjects are in more
releases, or have more tuples, chains need not reach all: whom neither ever moves seems certain. What is
drawn depends on the seed alone.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tasks.history.attribute import Attribute
from tasks.history.cohorts import ABSENT, cohorts_of
from tasks.history.exchange import arcs_on_cycles, divisions
from tasks.history.kept import Kept
from tasks.history.numbering import number_codes, numbered_codes, random_order
from tasks.history.signatures import balanced
from tasks.history.worlds import Possible
from tasks.sorting import stable_order
from tasks.types import BoolArray, FloatArray, IntArray

UNSETTLED = 0.2  # of the sweeps at first: they lie too near the known world, and are not counted
BLOCKS = 20  # of few subjects that are drawn anew in a sweep, one by one in Python
BLOCK = 7  # subjects in the largest of them
STEPS = 2_000  # of the count of a block's worlds; past them it stays as it is
DRAWS = 20_000  # at most, in which values find another to be paired with
LEAST_EXCHANGES, MOST_EXCHANGES = 4, 24  # in a sweep, over divisions of the releases that are drawn
KEPT = 2_000_000  # tuples of subjects that are kept before they are counted
HALF = 0.5
ROUNDING = 1e-9


@dataclass(frozen=True)
class Likely:
    """How likely the most likely value of each subject is: `most` (n, s), for s attributes, by both chains.

    `either` (n, s) is what that chain says which says more. Where another value is known to be possible that
    neither met, `most` is 0. `sweeps` were counted, in which tuples were `moved` so many times; 0 where
    nobody is in several releases, as classes alone tell then.
    """

    most: FloatArray
    either: FloatArray
    sweeps: int
    moved: int

    def over(self, limit: float) -> BoolArray:
        """Tell for each subject (n,) whether a value of some attribute is likelier than `limit`."""
        return np.asarray((self.most > limit + ROUNDING).any(axis=1))

    def unmeasured(self, limit: float) -> BoolArray:
        """Tell for each subject (n,) whether that is so by one chain only, or for want of any move."""
        return np.asarray((self.either > limit + ROUNDING).any(axis=1)) & ~self.over(limit)


def likely_values(
    classes: IntArray,
    value: IntArray,
    attributes: tuple[Attribute, ...],
    sweeps: int,
    seed: int,
    seat: IntArray | None = None,
    found: Possible | None = None,
) -> Likely:
    """Return how likely the most likely values of n subjects are. Shapes as those of `possible_values`.

    `found` is what is possible. Numbers at most the attribute's width apart count as one value. A sweep is
    O(n r log n); each chain makes half of the `sweeps`, rounded up.
    """
    one = Chain(classes, value, seed, seat)
    n_tuples = len(attributes[0].value)
    both = _Counts(one.cohort, n_tuples)
    if (one.n_present < 2).all():
        both.add(one.everybody, [value])
        most = both.likeliest(attributes)
        return Likely(most, most, 0, 0)
    other = Chain(classes, far_from(classes, value, seat, found.kept if found else None), seed, seat)
    either = np.zeros((len(value), len(attributes)))
    half = (sweeps + 1) // 2
    first = round(UNSETTLED * half)
    for chain in (one, other):
        own = _Counts(chain.cohort, n_tuples)
        for number in range(half):
            for counted, worlds in chain.sweep():
                if number >= first:
                    own.add(counted, worlds)
        either = np.maximum(either, own.likeliest(attributes))
        both.add_all(own)
    most = both.likeliest(attributes)
    if found is not None:
        n_possible = found.least[found.cohorts.number, : len(attributes)]
        most[(most >= 1) & (n_possible > 1)] = 0.0
    return Likely(most, either, 2 * (half - first), one.moved + other.moved)


def far_from(
    classes: IntArray, value: IntArray, seat: IntArray | None = None, found: Kept | None = None
) -> IntArray:
    """Return the tuples (n,) of a world in which many differ, by signatures and the worlds that were `found`.

    In each balanced signature, everybody has the tuple of the next position. Of the worlds that were found,
    those are taken in which nobody differs who does so already. O(n r log n + changes).
    """
    far, changed = value.copy(), np.zeros(len(value), dtype=bool)
    if seat is not None and (changed := balanced(classes, value, seat)).any():
        seats, first, own = np.unique(seat[changed], axis=0, return_index=True, return_inverse=True)
        start, end = (np.searchsorted(seats[:, 0], seats[:, 0], side) for side in ("left", "right"))
        following = np.arange(1, len(seats) + 1)
        following = np.where(following == end, start, following)
        far[changed] = value[changed][first][following[own.reshape(-1)]]
    if found is not None:
        begin = np.flatnonzero(np.diff(found.world, prepend=-1))
        for rows in np.split(np.arange(len(found.world)), begin[1:]):
            subject = found.subject[rows]
            if not changed[subject].any():
                far[subject], changed[subject] = found.value[rows], True
    return far


class Chain:
    """The Markov chain over worlds: `value` (n,) is the tuple of each subject in the one that it is at."""

    def __init__(self, classes: IntArray, value: IntArray, seed: int, seat: IntArray | None = None) -> None:
        self.value = value.copy()
        self.moved = 0
        self.everybody = np.ones(len(value), dtype=bool)
        self._rng = np.random.default_rng(seed)
        self._random = random.Random(seed)  # noqa: S311 -- no secret; for walks, where single numbers are drawn
        cohorts = cohorts_of(classes)
        self.cohort, self.n_present = cohorts.number, cohorts.n_present[cohorts.number]
        self._n_cohorts = len(cohorts.size)
        self._by_cohort = stable_order(self.cohort)
        self._place = cohorts.place[cohorts.number]
        self.sides = divisions(cohorts)
        subject, release = np.nonzero(self._place != ABSENT)
        number = self._place[subject, release]
        order = stable_order(number)
        # Who is in which class, class by class, and the tuples that are published there.
        self._member, self._class = subject[order], number[order]
        self._start = np.searchsorted(self._class, np.arange(cohorts.n_classes + 1))
        self._published = value[self._member]
        self._n_tuples = int(value.max(initial=-1)) + 1
        self._seats = None if seat is None else _Seats.of(value, seat, self._member, self._class)

    def sweep(self) -> list[tuple[BoolArray, list[IntArray]]]:
        """Make every move; return who counts (n,), and the worlds in which they do: tuples of everybody (n,).

        Whoever may interchange does so as likely as not, so that both worlds count. Whoever has a seat is
        counted by what can be exchanged within the signature, and others by all other moves.
        """
        unseated = self.everybody if self._seats is None else self._seats.nobody
        worlds = []
        self.shuffle()
        # In two for each other tuple, so that every pair of them is met now and then.
        n_exchanges = min(max(2 * (self._n_tuples - 1), LEAST_EXCHANGES), MOST_EXCHANGES)
        for number in self._rng.integers(len(self.sides), size=n_exchanges if unseated.any() else 1).tolist():
            self.exchange(self.sides[number])
            worlds.append(self._world())
        found = [(unseated, [*worlds, *self.interchange()])]
        if self._seats is not None:
            found.append((self.everybody, [*self.interchange_seats()]))
        for _ in range(BLOCKS):
            self.redraw()
        return found

    def _world(self) -> NDArray[np.signedinteger]:
        """Return the tuples that everybody has now, (n,): those of all worlds of a sweep are in memory."""
        return self.value.astype(np.int16 if self._n_tuples < 1 << 15 else np.int64)

    def shuffle(self) -> None:
        """Let the members of every cohort change places."""
        drawn = random_order(self.cohort, self._n_cohorts, self._rng)
        self.value[self._by_cohort] = self.value[drawn]

    def exchange(self, side: tuple[IntArray, IntArray]) -> None:
        """Exchange pairs of tuples along cycles that are walked, over a division's two sides. O(n log n)."""
        partner, pair = self._pairs()
        n_pairs = int(pair.max(initial=-1)) + 1
        way = np.where(partner < 0, 2 * n_pairs, 2 * pair + (np.arange(len(partner)) < partner))
        # Subjects of one cohort with one tuple lead from the same end to the same: they are one arc.
        codes = (way * self._n_cohorts)[self.value] + self.cohort
        arcs, arc = numbered_codes(codes, (2 * n_pairs + 1) * self._n_cohorts)
        on_cycle = np.zeros(len(arcs), dtype=bool)
        arcs = arcs[: np.searchsorted(arcs, 2 * n_pairs * self._n_cohorts)]  # without those of no pair
        way, cohort = np.divmod(arcs, self._n_cohorts)
        ends = np.stack([side[0][cohort], side[1][cohort]])
        span = int(max(side[0].max(initial=0), side[1].max(initial=0))) + 1
        ends = np.where(way & 1, ends, ends[::-1]) + (way >> 1) * span
        n_ends, place = number_codes(ends.reshape(-1), n_pairs * span)
        tail, head = np.split(place, 2)
        # No cycle leaves a strongly connected component, and reversing one leaves all components.
        on_cycle[: len(arcs)] = arcs_on_cycles(tail, head, n_ends)
        rows = np.flatnonzero(on_cycle[arc])
        arc = arc[rows]
        subject = rows[self._walks(tail[arc], head[arc], n_ends)]
        self.value[subject] = partner[self.value[subject]]
        self.moved += len(subject)

    def _walks(self, tail: IntArray, head: IntArray, n_ends: int) -> IntArray:
        """Walk until an end comes again and turn the cycle's arrows, often; return those that are turned.

        `tail` and `head` (arrows,) are ends, of which there are `n_ends`. How many walks there are follows
        from what no exchange changes: about one in which every arrow is met. Few are met: memoryviews
        read single numbers without copying the rest. O(arrows log arrows + n_ends).
        """
        if not len(tail):
            return tail
        draw = self._random.random
        # Arrows by the end that they lead from, whose number no cycle changes.
        degree = np.bincount(tail, minlength=n_ends)
        now = head.copy()
        arrows, heads, begin = stable_order(tail).data, now.data, tail.data
        first, many = (np.cumsum(degree) - degree).data, degree.data
        most = 2 + 2 * len(tail) // (1 + math.isqrt(int((degree > 0).sum())))
        for _ in range(self._random.randrange(most)):
            end = begin[int(draw() * len(begin))]
            met: dict[int, int] = {}
            path: list[int] = []
            while end not in met:
                met[end] = len(path)
                place = first[end] + int(draw() * many[end])
                path.append(place)
                end = heads[arrows[place]]
            # At each end of the cycle the arrow that came takes the place of the one that leaves.
            came = arrows[path[-1]]
            for source, place in zip(list(met)[met[end] :], path[met[end] :], strict=True):
                arrow = arrows[place]
                arrows[place], heads[arrow], came = came, source, arrow
        return np.flatnonzero(now != head)

    def interchange(self) -> tuple[IntArray, IntArray]:
        """Exchange pairs of tuples in components of subjects who are matched in every class."""
        partner, pair = self._pairs()
        own = self.value[self._member]
        known = np.flatnonzero(partner[own] >= 0)
        own = own[known]
        group = self._class[known] * self._n_tuples + pair[own]
        other = np.where(partner[self.value] >= 0, partner[self.value], self.value)
        return self._matched(self._member[known], group, own < partner[own], other)

    def interchange_seats(self) -> tuple[IntArray, IntArray]:
        """Exchange the tuples of two positions of each signature, within the signature."""
        seats = self._seats
        if seats is None:
            return self.value, self.value
        one, other = seats.two(self._rng)
        own = self.value[seats.member]
        low, high = one[seats.signature], other[seats.signature]
        known = (low != high) & ((own == low) | (own == high))
        swapped = self.value.copy()
        swapped[seats.member[known]] = np.where(own == low, high, low)[known]
        return self._matched(seats.member[known], seats.group[known], (own == low)[known], swapped)

    def redraw(self) -> None:
        """Draw the tuples of a few subjects anew, of all that leave each class its tuples."""
        block = self._block()
        if len(block) < 2:
            return
        places = [[one for one in row if one != ABSENT] for row in self._place[block].tolist()]
        before = self.value[block].tolist()
        drawn = self._drawn(places, before)
        if drawn is not None and drawn != before:
            self.moved += sum(one != other for one, other in zip(before, drawn, strict=True))
            self.value[block] = drawn

    def _pairs(self) -> tuple[IntArray, IntArray]:
        """Draw pairs of tuples that are in one class, each in one pair at most: the other, and which pair.

        By what is published alone, which is the same in all worlds.
        """
        n_draws = min(4 * self._n_tuples, DRAWS)
        entry = self._rng.integers(len(self._member), size=n_draws)
        first, end = self._start[self._class[entry]], self._start[self._class[entry] + 1]
        mate = first + (self._rng.random(n_draws) * (end - first)).astype(np.int64)
        partner, pair = (np.full(self._n_tuples, -1, dtype=np.int64) for _ in range(2))
        found: dict[int, int] = {}
        drawn = zip(self._published[entry].tolist(), self._published[mate].tolist(), strict=True)
        for one, other in drawn:
            if one != other and one not in found and other not in found:
                found[one], found[other] = other, one
                pair[[one, other]] = len(found) // 2 - 1
        partner[list(found)] = list(found.values())
        return partner, pair

    def _exchanged(self, rows: IntArray, other: IntArray, part: IntArray) -> tuple[IntArray, IntArray]:
        """Give all `rows` of a part their `other` tuples, or none; return what they have without and with."""
        before = self._world()
        after = before.copy()
        after[rows] = other
        heads = self._rng.random(int(part.max(initial=-1)) + 1) < HALF
        taken = rows[heads[part]]
        self.value[taken] = after[taken]
        self.moved += len(taken)
        return before, after

    def _matched(
        self, member: IntArray, group: IntArray, lower: BoolArray, other: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Match those of a group who have the lower tuple with those who have not; exchange by components.

        `member`, `group`, `lower` (entries,): who is in which class with which of two tuples; `other` (n,).
        """
        key = 2 * group + lower
        order = random_order(key, int(key.max(initial=0)) + 1, self._rng)
        member, key = member[order], key[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        length = np.diff(np.append(first, len(key)))
        rank = np.arange(len(key)) - np.repeat(first, length)
        # The two halves of a group are next to one another; who ranks past the shorter has no match.
        twin = np.zeros(len(first), dtype=np.int64)
        both = np.flatnonzero(np.diff(key[first] // 2) == 0) if len(first) else first
        twin[both] = twin[both + 1] = np.minimum(length[both], length[both + 1])
        matched = rank < np.repeat(twin, length)
        high = key % 2 == 1
        ends = member[matched & high], member[matched & ~high]
        n = len(self.value)
        graph = coo_array((np.ones(len(ends[0]), dtype=np.int8), ends), (n, n))
        label = connected_components(graph, directed=False)[1].astype(np.int64)
        free = np.zeros(n, dtype=bool)
        free[label[member]] = True
        free[label[member[~matched]]] = False
        rows = np.zeros(n, dtype=bool)
        rows[member] = True
        chosen = np.flatnonzero(rows & free[label])
        return self._exchanged(chosen, other[chosen], label[chosen])

    def _block(self) -> list[int]:
        """Draw a few subjects, each of a class of one before; by classes alone, whoever has which tuple."""
        size = 2 + self._drawn_below(BLOCK - 1)
        block = [self._drawn_below(len(self.value))]
        for _ in range(4 * size):
            if len(block) == size:
                break
            row = self._place[block[self._drawn_below(len(block))]]
            there = row[row != ABSENT]
            if not len(there):
                continue
            first, end = self._start[int(there[self._drawn_below(len(there))]) :][:2].tolist()
            mate = int(self._member[first + self._drawn_below(end - first)])
            if mate not in block:
                block.append(mate)
        return block

    def _drawn(self, places: list[list[int]], before: list[int]) -> list[int] | None:
        """Draw one of all ways to give a block's subjects its tuples; None if there are too many to count."""
        need = Counter((one, own) for row, own in zip(places, before, strict=True) for one in row)
        tuples, drawn = sorted(set(before)), list(before)
        given: list[int] = []
        n_found = n_steps = 0

        def go_on() -> bool:
            nonlocal n_found, n_steps, drawn
            n_steps += 1
            if n_steps > STEPS:
                return False
            if len(given) == len(places):
                n_found += 1
                if self._drawn_below(n_found) == 0:
                    drawn = list(given)
                return True
            row = places[len(given)]
            for each in tuples:
                if any(need[one, each] == 0 for one in row):
                    continue
                need.subtract((one, each) for one in row)
                given.append(each)
                whole = go_on()
                given.pop()
                need.update((one, each) for one in row)
                if not whole:
                    return False
            return True

        return drawn if go_on() else None

    def _drawn_below(self, n: int) -> int:
        return int(self._rng.random() * n)


@dataclass(frozen=True)
class _Seats:
    """Who is in which class with which signature, (entries,), and the tuples of a signature's positions."""

    member: IntArray
    signature: IntArray
    group: IntArray
    start: IntArray
    tuples: IntArray
    nobody: BoolArray  # who has none, (n,)

    @classmethod
    def of(cls, value: IntArray, seat: IntArray, member: IntArray, place: IntArray) -> _Seats | None:
        seated = seat[:, 0] >= 0
        if not seated.any():
            return None
        seats, first = np.unique(seat[seated], axis=0, return_index=True)
        numbers, start = np.unique(seats[:, 0], return_index=True)
        mine = np.flatnonzero(seated[member])
        signature = np.searchsorted(numbers, seat[member[mine], 0])
        group = place[mine] * len(numbers) + signature
        tuples = value[seated][first]
        return cls(member[mine], signature, group, np.append(start, len(seats)), tuples, ~seated)

    def two(self, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Return the tuples of two positions of each signature; the same one where there is one position."""
        length = np.diff(self.start)
        one = (rng.random(len(length)) * length).astype(np.int64)
        step = 1 + (rng.random(len(length)) * (length - 1)).astype(np.int64)
        first = self.start[:-1]
        return self.tuples[first + one], self.tuples[first + (one + step) % length]


class _Counts:
    """How often members of each cohort had each tuple."""

    def __init__(self, cohort: IntArray, n_tuples: int) -> None:
        self._cohort, self._n_tuples = cohort, n_tuples
        self._first, self._span = cohort * n_tuples, (int(cohort.max(initial=-1)) + 1) * n_tuples
        self._codes, self._times = (np.empty(0, dtype=np.int64) for _ in range(2))
        self._new: list[IntArray] = []
        self._new_times: list[IntArray] = []
        self._n_new = 0

    def add(self, counted: BoolArray, worlds: list[IntArray]) -> None:
        """Count the tuples that those of `counted` (n,) have in worlds (n,).

        The last one counts for all, and every change on the way to it corrects that: O(n) a world, but only
        changes are kept.
        """
        self._add(np.flatnonzero(counted), worlds[-1], len(worlds))
        for times, (one, other) in enumerate(pairwise(worlds), start=1):
            changed = np.flatnonzero(one != other)
            changed = changed[counted[changed]]
            self._add(changed, one, times)
            self._add(changed, other, -times)
        if self._n_new > KEPT:
            self._count()

    def add_all(self, other: _Counts) -> None:
        """Add what another one counted, of the same cohorts and tuples."""
        self._new += [other._codes, *other._new]
        self._new_times += [other._times, *other._new_times]
        self._count()

    def _add(self, subject: IntArray, world: IntArray, times: int) -> None:
        self._new.append(self._first[subject] + world[subject])
        self._new_times.append(np.full(len(subject), times))
        self._n_new += len(subject)

    def _count(self) -> None:
        """Count what is new: many times the same."""
        codes = np.concatenate([self._codes, *self._new])
        self._codes, place = numbered_codes(codes, self._span)
        times = np.bincount(place, np.concatenate([self._times, *self._new_times]))
        self._times = times.astype(np.int64)
        self._new, self._new_times, self._n_new = [], [], 0

    def likeliest(self, attributes: tuple[Attribute, ...]) -> FloatArray:
        """Return the share of the likeliest value of each attribute in each subject's cohort, (n, s)."""
        if self._new:
            self._count()
        cohort, tuples = self._codes // self._n_tuples, self._codes % self._n_tuples
        total = np.bincount(cohort, self._times)
        most = np.zeros((len(total), len(attributes)))
        for place, each in enumerate(attributes):
            rank, reach = _ranked(each)
            span = len(reach) + 1
            keys, at = np.unique(cohort * span + rank[tuples], return_inverse=True)
            before = np.append(0.0, np.cumsum(np.bincount(at.reshape(-1), self._times)))
            end = np.searchsorted(keys, keys // span * span + reach[keys % span])
            np.maximum.at(most[:, place], keys // span, before[end] - before[:-1])
        return np.asarray((most / np.maximum(total, 1)[:, None])[self._cohort])


def _ranked(attribute: Attribute) -> tuple[IntArray, IntArray]:
    """Return the rank of each tuple's value, and for each rank the first that is not near it, (ranks,)."""
    if attribute.number is None or not attribute.width:
        return attribute.value, np.arange(int(attribute.value.max(initial=0)) + 1) + 1
    numbers = np.unique(attribute.number)
    rank = np.searchsorted(numbers, attribute.number)[attribute.value]
    return rank, np.searchsorted(numbers, numbers + attribute.width, side="right")
