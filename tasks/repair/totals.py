"""Who is left out of a table so that totals do not expose who left a series, or joined it, almost alone.

Where nobody is followed, two totals differ by the values of who left and who joined. Records that are left
out are among those who seem to have left: nobody outside knows which they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.geometry.components import components
from tasks.geometry.space import boxes_of, counts_of, space_of
from tasks.history.following import follows_nobody_into
from tasks.history.intersection import compared_attributes, history_of
from tasks.history.totals import exposed, several, surpluses
from tasks.recoding.generalize import generalized
from tasks.types import BoolArray, IntArray, PreparedTable


@dataclass
class _Difference:
    """The `surplus` of one attribute beside one earlier release (n, values), as in `surpluses`.

    `part` (records,) is the row of the component that each record is in, -1 where that is not subtracted by
    itself; `value` (records,) its value, -1 for who is left out.
    """

    surplus: IntArray
    part: IntArray
    value: IntArray

    def wanted(self, l_least: int, k: int) -> tuple[BoolArray, bool]:
        """Return the records of which one is to be left out for the first side that fails; if any does."""
        failing = exposed(self.surplus, l_least, k)
        if not failing.any():
            return np.zeros(len(self.value), dtype=bool), False
        row = int(np.flatnonzero(failing.any(axis=1))[0])
        inside = self.value >= 0
        if row < len(self.surplus) - 1:
            inside &= self.part == row
        here = self.surplus[row]
        few_joined = failing[row, 1] and int(-here[here < 0].sum()) < k
        # Few who joined are left out themselves; otherwise a value is added to those who left: the one that
        # asks for the fewest, of those that the earlier release has too.
        good = here < 0
        if not few_joined:
            good = (here <= 0) & (np.bincount(self.value[inside], minlength=len(here)) > -here)
            good = good & (here == here[good].max()) if good.any() else here > 0
        return inside & good[self.value], True

    def leave(self, record: int) -> None:
        """Count one record as left out."""
        value, part = self.value[record], self.part[record]
        self.surplus[-1, value] += 1
        if part >= 0:
            self.surplus[part, value] += 1
        self.value[record] = -1


@dataclass
class _Several:
    """The `totals` (releases, values) of one attribute, the table's last, as in `several`.

    `value` (records,) is that of each record, -1 for who is left out.
    """

    totals: IntArray
    value: IntArray

    def wanted(self, l_least: int, k: int) -> tuple[BoolArray, bool]:
        """Return the records of which one is to be left out for the first value that fails; if any does."""
        found = several(self.totals, l_least, k)
        if not found.failing.any():
            return np.zeros(len(self.value), dtype=bool), False
        side, one, value = (int(place[0]) for place in np.nonzero(found.failing))
        others = found.others(side, one, value)
        last = len(self.totals) - 1
        own = self.totals[last]
        if (one == last) == (side == 0):
            # The table has more of the value: as many of it are left out as it has more.
            return self.value == value, True
        # It has too few: who is left out gives the set one value more, of those that ask for the fewest.
        read = found.read[side, one]
        level = self.totals[one] if one != last else self.totals[others].min(axis=0)
        good = read[others[others != last]].all(axis=0) if one != last else level > 0
        good &= ~read[others].all(axis=0) & (own > 0)
        if not good.any():
            return np.zeros(len(self.value), dtype=bool), True
        excess = np.where(good, own - level, np.iinfo(np.int64).max)
        return (self.value >= 0) & (good & (excess == excess.min()))[self.value], True

    def leave(self, record: int) -> None:
        """Count one record as left out."""
        self.totals[-1, self.value[record]] -= 1
        self.value[record] = -1


def leave_out_totals(
    table: PreparedTable,
    labels: IntArray,
    policy: ReleasePolicy,
    earlier: Sequence[tuple[str, EquivalenceClasses]],
    apart: Sequence[tuple[int, int]] | None,
    seed: int,
) -> IntArray:
    """Return the records of `labels` (m,) that are to be left out beside the releases `earlier`.

    One after the other, at random within the largest groups, until no total exposes anybody, or as many as
    the policy lets be left out. O(records) each.
    """
    differences = _differences(table, labels, policy, earlier, apart)
    rank = np.random.default_rng(seed).permutation(len(labels))
    size = np.bincount(labels[labels >= 0])
    k, found = policy.privacy.k, []
    for _ in range(int(policy.gates.suppression.max * len(labels))):
        asked = [one.wanted(policy.privacy.l, k) for one in differences]
        chosen = np.flatnonzero(_in_common([records for records, fails in asked if fails], len(labels)))
        if not len(chosen):
            break
        spare = np.minimum(size[labels[chosen]], k + 1)  # a group of over k people stays as it is
        record = int(chosen[np.lexsort((rank[chosen], -spare))[0]])
        found.append(record)
        size[labels[record]] -= 1
        for one in differences:
            if one.value[record] >= 0:
                one.leave(record)
    return np.array(found, dtype=np.int64)


def _in_common(asked: Sequence[BoolArray], n: int) -> BoolArray:
    """Return the records that the first of `asked` names, and as many of the others as share any with it."""
    chosen = asked[0] if asked else np.zeros(n, dtype=bool)
    for records in asked[1:]:
        chosen = chosen & records if (chosen & records).any() else chosen
    return chosen


def _differences(
    table: PreparedTable,
    labels: IntArray,
    policy: ReleasePolicy,
    earlier: Sequence[tuple[str, EquivalenceClasses]],
    apart: Sequence[tuple[int, int]] | None,
) -> list[_Difference | _Several]:
    """Return how the groups of `labels` differ from each release by each attribute, and from all of them."""
    inside = np.flatnonzero(labels >= 0)
    groups = np.full(len(labels), -1, dtype=np.int64)
    groups[inside] = np.unique(labels[inside], return_inverse=True)[1]
    classes = generalized(table, groups, policy)
    space = space_of([classes, *(each for _, each in earlier)], table)
    history = history_of(earlier, space, policy, apart)
    if history is None or not len(inside):
        return []
    boxes, own = boxes_of(classes, space), counts_of(classes, space)
    attributes = compared_attributes(policy)
    values = {name: _values(table, inside, space.sensitive[name], name) for name in attributes}
    totals: dict[str, list[IntArray]] = {name: [] for name in attributes}
    found: list[_Difference | _Several] = []
    for number, (release, each) in enumerate(earlier):
        if not follows_nobody_into(policy, release):
            continue
        here, there, n = components(boxes, history.boxes.take(history.release == number))
        theirs = counts_of(each, space)
        for name in attributes:
            if name in each.counts:
                surplus, row = surpluses(own[name], here, theirs[name], there, n)
                part = np.where(groups >= 0, row[here[groups]], -1)
                found.append(_Difference(surplus, part, values[name].copy()))
                totals[name].append(theirs[name].sum(axis=0))
    for name in attributes:
        every = np.array([*totals[name], own[name].sum(axis=0)])
        found.append(_Several(every, values[name]))
    return found


def _values(table: PreparedTable, inside: IntArray, names: Sequence[str], attribute: str) -> IntArray:
    """Return the place of each record's value among `names`, -1 for who is not `inside`."""
    value = np.full(table.n_records, -1, dtype=np.int64)
    column = table.sensitive[inside, table.sensitive_names.index(attribute)]
    place = {text: i for i, text in enumerate(names)}
    value[inside] = np.array([place[text] for text in table.sensitive_values[attribute]])[column]
    return value
