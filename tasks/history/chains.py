"""Chains of exchanges: a person takes another value, others change theirs, and all classes keep theirs.

Whoever takes the value b and gives up a leaves each of their classes with one b too many and one a too few.
Somebody in such a class who gives up b for a makes that good, and perhaps the same in further classes that
both are in; in others a new excess arises, which somebody else has to make good. The search goes on until
every class is even. A chain is told only after it was counted that every class keeps its values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tasks.history.cohorts import ABSENT
from tasks.types import BoolArray, IntArray

VISITS = 300  # changes that are tried in one search, after which it ends without a chain
MOST_PEOPLE = 40  # of a chain
MOST_UNEVEN = 48  # values too many or too few, over all classes, on the way to a chain
MOST_OUT = 8  # people who leave for one chain


@dataclass(frozen=True)
class Chain:
    """Who takes which value, `changed`, and who has to leave the last release for it, `out`."""

    changed: tuple[tuple[int, int], ...]
    out: tuple[int, ...] = ()


@dataclass
class _Exchange:
    """A chain on the way: how much too many or too few each class has of each value, `uneven`.

    `values` are those that may be taken, `n_out` how many may still leave, `left` how many changes may still
    be tried.
    """

    values: tuple[int, ...]
    n_out: int
    left: int
    uneven: dict[tuple[int, int], int] = field(default_factory=dict)
    total: int = 0
    changed: dict[int, int] = field(default_factory=dict)
    out: list[int] = field(default_factory=list)

    def count(self, place: int, value: int, step: int) -> None:
        """Count a value more (1) or less (-1) in a class."""
        before = self.uneven.pop((place, value), 0)
        if before + step:
            self.uneven[place, value] = before + step
        self.total += abs(before + step) - abs(before)


class Chains:
    """Looks for chains among n subjects of r releases.

    `classes` (n, r): the class of each in each release, or `ABSENT`; `value` (n,); `may` (n,): who may be
    left out of the last release for a chain. `gone` (n,) are those who were, and `visits` counts the changes
    that were tried. Memory O(n r).
    """

    def __init__(self, classes: IntArray, value: IntArray, may: BoolArray) -> None:
        self.gone = np.zeros(len(value), dtype=bool)
        self.visits = 0
        self._may = may
        self._value: list[int] = value.tolist()
        first = np.concatenate([[0], np.cumsum(classes.max(axis=0, initial=ABSENT) + 1)])
        self._last = int(first[-2])
        self._place = np.where(classes == ABSENT, ABSENT, classes + first[:-1])
        self._places_of: dict[int, list[int]] = {}
        self._with_value: dict[int, dict[int, list[int]]] = {}

    @cached_property
    def _members(self) -> list[list[int]]:
        """Return who is in each class: those in the fewest other classes first."""
        subject, release = np.nonzero(self._place != ABSENT)
        place = self._place[subject, release]
        n_present = (self._place != ABSENT).sum(axis=1)
        order = np.lexsort((subject, n_present[subject], place))
        ends = np.cumsum(np.bincount(place, minlength=int(self._place.max(initial=-1)) + 1))
        return [part.tolist() for part in np.split(subject[order], ends[:-1])]

    def find(self, subject: int, other: int, *, third: bool = False) -> Chain | None:
        """Return a chain by which the subject has the `other` value; None if none is found.

        Others take one of the two values, or with a `third` any in the subject's classes. As few leave as
        a search tells that allows for nobody, for one, and so on.
        """
        own = self._value[subject]
        values: tuple[int, ...] = (own, other)
        if third:
            values = tuple(
                sorted({each for place in self._places(subject) for each in self._by_value(place)})
            )
        for n_out in range(MOST_OUT + 1 if self._may.any() else 1):
            exchange = _Exchange(values, n_out, VISITS)
            self._take(exchange, subject, other, 1)
            found = self._even(exchange)
            self.visits += VISITS - exchange.left
            if found:
                chain = Chain(tuple(exchange.changed.items()), tuple(exchange.out))
                return chain if self._keeps(chain) else None
        return None

    def values_beside(self, subject: int) -> IntArray:
        """Return the other values in all of the subject's classes, the last apart where they may leave it."""
        places = self._places(subject)
        if self._may[subject]:
            places = [place for place in places if place < self._last] or places
        found = set(self._by_value(places[0])) if places else set()
        for place in places[1:]:
            found &= self._by_value(place).keys()
        return np.array(sorted(found - {self._value[subject]}), dtype=np.int64)

    def leave(self, chain: Chain) -> None:
        """Leave out of the last release whom the chain needs to."""
        self.gone[list(chain.out)] = True

    def _places(self, subject: int) -> list[int]:
        places = self._places_of.get(subject)
        if places is None:
            places = [place for place in self._place[subject].tolist() if place != ABSENT]
            self._places_of[subject] = places
        if self.gone[subject]:
            return [place for place in places if place < self._last]
        return places

    def _by_value(self, place: int) -> dict[int, list[int]]:
        """Return who in a class has each value, in the order of its members."""
        found = self._with_value.get(place)
        if found is None:
            found = self._with_value[place] = {}
            for mate in self._members[place]:
                found.setdefault(self._value[mate], []).append(mate)
        return found

    def _take(self, exchange: _Exchange, subject: int, other: int, step: int) -> None:
        """Give a subject another value in all their classes, or with `step` -1 their own again."""
        own = self._value[subject]
        if step > 0:
            exchange.changed[subject] = other
        else:
            del exchange.changed[subject]
        for place in self._places(subject):
            exchange.count(place, other, step)
            exchange.count(place, own, -step)

    def _leave(self, exchange: _Exchange, subject: int, step: int) -> None:
        """Leave a subject who took another value out of the last class, or with `step` -1 not."""
        place = self._places(subject)[-1]
        exchange.n_out -= step
        if step > 0:
            exchange.out.append(subject)
        else:
            exchange.out.pop()
        exchange.count(place, exchange.changed[subject], -step)
        exchange.count(place, self._value[subject], step)

    def _even(self, exchange: _Exchange) -> bool:
        """Make all classes even by further changes; tell whether that went."""
        if not exchange.uneven:
            return True
        place, mates, leavers = self._hardest(exchange)
        for change, subject, other in self._changes(exchange, place, mates, leavers):
            if exchange.total + change > MOST_UNEVEN:
                break
            if exchange.left <= 0:
                return False
            exchange.left -= 1
            if other == ABSENT:
                self._leave(exchange, subject, 1)
            else:
                self._take(exchange, subject, other, 1)
            if self._even(exchange):
                return True
            if other == ABSENT:
                self._leave(exchange, subject, -1)
            else:
                self._take(exchange, subject, other, -1)
        return False

    def _hardest(self, exchange: _Exchange) -> tuple[int, list[int], list[int]]:
        """Return the class that has a value too often and the fewest to make that good, and who they are.

        As the members who may give it up, and those who took it and may leave.
        """
        found: tuple[int, list[int], list[int]] = (ABSENT, [], [])
        fewest = -1
        for (place, value), excess in exchange.uneven.items():
            if excess < 0:
                continue
            mates = self._mates(exchange, place, value)
            leavers = self._leavers(exchange, place, value)
            n = len(mates) + len(leavers)
            if n < excess:
                return place, [], []
            if fewest < 0 or n < fewest:
                found, fewest = (place, mates, leavers), n
        return found

    def _mates(self, exchange: _Exchange, place: int, value: int) -> list[int]:
        """Return who in a class may give up a value."""
        return [
            mate
            for mate in self._by_value(place).get(value, ())
            if mate not in exchange.changed and not (place >= self._last and self.gone[mate])
        ]

    def _leavers(self, exchange: _Exchange, place: int, value: int) -> list[int]:
        """Return who took a value and may leave a class, if it is of the last release."""
        if place < self._last or not exchange.n_out:
            return []
        took = [one for one, taken in exchange.changed.items() if taken == value and one not in exchange.out]
        return [one for one in took if self._may[one] and self._places(one)[-1] == place]

    def _changes(
        self, exchange: _Exchange, place: int, mates: list[int], leavers: list[int]
    ) -> list[tuple[int, int, int]]:
        """Return who could take which value, or leave (`ABSENT`), and how much more is uneven then.

        Best first: as (change, subject, value).
        """
        found = []
        if len(exchange.changed) < MOST_PEOPLE:
            for mate in mates:
                own, places = self._value[mate], self._places(mate)
                for value in exchange.values:
                    if value == own:
                        continue
                    change = 0
                    for one in places:
                        change += 1 if exchange.uneven.get((one, own), 0) <= 0 else -1
                        change += 1 if exchange.uneven.get((one, value), 0) >= 0 else -1
                    found.append((change, mate, value))
        for one in leavers:
            change = -1 if exchange.uneven[place, exchange.changed[one]] > 0 else 1
            change += -1 if exchange.uneven.get((place, self._value[one]), 0) < 0 else 1
            found.append((change, one, ABSENT))
        return sorted(found)

    def _keeps(self, chain: Chain) -> bool:
        """Tell whether every class keeps its values where those of the chain take theirs, each one value."""
        net: dict[tuple[int, int], int] = {}
        out = set(chain.out)
        for one, taken in chain.changed:
            for place in self._places(one):
                if place < self._last or one not in out:
                    for value, step in ((taken, 1), (self._value[one], -1)):
                        net[place, value] = net.get((place, value), 0) + step
        return not any(net.values())
