"""The rows as they will be published: recoded cells beside what is published as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from policy.model import ReleasePolicy
from tasks.recoding.cells import WHOLE, write_set
from tasks.types import FloatArray, IntArray, Notes, PreparedTable, Recoded


def rows_of(
    table: PreparedTable,
    policy: ReleasePolicy,
    records: IntArray,
    cells: Mapping[str, np.ndarray],
    *,
    sensitive: Mapping[str, IntArray] | None = None,
    notes: Notes | None = None,
) -> Recoded:
    """Return the published rows of `records` (m,), sorted by all their cells: the order says nothing.

    `cells[column]` (m,) are the published columns of the quasi-identifiers, numbers or texts. `sensitive`
    (m,) says for an attribute which record's value stands in each row; left out, the row's own.
    """
    import pandas as pd

    columns: dict[str, Any] = {}
    for column in policy.cell_columns():
        values = cells[column]
        columns[column] = pd.array(values, dtype="str") if values.dtype == object else values
    for i, name in enumerate(table.sensitive_names):
        chosen = records if sensitive is None or name not in sensitive else sensitive[name]
        if name in table.sensitive_numbers:
            columns[name] = table.sensitive_numbers[name][chosen]
        else:
            texts = np.array(table.sensitive_values[name], dtype=object)
            columns[name] = pd.array(texts[table.sensitive[chosen, i]], dtype="str")
    for name in policy.roles.kept:
        columns[name] = table.frame[name].iloc[records].reset_index(drop=True)
    frame = pd.DataFrame(columns).sort_values(list(columns), kind="stable", na_position="last")
    return Recoded(records[frame.index.to_numpy()], frame.reset_index(drop=True), dict(notes or {}))


def as_published(values: FloatArray, policy: ReleasePolicy, name: str) -> np.ndarray:
    """Return a numeric quasi-identifier's cells in its published type: whole numbers of an integer."""
    if policy.roles.numeric[name].type == "integer":
        return np.rint(values).astype(np.int64)
    return values


def set_texts(values: tuple[str, ...], member: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return the text of each set `member` (n, |values|), `*` where it is `whole` (n,). O(distinct sets)."""
    texts = np.empty(len(member), dtype=object)
    packed = np.packbits(member, axis=1)
    written: dict[bytes, str] = {}
    for i, row in enumerate(packed):
        if whole[i]:
            texts[i] = WHOLE
            continue
        key = row.tobytes()
        if key not in written:
            written[key] = write_set([values[v] for v in np.flatnonzero(member[i])])
        texts[i] = written[key]
    return texts
