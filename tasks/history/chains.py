"""Chains of exchanges: a person takes another value, others change theirs, and all classes keep theirs.

A chain starts with one person, who takes the value b and gives up a. In each class of that person somebody
has to give up b for a, or one b for c and another c for a; each of these in turn, in their other classes,
needs somebody who does the reverse. Where people are in three releases or more this is a tree, which no
division of the releases in two shows (`exchange`). A chain is told only after it was counted that every
class keeps its values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tasks.history.cohorts import ABSENT
from tasks.types import BoolArray, IntArray

VISITS = 2_000  # of people in one search, after which it ends without a chain


@dataclass(frozen=True)
class Chain:
    """Who takes which value, `changed`, and who has to leave the last release for it, `out`."""

    changed: tuple[tuple[int, int], ...]
    out: tuple[int, ...] = ()

    def __add__(self, other: Chain) -> Chain:
        return Chain(self.changed + other.changed, self.out + other.out)


class Chains:
    """Looks for chains among n subjects of r releases.

    `classes` (n, r): the class of each in each release, or `ABSENT`; `value` (n,); `may` (n,): who may be
    left out of the last release for a chain. `gone` (n,) are those who were, and `visits` counts the people
    who were looked at. Memory O(n r).
    """

    def __init__(self, classes: IntArray, value: IntArray, may: BoolArray) -> None:
        self.gone = np.zeros(len(value), dtype=bool)
        self._may, self._third = may, False
        self.visits = 0
        self._end = 0
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

    def find(self, subject: int, other: int, steps: int, *, third: bool = False) -> Chain | None:
        """Return a chain by which the subject has the `other` value, of so many steps; None if none is found.

        With a `third` value in a class where two do not do. Of those that are found step by step, one for
        which as few as possible leave.
        """
        self._third, self._end = third, self.visits + VISITS
        found = self._any(subject, other, self._places(subject), steps)
        return found if found is not None and self._even(found) else None

    def values_beside(self, subject: int) -> IntArray:
        """Return the other values in the subject's classes."""
        mates = {mate for place in self._places(subject) for mate in self._members[place]}
        return np.array(
            sorted({self._value[mate] for mate in mates} - {self._value[subject]}), dtype=np.int64
        )

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

    def _members_with(self, place: int, value: int) -> list[int]:
        """Return who in a class has a value, in the order of its members."""
        found = self._with_value.get(place)
        if found is None:
            found = self._with_value[place] = {}
            for mate in self._members[place]:
                found.setdefault(self._value[mate], []).append(mate)
        return found.get(value, [])

    def _any(self, subject: int, other: int, places: list[int], steps: int) -> Chain | None:
        """Return a chain that starts with the subject, in these of its classes."""
        found = self._all(subject, other, places, steps)
        if (found is not None and not found.out) or not self._may[subject]:
            return found
        before = [place for place in places if place < self._last]
        if len(before) == len(places):
            return found
        left = self._all(subject, other, before, steps)
        if left is not None and (found is None or len(left.out) + 1 < len(found.out)):
            return left + Chain((), (subject,))
        return found

    def _all(self, subject: int, other: int, places: list[int], steps: int) -> Chain | None:
        own = self._value[subject]
        parts: list[Chain] = []
        for place in places:
            best = self._taken(place, other, own, subject, steps)
            if best is None and self._third and steps:
                best = self._by_third(place, other, own, subject, steps)
            if best is None:
                return None
            parts.append(best)
        changed = ((subject, other), *(each for part in parts for each in part.changed))
        return Chain(changed, tuple(each for part in parts for each in part.out))

    def _taken(self, place: int, have: int, take: int, beside: int, steps: int) -> Chain | None:
        """Return a chain by which somebody in a class who has one value takes another, seen from elsewhere.

        Nobody `beside` whom they are; as few as possible leave.
        """
        best: Chain | None = None
        for mate in self._members_with(place, have):
            if mate == beside or (place >= self._last and self.gone[mate]):
                continue
            self.visits += 1
            if self.visits > self._end:
                return best
            elsewhere = [one for one in self._places(mate) if one != place]
            found: Chain | None
            if elsewhere:
                found = self._any(mate, take, elsewhere, steps - 1) if steps else None
            else:
                found = Chain(((mate, take),))
            if found is not None and (best is None or len(found.out) < len(best.out)):
                best = found
                if not best.out:
                    break
        return best

    def _by_third(self, place: int, have: int, take: int, beside: int, steps: int) -> Chain | None:
        """Return two such chains, by a third value: who has one takes it, and who has it takes the other."""
        for third in sorted({self._value[mate] for mate in self._members[place]} - {have, take}):
            one = self._taken(place, have, third, beside, steps - 1)
            other = one and self._taken(place, third, take, beside, steps - 1)
            if one is not None and other is not None:
                return one + other
        return None

    def _even(self, chain: Chain) -> bool:
        """Tell whether every class keeps its values where those of the chain take theirs, each one value."""
        net: dict[tuple[int, int], int] = {}
        changed = dict(chain.changed)
        if any(changed[one] != taken for one, taken in chain.changed):
            return False
        out = set(chain.out)
        for one, taken in changed.items():
            for place in self._places(one):
                if place < self._last or one not in out:
                    for value, step in ((taken, 1), (self._value[one], -1)):
                        net[place, value] = net.get((place, value), 0) + step
        return not any(net.values())
