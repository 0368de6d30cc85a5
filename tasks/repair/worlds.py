"""Whom exact reasoning over all releases pins, which groups to merge for them, and whom to leave out.

Two groups that become one are one equation less: whatever was possible for anybody before is possible still,
so that what was found before a merge holds after it. Where merges do not help, single records are left out:
somebody who is in one class alone can take another's value there, and nothing else says that they did not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tasks.history.chains import Chains
from tasks.history.cohorts import ABSENT
from tasks.history.search import Limits
from tasks.history.sticky import Past
from tasks.history.worlds import Possible, possible_values
from tasks.repair.leaving import Leaving
from tasks.types import BoolArray, IntArray

LEAVING_CALLS = 500  # of the solver in a round, for whom no chain is found
STEPS = ((4, False), (2, True))  # of a chain from the person on who is pinned, and if by three values


class Worlds:
    """What the earlier releases, and the groups of the table as they become, leave possible.

    `seat` (m, 2): the signature and position of each record of the table, if there are any.
    """

    def __init__(self, past: Past, least: int, limits: Limits, seat: IntArray | None) -> None:
        self._past, self._least, self._limits = past, least, limits
        self._seat = past.seat.copy()
        if seat is not None:
            given = seat[:, 0] >= 0
            self._seat[past.subject[given]] = seat[given]
        self._found: Possible | None = None
        self._asked = np.empty(0, dtype=np.int64)  # who is short
        self.n_short = 0

    def failing(self, labels: IntArray) -> IntArray:
        """Return the groups of `labels` (m,) with somebody who is pinned or undecided, and further groups.

        Each of these has somebody with another value who was in an earlier class with such a person: in a
        larger group they can take that person's value. O(n r log n), and calls of the solver for the few that
        are left.
        """
        now = self._now(labels)
        short = self._short(now)
        own = now[short]
        return np.union1d(own[own != ABSENT], self._mates(short, now))

    def partners(self, labels: IntArray) -> dict[int, IntArray]:
        """Return with which groups those that `failing` was last asked about are best merged.

        Somebody with another value who was in the same earlier classes, all or as many as there are, can take
        the value of a person who is pinned, once they are in one group: nothing, or least, tells them apart.
        """
        past, now = self._past, self._now(labels)
        here = np.flatnonzero(now != ABSENT)
        orders = [here[np.argsort(earlier[here], kind="stable")] for earlier in past.classes.T]
        found: dict[int, list[int]] = {}
        for subject in self._asked[now[self._asked] != ABSENT].tolist():
            mates = []
            for earlier, order in zip(past.classes.T, orders, strict=True):
                if earlier[subject] != ABSENT:
                    first, end = (
                        np.searchsorted(earlier[order], earlier[subject], s) for s in ("left", "right")
                    )
                    mates.append(order[first:end])
            near = np.unique(np.concatenate(mates)) if mates else here[:0]
            near = near[self._apart(near, subject)]
            if len(near):
                alike = (past.classes[near] == past.classes[subject]).sum(axis=1)
                found.setdefault(int(now[subject]), []).extend(now[near[alike == alike.max()]].tolist())
        return {group: np.unique(others) for group, others in found.items()}

    def left_out(self, labels: IntArray) -> IntArray:
        """Return the records of `labels` (m,) that are to be left out so that fewer people are pinned.

        Where somebody leaves the table, a chain of exchanges need not keep the values of their class there.
        As few leave as will do for each who is pinned or undecided: by chains of exchanges, and for whom none
        is found by the solver. Whoever has a signature stays. Asks about the groups that `failing` was last
        asked about, and names nobody where it found nobody.
        """
        if not self.n_short:
            return np.empty(0, dtype=np.int64)
        past, now = self._past, self._now(labels)
        short = self._short(now)
        may = (now != ABSENT) & (self._seat[:, 0] < 0)
        classes = np.column_stack([past.classes, now])
        chains = Chains(classes, past.value, may)
        few = replace(self._limits, calls=min(self._limits.calls, LEAVING_CALLS))
        leaving = Leaving(classes, past.value, may, few)
        for subject in short.tolist():
            wanted = self._wanted(subject)
            others = chains.values_beside(subject)
            for steps, third in STEPS:
                found = [
                    chains.find(subject, other, steps, third=third)
                    for other in others[wanted[others]].tolist()
                ]
                known = [chain for chain in found if chain is not None]
                if known:
                    chains.leave(min(known, key=lambda chain: len(chain.out)))
                    break
            else:
                chains.gone[leaving.find(subject, wanted, chains.gone)] = True
        self._found = None  # who leaves a class alone may take possible values from those who stay
        return np.flatnonzero(chains.gone[past.subject])

    def _wanted(self, subject: int) -> BoolArray:
        """Return the tuples (m,) with a value not known to be possible, wherever the subject lacks one."""
        found, attributes = self._found, self._past.attributes
        wanted = np.ones(int(self._past.value.max(initial=-1)) + 1, dtype=bool)
        if found is None:
            return wanted
        cohort = int(found.cohorts.number[subject])
        first, end = np.searchsorted(found.found, [cohort * len(wanted), (cohort + 1) * len(wanted)])
        for own in (found.found[first:end] - cohort * len(wanted)).tolist():
            wanted[own] = False
            for attribute, least in zip(attributes, found.least[cohort].tolist(), strict=False):
                if least < self._least:
                    wanted &= attribute.apart(np.arange(len(wanted)), own)
        return wanted

    def _now(self, labels: IntArray) -> IntArray:
        now = np.full(len(self._past.value), ABSENT, dtype=np.int64)
        now[self._past.subject] = labels
        return now

    def _short(self, now: IntArray) -> IntArray:
        """Return the subjects who are pinned or undecided."""
        past = self._past
        classes = np.column_stack([past.classes, now])
        found = possible_values(
            classes,
            past.value,
            past.attributes,
            self._least,
            self._limits,
            self._seat,
            self._found,
            past.transient,
        )
        self._found = found
        there = (classes != ABSENT).any(axis=1)
        short = np.flatnonzero(there & (found.pinned(self._least) | found.undecided(self._least)))
        self.n_short, self._asked = len(short), short
        return short

    def _mates(self, short: IntArray, now: IntArray) -> IntArray:
        """Return the smallest group of such a mate for each of `short` in each earlier release."""
        size = np.bincount(now[now != ABSENT], minlength=int(now.max(initial=-1)) + 1)
        here = np.flatnonzero(now != ABSENT)
        chosen: set[int] = set()
        for earlier in self._past.classes.T:
            order = here[np.lexsort((size[now[here]], earlier[here]))]
            first = np.searchsorted(earlier[order], np.arange(int(earlier.max(initial=-1)) + 2))
            for subject in short[earlier[short] != ABSENT].tolist():
                mates = order[first[earlier[subject]] : first[earlier[subject] + 1]]
                mates = mates[self._apart(mates, subject)]
                chosen.update(now[mates[:1]].tolist())
        return np.array(sorted(chosen), dtype=np.int64)

    def _apart(self, mates: IntArray, subject: int) -> BoolArray:
        value, attributes = self._past.value, self._past.attributes
        if not attributes:
            return np.asarray(value[mates] != value[subject])
        apart = [one.apart(value[mates], int(value[subject])) for one in attributes]
        return np.asarray(np.any(apart, axis=0))


class Questions:
    """Several questions about the same groups: what any of them names fails, or is left out."""

    def __init__(self, worlds: Sequence[Worlds]) -> None:
        self._worlds = worlds

    @property
    def n_short(self) -> int:
        """How many people are pinned or undecided, each as often as by different questions."""
        return sum(each.n_short for each in self._worlds)

    def failing(self, labels: IntArray) -> IntArray:
        """Return the groups of `labels` (m,) that `Worlds.failing` names for any question."""
        return np.unique(np.concatenate([each.failing(labels) for each in self._worlds]))

    def partners(self, labels: IntArray) -> dict[int, IntArray]:
        """Return the partners that `Worlds.partners` names for the first question that names any."""
        found: dict[int, IntArray] = {}
        for each in self._worlds:
            found = each.partners(labels) | found
        return found

    def left_out(self, labels: IntArray) -> IntArray:
        """Return the records of `labels` (m,) that `Worlds.left_out` names for any question."""
        return np.unique(np.concatenate([each.left_out(labels) for each in self._worlds]))
