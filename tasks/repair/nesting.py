"""Which groups are undone by the people that they share with earlier classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from release_store.records import EquivalenceClasses, PersonHashes
from tasks.counting import numbers_from
from tasks.geometry.space import Space
from tasks.history.person_nesting import KnownClasses, disclosed_by, find_disclosures
from tasks.history.persons import NOWHERE, Followed
from tasks.history.required import Required
from tasks.repair.groups import Groups
from tasks.types import BoolArray, IntArray


@dataclass
class Nesting:
    """The people of n records, and all N earlier classes with theirs.

    `not_sole` are the published records of somebody with several, or of nobody known; `labels` (n,) tells
    which group a record was in at first; `release` (N,) is that of each class; `records` are those of the
    people of class 0, 1, ..., which begin at `starts` (N + 1,).
    """

    followed: Followed
    not_sole: IntArray
    labels: IntArray
    records: IntArray
    starts: IntArray
    earlier: KnownClasses
    release: IntArray
    required: Mapping[str, Required]

    def undoes(self, groups: Groups, group: IntArray, partner: IntArray) -> tuple[BoolArray, list[IntArray]]:
        """Tell of two groups each, (m,) and (m,), whether they are undone as one, alone or together with
        others that share their people; and of which groups this depends, those two among them.

        O(records of the earlier classes that the two have people of).
        """
        n_groups, n_records, n_earlier = len(groups.alive), len(self.labels), len(self.release)
        both = [
            np.concatenate([groups.members[a], groups.members[b]])
            for a, b in zip(group, partner, strict=True)
        ]
        size = np.array([len(each) for each in both], dtype=np.int64)
        pair, members = np.repeat(np.arange(len(both)), size), np.concatenate(both)
        place = self.followed.place[members]
        of_pair, class_ = np.divmod(
            np.unique((pair[:, None] * n_earlier + place)[place != NOWHERE]), n_earlier
        )
        first, end = self.starts[class_], self.starts[class_ + 1]
        others = self.records[numbers_from(first, end - first)]
        near = np.concatenate(
            [pair * n_records + members, np.repeat(of_pair, end - first) * n_records + others]
        )
        pair, records = np.divmod(np.unique(near), n_records)
        now = groups.parent[self.labels[records]]
        there = (self.labels[records] >= 0) & groups.alive[now]
        pair, records, now = pair[there], records[there], now[there]
        key, local = np.unique(
            pair * n_groups + np.where(now == partner[pair], group[pair], now), return_inverse=True
        )
        of_pair, found = np.divmod(key, n_groups)
        here = np.searchsorted(key, np.arange(len(both)) * n_groups + group)
        told = self._told(groups)
        own = KnownClasses(groups.size[found], told[found], self._of(groups.counts, found))
        own.size[here] = size
        own.told[here] &= told[partner]
        for mine, name in zip(own.counts, self.required, strict=True):
            mine[here] += groups.counts[name][partner]
        # The classes of different pairs are kept apart.
        followed = self.followed.take(records)
        key, apart = np.unique(pair[:, None] * n_earlier + followed.place, return_inverse=True)
        classes = key % n_earlier
        followed = replace(
            followed, place=np.where(followed.place == NOWHERE, NOWHERE, apart.reshape(followed.place.shape))
        )
        failing = self._undone(
            local,
            followed,
            own,
            self.earlier.take(classes),
            self.release[classes],
        )
        by = np.split(found, np.searchsorted(of_pair, np.arange(1, len(both))))
        return failing[here], [np.append(each, one) for each, one in zip(by, partner, strict=True)]

    def _told(self, groups: Groups) -> BoolArray:
        """Tell for each group whether it has nobody with another published record, (groups,)."""
        told = np.ones(len(groups.alive), dtype=bool)
        told[groups.parent[self.labels[self.not_sole]]] = False
        return told

    def undone(self, groups: Groups) -> BoolArray:
        """Tell for each living group whether it is undone, alone or together with others, (living,)."""
        living = groups.living
        members = [groups.members[one] for one in living.tolist()]
        published = np.concatenate(members) if members else np.zeros(0, dtype=np.int64)
        self.not_sole = published[~only_ones(self.followed.person, published)[published]]
        own = KnownClasses(
            groups.size[living],
            self._told(groups)[living],
            self._of(groups.counts, living),
        )
        group = np.repeat(np.arange(len(members)), [len(one) for one in members])
        return self._undone(group, self.followed.take(published), own, self.earlier, self.release)

    def _of(self, counts: dict[str, IntArray], groups: IntArray) -> tuple[IntArray, ...]:
        return tuple(counts[name][groups] for name in self.required)

    def _undone(
        self,
        group: IntArray,
        followed: Followed,
        own: KnownClasses,
        earlier: KnownClasses,
        release: IntArray,
    ) -> BoolArray:
        failing = np.zeros(len(own.size), dtype=bool)
        for attribute, required in enumerate(self.required.values()):
            found = find_disclosures(group, followed, own, earlier, release, attribute, required)
            failing |= found.failing
        return failing


def nesting_of(
    followed: Followed,
    labels: IntArray,
    earlier: Sequence[tuple[str, EquivalenceClasses]],
    people: Sequence[PersonHashes | None],
    space: Space,
    required: Mapping[str, Required],
) -> Nesting:
    """Lay out what `Nesting` looks at; `people` are those of the earlier releases that can be joined."""
    known = [(classes, who) for (_, classes), who in zip(earlier, people, strict=True)]
    n_classes = [classes.n_classes for _, classes in earlier]
    row, column = np.nonzero(followed.place >= 0)
    place = followed.place[row, column]
    published = np.flatnonzero(labels >= 0)
    return Nesting(
        followed,
        published[~only_ones(followed.person, published)[published]],
        labels,
        row[np.argsort(place, kind="stable")],
        np.searchsorted(np.sort(place), np.arange(sum(n_classes) + 1)),
        disclosed_by(known, space, list(required)),
        np.repeat(np.arange(len(earlier)), n_classes),
        required,
    )


def only_ones(person: IntArray, published: IntArray) -> BoolArray:
    """Tell which of n records, whose people are `person` (-1: nobody), are a person's only published one."""
    known = person[published]
    rows = np.bincount(known[known >= 0], minlength=int(person.max(initial=0)) + 1)
    return np.asarray((person >= 0) & (rows[np.maximum(person, 0)] <= 1))
