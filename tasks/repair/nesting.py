"""Which groups are undone by an earlier class with all their people, or all of whose people they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from release_store.records import EquivalenceClasses, PersonHashes
from tasks.risk.person_nesting import few_left
from tasks.risk.persons import NOWHERE, Followed
from tasks.risk.space import Space, counts_of
from tasks.types import BoolArray, IntArray, PreparedTable


@dataclass(frozen=True)
class Nesting:
    """The people of n records and of all N earlier classes, with their sensitive values.

    `told` (N,) says whether everybody in an earlier class is known; `own` and `earlier` hold for each
    compared attribute the records' values (n,) and the classes' counts (N, values).
    """

    followed: Followed
    size: IntArray
    told: BoolArray
    own: tuple[IntArray, ...]
    earlier: tuple[IntArray, ...]
    l_least: int

    def undoes(self, members: IntArray) -> bool:
        """Tell whether some earlier class leaves a group of records under l different values. O(members)."""
        people = self.followed.person[members]
        if (people < 0).any() or len(np.unique(people)) < len(people):
            return False
        places = self.followed.place[members]
        place, n = np.unique(places[places != NOWHERE], return_counts=True)
        size = self.size[place]
        nested = place[self.told[place] & (n == np.minimum(size, len(members))) & (size != len(members))]
        if not len(nested):
            return False
        for own, earlier in zip(self.own, self.earlier, strict=True):
            counts = np.bincount(own[members], minlength=earlier.shape[1])
            if few_left(counts, earlier[nested], self.l_least).any():
                return True
        return False


def nesting_of(
    table: PreparedTable,
    followed: Followed,
    earlier: Sequence[tuple[str, EquivalenceClasses]],
    people: Sequence[PersonHashes | None],
    space: Space,
    attributes: Sequence[str],
    l_least: int,
) -> Nesting:
    """Lay out what `Nesting` looks at; `people` are those of the earlier releases that can be joined."""
    counts = [counts_of(classes, space) for _, classes in earlier]
    own = []
    for name in attributes:
        rank = {value: i for i, value in enumerate(space.sensitive[name])}
        code = np.array([rank.get(value, -1) for value in table.sensitive_values[name]], dtype=np.int64)
        own.append(code[table.sensitive[:, table.sensitive_names.index(name)]])
    return Nesting(
        followed,
        np.concatenate([classes.size for _, classes in earlier]),
        np.concatenate([_told(classes, who) for (_, classes), who in zip(earlier, people, strict=True)]),
        tuple(own),
        tuple(np.concatenate([each[name] for each in counts]) for name in attributes),
        l_least,
    )


def _told(classes: EquivalenceClasses, people: PersonHashes | None) -> BoolArray:
    if people is None or people.classes is None:
        return np.zeros(classes.n_classes, dtype=bool)
    number = np.array(people.classes, dtype=np.int64)
    return np.asarray(np.bincount(number, minlength=classes.n_classes) == classes.size)
