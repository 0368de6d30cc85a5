"""Classes of two releases that share known people, and what is left for the others in them.

Whoever knows the people of a class A and of an earlier class B knows the people of A who are not in B. Their
values are those of A less what the shared people have, which stands in both: every value that A has more
often than B is theirs, and the rest may be any value in common. Where A and B differ by few people and few
values, these are pinned. Riyana (2025, section 2.2) has the case of nested classes, by cells; here it is by
person, and exact for two classes. A class that was split or merged since is laid beside its parts together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from release_store.records import EquivalenceClasses, PersonHashes
from tasks.geometry.space import Space, counts_of
from tasks.history.persons import NOWHERE, Followed
from tasks.history.required import Required
from tasks.types import BoolArray, IntArray

CELLS = 4_000_000


@dataclass(frozen=True)
class KnownClasses:
    """Classes and their people: `size` (N,) and, an attribute, `counts` (N, values).

    `told` (N,) says whether everybody in a class is known, and in no other class of its release.
    """

    size: IntArray
    told: BoolArray
    counts: tuple[IntArray, ...]

    def take(self, classes: IntArray) -> KnownClasses:
        """Return the classes at `classes`."""
        return KnownClasses(
            self.size[classes], self.told[classes], tuple(counts[classes] for counts in self.counts)
        )

    def together(self, classes: IntArray, starts: IntArray) -> KnownClasses:
        """Return runs of `classes`, each from one of `starts` to the next, as one class each."""
        return KnownClasses(
            np.add.reduceat(self.size[classes], starts),
            np.logical_and.reduceat(self.told[classes], starts),
            tuple(np.add.reduceat(counts[classes], starts, axis=0) for counts in self.counts),
        )


def disclosed_by(
    releases: Sequence[tuple[EquivalenceClasses, PersonHashes | None]],
    space: Space,
    attributes: Sequence[str],
) -> KnownClasses:
    """Return the classes of some releases with who is known to be in them. O(people)."""
    counts = [counts_of(classes, space) for classes, _ in releases]
    return KnownClasses(
        np.concatenate([classes.size for classes, _ in releases]),
        np.concatenate([_told(classes, people) for classes, people in releases]),
        tuple(np.concatenate([each[name] for each in counts]) for name in attributes),
    )


def _told(classes: EquivalenceClasses, people: PersonHashes | None) -> BoolArray:
    if people is None or people.classes is None:
        return np.zeros(classes.n_classes, dtype=bool)
    number = np.array(people.classes, dtype=np.int64)
    told = np.bincount(number, minlength=classes.n_classes) == classes.size
    _, place, rows = np.unique(np.array(people.hashes, dtype=object), return_inverse=True, return_counts=True)
    told[number[rows[place] > 1]] = False
    return np.asarray(told)


@dataclass(frozen=True)
class NestedDisclosures:
    """`failing` (n,) candidate classes; how many pairs were `compared`, and how many times several classes
    `together`; how many `failed`; the two classes of the `first` failure.
    """

    failing: BoolArray
    compared: int
    together: int
    failed: int
    first: tuple[int, int] | None


def find_disclosures(
    group: IntArray,
    followed: Followed,
    own: KnownClasses,
    earlier: KnownClasses,
    release: IntArray,
    attribute: int,
    required: Required,
) -> NestedDisclosures:
    """Find the candidate classes beside which somebody is left with under l values of an attribute.

    `group` (n,) is the candidate class of each followed row, -1 for none; `release` (N,) that of each earlier
    class. Cost: rows times releases, and pairs of classes that share people times values.
    """
    row, column = np.nonzero((followed.place != NOWHERE) & (group >= 0)[:, None])
    n_earlier = len(earlier.size)
    key, shared = np.unique(group[row] * n_earlier + followed.place[row, column], return_counts=True)
    one, other = key // max(n_earlier, 1), key % max(n_earlier, 1)
    failing = np.zeros(len(own.size), dtype=bool)
    failed = together = 0
    first: tuple[int, int] | None = None

    def look(
        mine: KnownClasses, theirs: KnownClasses, n: IntArray, starts: IntArray, order: IntArray
    ) -> None:
        nonlocal failed, first
        bad = mine.told & theirs.told
        bad &= _few(mine, theirs, n, attribute, required) | _few(theirs, mine, n, attribute, required)
        lengths = np.diff(np.append(starts, len(order)))
        failed += int(bad.sum())
        failing[one[order[np.repeat(bad, lengths)]]] = True
        if first is None and bad.any():
            at = order[starts[int(bad.argmax())]]
            first = int(one[at]), int(other[at])

    in_order = np.arange(len(key))
    for begin in range(0, len(key), step := max(1, CELLS // max(own.counts[attribute].shape[1], 1))):
        part = in_order[begin : begin + step]
        each = np.arange(len(part))
        look(own.together(one[part], each), earlier.together(other[part], each), shared[part], each, part)
    # The candidate classes with people of an earlier class, all and those wholly inside it; and vice versa.
    everything = np.ones(len(key), dtype=bool)
    mine_inside = own.told[one] & (shared == own.size[one])
    theirs_inside = earlier.told[other] & (shared == earlier.size[other])
    for by_earlier, chosen in (
        (True, everything),
        (True, mine_inside),
        (False, everything),
        (False, theirs_inside),
    ):
        order = np.lexsort((one, other) if by_earlier else (other, release[other], one))
        order = order[chosen[order]]
        ends = [other[order]] if by_earlier else [one[order], release[other[order]]]
        begins = np.flatnonzero(np.any([np.diff(column, prepend=-1) != 0 for column in ends], axis=0))
        lengths = np.diff(np.append(begins, len(order)))
        kept = order[np.repeat(lengths > 1, lengths)]
        if not len(kept):
            continue
        lengths = lengths[lengths > 1]
        starts, each = np.cumsum(lengths) - lengths, np.arange(len(lengths))
        together += len(starts)
        n = np.add.reduceat(shared[kept], starts)
        if by_earlier:
            mine, theirs = own.together(one[kept], starts), earlier.together(other[kept[starts]], each)
        else:
            mine, theirs = own.together(one[kept[starts]], each), earlier.together(other[kept], starts)
        look(mine, theirs, n, starts, kept)
    return NestedDisclosures(failing, len(key), together, failed, first)


def _few(
    one: KnownClasses, other: KnownClasses, shared: IntArray, attribute: int, required: Required
) -> BoolArray:
    """Tell whether those of `one` who are not among `shared` people (n,) are left with 1 to l - 1 values.

    A class without any value is of a release that does not publish the attribute: it tells nothing. Where
    fewer values are in common than people, somebody's value changed: no assignment of values fits both.
    """
    mine, theirs = one.counts[attribute], other.counts[attribute]
    published = mine.any(axis=1) & theirs.any(axis=1)
    rest = one.size - shared
    left = np.maximum(mine - theirs, 0)
    n_left = left.sum(axis=1)
    open_ones = n_left < rest
    n_values = required.counted((left > 0) | ((np.minimum(mine, theirs) > 0) & open_ones[:, None]))
    few = (n_values > 0) & (n_values < required.least)
    return np.asarray(published & (rest > 0) & (n_left <= rest) & few)
