"""A table's distinct records: what is decided about rows that are equal is decided once."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import numpy as np

from tasks.counting import counted, numbers_from
from tasks.types import FloatArray, IntArray, PreparedTable, Reduction

FEW = 0.7  # of the rows: with more distinct records it does not pay to look at them instead
MOST_KEYS = 2**62
CHUNK = 1_000_000


def with_reduction(table: PreparedTable) -> PreparedTable:
    """Return a table with its distinct records, unless it has them, or its records are distinct already."""
    if table.rows is not None or table.reduction is not None:
        return table
    return replace(table, reduction=reduction_of(table))


def reduction_of(table: PreparedTable) -> Reduction | None:
    """Return the distinct records of a table, those with equal quasi-identifiers and sensitive values.

    None if there are more than 0.7 as many as rows, and for a table whose rows are not alike in other ways:
    somebody may have several, or they stand for different numbers of people. O(n) a column for the keys,
    O(d log d) for the order; 24 bytes a row.
    """
    if table.unit is not None or table.weights is not None or not table.n_records:
        return None
    import pandas as pd  # it is slow to import, and whoever only names a method does not need it

    key = _keys(table)
    distinct = pd.unique(key)
    if len(distinct) > FEW * len(key):
        return None
    distinct.sort()
    places = pd.Index(distinct)
    of_row = np.empty(len(key), dtype=np.int32)
    first = np.empty(len(distinct), dtype=np.int64)
    rows = np.zeros(len(distinct), dtype=np.int64)
    for start in range(0, len(key), CHUNK):
        place = places.get_indexer(pd.Index(key[start : start + CHUNK]))
        of_row[start : start + CHUNK] = place
        first[place] = np.arange(start, start + len(place))  # any of its rows
        rows += np.bincount(place, minlength=len(rows))
    bare = replace(table, frame=pd.DataFrame(index=range(table.n_records)), identifying=None)
    return Reduction(replace(bare.take(first), rows=rows), of_row)


def in_order(table: PreparedTable) -> PreparedTable:
    """Return records that stand for `rows` each, (n,), in the order of their values, equal ones as one.

    Where cells were written in several ways, some are. O(n log n).
    """
    _, first, place = np.unique(_keys(table), return_index=True, return_inverse=True)
    return replace(table.take(first), rows=counted(place, table.rows, len(first)))


def all_rows(table: PreparedTable) -> PreparedTable:
    """Return a table with each row that its distinct records stand for, one after another.

    A table that has its rows is returned as it is. O(n) a column.
    """
    if table.rows is None:
        return table
    of_row = np.repeat(np.arange(table.n_records, dtype=np.int32), table.rows)
    return replace(table.take(of_row), rows=None, reduction=Reduction(table, of_row))


def rows_of_records(rows: IntArray, records: IntArray) -> IntArray:
    """Return the places in `all_rows` of the rows of some distinct records, (m,), one record after another.

    Each of all records stands for so many `rows` (d,).
    """
    times = rows[records]
    starts = np.cumsum(rows)[records] - times
    return numbers_from(starts, times)


def _keys(table: PreparedTable) -> IntArray:
    """Return one number a row, (n,), equal for equal records and in the order of their values."""
    key, span = np.zeros(table.n_records, dtype=np.int64), 1
    coded = [
        *(
            (len(table.domains[name]), column)
            for name, column in _named(table.categorical_names, table.codes)
        ),
        *(
            (len(table.sensitive_values[name]), column)
            for name, column in _named(table.sensitive_names, table.sensitive)
        ),
    ]
    for kinds, codes in chain(map(_ranked, table.numeric.T), coded):
        if span > MOST_KEYS // max(kinds, 1):  # keys would not be told from one another: number them anew
            distinct, key = np.unique(key, return_inverse=True)
            span = len(distinct)
        key *= kinds
        key += codes
        span *= kinds
    return key


def _ranked(values: FloatArray) -> tuple[int, IntArray]:
    """Return how many different numbers there are, and the rank of each, (n,); missing ones are the last."""
    import pandas as pd

    place, distinct = pd.factorize(values, use_na_sentinel=False)
    rank = np.empty(len(distinct), dtype=np.int64)
    rank[np.argsort(distinct, kind="stable")] = np.arange(len(distinct))
    for start in range(0, len(place), CHUNK):  # all at once would be another array
        place[start : start + CHUNK] = rank[place[start : start + CHUNK]]
    return len(distinct), place


def _named(names: tuple[str, ...], columns: np.ndarray) -> list[tuple[str, np.ndarray]]:
    return list(zip(names, columns.T, strict=True))
