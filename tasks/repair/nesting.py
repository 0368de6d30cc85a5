"""Which groups are undone by the people that they share with earlier classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from release_store.records import EquivalenceClasses, PersonHashes
from tasks.geometry.space import Space
from tasks.history.person_nesting import KnownClasses, disclosed_by, find_disclosures
from tasks.history.persons import Followed
from tasks.repair.groups import Groups
from tasks.types import BoolArray, IntArray


@dataclass
class Nesting:
    """The people of n records, and all N earlier classes with theirs.

    `sole` (n,) says whether a record is its person's only published one, `labels` (n,) which group it was in
    at first; `release` (N,) is that of each class; `records` are those of the people of class 0, 1, ...,
    which begin at
    `starts` (N + 1,).
    """

    followed: Followed
    sole: BoolArray
    labels: IntArray
    records: IntArray
    starts: IntArray
    earlier: KnownClasses
    release: IntArray
    attributes: tuple[str, ...]
    l_least: int

    def undoes(self, groups: Groups, group: int, partner: int) -> bool:
        """Tell whether two groups as one are undone, alone or together with others that share their people.

        O(records of the earlier classes that the two have people of).
        """
        members = np.concatenate([groups.members[group], groups.members[partner]])
        places = self.followed.place[members]
        near = np.unique(
            np.concatenate([members, *(self._of_class(one) for one in np.unique(places).tolist())])
        )
        now = groups.parent[self.labels[near]]
        now = np.where((self.labels[near] >= 0) & groups.alive[now], now, -1)
        now[now == partner] = group
        found, local = np.unique(now, return_inverse=True)
        living = found >= 0
        size, counts = groups.size[found], {name: each[found] for name, each in groups.counts.items()}
        here = int(np.flatnonzero(found == group)[0])
        size[here] = len(members)
        for name, each in groups.counts.items():
            counts[name][here] = each[group] + each[partner]
        told = [bool(self.sole[groups.members[one]].all()) for one in found.tolist()]
        told[here] = bool(self.sole[members].all())
        own = KnownClasses(size, np.array(told) & living, self._of(counts))
        return bool(self._undone(np.where(living[local], local, -1), near, own)[here])

    def _of_class(self, place: int) -> IntArray:
        """Return the records of the people of one earlier class."""
        return self.records[self.starts[place] : self.starts[place + 1]] if place >= 0 else self.records[:0]

    def undone(self, groups: Groups) -> BoolArray:
        """Tell for each living group whether it is undone, alone or together with others, (living,)."""
        living = groups.living
        members = [groups.members[one] for one in living.tolist()]
        published = np.concatenate(members) if members else np.zeros(0, dtype=np.int64)
        self.sole = only_ones(self.followed.person, published)
        own = KnownClasses(
            groups.size[living],
            np.array([self.sole[one].all() for one in members], dtype=bool),
            self._of({name: counts[living] for name, counts in groups.counts.items()}),
        )
        group = np.repeat(np.arange(len(members)), [len(one) for one in members])
        return self._undone(group, published, own)

    def _of(self, counts: dict[str, IntArray]) -> tuple[IntArray, ...]:
        return tuple(counts[name] for name in self.attributes)

    def _undone(self, group: IntArray, records: IntArray, own: KnownClasses) -> BoolArray:
        followed = self.followed.take(records)
        failing = np.zeros(len(own.size), dtype=bool)
        for attribute in range(len(self.attributes)):
            found = find_disclosures(
                group, followed, own, self.earlier, self.release, attribute, self.l_least
            )
            failing |= found.failing
        return failing


def nesting_of(
    followed: Followed,
    labels: IntArray,
    earlier: Sequence[tuple[str, EquivalenceClasses]],
    people: Sequence[PersonHashes | None],
    space: Space,
    attributes: Sequence[str],
    l_least: int,
) -> Nesting:
    """Lay out what `Nesting` looks at; `people` are those of the earlier releases that can be joined."""
    known = [(classes, who) for (_, classes), who in zip(earlier, people, strict=True)]
    n_classes = [classes.n_classes for _, classes in earlier]
    row, column = np.nonzero(followed.place >= 0)
    place = followed.place[row, column]
    return Nesting(
        followed,
        only_ones(followed.person, np.flatnonzero(labels >= 0)),
        labels,
        row[np.argsort(place, kind="stable")],
        np.searchsorted(np.sort(place), np.arange(sum(n_classes) + 1)),
        disclosed_by(known, space, attributes),
        np.repeat(np.arange(len(earlier)), n_classes),
        tuple(attributes),
        l_least,
    )


def only_ones(person: IntArray, published: IntArray) -> BoolArray:
    """Tell which of n records, whose people are `person` (-1: nobody), are a person's only published one."""
    known = person[published]
    rows = np.bincount(known[known >= 0], minlength=int(person.max(initial=0)) + 1)
    return np.asarray((person >= 0) & (rows[np.maximum(person, 0)] <= 1))
