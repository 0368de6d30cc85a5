"""Whom one known value unlocks: who has too few possible values left once one other person's are known.

Everybody who is in a table knows a true value, their own. A world that shows that q may have another value
protects q from a reader who knows p only if p keeps the own values in it, or if another world does. So each
such world is kept with the people without whom it is none: for members of one cohort the only one with the
other value, for an exchange along a cycle those who are on every such cycle (the bridges of a graph), for
other worlds everybody in it, and for a signature all of its two positions.

What is told is an upper bound: worlds that were not found may protect more people.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, permutations

import numpy as np

from tasks.history.attribute import Attribute, least_values
from tasks.history.cohorts import Cohorts, cohorts_of, published_of, values_shared, world_of
from tasks.history.exchange import arcs_on_cycles, divisions
from tasks.history.kept import Kept
from tasks.history.numbering import number_codes
from tasks.history.signatures import NONE, balanced
from tasks.history.stretches import stretches
from tasks.history.worlds import distinct_values
from tasks.types import BoolArray, IntArray

VISITS = 20_000_000  # nodes of graphs that are looked at, after which cycles are no longer looked for


@dataclass(frozen=True)
class Unlocked:
    """What one person's known values unlock, by the worlds that were found.

    `people` (p,): of how many others at most each person's values leave fewer than are asked for; `alone`
    (p,): whose protection names no single other person; `open` (p,): who has too few by these worlds,
    whoever is known. `spent` if a limit ended the search.
    """

    people: IntArray
    alone: BoolArray
    open: BoolArray
    spent: bool


def unlocked_by_one(
    classes: IntArray,
    value: IntArray,
    attributes: tuple[Attribute, ...],
    enough: int,
    person: IntArray,
    seat: IntArray | None = None,
    unit: IntArray | None = None,
    kept: Kept | None = None,
    visits: int = VISITS,
) -> Unlocked:
    """Return how many other people the values of each person unlock at most.

    Shapes as those of `possible_values`; `person` (n,) numbers the people, who may be several subjects, and
    `unit` (n,) those who lie together, -1 for none.
    Linear in the rows but for whom cohorts do not protect from everybody: for these it grows with the square
    of a unit's people, and with the graphs of exchanges, up to `visits`.
    """
    search = _Search(classes, value, attributes, enough, person, visits)
    search.ask_cohorts()
    if kept is not None:
        search.ask_worlds(kept)
    if unit is not None:
        search.ask_units(unit)
    search.ask_exchanges()
    return search.counted(np.full((len(value), 2), NONE) if seat is None else seat)


@dataclass
class _Options:
    """The other tuples that a kind of subjects may have: without whom one is lost, and who is in its world.

    Both name kinds; knowing one member of them is enough.
    """

    needed: dict[int, frozenset[int]] = field(default_factory=dict)
    used: dict[int, frozenset[int]] = field(default_factory=dict)

    def add(self, value: int, needed: frozenset[int], used: frozenset[int]) -> None:
        """Add a world in which the kind has a value: only who is needed by all worlds with it is needed."""
        self.needed[value] = needed & self.needed.get(value, needed)
        self.used[value] = min(used, self.used.get(value, used), key=len)

    @property
    def single(self) -> frozenset[int]:
        """Who is needed by any."""
        return frozenset().union(*self.needed.values())


class _Search:
    """The kinds of subjects, who share cohort and tuple, and what they may have in which worlds."""

    def __init__(
        self,
        classes: IntArray,
        value: IntArray,
        attributes: tuple[Attribute, ...],
        enough: int,
        person: IntArray,
        visits: int,
    ) -> None:
        self.cohorts: Cohorts = cohorts_of(classes)
        self.classes, self.value, self.person = classes, value, person
        self.attributes, self.least = attributes, least_values(attributes, enough)
        self.n_values = int(value.max(initial=-1)) + 1
        codes, self.kind = np.unique(self.cohorts.number * self.n_values + value, return_inverse=True)
        self.kind = self.kind.reshape(-1)
        self.cohort, self.tuple = codes // self.n_values, codes % self.n_values
        self.size = np.bincount(self.kind, minlength=len(codes))
        self.options: dict[int, _Options] = {}
        self.left = visits
        self.spent = False
        self._enough: dict[frozenset[int], bool] = {}

    def is_enough(self, tuples: frozenset[int]) -> bool:
        """Tell whether tuples leave enough values of each attribute."""
        found = self._enough.get(tuples)
        if found is None:
            counted = distinct_values(np.array(sorted(tuples), dtype=np.int64), self.attributes)
            found = self._enough[tuples] = bool((counted >= self.least).all())
        return found

    def is_short(self, kind: int, known: frozenset[int] = frozenset(), *, several: bool = False) -> bool:
        """Tell whether a kind has too few values if a member of each of the `known` kinds is known.

        If they are `several` subjects of one person, every world with one of them counts as lost.
        """
        options = self.options[kind]
        lost = options.used if several else options.needed
        return not self.is_enough(
            frozenset([int(self.tuple[kind]), *(one for one, by in lost.items() if not by & known)])
        )

    def is_open(self, kind: int) -> bool:
        """Tell whether somebody's values can leave too few to a kind, by the worlds so far."""
        return self.is_short(kind) or any(
            self.is_short(kind, frozenset([one])) for one in self.options[kind].single
        )

    def ask_cohorts(self) -> None:
        """Note for all kinds what the other members of their cohort have, unless these are plenty."""
        ends = np.searchsorted(self.cohort, np.arange(len(self.cohorts.size) + 1)).tolist()
        for start, end in pairwise(ends):
            needed = {
                int(self.tuple[one]): frozenset([one] if self.size[one] == 1 else [])
                for one in range(start, end)
            }
            if all(self.is_enough(frozenset(needed) - {lost}) for lost in needed):
                continue
            for one in range(start, end):
                own = int(self.tuple[one])
                others = {other: by for other, by in needed.items() if other != own}
                options = _Options(dict(others), dict(others))
                self.options[one] = options
                if not self.is_open(one):
                    del self.options[one]

    def ask_worlds(self, kept: Kept) -> None:
        """Note what the kinds have in worlds that hold, with those of whom all members change in them."""
        kept = kept.that_hold(self.cohorts, self.value)
        ends = np.searchsorted(kept.world, np.arange(int(kept.world.max(initial=-1)) + 2)).tolist()
        for start, end in pairwise(ends):
            kinds = self.kind[kept.subject[start:end]]
            numbers, n = np.unique(kinds, return_counts=True)
            all_of = frozenset(numbers[n == self.size[numbers]].tolist())
            for kind, taken in zip(kinds.tolist(), kept.value[start:end].tolist(), strict=True):
                if kind in self.options:
                    others = all_of - ({kind} if self.size[kind] == 1 else set())
                    self.options[kind].add(taken, others, others)

    def ask_units(self, unit: IntArray) -> None:
        """Note what exchanges between people who lie together give to the kinds that are open."""
        found = stretches(self.classes, unit)
        kinds, starts = self.kind[found.subject].tolist(), np.flatnonzero(np.diff(found.unit, prepend=NONE))
        ends = list(zip(found.start.tolist(), found.end.tolist(), strict=True))
        for low, high in pairwise([*starts.tolist(), len(kinds)]):
            stretch = dict(zip(kinds[low:high], ends[low:high], strict=True))
            of_tuple: dict[int, list[int]] = {}
            for kind in stretch:
                of_tuple.setdefault(int(self.tuple[kind]), []).append(kind)
            for one, other in permutations(of_tuple, 2):
                waiting = [kind for kind in of_tuple[one] if kind in self.options and self.is_open(kind)]
                if waiting:
                    self._exchange_in_unit(stretch, of_tuple, waiting, other)

    def ask_exchanges(self) -> None:
        """Note what exchanges along cycles give to the kinds that are open, most frequent pairs first."""
        world = world_of(self.cohorts, self.value, self.n_values)
        shared = values_shared(self.cohorts, published_of(self.cohorts, world))
        often = np.bincount(self.value, minlength=self.n_values)
        asked: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for kind in [kind for kind in self.options if self.is_open(kind)]:
            own = int(self.tuple[kind])
            for other in shared[[int(self.cohort[kind])]].indices.tolist():
                if other != own:
                    pair = (min(own, other), max(own, other))
                    asked.setdefault(pair, []).append((kind, other))
        sides = divisions(self.cohorts)
        for pair in sorted(asked, key=lambda pair: -int(often[list(pair)].sum())):
            for side in sides:
                waiting = [(kind, other) for kind, other in asked[pair] if self.is_open(kind)]
                if waiting:
                    self._exchange(pair, side, waiting)

    def _exchange_in_unit(
        self,
        stretch: Mapping[int, tuple[int, int]],
        of_tuple: Mapping[int, Sequence[int]],
        waiting: Sequence[int],
        other: int,
    ) -> None:
        arcs: dict[int, list[tuple[int, int]]] = {}
        for kind in of_tuple[int(self.tuple[waiting[0]])]:
            start, end = stretch[kind]
            arcs.setdefault(start, []).append((end, kind))
        for kind in of_tuple[other]:
            start, end = stretch[kind]
            arcs.setdefault(end, []).append((start, kind))
        for kind in waiting:
            start, end = stretch[kind]
            self._on_cycle(kind, other, arcs, end, start)

    def _on_cycle(
        self, kind: int, other: int, arcs: Mapping[int, Sequence[tuple[int, int]]], start: int, end: int
    ) -> None:
        """Note that a kind has a value by a way from `start` to `end`, if there is one, and who is on all."""
        path, bridges, visited = _bridges(arcs, start, end, self.size)
        self.left -= visited
        if path:
            single = frozenset(one for one in path if self.size[one] == 1)
            self.options[kind].add(other, frozenset(bridges), single)

    def _exchange(
        self, pair: tuple[int, int], side: tuple[IntArray, IntArray], waiting: Sequence[tuple[int, int]]
    ) -> None:
        kinds = np.flatnonzero(np.isin(self.tuple, pair))
        forth = self.tuple[kinds] == pair[0]
        ends = [each[self.cohort[kinds]] for each in side]
        tail, head = np.where(forth, ends[0], ends[1]), np.where(forth, ends[1], ends[0])
        n_nodes, both = number_codes(np.concatenate([tail, head]), int(max(tail.max(), head.max())) + 1)
        tail, head = np.split(both, 2)
        cyclic = arcs_on_cycles(tail, head, n_nodes)
        arcs: dict[int, list[tuple[int, int]]] = {}
        at: dict[int, tuple[int, int]] = {}
        for kind, start, end in zip(
            kinds[cyclic].tolist(), tail[cyclic].tolist(), head[cyclic].tolist(), strict=True
        ):
            arcs.setdefault(start, []).append((end, kind))
            at[kind] = start, end
        for kind, other in waiting:
            if kind not in at:
                continue
            if self.left <= 0:
                self.spent = True
                return
            start, end = at[kind]
            self._on_cycle(kind, other, arcs, end, start)

    def counted(self, seat: IntArray) -> Unlocked:
        """Return what each person unlocks: whom neither worlds nor signatures protect."""
        n_people = int(self.person.max(initial=-1)) + 1
        several = np.bincount(self.person, minlength=n_people) > 1
        signatures = _Certificates(self, seat, several[self.person])
        short = {kind for kind in self.options if self.is_short(kind)}
        people, hanging = np.zeros(n_people, dtype=np.int64), np.zeros(len(self.value), dtype=bool)
        open_ = np.zeros(n_people, dtype=bool)
        members = np.split(np.argsort(self.kind, kind="stable"), np.cumsum(self.size)[:-1])
        used: dict[int, list[int]] = {}
        for kind in set(self.options) - short:
            for one in self.options[kind].single:
                if self.is_short(kind, frozenset([one])):
                    known = int(members[one][0])
                    others = members[kind][self.person[members[kind]] != self.person[known]]
                    others = others[signatures.lost(others, known)]
                    people[self.person[known]] += len(others)
                    hanging[others] = True
            for one in frozenset().union(*self.options[kind].used.values()):
                used.setdefault(one, []).append(kind)
        is_short = np.isin(self.kind, list(short))
        open_[self.person[is_short & ~signatures.held]] = True
        signatures.count(is_short & signatures.held, people)
        hanging |= is_short
        for person, kinds in self._of_several(several):
            affected = {kind for one in kinds for kind in used.get(one, ())} - kinds
            lost = [kind for kind in affected if self.is_short(kind, kinds, several=True)]
            people[person] += int(self.size[lost].sum())
        alone = np.ones(n_people, dtype=bool)
        alone[self.person[hanging]] = False
        return Unlocked(people + int(open_.sum()) - open_, alone, open_, self.spent)

    def _of_several(self, several: BoolArray) -> Iterator[tuple[int, frozenset[int]]]:
        """Yield each person who is several subjects, with their kinds."""
        found: dict[int, set[int]] = {}
        for subject in np.flatnonzero(several[self.person]).tolist():
            found.setdefault(int(self.person[subject]), set()).add(int(self.kind[subject]))
        for person, kinds in found.items():
            yield person, frozenset(kinds)


def _bridges(
    arcs: Mapping[int, Sequence[tuple[int, int]]], start: int, end: int, size: IntArray
) -> tuple[list[int], list[int], int]:
    """Return the kinds on a shortest path, those of one member on every path, and how much was visited.

    Nobody where there is no path. O(arcs).
    """
    came: dict[int, tuple[int, int]] = {start: (start, NONE)}
    queue = deque([start])
    while end not in came:
        if not queue:
            return [], [], len(came)
        node = queue.popleft()
        for other, kind in arcs.get(node, ()):
            if other not in came:
                came[other] = node, kind
                queue.append(other)
    nodes, path = [end], []
    while nodes[-1] != start:
        before, kind = came[nodes[-1]]
        nodes.append(before)
        path.append(kind)
    nodes.reverse()
    path.reverse()
    index = {node: place for place, node in enumerate(nodes)}
    seen, stack, reached, bridges = {start}, [start], 0, []
    while reached < len(path):
        if not stack:
            bridges.append(path[reached])
            reached += 1
            stack.append(nodes[reached])
            seen.add(nodes[reached])
        node = stack.pop()
        for other, kind in arcs.get(node, ()):
            place = index.get(node, NONE)
            own = place != NONE and place < len(path) and path[place] == kind and nodes[place + 1] == other
            if (own and size[kind] == 1) or other in seen:
                continue
            seen.add(other)
            stack.append(other)
            for place in range(reached + 1, index.get(other, NONE) + 1):
                reached = place
                if nodes[place] not in seen:
                    seen.add(nodes[place])
                    stack.append(nodes[place])
    return path, bridges, len(came) + len(seen)


class _Certificates:
    """What balanced `seat` (n, 2) leave possible: who is `held` (n,) in one, and who of it must not be known.

    Of whoever is `several` (n,) subjects, every signature counts as lost.
    """

    def __init__(self, search: _Search, seat: IntArray, several: BoolArray) -> None:
        held = balanced(search.classes, search.value, seat)
        seats, first, place = np.unique(seat[held], axis=0, return_index=True, return_inverse=True)
        tuples = search.value[held][first]
        start = np.flatnonzero(np.diff(seats[:, 0], prepend=NONE))
        self._person, self._several = search.person, several
        # Of each seat: whether enough is possible, and whether it is without this seat, and to it alone.
        enough, rest, own = (np.zeros(len(seats), dtype=bool) for _ in range(3))
        for low, high in pairwise([*start.tolist(), len(seats)]):
            here = tuples[low:high].tolist()
            enough[low:high] = search.is_enough(frozenset(here))
            for position, each in enumerate(here):
                rest[low + position] = search.is_enough(frozenset(here[:position] + here[position + 1 :]))
                own[low + position] = search.is_enough(frozenset([each]))
        self._signature, self._position = np.full(len(seat), NONE), np.full(len(seat), NONE)
        self.held = held.copy()
        self.held[held] = enough[place.reshape(-1)]
        self._signature[held], self._position[held] = seat[held, 0], place.reshape(-1)
        self._signature[~self.held] = NONE
        self._rest, self._own = rest, own

    def lost(self, subjects: IntArray, known: int) -> BoolArray:
        """Tell which of some subjects, (s,), these protect from nobody who knows one subject."""
        if not self.held[known]:
            return ~self.held[subjects]
        same = self.held[subjects] & (self._signature[subjects] == self._signature[known])
        if not self._several[known]:
            at = self._position[known]
            here = self._position[subjects] == at
            same &= np.where(here, not self._own[at], not self._rest[at])
        return np.asarray(~self.held[subjects] | same)

    def groups(self, of: BoolArray) -> Iterator[IntArray]:
        """Yield the subjects of each signature that holds some `of` these, (n,)."""
        rows = np.flatnonzero(self.held & np.isin(self._signature, self._signature[of & self.held]))
        rows = rows[np.argsort(self._signature[rows], kind="stable")]
        yield from np.split(rows, np.flatnonzero(np.diff(self._signature[rows])) + 1) if len(rows) else ()

    def count(self, short: BoolArray, people: IntArray) -> None:
        """Add to each person's count whom they unlock of the `short` subjects, in place."""
        for of in self.groups(short):
            position, is_short, person = self._position[of], short[of], self._person[of]
            for known in np.unique(position).tolist():
                here = position == known
                lost = is_short & np.where(here, not self._own[known], not self._rest[known])
                people[person[here]] += int(lost.sum()) - lost[here]
            whole = np.unique(person[self._several[of]])
            people[whole] += int(is_short.sum())
