"""The published columns of recodings that replace or perturb values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from policy.model import NumericQuasiIdentifier
from tasks.partitioning.medoids import medians
from tasks.recoding.cells import WHOLE, write_set
from tasks.types import BoolArray, FloatArray, IntArray, PreparedTable


def set_texts(member: BoolArray, domain: Sequence[str]) -> np.ndarray:
    """Return the cells of sets of values `member` (n, n_values) as they are written, (n,)."""
    distinct, place = np.unique(np.packbits(member, axis=1), axis=0, return_inverse=True)
    written = np.empty(len(distinct), dtype=object)
    for i, row in enumerate(np.unpackbits(distinct, axis=1, count=len(domain)).astype(bool)):
        whole = len(domain) > 1 and bool(row.all())
        written[i] = WHOLE if whole else write_set([domain[v] for v in np.flatnonzero(row).tolist()])
    return np.asarray(written[place.ravel()])


def value_texts(codes: IntArray, domain: Sequence[str]) -> np.ndarray:
    """Return the cells of single values as they are written, (n,)."""
    written = np.array([write_set([value]) for value in domain], dtype=object)
    return np.asarray(written[codes])


def imputed(values: FloatArray, labels: IntArray, bounds: tuple[float, float]) -> FloatArray:
    """Return numbers (n,) with missing ones replaced by the lower median of their group's known ones.

    Where a group knows none, by the middle of the declared bounds. No label is -1.
    """
    middle = medians(values, labels, int(labels.max(initial=-1)) + 1)
    middle = np.where(np.isnan(middle), (bounds[0] + bounds[1]) / 2, middle)
    return np.where(np.isnan(values), middle[labels], values)


def within_bounds(values: FloatArray, qi: NumericQuasiIdentifier) -> FloatArray:
    """Return numbers clipped to the declared bounds, those of an integer rounded to one inside."""
    least, greatest = qi.bounds
    if qi.type == "integer":
        return np.clip(np.rint(values), np.ceil(least), np.floor(greatest))
    return np.clip(values, least, greatest)


def number_column(values: FloatArray, qi: NumericQuasiIdentifier) -> np.ndarray:
    """Return a column of numbers as it is published: whole numbers for an integer."""
    return values.astype(np.int64) if qi.type == "integer" else values


def kept_columns(table: PreparedTable, records: IntArray) -> dict[str, object]:
    """Return the sensitive attributes and the kept columns of these records, as they are."""
    columns: dict[str, object] = {}
    for i, name in enumerate(table.sensitive_names):
        if name in table.sensitive_numbers:
            columns[name] = table.sensitive_numbers[name][records]
        else:
            values = np.array(table.sensitive_values[name], dtype=object)
            columns[name] = pd.array(values[table.sensitive[records, i]], dtype="str")
    for name in table.frame.columns:
        columns[name] = table.frame[name].iloc[records].reset_index(drop=True)
    return columns
