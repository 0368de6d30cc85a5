"""C(x), the classes whose every cell contains x, for many people at once (Hu et al., 2026, eq. 8).

People and classes are cut into tiles. In a tile every value of an attribute has the set of the classes that
contain it, as bits. Attributes of few values are joined while their combinations stay few; a person's classes
are then the AND of two or three sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.geometry.bitsets import Words, packed
from tasks.geometry.cells import Cells
from tasks.geometry.nearest import nearest, nearest_of_all
from tasks.geometry.tiles import tiles
from tasks.types import BoolArray, FloatArray, IntArray

COLUMN_WORDS = 4_000_000
"""A number's values share their bits with their neighbours where a table of all would be larger."""
JOINED_WORDS = 16_000_000
CHUNK_WORDS = 262_144


@dataclass(frozen=True)
class ClassMatches:
    """The people `people` (m,) of one chunk who are in some class: person i's classes are
    `classes[starts[i]:starts[i + 1]]`, ascending, and those of the last reach to the end.
    """

    people: IntArray
    starts: IntArray
    classes: IntArray

    def total(self, weights: NDArray[np.generic]) -> NDArray[np.generic]:
        """Return the sum of `weights` (N,) over each person's classes, (m,)."""
        return np.asarray(np.add.reduceat(weights[self.classes], self.starts))

    def n_classes(self) -> IntArray:
        """Return |C(x)|, (m,)."""
        return np.diff(self.starts, append=len(self.classes))


@dataclass(frozen=True)
class _Table:
    """One set of classes a row (v, w), and which row is each person's (n,)."""

    row_of: IntArray
    rows: Words


def find_containing(
    numbers: FloatArray, codes: NDArray[np.int32], cells: Cells, people: IntArray | None = None
) -> Iterator[ClassMatches]:
    """Yield the classes of all people `numbers` (n, p), `codes` (n, q) who are in some class, in chunks.

    Of the others than `people`, ascending, where they are given, nothing is looked for. Where cells were
    replaced, a person's classes are the nearest of those that contain them in the others.

    nan and -1 are unknown and in every cell; so is any value of a domain without values. Cost: the
    pairs found, and about n log n where a person is in few classes (`tiles`), else n times N / 64 words for
    each joined table.
    """
    if not (len(numbers) and len(cells)):
        return
    if cells.all_true:
        yield from _containing(numbers, codes, cells, people)
    elif cells.all_replaced:
        everybody = np.arange(len(numbers)) if people is None else people
        for here, starts, classes in nearest_of_all(everybody, numbers, codes, cells.untrue()):
            yield ClassMatches(here, starts, classes)
    else:
        for found in _containing(numbers, codes, cells.certain(), people):
            parts = nearest(found.people, found.starts, found.classes, numbers, codes, cells.untrue())
            for here, starts, classes in parts:
                yield ClassMatches(here, starts, classes)


def _containing(
    numbers: FloatArray, codes: NDArray[np.int32], cells: Cells, people: IntArray | None
) -> Iterator[ClassMatches]:
    for tile in tiles(numbers, codes, cells.low, cells.high, cells.member, people):
        here, classes = tile.people, tile.boxes
        for found in _in_tile(numbers[here], codes[here], cells.take(classes)):
            yield ClassMatches(here[found.people], found.starts, classes[found.classes])


def _in_tile(numbers: FloatArray, codes: NDArray[np.int32], cells: Cells) -> Iterator[ClassMatches]:
    n, n_classes = len(numbers), len(cells)
    width = max(-(-n_classes // 64), 1)
    tables, coarse = [], []
    for column in range(numbers.shape[1]):
        table, exact = _numeric_table(numbers[:, column], cells.low[:, column], cells.high[:, column], width)
        tables.append(table)
        if not exact:
            coarse.append(column)
    for column, member in enumerate(cells.member):
        if member.shape[1]:
            tables.append(_set_table(codes[:, column], member))
    tables = _joined(tables, n, width) or [_everyone(n, n_classes)]
    order = np.argsort(tables[-1].row_of, kind="stable")
    step = max(1, CHUNK_WORDS // width)
    buffer = np.empty((min(step, n), width), dtype=np.uint64)
    for begin in range(0, n, step):
        here = order[begin : begin + step]
        classes_of = tables[-1].rows[tables[-1].row_of[here]]
        for table in tables[:-1]:
            classes_of &= np.take(table.rows, table.row_of[here], axis=0, out=buffer[: len(here)])
        person, place = _pairs(classes_of, width)
        for column in coarse:
            x = numbers[here[person], column]
            inside = (cells.low[place, column] <= x) & (x <= cells.high[place, column]) | np.isnan(x)
            person, place = person[inside], place[inside]
        if len(person):
            starts = np.flatnonzero(np.diff(person, prepend=-1))
            yield ClassMatches(here[person[starts]], starts, place)


def _pairs(sets: Words, width: int) -> tuple[IntArray, IntArray]:
    """Return row and bit of every set bit of (n, width) words, ascending.

    Words without any are left out first, then bytes: most have none.
    """
    flat = sets.ravel()
    words = np.flatnonzero(flat != 0)
    in_words = flat[words].view(np.uint8)
    filled = np.flatnonzero(in_words != 0)
    bits = np.flatnonzero(np.unpackbits(in_words[filled], bitorder="little").view(np.bool_))
    row = words // width
    first = (words - row * width) << 6  # the class of each word's first bit
    byte = filled[bits >> 3]
    word = byte >> 3
    return row[word], first[word] + ((byte & 7) << 3) + (bits & 7)


def _numeric_table(x: FloatArray, low: FloatArray, high: FloatArray, width: int) -> tuple[_Table, bool]:
    """Return the sets of all values of a number, and whether each is just that of its value.

    In the order of the values a class comes once and goes once. Neighbours share a set where there are too
    many: it then holds the classes of them all.
    """
    unknown = np.isnan(x)
    values = np.unique(x[~unknown])
    n_values = max(len(values), 1)
    n_rows = max(min(n_values, COLUMN_WORDS // width), 1)
    comes = np.searchsorted(values, low, side="left")
    goes = np.searchsorted(values, high, side="right")
    some = np.flatnonzero(goes > comes)
    rows = np.zeros((n_rows + 2, width), dtype=np.uint64)
    bit = np.uint64(1) << (some % 64).astype(np.uint64)
    np.bitwise_xor.at(rows, (comes[some] * n_rows // n_values, some // 64), bit)
    np.bitwise_xor.at(rows, ((goes[some] - 1) * n_rows // n_values + 1, some // 64), bit)
    np.bitwise_xor.accumulate(rows, axis=0, out=rows)
    rows[-1] = packed(np.ones(len(low), dtype=bool))
    row_of = np.searchsorted(values, x) * n_rows // n_values
    return _Table(np.where(unknown, n_rows + 1, row_of), rows), n_rows == n_values


def _set_table(codes: NDArray[np.int32], member: BoolArray) -> _Table:
    rows = np.concatenate([packed(member.T), packed(np.ones((1, len(member)), dtype=bool))])
    return _Table(np.where(codes < 0, member.shape[1], codes).astype(np.int64), rows)


def _everyone(n: int, n_classes: int) -> _Table:
    return _Table(np.zeros(n, dtype=np.int64), packed(np.ones((1, n_classes), dtype=bool)))


def _joined(tables: list[_Table], n: int, width: int) -> list[_Table]:
    """Join the smallest tables as long as their combinations are few; the largest stands last."""
    import pandas as pd  # it is slow to import, and whoever only names a method does not need it

    tables = sorted(tables, key=lambda table: len(table.rows))
    most = min(JOINED_WORDS // width, n // 4)
    while len(tables) > 1:
        one, other = tables[:2]
        key, both = pd.factorize(one.row_of * len(other.rows) + other.row_of)
        if len(both) > most:
            break
        rows = one.rows[both // len(other.rows)] & other.rows[both % len(other.rows)]
        tables = sorted([*tables[2:], _Table(key.astype(np.int64), rows)], key=lambda t: len(t.rows))
    return tables
