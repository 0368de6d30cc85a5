"""Who is left out of a table so that totals do not expose who left a series, or joined it, almost alone.

Where nobody is followed, two totals differ by the values of who left and who joined. Records that are left
out are among those who seem to have left: nobody outside knows which they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush, heapreplace
from operator import itemgetter

import numpy as np

from policy.model import ReleasePolicy
from policy.text import one_spelling
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

Choice = tuple[int, BoolArray]  # the number of a release, and which kinds of records
FEW = 8  # values whose kinds are marked one value after the other


class _Part:
    """Some `kinds` of records (m,), by the `value` of each, and how many of each value are `left` of them.

    `value` and `count` (kinds,) are of all kinds.
    """

    def __init__(self, kinds: IntArray, value: IntArray, count: IntArray, n_values: int) -> None:
        self._value = value
        self._order = kinds[np.argsort(value[kinds], kind="stable")]
        self._ends = np.searchsorted(value[self._order], np.arange(n_values + 1)).tolist()
        self.left = np.zeros(n_values, dtype=np.int64)
        np.add.at(self.left, value[kinds], count[kinds])

    def mark(self, marks: BoolArray, good: BoolArray) -> None:
        """Set `marks` (kinds,) of those with one of the `good` (values,)."""
        values = good.nonzero()[0].tolist()
        if len(values) > FEW:
            marks[self._order[good[self._value[self._order]]]] = True
        else:
            for one in values:
                marks[self._order[self._ends[one] : self._ends[one + 1]]] = True


class Kinds:
    """The kinds of records that are left, by the `value` (kinds,) that each has of one attribute.

    `count` (kinds,) is how many records of each there are.
    """

    def __init__(self, value: IntArray, count: IntArray, n_values: int) -> None:
        self.value, self.n_values = value, n_values
        self._count = count.copy()
        self._there = count > 0
        self.every = self.part(np.arange(len(value)))

    def part(self, kinds: IntArray) -> _Part:
        """Return some of the kinds."""
        return _Part(kinds, self.value, self._count, self.n_values)

    def having(self, good: BoolArray, part: _Part) -> BoolArray:
        """Mark the kinds of a part that have one of the `good` (values,), (kinds,)."""
        marks = np.zeros(len(self.value), dtype=bool)
        part.mark(marks, good)
        marks &= self._there
        return marks

    def leave(self, kind: int, parts: Iterable[_Part] = ()) -> None:
        """Count one record of a kind as left out, in these of its parts too."""
        self._count[kind] -= 1
        self._there[kind] = self._count[kind] > 0
        for part in (self.every, *parts):
            part.left[self.value[kind]] -= 1


@dataclass
class _Differences:
    """The `surplus` of one attribute beside the earlier `releases` (n, values): the rows of `surpluses` of
    one after the other, of which `whole` (releases,) are the last ones.

    `part` (releases, kinds) is the row of the component that the records of each of the `kinds` are in, -1
    where that is not subtracted by itself.
    """

    releases: list[int]
    surplus: IntArray
    whole: IntArray
    part: IntArray
    kinds: Kinds
    required: Required

    def __post_init__(self) -> None:
        n = len(self.surplus)
        self._failing, self._either = np.zeros((n, 2), dtype=bool), np.zeros(n, dtype=bool)
        self._changed = [np.arange(n)]  # rows of which it is not known yet
        self._parts = dict.fromkeys(self.whole.tolist(), self.kinds.every)  # the kinds of rows that failed

    @cached_property
    def _inside(self) -> dict[int, IntArray]:
        """The kinds of each row of `surplus` that is a component."""
        found = dict[int, IntArray]()
        for part in self.part:
            order = np.argsort(part, kind="stable")
            order = order[np.searchsorted(part[order], 0) :]
            rows, first = np.unique(part[order], return_index=True)
            found.update(zip(rows.tolist(), np.split(order, first[1:]), strict=False))
        return found

    def _part_of(self, row: int) -> _Part:
        """Return the kinds of a row."""
        if row not in self._parts:
            self._parts[row] = self.kinds.part(self._inside.get(row, np.empty(0, dtype=np.int64)))
        return self._parts[row]

    def wanted(self, k: int) -> list[Choice]:
        """Return for each release with a side that fails the kinds of which one record is to be left out for
        the first such side.
        """
        for rows in self._changed:
            exposing = exposed(self.surplus[rows], self.required.least, k, self.required.groups)
            self._failing[rows], self._either[rows] = exposing, exposing.any(axis=1)
        self._changed = []
        rows = self._either.nonzero()[0]
        first = np.searchsorted(rows, np.append(0, self.whole[:-1] + 1))
        last = np.searchsorted(rows, self.whole, side="right")
        return [
            (release, self._wanted_of(int(rows[one]), k))
            for release, one, end in zip(self.releases, first.tolist(), last.tolist(), strict=True)
            if one < end
        ]

    def _wanted_of(self, row: int, k: int) -> BoolArray:
        """Return the kinds of which one record is to be left out for a row that fails."""
        part, here = self._part_of(row), self.surplus[row]
        few_joined = self._failing[row, 1] and int(-here[here < 0].sum()) < k
        # Few who joined are left out themselves; otherwise a value is added to those who left: the one that
        # asks for the fewest, of those that the earlier release has too.
        good = here < 0
        if not few_joined:
            good = (here <= 0) & (part.left > -here)
            good = good & (here == here[good].max()) if good.any() else here > 0
        return self.kinds.having(np.asarray(good), part)

    def leave(self, kind: int) -> None:
        """Count one record of a kind as left out."""
        part = self.part[:, kind]
        inside = part[part >= 0]
        rows = np.concatenate([self.whole, inside])
        self.surplus[rows, self.kinds.value[kind]] += 1
        self._changed.append(rows)
        self.kinds.leave(kind, [self._parts[row] for row in inside.tolist() if row in self._parts])


@dataclass
class _Several:
    """The `totals` (releases, values) of one attribute, the table's last, as in `several`."""

    totals: IntArray
    kinds: Kinds
    required: Required

    def wanted(self, k: int) -> list[Choice]:
        """Return the kinds of which one record is to be left out for the first value that fails, as above.

        With the number of the table, which comes after all releases.
        """
        if len(self.totals) < 3:
            return []
        found = several(self.totals, self.required.least, k, self.required.groups)
        if not found.failing.any():
            return []
        return [(len(self.totals) - 1, self.kinds.having(self._good(found), self.kinds.every))]

    def _good(self, found: Several) -> BoolArray:
        """Return the values of which any may be left out."""
        side, one, value = (int(place[0]) for place in np.nonzero(found.failing))
        others = found.others(side, one, value)
        last = len(self.totals) - 1
        own = self.totals[last]
        if (one == last) == (side == 0):
            # The table has more of the value: as many of it are left out as it has more.
            return np.asarray(np.arange(len(own)) == value)
        # It has too few: who is left out gives the set one value more, of those that ask for the fewest.
        read = found.read[side, one]
        level = self.totals[one] if one != last else self.totals[others].min(axis=0)
        good = read[others[others != last]].all(axis=0) if one != last else level > 0
        good &= ~read[others].all(axis=0) & (own > 0)
        excess = np.where(good, own - level, np.iinfo(np.int64).max)
        return np.asarray(good & (excess == excess.min()))

    def leave(self, kind: int) -> None:
        """Count one record of a kind as left out."""
        self.totals[-1, self.kinds.value[kind]] -= 1
        self.kinds.leave(kind)


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
        asked = [each for one in differences for each in one.wanted(policy.privacy.k)]
        chosen = np.flatnonzero(_in_common([kinds for _, kinds in sorted(asked, key=itemgetter(0))]))
        if not len(chosen):
            break
        record, its_kind = queues.take(chosen)
        found.append(record)
        for one in differences:
            one.leave(its_kind)
    return np.array(found, dtype=np.int64)


def _in_common(asked: Sequence[BoolArray]) -> BoolArray:
    """Return the kinds that the first of `asked` marks, and as many of the others as share any with it."""
    chosen = asked[0] if asked else np.zeros(0, dtype=bool)
    for kinds in asked[1:]:
        both = chosen & kinds
        chosen = both if both.any() else chosen
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
    count = np.bincount(kind, minlength=len(first))
    found: list[_Differences | _Several] = []
    for name in attributes:
        value, n_values = values[name][first], own[name].shape[1]
        if rows[name]:
            kinds = Kinds(value, count, n_values)
            found.append(beside_each(rows[name], first, kinds, required[name]))
        every = np.array([*totals[name], own[name].sum(axis=0)])
        found.append(_Several(every, Kinds(value, count, n_values), required[name]))
    return found, groups


def beside_each(
    rows: Sequence[tuple[int, IntArray, IntArray]], record: IntArray, kinds: Kinds, required: Required
) -> _Differences:
    """Put together what releases have more of: of each its number, its surplus, and each record's row of it.

    `record` (kinds,) is one of each kind.
    """
    numbers, surpluses_of, row_of = zip(*rows, strict=True)
    ends = np.cumsum([len(each) for each in surpluses_of])
    part = np.array([each[record] for each in row_of])
    part = np.where(part >= 0, part + (ends - [len(each) for each in surpluses_of])[:, None], -1)
    return _Differences(list(numbers), np.concatenate(surpluses_of), ends - 1, part, kinds, required)


def _values(table: PreparedTable, inside: IntArray, names: Sequence[str], attribute: str) -> IntArray:
    """Return the place among `names` of the value of each record that is `inside`, (inside,)."""
    column = table.sensitive[inside, table.sensitive_names.index(attribute)]
    place = {text: i for i, text in enumerate(names)}
    translated = np.array(
        [place[one_spelling(text)] for text in table.sensitive_values[attribute]], dtype=np.int64
    )
    return np.asarray(translated[column])
