"""Who gets which seat: buckets for newcomers, one person a position, of people who are near one another.

Whoever has a seat keeps it. Where somebody left, a newcomer with the same tuple of values takes the position,
or somebody of the same position in another bucket who would wait; then the two are one signature. The other
newcomers make new buckets that give each attribute enough values. Whoever has no counterpart waits for a
later period.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil

import numpy as np
from scipy.optimize import linear_sum_assignment

from tasks.history.attribute import Attribute, least_values
from tasks.history.placing import parts
from tasks.history.signatures import LARGER, NONE, TOGETHER
from tasks.history.vacancies import Tuples, bucket_counts
from tasks.history.worlds import distinct_values
from tasks.types import BoolArray, FloatArray, IntArray

MOST = 10  # people of numbers that are joined to one signature, and of a bucket where values are not rare
CHUNK = 0.02  # of the newcomers: so many buckets are made of one signature before another is chosen
PLENTY = 0.3  # a counterpart that is nearer is taken if it is at least this share of the most frequent one
NEAR, REGION = 60, 1_000  # newcomers who make buckets with one another, at most; and those who are left
RARE = 0.12  # of a region, at least, who have none of the most frequent values, or half the share of all
NEAREST = 512  # tuples on either side that are looked at where there are very many


@dataclass
class Joins:
    """The signature of each number of buckets, and how many people each signature has had."""

    signature: dict[int, int] = field(default_factory=dict)
    people: Counter[int] = field(default_factory=Counter)

    def may_join(self, numbers: Collection[int]) -> bool:
        """Tell whether numbers are of one signature, or would be of one of few people."""
        signatures = {self.signature[one] for one in numbers}
        return len(signatures) == 1 or sum(self.people[one] for one in signatures) <= MOST

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
    joins: Joins,
    together: int = 2,
) -> IntArray:
    """Return seats (m, 2) of m records, -1 for those who wait; whoever has a `seat` (m, 2) keeps it or waits.

    `value` (m,) are their tuples, `signatures` those of every number that was given before, `points` (m, d)
    where the records lie: counterparts are chosen near. New buckets make units of `together` or more.
    O(m log m), and tuples for each bucket.
    """
    given = seat.copy()
    free = np.flatnonzero(seat[:, 0] < 0)
    n_tuples = len(attributes[0].value)
    left = np.bincount(value[free], minlength=n_tuples)
    for each, places in _vacant(given, signatures, left).items():
        vacant = np.array(places, dtype=np.int64).reshape(-1, 2)
        rows = free[value[free] == each]
        given[rows[_nearest(_middles_of(given, points)[vacant[:, 0]], points[rows])]] = vacant
    _move(given, seat, signatures, points, joins)
    first = last = max(signatures, default=NONE) + 1
    for number, rows in _shared(given):
        given[rows], tuples = NONE, signatures[number]
        last = _seat_near(given, rows, value, {tuples: len(rows) // len(tuples)}, points, last)
    known, least = {*signatures.values()}, min(RARE, _others(value, attributes, enough) / 2)
    for most in (NEAR, REGION):
        rest = free[given[free, 0] < 0]
        for near in _regions(rest, value, attributes, enough, points, most, least):
            amount = _amounts(near, value, known, attributes, enough, points, least)
            known |= {*amount}
            last = _seat_near(given, near, value, amount, points, last)
    new = np.flatnonzero(given[:, 0] >= first)
    given[new, 0] = _together(given[new, 0], points[new], first, together)
    return given


def _shared(given: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Yield the numbers that more people have than lie together, with their rows: of earlier versions."""
    for number in np.flatnonzero(np.bincount(given[given[:, 0] >= 0, 0]) > MOST).tolist():
        rows = np.flatnonzero(given[:, 0] == number)
        if len(rows) > TOGETHER * (int(given[rows, 1].max()) + 1):
            yield number, rows


def _together(number: IntArray, points: FloatArray, first: int, least: int) -> IntArray:
    """Return numbers (m,) from `first` on in which buckets that are near one another follow each other.

    At least so many are together (`unit_of`), and less than twice as many.
    """
    buckets, place = np.unique(number, return_inverse=True)
    place = place.reshape(-1)
    middle = _middles(points, place, len(buckets))
    found = np.empty(len(buckets), dtype=np.int64)
    parts = [np.arange(len(buckets))] if len(buckets) else []
    each = TOGETHER if 2 * least > TOGETHER else 1  # numbers, of which a bucket has the last one
    n_numbers = TOGETHER * (LARGER if each > 1 else 1)
    unit = -(-first // n_numbers)
    while parts:
        part = parts.pop()
        if len(part) < 2 * least:
            found[part] = n_numbers * unit + each * np.arange(1, 1 + len(part)) - 1
            unit += 1
            continue
        axis = int(np.ptp(middle[part], axis=0).argmax())
        order = part[np.argsort(middle[part, axis], kind="stable")]
        half = least * ((len(order) + least) // (2 * least))  # what is over is in one half
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
                    joined = {number, *(other for _, other, _ in taken)}
                    others = [
                        (row, other)
                        for other, there in numbers.items()
                        if other != number and position in there and joins.may_join({*joined, other})
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
    least: float,
) -> list[IntArray]:
    """Divide records in halves where they lie apart, to `most` at most: values differ from place to place.

    No half is made in which fewer than `least` of them have another value of some attribute than the most
    frequent ones.
    """
    if len(rows) <= most:
        return [rows] if len(rows) else []
    axis = int(points[rows].std(axis=0).argmax())
    halves = np.array_split(rows[np.argsort(points[rows, axis], kind="stable")], 2)
    if any(_others(value[half], attributes, enough) < least for half in halves):
        return [rows]
    return [
        part
        for half in halves
        for part in _regions(np.sort(half), value, attributes, enough, points, most, least)
    ]


def _others(value: IntArray, attributes: tuple[Attribute, ...], enough: int) -> float:
    """Return the share who have none of the most frequent values, of the attribute of which it is least."""
    counts = [np.sort(np.bincount(each.value[value]))[::-1] for each in attributes]
    rest = [count[least - 1 :] for count, least in zip(counts, least_values(attributes, enough), strict=True)]
    return min(int(each.sum()) for each in rest) / max(len(value), 1)


def _amounts(
    free: IntArray,
    value: IntArray,
    known: Collection[Tuples],
    attributes: tuple[Attribute, ...],
    enough: int,
    points: FloatArray,
    least: float,
) -> dict[Tuples, int]:
    """Return how many buckets the records `free` make of which tuples; `known` signatures are preferred.

    None has more people than protect each other where `least` of them have one of the rarer values.
    """
    left = np.bincount(value[free], minlength=len(attributes[0].value))
    middles = _middles(points[free], value[free], len(left))
    made = _Buckets(
        left, attributes, enough, middles, set(known), max(MOST, ceil(1 / max(least, 1 / len(free))))
    )
    made.make(max(1, round(CHUNK * len(free))))
    return made.amount


def _seat_near(
    given: IntArray,
    free: IntArray,
    value: IntArray,
    amount: Mapping[Tuples, int],
    points: FloatArray,
    first: int,
) -> int:
    """Give each bucket a number of its own, of people near its middle so far; return the next one."""
    for tuples, n in amount.items():
        middle = np.zeros((n, points.shape[1]))
        for position, each in enumerate(tuples):
            rows = free[(given[free, 0] < 0) & (value[free] == each)]
            chosen = rows[_nearest(middle / position, points[rows])] if position else rows[:n]
            middle += points[chosen]
            given[chosen] = np.column_stack([first + np.arange(n), np.full(n, position)])
        first += n
    return first


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
        most: int,
    ) -> None:
        self.amount: dict[Tuples, int] = {}
        self._left = left
        self._attributes = attributes
        self._least = least_values(attributes, enough)
        self._middle = middle
        self._known = known
        self._most = most

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
        """Let those who are left of a tuple join buckets of few people, near ones first."""
        while self._left[one] > 0 and (open_ := [each for each in self.amount if len(each) < self._most]):

            def rank(tuples: Tuples) -> tuple[bool, int, float, Tuples]:
                distance = ((self._middle[list(tuples)] - self._middle[one]) ** 2).sum(axis=1)
                unused = tuple(sorted((*tuples, one))) not in self._known
                return unused, tuples.count(one), float(distance.min()), tuples

            near = min(open_, key=rank)
            amount = min(self.amount[near], int(self._left[one]))
            wider = tuple(sorted((*near, one)))
            self.amount[near] -= amount
            if not self.amount[near]:
                del self.amount[near]
            self.amount[wider] = self.amount.get(wider, 0) + amount
            self._left[one] -= amount
