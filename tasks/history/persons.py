"""Where the people of a candidate were in earlier releases: not by cells, but as themselves.

A keyed hash joins a person's rows exactly, wherever the quasi-identifiers moved to. Whoever can follow a
person over the releases knows one class in each, and the sensitive value stands in all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat

import numpy as np
import pandas as pd

from release_store.person_key import CUT, SHORTENED
from release_store.records import PersonHashes
from tasks.geometry.bitsets import packed
from tasks.history.intersection import Allowed, History
from tasks.types import BoolArray, IntArray

NOWHERE = -1
MOST_OF_FIRST = 0.9  # of the first release's people; where fewer are in the second one, keys may have changed
OF_LEAST_BEFORE = 0.8  # of the least share that was followed from release to release before; likewise
KEYS_CHANGED = "Check that keys did not change; gates.person.followed sets the least share."


@dataclass(frozen=True)
class Followed:
    """The earlier classes of n rows' people.

    `person` (n,) numbers the people, -1 is nobody. `place` (n, s): the class's place in the history, or -1.
    Each release has as many columns as one person has rows in it, none if nobody is in it; `release` (s,)
    tells which release a column is of.
    """

    person: IntArray
    place: IntArray
    release: IntArray

    def __len__(self) -> int:
        return len(self.place)

    @property
    def anywhere(self) -> BoolArray:
        """Whether a row's person was in some earlier release, (n,)."""
        return np.asarray((self.place != NOWHERE).any(axis=1))

    def take(self, rows: IntArray) -> Followed:
        """Return the rows at `rows`."""
        return Followed(self.person[rows], self.place[rows], self.release)


def why_not_joined(fingerprint: str, earlier: PersonHashes | None) -> str | None:
    """Say why people hashed under `fingerprint` cannot be followed into a release; None where they can."""
    if earlier is None:
        return "it has no hashes of people"
    if earlier.fingerprint != fingerprint:
        return "its people were hashed with another key, or from another column"
    if earlier.classes is None:
        return "its people were stored without their classes"
    return None


def joinable(fingerprint: str, earlier: Sequence[PersonHashes | None]) -> list[PersonHashes | None]:
    """Return the people of the earlier releases, None for those that cannot be joined."""
    return [None if why_not_joined(fingerprint, people) else people for people in earlier]


def known_by_another_key(own: PersonHashes, earlier: Sequence[PersonHashes | None]) -> int:
    """Count the candidate's people who are in no earlier release, but whose key is there in another form.

    A key in its canonical form (`canonical_key`) that belongs to somebody of an earlier release who is in the
    candidate too is another person's. O(people of all releases).
    """
    known = [people for people in earlier if people is not None]
    if not known:
        return 0
    here = set(own.hashes)
    before = {one: form for people in known for one, form in _with_forms(people)}
    forms, left = _counted((one, form) for one, form in _with_forms(own) if one not in before)
    forms_gone, left_gone = _counted((one, form) for one, form in before.items() if one not in here)
    alike = (forms & forms_gone).total()
    # A key of which digits are lost may be anybody's who is gone, and was known by all of them.
    whole = sum(one not in before for one in here) - left[SHORTENED]
    whole_gone = len(before.keys() - here) - left_gone[SHORTENED]
    alike += min(left[SHORTENED], whole_gone) + min(left_gone[SHORTENED], whole)
    return alike + sum(min(n, left_gone[rest ^ CUT]) for rest, n in left.items())


def _counted(people: Iterable[tuple[str, str | None]]) -> tuple[Counter[str], Counter[int]]:
    """Return how many people have each hash or form, and what the XOR of the two leaves of a long number."""
    forms, left = Counter[str](), Counter[int]()
    for one, form in set(people):
        forms.update({one, form or one})
        if form is not None:
            left[int(one, 16) ^ int(form, 16)] += 1
    return forms, left


def _with_forms(people: PersonHashes) -> Iterator[tuple[str, str | None]]:
    return zip(people.hashes, people.canonical or repeat(None, len(people.hashes)), strict=True)


def shares_followed(releases: Sequence[PersonHashes]) -> list[float]:
    """Return for each release but the first which share of the one before it is in it. O(people)."""
    people = [set(one.hashes) for one in releases]
    return [len(before & now) / len(before) if before else 1.0 for before, now in pairwise(people)]


def few_followed(own: PersonHashes, earlier: Sequence[PersonHashes | None]) -> str:
    """Say that few of the last release's people are in the candidate; nothing where as many as before are."""
    shares = shares_followed([*(one for one in earlier if one is not None), own])
    *before, share = shares or [1.0]
    if share >= (OF_LEAST_BEFORE * min(before) if before else MOST_OF_FIRST):
        return ""
    often = f" ({min(before):.0%} at least before)" if before else ""
    return f"only {share:.0%} of the people of the last release are in it{often}: the others count as gone"


def known_twice(own: PersonHashes) -> int:
    """Count the people whose key is somebody else's of the same release in another form."""
    return len(set(own.hashes)) - len({form or key for key, form in _with_forms(own)})


def all_followed(
    hashes: Sequence[str | None], earlier: Sequence[PersonHashes | None], sizes: Sequence[int]
) -> bool:
    """Tell whether each row is somebody's own, of the candidate (`hashes`) and of every earlier release.

    `sizes` are the rows of the earlier releases; their people are None where they cannot be joined.
    """
    if None in hashes or len(set(hashes)) < len(hashes):
        return False
    return all(
        people is not None and len(set(people.hashes)) == size
        for people, size in zip(earlier, sizes, strict=True)
    )


def follow(
    hashes: Sequence[str | None], earlier: Sequence[PersonHashes | None], history: History
) -> Followed:
    """Find each row's person in the earlier releases (oldest first, as in `history`); None is nobody.

    Releases without people, or without the classes that they are in, are left out. O(rows + people of all
    releases). Raises ValueError for a class that the release does not have.
    """
    persons = pd.Index(pd.unique(np.array([one for one in hashes if one is not None], dtype=object)))
    row = persons.get_indexer(np.array(hashes, dtype=object)) if len(persons) else np.full(len(hashes), -1)
    columns: list[IntArray] = []
    release: list[int] = []
    for number, people in enumerate(earlier):
        if people is None or people.classes is None:
            continue
        first, last = np.searchsorted(history.release, [number, number + 1])
        classes = np.array(people.classes, dtype=np.int64)
        if len(classes) and not 0 <= classes.min() <= classes.max() < last - first:
            raise ValueError("people are in a class that is not in the release")
        person = (
            persons.get_indexer(np.array(people.hashes, dtype=object)) if len(persons) else -1 - classes * 0
        )
        here = np.flatnonzero(person >= 0)
        nth = pd.Series(person[here]).groupby(person[here]).cumcount().to_numpy()
        for column in range(int(nth.max(initial=-1)) + 1):
            found = here[nth == column]
            place = np.full(len(persons) + 1, NOWHERE, dtype=np.int64)  # the last is of nobody, at -1
            place[person[found]] = first + classes[found]
            columns.append(place[row])
            release.append(number)
    n = len(hashes)
    place = np.column_stack(columns) if columns else np.zeros((n, 0), dtype=np.int64)
    return Followed(row.astype(np.int64), place, np.array(release, dtype=np.int64))


def allowed_by_person(followed: Followed, history: History, columns: Sequence[int]) -> Allowed:
    """Return for each row the sensitive values of each earlier class that its person was in.

    The shapes are those of `Allowed`, with the columns of `followed` for releases.
    """
    masks, seen = {}, {}
    place = np.maximum(followed.place, 0)
    was_there = followed.place != NOWHERE
    for c in columns:
        values = packed(history.boxes.present[c] & history.boxes.knows[:, c, None])
        masks[c] = np.where(was_there[:, :, None], values[place], np.uint64(0))
        seen[c] = was_there & history.boxes.knows[place, c]
    return Allowed(masks, seen)
