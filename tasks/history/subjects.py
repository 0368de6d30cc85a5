"""Who is whom over the releases: the subjects of a history, with their classes and their sensitive values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from policy.text import one_spelling
from release_store.person_values import NotOpened, PersonValues, open_values
from release_store.records import EquivalenceClasses, PersonHashes
from tasks.history.attribute import Attribute, Counting
from tasks.history.cohorts import ABSENT
from tasks.history.numbering import number_rows
from tasks.history.signatures import NONE, joined, unit_of
from tasks.history.transient import Transient
from tasks.privacy.similar import together
from tasks.sorting import stable_order
from tasks.types import BoolArray, FloatArray, IntArray


class Unfit(ValueError):
    """The people, their values and the classes of a release do not fit together; the text says how."""


@dataclass(frozen=True)
class Rows:
    """The rows of one release: `person` (m,) a hash or None, `place` (m,) the class, and texts of values.

    `codes` (m, s) index into `texts[attribute]`, in their order; `seat` (m, 2): signature and position.
    `kept` are the attributes that are kept columns; None where the store does not have these. `filled` are
    attributes that the release did not publish: other releases tell them of its people. `ago` is how many
    periods it lies before the newest release, None where periods are not counted.
    """

    person: Sequence[str | None]
    place: IntArray
    texts: Mapping[str, Sequence[str]]
    codes: IntArray
    seat: IntArray
    filled: frozenset[str] = frozenset()
    kept: tuple[str, ...] | None = ()
    ago: int | None = None

    def __post_init__(self) -> None:
        """Take texts that look alike for one: releases may have spelled one differently."""
        alike = {name: [*map(one_spelling, texts)] for name, texts in self.texts.items()}
        object.__setattr__(self, "texts", alike)

    def of(self, attribute: str) -> IntArray:
        """Return the codes of one attribute, (m,)."""
        return self.codes[:, list(self.texts).index(attribute)]


def periods_ago(apart: Sequence[tuple[int, int]] | None, n: int) -> list[int | None]:
    """Return how many periods each of n releases lies before the newest, by the least and the most.

    None for all where one is not known exactly.
    """
    if apart is None or any(least != most for least, most in apart):
        return [None] * n
    return [least for least, _ in apart]


def without(rows: Rows, attribute: str) -> Rows:
    """Return the rows without an attribute, if they have it."""
    if attribute not in rows.texts:
        return rows
    at = list(rows.texts).index(attribute)
    texts = {key: each for key, each in rows.texts.items() if key != attribute}
    return replace(rows, texts=texts, codes=np.delete(rows.codes, at, axis=1))


def texts_by_person(rows: Rows, attribute: str) -> pd.Series[str]:
    """Return the text that each person has of an attribute, by their hashes; nobody known is left out."""
    texts = np.array(rows.texts[attribute], dtype=object)[rows.of(attribute)]
    found = pd.Series(texts, index=pd.Index(list(rows.person), dtype=object))
    return found[found.index.notna()]


@dataclass(frozen=True)
class Subjects:
    """n subjects of r releases: `classes` (n, r) or `ABSENT`, and `value` (n,), the tuple that each has.

    `attributes` describe the tuples. A row of nobody known is a subject of its own. Somebody whose values are
    not what they were is another subject from then on. Of the `followed` people, who are in several releases,
    `changed` did so. `rows[r]` are the subjects of the rows of each release. `seat` (n, 2): the signature and
    position that each was given last, and `bucket` (n,) the number that was given: numbers between which
    somebody went over are one signature. `person` (n,): who each is, numbered alike for the same rows
    whatever the attributes. `transient` are attributes besides, which may change.
    """

    classes: IntArray
    value: IntArray
    attributes: tuple[Attribute, ...]
    changed: int
    followed: int
    rows: tuple[IntArray, ...]
    seat: IntArray
    bucket: IntArray
    person: IntArray
    transient: tuple[Transient, ...] = ()

    @property
    def unit(self) -> IntArray:
        """Who lies together, (n,), or -1."""
        return unit_of(self.bucket)

    @property
    def n_people(self) -> int:
        """How many people there are."""
        return int(self.person.max(initial=-1)) + 1

    def people(self, of: BoolArray) -> BoolArray:
        """Tell for each person (p,) whether any subject of theirs, (n,), is one `of` these."""
        found = np.zeros(self.n_people, dtype=bool)
        found[self.person[of]] = True
        return found


def rows_of(key: bytes, people: PersonHashes, classes: EquivalenceClasses) -> Rows:
    """Return the rows of a kept release with all that it published, by its sealed values. Raises Unfit.

    The values of each class must be those that were published, as often. O(rows).
    """
    if people.classes is None:
        raise Unfit("its people were stored without their classes")
    if people.values is None:
        raise Unfit("the values of its people are not stored")
    try:
        values = open_values(key, people)
    except NotOpened:
        raise Unfit("the values of its people cannot be decrypted with this key") from None
    own = np.array(people.classes, dtype=np.int64)
    place = np.concatenate([own, values.strangers[:, 0].astype(np.int64)])
    codes = np.concatenate([values.codes, values.strangers[:, 3:]]).astype(np.int64)
    seat = np.concatenate([values.seats, values.strangers[:, 1:3]]).astype(np.int64)
    person = [*people.hashes, *[None] * len(values.strangers)]
    _check(place, codes, values, classes)
    return Rows(person, place, dict(values.texts), codes, seat, kept=values.kept)


def _check(place: IntArray, codes: IntArray, values: PersonValues, classes: EquivalenceClasses) -> None:
    wrong = "the values of its people do not match its classes"
    n = classes.n_classes
    if len(place) and not 0 <= place.min() <= place.max() < n:
        raise Unfit(wrong)
    if not np.array_equal(np.bincount(place, minlength=n), classes.size):
        raise Unfit(wrong)
    for column, (name, texts) in enumerate(values.texts.items()):
        width = len(texts)
        if len(codes) and not 0 <= codes[:, column].min() <= codes[:, column].max() < width:
            raise Unfit(wrong)
        if name in classes.counts:
            counted = np.bincount(place * width + codes[:, column], minlength=n * width).reshape(n, width)
            order = pd.Index(texts).get_indexer(pd.Index(classes.sensitive_values[name]))
            known = np.where(order >= 0, counted[:, order], 0)
            if not np.array_equal(known, classes.counts[name]):
                raise Unfit(wrong)


def subjects_of(
    releases: Sequence[Rows],
    attributes: Sequence[str],
    counting: Mapping[str, Counting] | None = None,
    beside: Sequence[str] = (),
    transient: Sequence[str] = (),
) -> Subjects:
    """Return the subjects of releases, oldest first. Raises Unfit where one is in two classes of a release.

    `counting` tells which values of an attribute count as one, and how many have to be possible. Tuples
    differ by all their texts and by what is `beside` the attributes, too, and no values of that are counted.
    `transient` attributes are those of the releases that have them. O(rows log rows).
    """
    sizes = [len(each.place) for each in releases]
    release = np.repeat(np.arange(len(releases)), sizes)
    person = _persons(releases)
    place = np.concatenate([each.place for each in releases])
    value, described = tuples_of(releases, attributes, counting or {}, beside)
    order = stable_order(person * len(releases) + release)
    twice = (np.diff(person[order]) == 0) & (np.diff(release[order]) == 0)
    if twice.any():
        raise Unfit("somebody has several rows in one release")
    new = np.diff(person[order]) != 0
    other = np.diff(value[order]) != 0
    ordered = person[order][1:]
    changed, followed = len(np.unique(ordered[~new & other])), len(np.unique(ordered[~new]))
    # A subject is a run of releases in which a person has the same values; where a change is undone, all such
    # releases: a mistake in between parts nobody from what they were.
    if beside:
        order = np.lexsort((release, value, person))
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(person[order]) != 0) | (np.diff(value[order]) != 0)
    subject = np.empty(len(order), dtype=np.int64)
    subject[order] = np.cumsum(first) - 1
    n = int(first.sum())
    classes = np.full((n, len(releases)), ABSENT, dtype=np.int64)
    classes[subject, release] = place
    values = np.zeros(n, dtype=np.int64)
    values[subject] = value
    whose = np.zeros(n, dtype=np.int64)
    whose[subject] = person
    seat = np.full((n, 2), NONE, dtype=np.int64)
    given = np.concatenate([each.seat for each in releases])
    known = np.flatnonzero(given[:, 0] >= 0)
    seat[subject[known]] = given[known]  # of several the last
    bucket = seat[:, 0].copy()
    if len(known):
        signature = joined(given[known, 0], bucket[subject[known]], int(given.max()) + 1)
        seat[:, 0] = np.where(bucket >= 0, signature[bucket], NONE)
    rows = tuple(np.split(subject, np.cumsum(sizes)[:-1]))
    may_change = tuple(
        _transient(releases, rows, n, name, (counting or {}).get(name, Counting())) for name in transient
    )
    return Subjects(classes, values, described, changed, followed, rows, seat, bucket, whose, may_change)


def _transient(
    releases: Sequence[Rows], rows: Sequence[IntArray], n: int, name: str, counting: Counting
) -> Transient:
    """Return what each of n subjects has of an attribute in each release."""
    texts = sorted({text for each in releases for text in each.texts.get(name, ())})
    groups, width = counting.groups(texts), counting.width
    number = dict(zip(texts, range(len(texts)) if groups is None else groups.tolist(), strict=True))
    value = np.full((n, len(releases)), -1, dtype=np.int64)
    for release, (each, subject) in enumerate(zip(releases, rows, strict=True)):
        if name in each.texts:
            codes = np.array([number[text] for text in each.texts[name]], dtype=np.int64)
            value[subject, release] = codes[each.of(name)]
    return Transient(
        value,
        Attribute(
            np.arange(len(set(number.values()))),
            _numbers(texts, width) if width else None,
            width,
            more=counting.more,
        ),
    )


def _persons(releases: Sequence[Rows]) -> IntArray:
    """Number the people of all rows; everybody who is nobody known is somebody else."""
    hashes = pd.Series([one for each in releases for one in each.person], dtype=object)
    number = pd.factorize(hashes)[0].astype(np.int64)
    strange = np.flatnonzero(number < 0)
    number[strange] = number.max(initial=-1) + 1 + np.arange(len(strange))
    return number


def tuples_of(
    releases: Sequence[Rows],
    attributes: Sequence[str],
    counting: Mapping[str, Counting],
    beside: Sequence[str],
) -> tuple[IntArray, tuple[Attribute, ...]]:
    """Return the tuple of every row, numbered by what it says, and which value each has of each attribute."""
    columns, numbers, groups = [], [], []
    rules = {name: counting.get(name, Counting()) for name in attributes}
    for name in [*attributes, *beside]:
        texts = sorted({text for each in releases for text in each.texts[name]})
        number = {text: code for code, text in enumerate(texts)}
        if name in rules:
            numbers.append(_numbers(texts, rules[name].width) if rules[name].width else None)
            groups.append(rules[name].groups(texts))
        columns.append(
            np.concatenate(
                [
                    np.array([number[text] for text in each.texts[name]], dtype=np.int64)[each.of(name)]
                    for each in releases
                ]
            )
        )
    codes = np.column_stack(columns)
    value, rows = number_rows(codes, int(codes.max(initial=0)) + 1)
    described = tuple(
        Attribute(
            column if of is None else of[column],
            known,
            rules[name].width,
            _published(releases, name),
            rules[name].more,
        )
        for column, known, of, name in zip(codes[rows].T, numbers, groups, attributes, strict=False)
    )
    return value, described


def _published(releases: Sequence[Rows], name: str) -> BoolArray | None:
    """Tell which releases have an attribute, (r,); None where all do."""
    found = np.array([name not in each.filled for each in releases])
    return None if found.all() else found


def _numbers(texts: Sequence[str], width: float) -> FloatArray:
    """Return the numbers that texts say; what is no number, as the missing value, is near to none."""
    found = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").to_numpy(dtype=np.float64)
    known = np.isfinite(found)
    return np.where(known, found, found[known].max(initial=0.0) + 2 * width + 1)


def most_of_classes(counts: IntArray, texts: Sequence[str], counting: Counting) -> IntArray:
    """Return how often each class has its most frequent value, (c,), as values are counted."""
    counts, width = _alike(counts, texts, counting), counting.width
    if not width or not counts.shape[1]:
        return np.asarray(counts.max(axis=1, initial=0))
    number = _numbers(texts, width)
    order = np.argsort(number, kind="stable")
    end = np.searchsorted(number[order], number[order] + width, side="right")
    summed = np.concatenate(
        [np.zeros((len(counts), 1), dtype=np.int64), counts[:, order].cumsum(axis=1)], axis=1
    )
    return np.asarray((summed[:, end] - summed[:, : len(order)]).max(axis=1))


def _alike(counts: IntArray, texts: Sequence[str], counting: Counting) -> IntArray:
    """Return the counts (c, groups) of what counts as one, by those of the values (c, values)."""
    groups = counting.groups(texts)
    return counts if groups is None else together(counts, groups)


def values_of_classes(counts: IntArray, texts: Sequence[str], counting: Counting) -> IntArray:
    """Return how many values each class has, (c,), by `counts` (c, values), as they are counted."""
    present, width = _alike(counts, texts, counting) > 0, counting.width
    if not width:
        return np.asarray(present.sum(axis=1))
    number = _numbers(texts, width)
    counted, reach = np.zeros(len(present), dtype=np.int64), np.full(len(present), -np.inf)
    for column in np.argsort(number, kind="stable"):
        over = present[:, column] & (number[column] > reach)
        counted[over] += 1
        reach[over] = number[column] + width
    return counted
