"""One space for everything that is compared: classes are boxes in it, people are points.

Releases may have different quasi-identifiers, domains and sensitive values. The space holds the union;
a release that does not publish a quasi-identifier covers all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from policy.text import one_spelling
from release_store.records import EquivalenceClasses
from tasks.privacy.similar import together
from tasks.types import BoolArray, FloatArray, IntArray, PreparedTable

T = TypeVar("T", bound=np.generic)
MOST_KEYS = 2**62
"""Combinations that one 64-bit number may tell apart."""


@dataclass(frozen=True)
class Space:
    """The quasi-identifiers with their domains, and the sensitive attributes with their values."""

    numeric: tuple[str, ...]
    domains: dict[str, tuple[str, ...]]
    sensitive: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Boxes:
    """n classes in a space: `low`, `high` (n, p); `member[q]` (n, |domain|); `present[a]` (n, |values|).

    A class published as `*` has all of `member[q]` and is marked in `whole` (n, q). `knows[a]` (n,) tells
    whether the class's release publishes the attribute.
    """

    low: FloatArray
    high: FloatArray
    member: tuple[BoolArray, ...]
    whole: BoolArray
    present: tuple[BoolArray, ...]
    knows: BoolArray

    def __len__(self) -> int:
        return len(self.low)

    def take(self, index: IntArray | BoolArray) -> Boxes:
        """Return the classes at `index`."""
        return Boxes(
            self.low[index],
            self.high[index],
            tuple(m[index] for m in self.member),
            self.whole[index],
            tuple(p[index] for p in self.present),
            self.knows[index],
        )


@dataclass(frozen=True)
class Points:
    """Distinct combinations of quasi-identifiers: `numbers` (n, p), `codes` (n, q); nan and -1: unknown.

    `place` (n_records,) is the point of each record.
    """

    numbers: FloatArray
    codes: NDArray[np.int32]
    place: IntArray

    def __len__(self) -> int:
        return len(self.numbers)


def space_of(classes: Iterable[EquivalenceClasses], *tables: PreparedTable | None) -> Space:
    """Return the space that holds all these classes, and the people of `tables`.

    Sensitive values that look alike are one there: releases may have spelled one differently.
    """
    numeric: dict[str, None] = {}
    domains: dict[str, dict[str, None]] = {}
    sensitive: dict[str, dict[str, None]] = {}
    for table in tables:
        if table is None:
            continue
        numeric.update(dict.fromkeys(table.numeric_names))
        for name in table.categorical_names:
            domains.setdefault(name, {}).update(dict.fromkeys(table.domains[name]))
    for each in classes:
        numeric.update(dict.fromkeys(each.intervals))
        for name, cells in each.sets.items():
            domains.setdefault(name, {}).update(dict.fromkeys(cells.values))
        for name, values in each.sensitive_values.items():
            sensitive.setdefault(name, {}).update(dict.fromkeys(map(one_spelling, values)))
    return Space(
        tuple(numeric),
        {name: tuple(values) for name, values in domains.items()},
        {name: tuple(values) for name, values in sensitive.items()},
    )


def boxes_of(classes: EquivalenceClasses, space: Space, *, as_written: bool = False) -> Boxes:
    """Place one release's classes in the space.

    A value that was put in place of others tells nothing for certain of its people: its cell covers
    everything, unless the cells are wanted `as_written`.
    """
    untrue = frozenset() if as_written else classes.replaced
    n = classes.n_classes
    low = np.full((n, len(space.numeric)), -np.inf)
    high = np.full((n, len(space.numeric)), np.inf)
    for column, name in enumerate(space.numeric):
        if name in classes.intervals and name not in untrue:
            low[:, column], high[:, column] = classes.intervals[name].T
    member: list[BoolArray] = []
    whole = np.zeros((n, len(space.domains)), dtype=bool)
    for column, (name, domain) in enumerate(space.domains.items()):
        if name in classes.sets and name not in untrue:
            cells = classes.sets[name]
            covered = _spread(cells.member, cells.values, domain)
            whole[:, column] = cells.whole
            covered[cells.whole] = True
        else:
            covered = np.ones((n, len(domain)), dtype=bool)
            whole[:, column] = True
        member.append(covered)
    present: list[BoolArray] = []
    knows = np.zeros((n, len(space.sensitive)), dtype=bool)
    for column, (name, values) in enumerate(space.sensitive.items()):
        if name in classes.counts:
            present.append(_counts(classes, name, values) > 0)
            knows[:, column] = True
        else:
            present.append(np.zeros((n, len(values)), dtype=bool))
    return Boxes(low, high, tuple(member), whole, tuple(present), knows)


def counts_of(classes: EquivalenceClasses, space: Space) -> dict[str, IntArray]:
    """Return how many records of each class have each value of the space, (n, |values|) an attribute."""
    return {
        name: _counts(classes, name, values)
        if name in classes.counts
        else np.zeros((classes.n_classes, len(values)), dtype=np.int64)
        for name, values in space.sensitive.items()
    }


def _counts(classes: EquivalenceClasses, name: str, values: tuple[str, ...]) -> IntArray:
    """Return how many records of each class have each of the `values` of the space, (n, |values|)."""
    counts, texts = classes.counts[name], tuple(map(one_spelling, classes.sensitive_values[name]))
    spelled = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    if len(spelled) < len(texts):
        counts = together(counts, np.array([spelled[text] for text in texts], dtype=np.int64))
    return _spread(counts, tuple(spelled), values)


def concatenated(boxes: Sequence[Boxes]) -> Boxes:
    """Return the classes of several releases in one row of boxes."""
    return Boxes(
        np.concatenate([b.low for b in boxes]),
        np.concatenate([b.high for b in boxes]),
        tuple(np.concatenate(parts) for parts in zip(*(b.member for b in boxes), strict=True)),
        np.concatenate([b.whole for b in boxes]),
        tuple(np.concatenate(parts) for parts in zip(*(b.present for b in boxes), strict=True)),
        np.concatenate([b.knows for b in boxes]),
    )


def points_of(table: PreparedTable, space: Space) -> Points:
    """Return the distinct combinations of quasi-identifiers in the source. O(n) a column."""
    numbers, codes = placed(table, space)
    first, place = distinct_rows([*numbers.T, *codes.T])
    return Points(numbers[first], codes[first], place)


def point_boxes(points: Points, like: Boxes) -> Boxes:
    """Return each point as a box of the space of `like`: what is unknown is any value, (n,)."""
    n = len(points)
    unknown = np.isnan(points.numbers)
    return Boxes(
        np.where(unknown, -np.inf, points.numbers),
        np.where(unknown, np.inf, points.numbers),
        tuple(
            (codes[:, None] == np.arange(member.shape[1])) | (codes < 0)[:, None]
            for codes, member in zip(points.codes.T, like.member, strict=True)
        ),
        np.zeros((n, len(like.member)), dtype=bool),
        tuple(np.zeros((n, present.shape[1]), dtype=bool) for present in like.present),
        np.zeros((n, len(like.present)), dtype=bool),
    )


def placed(table: PreparedTable, space: Space) -> tuple[FloatArray, NDArray[np.int32]]:
    """Return every record's numbers (n, p) and codes (n, q) in the space; nan and -1: unknown.

    Where the space has the table's own columns and values, these are the table's arrays, and no copies.
    """
    numbers, codes = table.numeric, table.codes
    if space.numeric != table.numeric_names:
        numbers = np.full((table.n_records, len(space.numeric)), np.nan)
        for column, name in enumerate(space.numeric):
            if name in table.numeric_names:
                numbers[:, column] = table.numeric[:, table.numeric_names.index(name)]
    begin_alike = all(
        space.domains.get(name, ())[: len(domain)] == domain for name, domain in table.domains.items()
    )
    if tuple(space.domains) != table.categorical_names or not begin_alike:
        codes = np.full((table.n_records, len(space.domains)), -1, dtype=np.int32)
        for column, (name, domain) in enumerate(space.domains.items()):
            if name in table.categorical_names:
                rank = {value: i for i, value in enumerate(domain)}
                translated = np.array([rank[value] for value in table.domains[name]], dtype=np.int32)
                codes[:, column] = translated[table.codes[:, table.categorical_names.index(name)]]
    return numbers, codes


def distinct_rows(columns: Iterable[NDArray[np.generic]]) -> tuple[IntArray, IntArray]:
    """Return the first row of each distinct combination, and each row's combination. O(n) a column.

    The columns are taken one by one: those of a generator are not in memory together.
    """
    import pandas as pd  # it is slow to import, and whoever only names a method does not need it

    key, span = np.zeros(0, dtype=np.int64), 0
    for column in columns:
        part, found = pd.factorize(column, use_na_sentinel=False)
        if not span:
            key, span = part.astype(np.int64, copy=False), len(found)
            continue
        if span > MOST_KEYS // len(found):  # keys would not be told from one another: they are numbered anew
            key, kinds = pd.factorize(key)
            span = len(kinds)
        key *= np.int64(len(found))
        key += part
        span *= len(found)
    key, kinds = pd.factorize(key)
    first = np.empty(len(kinds), dtype=np.int64)
    first[key[::-1]] = np.arange(len(key))[::-1]
    return first, key


def equal_cells(one: EquivalenceClasses, other: EquivalenceClasses) -> int | None:
    """Return how many classes of two releases have the same cells in every quasi-identifier.

    None where the releases do not publish the same quasi-identifiers. O(n) a column of cells.
    """
    if set(one.intervals) != set(other.intervals) or set(one.sets) != set(other.sets):
        return None
    return len(np.intersect1d(*_cells_numbered(one, other)))


def has_cells_of(one: EquivalenceClasses, other: EquivalenceClasses) -> BoolArray:
    """Tell which classes of a release have the cells of some class of another, (n,).

    None has where the releases do not publish the same quasi-identifiers. O(n) a column of cells.
    """
    if set(one.intervals) != set(other.intervals) or set(one.sets) != set(other.sets):
        return np.zeros(one.n_classes, dtype=bool)
    return np.isin(*_cells_numbered(one, other))


def _cells_numbered(one: EquivalenceClasses, other: EquivalenceClasses) -> tuple[IntArray, IntArray]:
    """Number the distinct cells of two releases' classes; a set that is `*` has every value of both."""
    space = space_of([one, other])
    both = concatenated([boxes_of(one, space, as_written=True), boxes_of(other, space, as_written=True)])
    bits = [np.packbits(member, axis=1) for member in both.member]
    columns = [*both.low.T, *both.high.T, *both.whole.T, *(column for each in bits for column in each.T)]
    _, place = distinct_rows(columns)
    return place[: one.n_classes], place[one.n_classes :]


def _spread(marks: NDArray[T], values: tuple[str, ...], domain: tuple[str, ...]) -> NDArray[T]:
    """Move columns named `values` to their places among `domain`."""
    rank = {value: i for i, value in enumerate(domain)}
    out = np.zeros((len(marks), len(domain)), dtype=marks.dtype)
    out[:, [rank[value] for value in values]] = marks
    return out
