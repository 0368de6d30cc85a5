"""The rows as they will be published: recoded cells beside what is published as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from policy.model import ReleasePolicy
from tasks.geometry.space import MOST_KEYS, distinct_rows
from tasks.recoding.cells import WHOLE, write_set
from tasks.recoding.labels import Labels
from tasks.sorting import stable_order
from tasks.types import FloatArray, IntArray, Notes, PreparedTable, Recoded, Reduction


def rows_of(
    table: PreparedTable,
    policy: ReleasePolicy,
    records: IntArray,
    cells: Mapping[str, np.ndarray],
    *,
    group: IntArray | None = None,
    sensitive: Mapping[str, IntArray] | None = None,
    notes: Notes | None = None,
) -> Recoded:
    """Return the published rows of `records` (m,), sorted by all their cells: the order says nothing.

    `cells[column]` are the published columns of the quasi-identifiers, numbers or texts: (m,), or one a group
    where `group` (m,) says which each row has. `sensitive` (m,) says for an attribute which record's value
    stands in each row; left out, the row's own. Columns of texts are categorical. O(m log m), and 8 bytes a
    number, 1 to 4 a text.
    """
    import pandas as pd

    of = np.arange(len(records)) if group is None else group
    columns: dict[str, tuple[Any, np.ndarray]] = {}  # its values, and which of them stands in each row
    for column in policy.cell_columns():
        values = cells[column]
        columns[column] = _categorical(values, of) if values.dtype == object else (values, of)
    for i, name in enumerate(table.sensitive_names):
        chosen = records if sensitive is None or name not in sensitive else sensitive[name]
        if name in table.sensitive_numbers and name not in table.exact_numbers:
            columns[name] = table.sensitive_numbers[name], chosen
        else:
            texts = np.array(table.sensitive_values[name], dtype=object)
            if name in table.exact_numbers:  # where a number is missing, there is no text
                texts[texts == policy.source.missing_label] = None
            columns[name] = _categorical(texts, table.sensitive[chosen, i])
    for name in policy.roles.kept:
        columns[name] = table.frame[name].array, records
    order = _sorted_rows(list(columns.values()), len(records))
    made = {name: values[place[order]] for name, (values, place) in columns.items()}
    return Recoded(records[order], pd.DataFrame(made, copy=False), dict(notes or {}))


def rows_of_distinct(
    table: PreparedTable, group: IntArray, policy: ReleasePolicy, cells: Mapping[str, np.ndarray]
) -> Recoded:
    """Return the rows of distinct records that have the `cells` of their `group` (d,); -1: left out."""
    kept = np.flatnonzero(group >= 0)
    made = rows_of(table, policy, kept, cells, group=group[kept])
    assert table.rows is not None  # noqa: S101 -- they are distinct records
    return replace(made, times=table.rows[made.records])


def rows_of_records(
    distinct: Reduction, group: IntArray, policy: ReleasePolicy, cells: Mapping[str, np.ndarray]
) -> Recoded:
    """Return the same rows, and which row of the source each is.

    O(d log d), and O(n log n) for which row is of which record.
    """
    made = rows_of_distinct(distinct.table, group, policy, cells)
    place = np.full(distinct.table.n_records, -1, dtype=np.int32)
    place[made.records] = np.arange(len(made.records))
    rows = stable_order(place[distinct.of_row])
    return replace(made, records=rows[len(rows) - made.n_rows :])


def _categorical(texts: np.ndarray, place: IntArray) -> tuple[Any, IntArray]:
    """Return the texts as categories, and `place` as it is."""
    import pandas as pd

    codes, found = pd.factorize(texts)
    return pd.Categorical.from_codes(codes, pd.Index(found, dtype="str")), place


def _sorted_rows(columns: Sequence[tuple[Any, np.ndarray]], n: int) -> IntArray:
    """Return the order of n rows by one column after another, missing values last, equal rows as they were.

    Of a column its values are sorted, and not its cells.
    """
    key, span = np.zeros(n, dtype=np.int64), 1
    for values, place in columns:
        codes, found = _ranked(values)
        kinds = len(found) + 1
        if span > MOST_KEYS // kinds:
            distinct, key = np.unique(key, return_inverse=True)
            span = len(distinct)
        key *= kinds
        key += np.where(codes < 0, len(found), codes)[place]
        span *= kinds
    return np.argsort(key, kind="stable")


def _ranked(values: Any) -> tuple[IntArray, Any]:
    """Return the rank of each of the values, -1 where one is missing, and the different ones sorted."""
    import pandas as pd

    if not isinstance(values, pd.Categorical):
        return pd.factorize(pd.Series(values, copy=False), sort=True)
    rank, found = pd.factorize(pd.Series(values.categories), sort=True)
    return np.append(rank, -1)[values.codes], found


def as_published(values: FloatArray, policy: ReleasePolicy, name: str) -> np.ndarray:
    """Return a numeric quasi-identifier's cells in its published type: whole numbers of an integer."""
    if policy.roles.numeric[name].type == "integer":
        return np.rint(values).astype(np.int64)
    return values


def set_texts(
    values: tuple[str, ...], member: np.ndarray, whole: np.ndarray, labels: Labels | None = None
) -> np.ndarray:
    """Return the text of each set `member` (n, |values|), `*` where it is `whole` (n,). O(n |values|).

    A set that has a label is written with it.
    """
    first, place = distinct_rows([whole, *np.packbits(member, axis=1).T])
    texts = np.empty(len(first), dtype=object)
    for i, one in enumerate(first.tolist()):
        if whole[one]:
            texts[i] = WHOLE
            continue
        found = [values[v] for v in np.flatnonzero(member[one])]
        texts[i] = write_set(found if labels is None else labels.written(found))
    return texts[place]
