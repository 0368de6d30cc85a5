"""Whom exact reasoning over all releases pins, which groups to merge for them, and whom to leave out.

Two groups that become one are one equation less: whatever was possible for anybody before is possible still,
so that what was found before a merge holds after it. Where merges do not help, single records are left out:
somebody who is in one class alone can take another's value there, and nothing else says that they did not.
Where that takes somebody with a signature, one person of each other position of it leaves the class as well:
then every class holds as many in one position as in another, as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tasks.history.chains import Chain, Chains
from tasks.history.cohorts import ABSENT
from tasks.history.search import Limits
from tasks.history.sticky import Past
from tasks.history.worlds import Possible, possible_values
from tasks.repair.leaving import Leaving
from tasks.types import BoolArray, IntArray

LEAVING_CALLS = 500  # of the solver in a round, for whom no chain is found


class Worlds:
    """What the earlier releases, and the groups of the table as they become, leave possible.

    `seat` (m, 2): the signature and position of each record of the table, if there are any.
    """

    def __init__(self, past: Past, least: int, limits: Limits, seat: IntArray | None) -> None:
        self._past, self._least, self._limits = past, least, limits
        self._seat = past.seat if seat is None else past.seated(seat)
        self._found: Possible | None = None
        self._asked = np.empty(0, dtype=np.int64)  # who is short
        self._asked_of = np.empty(0, dtype=np.int64)  # the group of each subject when that was found
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

        Two people of one group can change values if in every earlier class of either somebody who is gone has
        the other's value: these take the values that the two give up. So a pinned person's group is merged
        with one that has somebody to change with, and the group of a person who was with somebody pinned who
        is gone with one that has the pinned value. O(n r) for each value of somebody who is pinned.
        """
        now, value = self._now(labels), self._past.value
        here = np.flatnonzero(now != ABSENT)
        size = np.bincount(now[here], minlength=int(now.max(initial=-1)) + 1)
        free: dict[int, BoolArray] = {}
        found: dict[int, list[IntArray]] = {}

        def can_take(taken: int) -> BoolArray:
            """Tell for each of those here whether somebody gone could give them this tuple in every class."""
            if taken not in free:
                free[taken] = self._gone_with(taken, now)[here]
            return free[taken]

        for subject in self._asked.tolist():
            own = int(value[subject])
            if now[subject] != ABSENT:
                others = here[can_take(own) & np.isin(value[here], self._held_by_gone(subject, now))]
                found.setdefault(int(now[subject]), []).append(now[others[self._apart(others, subject)]])
                continue
            for earlier in self._past.classes.T:
                mates = here[earlier[here] == earlier[subject]] if earlier[subject] != ABSENT else here[:0]
                mates = mates[self._apart(mates, subject)]
                if len(mates):
                    mate = int(mates[np.argmin(size[now[mates]])])
                    others = here[can_take(int(value[mate])) & (value[here] == own)]
                    found.setdefault(int(now[mate]), []).append(now[others])
        return {group: np.unique(np.concatenate(others)) for group, others in found.items()}

    def _held_by_gone(self, subject: int, now: IntArray) -> IntArray:
        """Return the tuples that people who are gone have in every earlier class of a subject."""
        held: IntArray | None = None
        for earlier in self._past.classes.T:
            if earlier[subject] != ABSENT:
                own = self._past.value[(earlier == earlier[subject]) & (now == ABSENT)]
                held = np.unique(own) if held is None else np.intersect1d(held, own)
        return np.empty(0, dtype=np.int64) if held is None else held

    def _gone_with(self, taken: int, now: IntArray) -> BoolArray:
        """Tell for each subject (n,) if in all its earlier classes somebody who is gone has this tuple."""
        held = np.ones(len(now), dtype=bool)
        gone = (now == ABSENT) & (self._past.value == taken)
        for earlier in self._past.classes.T:
            there = np.zeros(int(earlier.max(initial=-1)) + 2, dtype=bool)
            there[earlier[gone]] = True  # the last place is that of who is in no class of the release
            there[-1] = True
            held &= there[earlier]
        return held

    def left_out(
        self,
        labels: IntArray,
        out: IntArray | None = None,
        seats: IntArray | None = None,
        *,
        seated: bool = False,
    ) -> IntArray:
        """Return the records of `labels` (m,) that are to be left out so that fewer people are pinned.

        Where somebody leaves the table, a chain of exchanges need not keep the values of their class there.
        As few leave as will do for each who is pinned or undecided: by chains of exchanges, and for whom none
        is found by the solver. Whoever has a signature stays, unless the `seated` may leave too. Asks about
        the groups that `failing` was last asked about, and names nobody where it found nobody, beside the
        records that are `out` in any case. With `seats`, those whom `beside` names leave as well.
        """
        out = np.empty(0, dtype=np.int64) if out is None else out
        if not self.n_short:
            return out
        past, now = self._past, self._now(labels)
        short = self._short(now)
        may = now != ABSENT
        if not seated:
            may &= self._seat[:, 0] < 0
        if not may.any():
            return out
        classes = np.column_stack([past.classes, now])
        chains = Chains(classes, past.value, may)
        few = replace(self._limits, calls=min(self._limits.calls, LEAVING_CALLS))
        leaving = Leaving(classes, past.value, may, few)
        chains.gone[past.subject[out]] = True
        for somebody in (False, True):  # where nobody has to leave for a value, it was possible before
            for subject in short.tolist():
                every, some = self._wanted(subject)
                chain = self._chain(chains, subject, every, somebody) or self._chain(
                    chains, subject, some & ~every, somebody
                )
                if chain is not None:
                    chains.leave(chain)
                else:
                    chains.gone[leaving.find(subject, every, chains.gone)] = True
            if chains.gone[past.subject].any():
                break
        gone = chains.gone[past.subject]
        if seats is not None:
            gone[self.beside(labels, seats, gone)] = True
        return np.flatnonzero(gone)

    def beside(self, labels: IntArray, seats: IntArray, leaving: BoolArray) -> IntArray:
        """Return records to leave out beside those that are `leaving` (m,), so that signatures stay balanced.

        `seats` (m, 2) are those of the records, which every group of `labels` holds alike: as many people
        leave every position of a signature there, first those who are pinned, then those who were in an
        earlier release. O(m) for each group and signature of those who are leaving.
        """
        known = np.where(self._past.known, 1, 2)
        rank = np.where(np.isin(self._past.subject, self._asked), 0, known)
        there = np.flatnonzero(leaving & (labels >= 0) & (seats[:, 0] >= 0))
        found: list[IntArray] = [np.empty(0, dtype=np.int64)]
        for group, signature in np.unique(np.column_stack([labels[there], seats[there, 0]]), axis=0).tolist():
            rows = np.flatnonzero((labels == group) & (seats[:, 0] == signature))
            position = seats[rows, 1]
            n_leaving = np.bincount(position[leaving[rows]], minlength=int(position.max()) + 1)
            for one, lack in enumerate((n_leaving.max() - n_leaving).tolist()):
                mates = rows[(position == one) & ~leaving[rows]]
                found.append(mates[np.argsort(rank[mates], kind="stable")[:lack]])
        return np.concatenate(found)

    def _chain(self, chains: Chains, subject: int, wanted: BoolArray, somebody: bool) -> Chain | None:
        """Return the chain for which fewest, and `somebody` if asked, leave so that a subject has a `wanted`
        tuple (m,), or None.
        """
        others = chains.values_beside(subject)
        found = [
            chains.find(subject, one, third=third)
            for third in (False, True)
            for one in others[wanted[others]].tolist()
        ]
        helpful = (one for one in found if one is not None and (len(one.out) or not somebody))
        return min(helpful, key=lambda one: len(one.out), default=None)

    def _wanted(self, subject: int) -> tuple[BoolArray, BoolArray]:
        """Return the tuples (m,) with a value not known to be possible wherever the subject lacks one.

        And those with one in some attribute: these help where no tuple has both.
        """
        found, attributes = self._found, self._past.attributes
        every = np.ones(int(self._past.value.max(initial=-1)) + 1, dtype=bool)
        if found is None:
            return every, every
        cohort = int(found.cohorts.number[subject])
        first, end = np.searchsorted(found.found, [cohort * len(every), (cohort + 1) * len(every)])
        own = found.found[first:end] - cohort * len(every)
        every[own] = False
        some = np.zeros_like(every) if attributes else every
        for attribute, least in zip(attributes, found.least[cohort].tolist(), strict=False):
            if least < self._least + attribute.more:
                apart = np.all([attribute.apart(np.arange(len(every)), one) for one in own.tolist()], axis=0)
                every, some = every & apart, some | apart
        return every, some

    def _now(self, labels: IntArray) -> IntArray:
        now = np.full(len(self._past.value), ABSENT, dtype=np.int64)
        now[self._past.subject] = labels
        return now

    def _short(self, now: IntArray) -> IntArray:
        """Return the subjects who are pinned or undecided."""
        if self._found is not None and np.array_equal(now, self._asked_of):
            return self._asked
        past = self._past
        classes = np.column_stack([past.classes, now])
        found = possible_values(
            classes,
            past.value,
            past.attributes,
            self._least,
            self._limits,
            self._seat,
            self._found.kept if self._found else None,
            past.transient,
        )
        self._found = found
        there = (classes != ABSENT).any(axis=1)
        short = np.flatnonzero(there & (found.pinned(self._least) | found.undecided(self._least)))
        self.n_short, self._asked, self._asked_of = len(short), short, now
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
    """Several questions about the same groups: what any of them names fails, or is left out.

    `seats` (m, 2): the signatures and positions of the records, if the groups hold positions alike.
    """

    def __init__(self, worlds: Sequence[Worlds], seats: IntArray | None = None) -> None:
        self._worlds, self._seats = worlds, seats

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
        """Return the records of `labels` (m,) that `Worlds.left_out` names for any question.

        People with signatures leave where nobody else can, and their signatures stay balanced.
        """
        out = np.unique(np.concatenate([each.left_out(labels) for each in self._worlds]))
        if not len(out):
            for each in self._worlds:
                out = each.left_out(labels, out, self._seats, seated=True)
        return out
