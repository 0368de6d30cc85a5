"""Classes that stay: who was in a class remains in it, and whoever leaves or joins is hidden by others.

Where classes are cut anew each period every cut is one more equation, and exact reasoning soon pins people.
Here subjects keep the class that they were in. Who left alone is followed by a newcomer of the same values;
where there is none, another subject of the class is left out too, and each may have the other's values. Other
newcomers are cut by the method among themselves. Whoever cannot be hidden waits for a later period.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tasks.history.cohorts import ABSENT
from tasks.history.extent import Extent
from tasks.history.slots import substitutes
from tasks.history.worlds import Attribute, Limits, short_of
from tasks.types import BoolArray, IntArray, PreparedTable, Progress

ROUNDS = 12
AT_ONCE = 64  # groups whose distances to all newcomers are held at once
NEAREST = 64
LIMITS = Limits(pairs=100_000)


@dataclass(frozen=True)
class Past:
    """Earlier releases as subjects see them, and who the records of the table are.

    `classes` (n, r): the class of each of n subjects in each of r earlier releases, or `ABSENT`; `value`
    (n,): the tuple of stable values of each, described by `attributes`; `subject` (m,) of each record.
    """

    classes: IntArray
    value: IntArray
    subject: IntArray
    attributes: tuple[Attribute, ...]


@dataclass
class _Cut:
    """The groups as they come about: `labels` (m,) of the records, -1 for those who wait."""

    past: Past
    table: PreparedTable
    enough: int
    labels: IntArray
    fixed: BoolArray  # (m,) records whose subjects were in the last release
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def n_groups(self) -> int:
        return int(self.labels.max(initial=-1)) + 1

    def short(self) -> BoolArray:
        """Tell for each subject whether exchanges leave too few possible values, (n,)."""
        now = np.full(len(self.past.value), ABSENT, dtype=np.int64)
        now[self.past.subject] = self.labels
        classes = np.column_stack([self.past.classes, now])
        return short_of(classes, self.past.value, self.past.attributes, self.enough, LIMITS)

    def remainder(self) -> IntArray:
        """Return the group of those who stayed in each subject's last class, (n,), -1 where nobody did.

        Subjects who left before the last release have none.
        """
        last = self.past.classes[:, -1]
        group = np.full(int(last.max(initial=-1)) + 2, -1, dtype=np.int64)
        stayed = np.flatnonzero(self.fixed & (self.labels >= 0))
        group[last[self.past.subject[stayed]]] = self.labels[stayed]
        group[-1] = -1
        return np.asarray(group[last])


def sticky(
    past: Past,
    table: PreparedTable,
    enough: int,
    least_size: int,
    cut: Callable[[IntArray], IntArray],
    enforce: Callable[[IntArray], IntArray],
    progress: Progress,
) -> tuple[IntArray, dict[str, Any]]:
    """Return labels (m,) in which exact reasoning leaves everybody `enough` values where it can be had.

    Groups of under `least_size` records take newcomers in; `cut` groups the others among themselves (labels,
    -1 for those it leaves out); `enforce` merges groups that break the model. Nothing that merges groups
    afterwards takes possible values from anybody.
    """
    here = past.classes[past.subject, -1]
    found = _Cut(past, table, enough, here.copy(), here != ABSENT)
    progress(0.1, "who left alone")
    new = (past.classes[past.subject] == ABSENT).all(axis=1)
    slots = _left_alone(found)
    slots = _substitute(found, slots, new)
    _return(found)
    _substitute(found, slots, ~new)
    _fill(found, least_size, new)
    progress(0.3, "newcomers")
    _admit(found, cut)
    _hide(found, enforce, progress)
    waits = found.labels < 0
    found.notes |= {
        "stay": int((found.fixed & ~waits).sum()),
        "left_out": int((found.fixed & waits).sum()),
        "wait": int((~found.fixed & waits).sum()),
    }
    names = np.unique(found.labels[~waits], return_inverse=True)[1]
    labels = found.labels.copy()
    labels[~waits] = names
    return labels, found.notes


def _return(found: _Cut) -> None:
    """Lead those who come back together to the group of those with whom they were last.

    They are together whose classes were the same in all releases. Who comes back alone is a newcomer.
    """
    past = found.past
    lost = np.flatnonzero(found.labels < 0)
    history = past.classes[past.subject[lost]]
    known = (history != ABSENT).any(axis=1)
    lost, history = lost[known], history[known]
    if not len(lost):
        return
    mates = np.unique(history, axis=0, return_inverse=True)[1].reshape(-1)
    unlike = np.unique(np.stack([mates, past.value[past.subject[lost]]]), axis=1)[0]
    together = np.bincount(unlike, minlength=mates.max() + 1)[mates] >= found.enough
    lost, history = lost[together], history[together]
    for release in range(past.classes.shape[1] - 1, -1, -1):
        theirs = history[:, release]
        now = (theirs != ABSENT) & (found.labels[lost] < 0)
        if not now.any():
            continue
        group = np.full(int(past.classes[:, release].max(initial=-1)) + 1, -1, dtype=np.int64)
        held = np.flatnonzero(found.labels >= 0)
        place = past.classes[past.subject[held], release]
        group[place[place != ABSENT]] = found.labels[held[place != ABSENT]]
        classes = np.unique(theirs[now])
        fresh = classes[group[classes] < 0]
        group[fresh] = found.n_groups + np.arange(len(fresh))
        found.labels[lost[now]] = group[theirs[now]]


def _left_alone(found: _Cut) -> IntArray:
    """Return the subjects who left a class that is still there, and who can be told from others."""
    gone = np.ones(len(found.past.value), dtype=bool)
    gone[found.past.subject[found.labels >= 0]] = False
    alone = np.flatnonzero(found.short() & gone & (found.remainder() >= 0))
    found.notes |= {"left_alone": len(alone), "followed": 0}
    return alone


def _substitute(found: _Cut, slots: IntArray, some: BoolArray) -> IntArray:
    """Let records of `some` with the same values follow those who left alone; return whom nobody follows."""
    past = found.past
    free = np.flatnonzero((found.labels < 0) & some)
    if not len(free) or not len(slots):
        return slots
    group = found.remainder()[slots]
    extent = Extent(found.table, found.labels, found.n_groups)
    beside = None if not (past.classes[past.subject[free]] != ABSENT).any() else _Beside(found)
    have = past.value[past.subject[free]]
    rows, slot = substitutes(extent, group, past.value[slots], free, have, beside)
    found.labels[rows] = group[slot]
    found.notes["followed"] += len(rows)
    return np.delete(slots, slot)


class _Beside:
    """Which groups somebody who comes back alone may join: those that have a value of one who left with them.

    Each of both may have had the other's value then; in a class that does not have it they could not.
    """

    def __init__(self, found: _Cut) -> None:
        self._past = found.past
        rows = np.flatnonzero(found.labels >= 0)
        n_values = int(found.past.value.max()) + 1
        self._present = np.zeros((found.n_groups, n_values), dtype=bool)
        self._present[found.labels[rows], found.past.value[found.past.subject[rows]]] = True
        self._gone = np.ones(len(found.past.value), dtype=bool)
        self._gone[found.past.subject] = False

    def __call__(self, groups: IntArray, rows: IntArray) -> BoolArray:
        past = self._past
        allowed = np.ones((len(groups), len(rows)), dtype=bool)
        for place, row in enumerate(rows.tolist()):
            subject = past.subject[row]
            history = past.classes[subject]
            releases = np.flatnonzero(history != ABSENT)
            if not len(releases):
                continue
            mates = self._gone & (past.classes[:, releases[-1]] == history[releases[-1]])
            if releases[-1] + 1 < past.classes.shape[1]:
                mates &= past.classes[:, releases[-1] + 1] == ABSENT
            values = np.unique(past.value[mates])
            allowed[:, place] = self._present[groups][:, values[values != past.value[subject]]].any(axis=1)
        return allowed


def _fill(found: _Cut, least_size: int, new: BoolArray) -> None:
    """Let each group that has become too small take in the newcomers that cost its cells least.

    At least `enough` of them, with as many values of each attribute, so that they hide one another.
    """
    past = found.past
    size = np.bincount(found.labels[found.labels >= 0], minlength=found.n_groups)
    small = np.flatnonzero((size > 0) & (size < least_size))
    free = np.flatnonzero((found.labels < 0) & new)
    if not len(small) or not len(free):
        return
    extent = Extent(found.table, found.labels, found.n_groups)
    value = past.value[past.subject]
    taken = np.zeros(len(found.labels), dtype=bool)
    filled = 0
    for first in range(0, len(small), AT_ONCE):
        part = small[first : first + AT_ONCE]
        cost = extent.growth(part, free)
        near = np.argsort(cost, axis=1, kind="stable")[:, :NEAREST]
        for group, nearest in zip(part.tolist(), free[near], strict=True):
            left = nearest[~taken[nearest]]
            chosen = _unlike(found, value[left], max(least_size - int(size[group]), found.enough))
            if len(chosen):
                found.labels[left[chosen]] = group
                taken[left[chosen]] = True
                filled += len(chosen)
    found.notes["filled"] = filled


def _unlike(found: _Cut, value: IntArray, n: int) -> IntArray:
    """Return the first n places of values, and more until `enough` differ in each attribute; else none."""
    if len(value) < n:
        return np.empty(0, dtype=np.int64)
    chosen = list(range(n))
    for each in found.past.attributes:
        own = each.value[value]
        for place in range(n, len(own)):
            if len(set(own[chosen].tolist())) >= found.enough:
                break
            if own[place] not in own[chosen]:
                chosen.append(place)
        if len(set(own[chosen].tolist())) < found.enough:
            return np.empty(0, dtype=np.int64)
    return np.array(chosen, dtype=np.int64)


def _admit(found: _Cut, cut: Callable[[IntArray], IntArray]) -> None:
    """Cut the other newcomers among themselves."""
    new = np.flatnonzero(found.labels < 0)
    if not len(new):
        return
    made = cut(new)
    found.labels[new] = np.where(made >= 0, made + found.n_groups, -1)
    found.notes["newcomers"] = len(new)


def _hide(found: _Cut, enforce: Callable[[IntArray], IntArray], progress: Progress) -> None:
    """Leave out whoever cannot be hidden, or hides somebody else, until nobody is short or nothing helps."""
    past = found.past
    row = np.full(len(past.value), -1, dtype=np.int64)
    row[past.subject] = np.arange(len(past.subject))
    for number in range(ROUNDS):
        found.labels = enforce(found.labels)
        short = np.flatnonzero(found.short())
        found.notes["short"] = len(short)
        progress(0.4 + 0.6 * number / ROUNDS, f"{len(short)} people can be told from others")
        if not len(short):
            return
        present = (row[short] >= 0) & (found.labels[row[short]] >= 0)
        here, gone = row[short[present]], short[~present]
        # Who came now waits before anybody else is left out.
        leave = np.union1d(here[~found.fixed[here]], _undoing(found, gone))
        if not len(leave):
            group = found.remainder()[gone]
            leave = np.union1d(here, _partners(found, gone[group >= 0], group[group >= 0]))
        if not len(leave):
            return
        found.labels[leave] = -1


def _undoing(found: _Cut, gone: IntArray) -> IntArray:
    """Return the records of those who come back and were last beside somebody who is gone for longer."""
    past = found.past
    back = np.flatnonzero((found.labels >= 0) & ~found.fixed)
    back = back[(past.classes[past.subject[back]] != ABSENT).any(axis=1)]
    if not len(gone) or not len(back):
        return np.empty(0, dtype=np.int64)
    beside = np.zeros(len(back), dtype=bool)
    for release in range(past.classes.shape[1]):
        theirs = past.classes[gone, release]
        beside |= np.isin(past.classes[past.subject[back], release], theirs[theirs != ABSENT])
    return np.asarray(back[beside])


def _partners(found: _Cut, gone: IntArray, group: IntArray) -> IntArray:
    """Return for each subject who is gone a record of their group that can have had their values.

    Those who came now are taken first, then those of the same classes in all releases, then those whose
    cells cost the group most. Nobody is taken whose values are alike in any attribute.
    """
    past = found.past
    rows = np.flatnonzero(found.labels >= 0)
    order = rows[np.argsort(found.labels[rows], kind="stable")]
    first = np.searchsorted(found.labels[order], np.arange(found.n_groups + 1))
    chosen: list[int] = []
    taken: set[int] = set()
    history = past.classes
    for subject, where in zip(gone.tolist(), group.tolist(), strict=True):
        members = order[first[where] : first[where + 1]]
        mates = past.subject[members]
        unlike = np.ones(len(members), dtype=bool)
        for each in past.attributes:
            unlike &= each.value[past.value[mates]] != each.value[past.value[subject]]
        unlike &= ~np.isin(members, list(taken)) if taken else True
        if not unlike.any():
            continue
        same = (history[mates] == history[subject]).all(axis=1)
        rank = np.where(~found.fixed[members], 2, 0) + same
        rank = np.where(unlike, rank, -1)
        best = np.flatnonzero(rank == rank.max())
        pick = int(members[best[_outermost(found.table, members, best)]])
        chosen.append(pick)
        taken.add(pick)
    return np.array(chosen, dtype=np.int64)


def _outermost(table: PreparedTable, members: IntArray, best: IntArray) -> int:
    """Return which of the members at `best` has the fewest cells in common with the others."""
    alone = np.zeros(len(best))
    for column in range(table.codes.shape[1]):
        codes = table.codes[members, column]
        alone += (codes[best][:, None] == codes).sum(axis=1) == 1
    for column in range(table.numeric.shape[1]):
        numbers = table.numeric[members, column]
        spread = np.ptp(numbers)
        if spread > 0:
            alone += abs(numbers[best] - np.median(numbers)) / spread
    return int(alone.argmax())
