"""Who gets which seat: signatures and positions for newcomers, so that every position is held as often.

Whoever has a seat keeps it. Where some left, newcomers with the same tuple of values take their positions;
the other newcomers make buckets, one person a position, of signatures that give each attribute enough values.
Buckets of the same tuples share a signature, or, if they are local, each is one of people who are near one
another. Whoever has no counterpart waits for a later period.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linear_sum_assignment

from tasks.history.attribute import Attribute, least_values
from tasks.history.placing import parts
from tasks.history.signatures import NONE, TOGETHER
from tasks.history.vacancies import Tuples, bucket_counts
from tasks.history.worlds import distinct_values
from tasks.types import BoolArray, FloatArray, IntArray

MOST = 8  # people of numbers that are joined to one signature
CHUNK = 0.02  # of the newcomers: so many buckets are made of one signature before another is chosen
PLENTY = 0.3  # a counterpart that is nearer is taken if it is at least this share of the most frequent one
REGION = 1_000  # newcomers who make buckets with one another, at most
NEAR = 60  # the same, if buckets are local
RARE = 0.02  # of a region, at least, who have none of the most frequent values
NEAREST = 512  # tuples on either side that are looked at where there are very many


@dataclass
class Joins:
    """The signature of each number of buckets, and how many people each signature has had."""

    signature: dict[int, int] = field(default_factory=dict)
    people: Counter[int] = field(default_factory=Counter)

    def may_join(self, one: int, other: int) -> bool:
        """Tell whether two numbers are of one signature, or would be of one of few people."""
        a, b = self.signature[one], self.signature[other]
        return a == b or self.people[a] + self.people[b] <= MOST

    def join(self, one: int, other: int) -> None:
        """Make two numbers one signature."""
        a, b = self.signature[one], self.signature[other]
        if a != b:
            self.people[a] += self.people.pop(b)
            self.signature |= {each: a for each, of in self.signature.items() if of == b}


def seated(
    value: IntArray,
    seat: IntArray,
    signatures: Mapping[int, Tuples],
    attributes: tuple[Attribute, ...],
    enough: int,
    points: FloatArray,
    joins: Joins | None = None,
) -> IntArray:
    """Return seats (m, 2) of m records, -1 for those who wait; whoever has a `seat` (m, 2) keeps it or waits.

    `value` (m,) are their tuples, `signatures` those of every number that was given before, `points` (m, d)
    where the records lie: counterparts are chosen near. With `joins` they are local: each number is of a few
    buckets of people who are near one another, and has enough values without any one of them; and who would
    wait takes the seat of somebody who left another number of the same tuples. O(m log m), and tuples for
    each signature that is made.
    """
    given = seat.copy()
    free = np.flatnonzero(seat[:, 0] < 0)
    n_tuples = len(attributes[0].value)
    left = np.bincount(value[free], minlength=n_tuples)
    for each, places in _vacant(given, signatures, left).items():
        vacant = np.array(places, dtype=np.int64).reshape(-1, 2)
        rows = free[value[free] == each]
        near = (
            np.arange(len(vacant))
            if joins is None
            else _nearest(_middles_of(given, points)[vacant[:, 0]], points[rows])
        )
        given[rows[near]] = vacant
    last = max(signatures, default=NONE)
    waiting = free[given[free, 0] < 0]
    if joins is None:
        number = {tuples: one for one, tuples in signatures.items()}
        for near in _regions(waiting, value, attributes, enough, points, REGION):
            amount = _amounts(near, value, number, attributes, enough, points)
            last = _seat_anywhere(given, near, value, amount, number, last)
        return given
    _move(given, seat, signatures, points, joins)
    known = {*signatures.values()}
    for near in _regions(waiting, value, attributes, enough, points, NEAR):
        amount = _amounts(near, value, known, attributes, enough, points)
        known |= {*amount}
        last = _seat_near(given, near, value, amount, points, last)
    new = waiting[given[waiting, 0] >= 0]
    given[new, 0] = _together(given[new, 0], points[new], max(signatures, default=NONE) + 1)
    return given


def _together(number: IntArray, points: FloatArray, first: int) -> IntArray:
    """Return numbers (m,) from `first` on in which buckets that are near one another follow each other.

    Two or three are together: each (`number // TOGETHER`) has more people than a bucket.
    """
    buckets, place = np.unique(number, return_inverse=True)
    place = place.reshape(-1)
    middle = _middles(points, place, len(buckets))
    found = np.empty(len(buckets), dtype=np.int64)
    parts = [np.arange(len(buckets))] if len(buckets) else []
    unit = -(-first // TOGETHER)
    while parts:
        part = parts.pop()
        if len(part) < TOGETHER:
            found[part] = TOGETHER * unit + np.arange(len(part))
            unit += 1
            continue
        axis = int(np.ptp(middle[part], axis=0).argmax())
        order = part[np.argsort(middle[part, axis], kind="stable")]
        half = 2 * ((len(order) + 2) // 4)  # an odd one only in one half
        parts += [order[half:], order[:half]]
    return found[place]


def _move(
    given: IntArray, seat: IntArray, signatures: Mapping[int, Tuples], points: FloatArray, joins: Joins
) -> None:
    """Let those who would wait take seats that are vacant in another number of the same tuples, in place.

    Then the two numbers are one signature.
    """
    over: dict[Tuples, dict[int, dict[int, list[int]]]] = {}
    for row in np.flatnonzero((seat[:, 0] >= 0) & (given[:, 0] < 0)).tolist():
        number, position = seat[row].tolist()
        over.setdefault(signatures[number], {}).setdefault(number, {}).setdefault(position, []).append(row)
    for tuples, numbers in over.items():
        for number in sorted(numbers, key=lambda one: (len(tuples) - len(numbers[one]), one)):
            here = numbers[number]
            while here:
                taken: list[tuple[int, int, int]] = []
                some = next(iter(here.values()))[0]
                for position in set(range(len(tuples))) - {*here}:
                    others = [
                        (row, other)
                        for other, there in numbers.items()
                        if other != number and position in there and joins.may_join(number, other)
                        for row in there[position]
                    ]
                    if not others:
                        break
                    apart = ((points[[row for row, _ in others]] - points[some]) ** 2).sum(axis=1)
                    taken.append((*others[int(apart.argmin())], position))
                if len(taken) + len(here) < len(tuples):
                    break
                for row, other, position in taken:
                    joins.join(number, other)
                    given[row] = number, position
                    _take(numbers[other], position, row)
                for position in [*here]:
                    row = here[position][0]
                    given[row] = number, position
                    _take(here, position, row)


def _take(of: dict[int, list[int]], position: int, row: int) -> None:
    of[position].remove(row)
    if not of[position]:
        del of[position]


def _regions(
    rows: IntArray,
    value: IntArray,
    attributes: tuple[Attribute, ...],
    enough: int,
    points: FloatArray,
    most: int,
) -> list[IntArray]:
    """Divide records in halves where they lie apart, to `most` at most: values differ from place to place.

    No half is made in which hardly anybody has another value of some attribute than the most frequent ones.
    """
    if len(rows) <= most:
        return [rows] if len(rows) else []
    axis = int(points[rows].std(axis=0).argmax())
    halves = np.array_split(rows[np.argsort(points[rows, axis], kind="stable")], 2)
    if not all(_varied(value[half], attributes, enough) for half in halves):
        return [rows]
    return [
        part for half in halves for part in _regions(np.sort(half), value, attributes, enough, points, most)
    ]


def _varied(value: IntArray, attributes: tuple[Attribute, ...], enough: int) -> bool:
    counts = [np.sort(np.bincount(each.value[value]))[::-1] for each in attributes]
    rest = [count[least - 1 :] for count, least in zip(counts, least_values(attributes, enough), strict=True)]
    return all(int(each.sum()) >= RARE * len(value) for each in rest)


def _amounts(
    free: IntArray,
    value: IntArray,
    known: Collection[Tuples],
    attributes: tuple[Attribute, ...],
    enough: int,
    points: FloatArray,
) -> dict[Tuples, int]:
    """Return how many buckets the records `free` make of which tuples; `known` signatures are preferred."""
    left = np.bincount(value[free], minlength=len(attributes[0].value))
    middles = _middles(points[free], value[free], len(left))
    made = _Buckets(left, attributes, enough, middles, set(known))
    made.make(max(1, round(CHUNK * len(free))))
    return made.amount


def _seat_anywhere(
    given: IntArray,
    free: IntArray,
    value: IntArray,
    amount: Mapping[Tuples, int],
    number: dict[Tuples, int],
    last: int,
) -> int:
    """Give seats of the signatures of these tuples; new ones are added to `number`. Return the last one."""
    seats: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for tuples, n in amount.items():
        one = number.setdefault(tuples, last + 1)
        last = max(last, one)
        for position, each in enumerate(tuples):
            seats[each] += [(one, position)] * n
    for each, places in seats.items():
        rows = free[value[free] == each][: len(places)]
        given[rows] = np.array(places, dtype=np.int64).reshape(-1, 2)
    return last


def _seat_near(
    given: IntArray,
    free: IntArray,
    value: IntArray,
    amount: Mapping[Tuples, int],
    points: FloatArray,
    last: int,
) -> int:
    """Give each bucket a number of its own, of people near its middle so far; return the last one."""
    for tuples, n in amount.items():
        middle = np.zeros((n, points.shape[1]))
        for position, each in enumerate(tuples):
            rows = free[(given[free, 0] < 0) & (value[free] == each)]
            chosen = rows[_nearest(middle / position, points[rows])] if position else rows[:n]
            middle += points[chosen]
            given[chosen] = np.column_stack([last + 1 + np.arange(n), np.full(n, position)])
        last += n
    return last


def _middles_of(seat: IntArray, points: FloatArray) -> FloatArray:
    """Return where the people of each signature lie on average, by its number."""
    held = seat[:, 0] >= 0
    return _middles(points[held], seat[held, 0], int(seat[:, 0].max(initial=NONE)) + 1)


def _nearest(middle: FloatArray, points: FloatArray) -> IntArray:
    """Return for each of `middle` (n, d) one of the `points` (p, d), each once and together near; n <= p."""
    n, both = len(middle), np.concatenate([middle, points])
    chosen = np.empty(n, dtype=np.int64)
    for some, others in parts(np.arange(n), np.arange(n, len(both)), both, 0):
        apart = both[others][None] - both[some][:, None]
        slot, who = linear_sum_assignment((apart**2).sum(axis=2))
        chosen[some[slot]] = others[who] - n
    return chosen


def _vacant(
    given: IntArray, signatures: Mapping[int, Tuples], left: IntArray
) -> dict[int, list[tuple[int, int]]]:
    """Return for each tuple the seats that newcomers take; those of `given` who are over then wait.

    `left` counts the newcomers of each tuple, and is lowered by those who are placed.
    """
    places: dict[int, list[tuple[int, int]]] = defaultdict(list)
    kept = np.flatnonzero(given[:, 0] >= 0)
    seats, place = np.unique(given[kept], axis=0, return_inverse=True)
    place = place.reshape(-1)
    order = np.argsort(place, kind="stable")
    parts = np.split(kept[order], np.searchsorted(place[order], np.arange(1, len(seats))))
    held: dict[int, list[IntArray]] = {}
    for (number, position), rows in zip(seats.tolist(), parts, strict=False):
        held.setdefault(number, [kept[:0]] * len(signatures[number]))[position] = rows
    people = {number: np.array([len(rows) for rows in there]) for number, there in held.items()}
    for number, n_buckets in bucket_counts(signatures, people, left).items():
        for position, each in enumerate(signatures[number]):
            lack = max(0, n_buckets - int(people[number][position]))
            places[each] += [(number, position)] * lack
            left[each] -= lack
            given[held[number][position][n_buckets:]] = NONE
    return places


def _middles(points: FloatArray, value: IntArray, n_tuples: int) -> FloatArray:
    n = np.maximum(np.bincount(value, minlength=n_tuples), 1)
    return np.column_stack([np.bincount(value, column, minlength=n_tuples) / n for column in points.T])


class _Buckets:
    """Buckets of the newcomers that are `left` (tuples,) of each tuple: `amount` of each signature."""

    def __init__(
        self,
        left: IntArray,
        attributes: tuple[Attribute, ...],
        enough: int,
        middle: FloatArray,
        known: set[Tuples],
    ) -> None:
        self.amount: dict[Tuples, int] = {}
        self._left = left
        self._attributes = attributes
        self._least = least_values(attributes, enough)
        self._middle = middle
        self._known = known

    def make(self, chunk: int) -> None:
        """Make buckets, the most frequent tuple first; those who are left then join some, one a bucket."""
        by_place = (
            np.argsort(self._middle[:, 0], kind="stable") if len(self._middle) else np.empty(0, np.int64)
        )
        stuck = np.zeros(len(self._left), dtype=bool)
        while True:
            able = np.where(stuck, 0, self._left)
            first = int(able.argmax()) if len(able) else 0
            if not len(able) or able[first] == 0:
                break
            members = self._bucket(first, by_place)
            if members is None:
                stuck[first] = True
                continue
            tuples = tuple(sorted(members))
            amount = min(chunk, *(int(self._left[one]) // members.count(one) for one in members))
            self.amount[tuples] = self.amount.get(tuples, 0) + amount
            np.subtract.at(self._left, members, amount)
        for one in np.flatnonzero(self._left).tolist():
            self._join(one)

    def _bucket(self, first: int, by_place: IntArray) -> list[int] | None:
        """Return tuples that give each attribute enough values, `first` among them; None where none do."""
        members = [first]
        others = by_place[self._left[by_place] > 0]
        if len(others) > 2 * NEAREST:
            at = int(np.flatnonzero(others == first)[0])
            others = others[max(0, at - NEAREST) : at + NEAREST]
        distance = ((self._middle[others] - self._middle[first]) ** 2).sum(axis=1)
        while True:
            lacks = distinct_values(np.array(members), self._attributes) < self._least
            if not lacks.any():
                return members
            gain = self._gain(members, others, lacks)
            if not gain.any():
                return None
            best = np.flatnonzero(gain == gain.max())
            known = [i for i in best.tolist() if tuple(sorted((first, int(others[i])))) in self._known]
            if len(members) == 1 and known:
                best = np.array(known)
            n = self._left[others[best]]
            best = best[n >= PLENTY * n.max()]
            members.append(int(others[best[distance[best].argmin()]]))

    def _gain(self, members: list[int], others: IntArray, lacks: BoolArray) -> IntArray:
        """Return to how many attributes that lack values each of `others` adds one; 0 if none is left."""
        gain = np.zeros(len(others), dtype=np.int64)
        for attribute in (each for each, lack in zip(self._attributes, lacks.tolist(), strict=True) if lack):
            if attribute.number is None or not attribute.width:
                gain += ~np.isin(attribute.value[others], attribute.value[members])
            else:
                own, theirs = (
                    attribute.number[attribute.value[each]] for each in (np.array(members), others)
                )
                gain += (np.abs(theirs[:, None] - own) > attribute.width).all(axis=1)
        used = np.bincount(members, minlength=len(self._left))[others]
        return np.where(self._left[others] > used, gain, 0)

    def _join(self, one: int) -> None:
        """Let those who are left of a tuple join buckets, near ones first."""
        while self._left[one] > 0 and self.amount:

            def rank(tuples: Tuples) -> tuple[bool, int, float, Tuples]:
                distance = ((self._middle[list(tuples)] - self._middle[one]) ** 2).sum(axis=1)
                unused = tuple(sorted((*tuples, one))) not in self._known
                return unused, tuples.count(one), float(distance.min()), tuples

            near = min(self.amount, key=rank)
            amount = min(self.amount[near], int(self._left[one]))
            wider = tuple(sorted((*near, one)))
            self.amount[near] -= amount
            if not self.amount[near]:
                del self.amount[near]
            self.amount[wider] = self.amount.get(wider, 0) + amount
            self._left[one] -= amount
