"""Who is left out of a table so that totals do not expose who left a series, or joined it, almost alone.

Where nobody is followed, two totals differ by the values of who left and who joined. Records that are left
out are among those who seem to have left: nobody outside knows which they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush, heapreplace
from operator import itemgetter

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.geometry.components import components
from tasks.geometry.space import boxes_of, counts_of, distinct_rows, space_of
from tasks.history.following import follows_nobody_into
from tasks.history.intersection import compared_attributes
from tasks.history.required import Required, required_of
from tasks.history.totals import Several, exposed, several, surpluses
from tasks.recoding.generalize import generalized
from tasks.repair.round_cache import RoundCache
from tasks.sorting import stable_order
from tasks.types import BoolArray, IntArray, PreparedTable

Wanted = tuple[int, IntArray]  # the number of a release, and kinds of records


@dataclass
class _Differences:
    """The `surplus` of one attribute beside the earlier `releases` (n, values): the rows of `surpluses` of
    one after the other, of which `whole` (releases,) are the last ones.

    Of each kind of records (kinds,): `part` (releases, kinds) is the row of the component that they are in,
    -1 where that is not subtracted by itself; `value` their value.
    """

    releases: list[int]
    surplus: IntArray
    whole: IntArray
    part: IntArray
    value: IntArray
    required: Required

    def __post_init__(self) -> None:
        n = len(self.surplus)
        self._failing, self._either = np.zeros((n, 2), dtype=bool), np.zeros(n, dtype=bool)
        self._changed = [np.arange(n)]  # rows of which it is not known yet

    @cached_property
    def _kinds(self) -> list[IntArray]:
        """The kinds of each row of `surplus`: all of them of a whole."""
        found = [np.empty(0, dtype=np.int64)] * len(self.surplus)
        for part, whole in zip(self.part, self.whole.tolist(), strict=True):
            order = np.argsort(part, kind="stable")
            order = order[np.searchsorted(part[order], 0) :]
            rows, first = np.unique(part[order], return_index=True)
            for row, kinds in zip(rows.tolist(), np.split(order, first[1:]), strict=False):
                found[row] = kinds
            found[whole] = np.arange(len(part))
        return found

    def wanted(self, count: IntArray, k: int) -> list[Wanted]:
        """Return for each release with a side that fails the kinds of which one record is to be left out for
        the first such side. `count` (kinds,) are the records that are left.
        """
        failing = self._failing
        for rows in self._changed:
            failing[rows] = exposed(self.surplus[rows], self.required.least, k, self.required.groups)
            self._either[rows] = failing[rows].any(axis=1)
        self._changed = []
        rows = np.flatnonzero(self._either)
        first = np.searchsorted(rows, np.append(0, self.whole[:-1] + 1))
        last = np.searchsorted(rows, self.whole, side="right")
        return [
            (release, self._wanted_of(int(rows[one]), failing, count, k))
            for release, one, end in zip(self.releases, first.tolist(), last.tolist(), strict=True)
            if one < end
        ]

    def _wanted_of(self, row: int, failing: BoolArray, count: IntArray, k: int) -> IntArray:
        """Return the kinds of which one record is to be left out for a row that fails."""
        inside = self._kinds[row]
        inside = inside[count[inside] > 0]
        here = self.surplus[row]
        few_joined = failing[row, 1] and int(-here[here < 0].sum()) < k
        # Few who joined are left out themselves; otherwise a value is added to those who left: the one that
        # asks for the fewest, of those that the earlier release has too.
        good = here < 0
        if not few_joined:
            n_here = np.bincount(self.value[inside], weights=count[inside], minlength=len(here))
            good = (here <= 0) & (n_here > -here)
            good = good & (here == here[good].max()) if good.any() else here > 0
        return np.asarray(inside[good[self.value[inside]]])

    def leave(self, kind: int) -> None:
        """Count one record of a kind as left out."""
        part = self.part[:, kind]
        rows = np.concatenate([self.whole, part[part >= 0]])
        self.surplus[rows, self.value[kind]] += 1
        self._changed.append(rows)


@dataclass
class _Several:
    """The `totals` (releases, values) of one attribute, the table's last, as in `several`.

    `value` (kinds,) is that of each kind of records.
    """

    totals: IntArray
    value: IntArray
    required: Required

    def wanted(self, count: IntArray, k: int) -> list[Wanted]:
        """Return the kinds of which one record is to be left out for the first value that fails, as above.

        With the number of the table, which comes after all releases.
        """
        if len(self.totals) < 3:
            return []
        found = several(self.totals, self.required.least, k, self.required.groups)
        if not found.failing.any():
            return []
        return [(len(self.totals) - 1, self._wanted_of(found, count))]

    def _wanted_of(self, found: Several, count: IntArray) -> IntArray:
        side, one, value = (int(place[0]) for place in np.nonzero(found.failing))
        others = found.others(side, one, value)
        last = len(self.totals) - 1
        own = self.totals[last]
        if (one == last) == (side == 0):
            # The table has more of the value: as many of it are left out as it has more.
            return np.flatnonzero((count > 0) & (self.value == value))
        # It has too few: who is left out gives the set one value more, of those that ask for the fewest.
        read = found.read[side, one]
        level = self.totals[one] if one != last else self.totals[others].min(axis=0)
        good = read[others[others != last]].all(axis=0) if one != last else level > 0
        good &= ~read[others].all(axis=0) & (own > 0)
        if not good.any():
            return np.empty(0, dtype=np.int64)
        excess = np.where(good, own - level, np.iinfo(np.int64).max)
        return np.flatnonzero((count > 0) & (good & (excess == excess.min()))[self.value])

    def leave(self, kind: int) -> None:
        """Count one record of a kind as left out."""
        self.totals[-1, self.value[kind]] -= 1


class _Queues:
    """The records of each kind (k,), those of the largest groups first, and of these by `rank` (m,).

    A group of over k people stays as it is, so that all of these are as large. `kind` and `label` (m,): -1
    for who is in no group.
    """

    def __init__(self, kind: IntArray, label: IntArray, rank: IntArray, enough: int) -> None:
        self._label, self._rank, self._enough = label, rank, enough
        self._size = np.bincount(label[label >= 0])
        by_rank = np.empty_like(rank)
        by_rank[rank] = np.arange(len(rank))
        inside = by_rank[kind[by_rank] >= 0]
        spare = np.minimum(self._size, enough)[label[inside]]
        place = kind[inside] * (enough + 1) + (enough - spare)
        order = stable_order(place)
        self._order, self._spare = inside[order], spare[order]
        self.count = np.bincount(kind[inside])
        self._end = np.cumsum(self.count)
        self._next = self._end - self.count
        self._moved: list[list[tuple[int, int, int]]] = [
            [] for _ in self.count
        ]  # whose groups became smaller

    def take(self, chosen: IntArray) -> tuple[int, int]:
        """Take the first record of the kinds `chosen`, which have some; return it and its kind."""
        (_, _, record), kind = min((self._first(one), one) for one in chosen.tolist())
        if self._moved[kind] and self._moved[kind][0][2] == record:
            heappop(self._moved[kind])
        else:
            self._next[kind] += 1
        self.count[kind] -= 1
        self._size[self._label[record]] -= 1
        return record, kind

    def _first(self, kind: int) -> tuple[int, int, int]:
        """Return the first record of a kind, with what it is ordered by."""
        moved = self._moved[kind]
        while self._next[kind] < self._end[kind]:
            record = int(self._order[self._next[kind]])
            entry = self._entry(record)
            if -entry[0] == self._spare[self._next[kind]]:
                break
            heappush(moved, entry)
            self._next[kind] += 1
        else:
            entry = None
        while moved and (now := self._entry(moved[0][2])) != moved[0]:
            heapreplace(moved, now)
        return min(each for each in (entry, *moved[:1]) if each is not None)

    def _entry(self, record: int) -> tuple[int, int, int]:
        return -min(int(self._size[self._label[record]]), self._enough), int(self._rank[record]), record


def leave_out_totals(
    table: PreparedTable,
    labels: IntArray,
    policy: ReleasePolicy,
    earlier: Sequence[tuple[str, EquivalenceClasses]],
    apart: Sequence[tuple[int, int]] | None,
    seed: int,
    cache: RoundCache | None = None,
) -> IntArray:
    """Return the records of `labels` (m,) that are to be left out beside the releases `earlier`.

    One after the other, at random within the largest groups, until no total exposes anybody, or as many as
    the policy lets be left out. O(m log m), and O(kinds of records) for each: they are of one kind where they
    have the same values and are in the same components.
    """
    differences, kind = _differences(table, labels, policy, earlier, apart, cache or RoundCache())
    rank = np.random.default_rng(seed).permutation(len(labels))
    queues = _Queues(kind, labels, rank, policy.privacy.k + 1)
    found = []
    for _ in range(int(policy.gates.suppression.max * len(labels))):
        asked = [each for one in differences for each in one.wanted(queues.count, policy.privacy.k)]
        chosen = _in_common([kinds for _, kinds in sorted(asked, key=itemgetter(0))])
        if not len(chosen):
            break
        record, its_kind = queues.take(chosen)
        found.append(record)
        for one in differences:
            one.leave(its_kind)
    return np.array(found, dtype=np.int64)


def _in_common(asked: Sequence[IntArray]) -> IntArray:
    """Return the kinds that the first of `asked` names, and as many of the others as share any with it."""
    chosen = asked[0] if asked else np.empty(0, dtype=np.int64)
    for kinds in asked[1:]:
        both = np.intersect1d(chosen, kinds, assume_unique=True)
        chosen = both if len(both) else chosen
    return chosen


def _differences(
    table: PreparedTable,
    labels: IntArray,
    policy: ReleasePolicy,
    earlier: Sequence[tuple[str, EquivalenceClasses]],
    apart: Sequence[tuple[int, int]] | None,
    cache: RoundCache,
) -> tuple[list[_Differences | _Several], IntArray]:
    """Return how the groups of `labels` differ by each attribute, from each release and from all of them.

    And which kind each record is of, (m,), -1 for who is in no group.
    """
    inside = np.flatnonzero(labels >= 0)
    groups = np.full(len(labels), -1, dtype=np.int64)
    if not earlier or not len(inside):
        return [], groups
    some = np.bincount(labels[inside]) > 0
    groups[inside] = (np.cumsum(some) - 1)[labels[inside]]
    classes = generalized(table, groups, policy)
    space = space_of([classes, *(each for _, each in earlier)], table)
    cache.history(policy, earlier, space, apart)
    boxes, own = boxes_of(classes, space), counts_of(classes, space)
    attributes = compared_attributes(policy)
    required = required_of(policy, space, attributes)
    values = {name: _values(table, inside, space.sensitive[name], name) for name in attributes}
    rows: dict[str, list[tuple[int, IntArray, IntArray]]] = {name: [] for name in attributes}
    totals: dict[str, list[IntArray]] = {name: [] for name in attributes}
    columns = list(values.values())
    for number, (release, each) in enumerate(earlier):
        if not follows_nobody_into(policy, release):
            continue
        here, there, n = components(boxes, cache.pairs_with(number))
        theirs = counts_of(each, space)
        for name in attributes:
            if name in each.counts:
                surplus, row = surpluses(own[name], here, theirs[name], there, n)
                columns.append(row[here[groups[inside]]])
                rows[name].append((number, surplus, columns[-1]))
                totals[name].append(theirs[name].sum(axis=0))
    first, kind = distinct_rows([np.zeros(len(inside), dtype=np.int64), *columns])
    groups[inside] = kind
    found: list[_Differences | _Several] = []
    for name in attributes:
        value = values[name][first]
        if rows[name]:
            found.append(beside_each(rows[name], first, value, required[name]))
        every = np.array([*totals[name], own[name].sum(axis=0)])
        found.append(_Several(every, value, required[name]))
    return found, groups


def beside_each(
    rows: Sequence[tuple[int, IntArray, IntArray]], kinds: IntArray, value: IntArray, required: Required
) -> _Differences:
    """Put together what releases have more of: of each its number, its surplus, and each record's row of it.

    `kinds` (kinds,) is a record of each kind.
    """
    numbers, surpluses_of, row_of = zip(*rows, strict=True)
    ends = np.cumsum([len(each) for each in surpluses_of])
    part = np.array([each[kinds] for each in row_of])
    part = np.where(part >= 0, part + (ends - [len(each) for each in surpluses_of])[:, None], -1)
    return _Differences(list(numbers), np.concatenate(surpluses_of), ends - 1, part, value, required)


def _values(table: PreparedTable, inside: IntArray, names: Sequence[str], attribute: str) -> IntArray:
    """Return the place among `names` of the value of each record that is `inside`, (inside,)."""
    column = table.sensitive[inside, table.sensitive_names.index(attribute)]
    place = {text: i for i, text in enumerate(names)}
    translated = np.array([place[text] for text in table.sensitive_values[attribute]], dtype=np.int64)
    return np.asarray(translated[column])
