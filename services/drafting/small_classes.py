"""Cut a table into small classes by its quasi-identifiers alone, to see which values classes will mix.

Mondrian cuts at the least NCP of free sets, and looks at no sensitive value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pandas as pd

from services.drafting.trial import CUTS
from tasks.partitioning.attributes import Attributes
from tasks.partitioning.constraints import Constraints
from tasks.partitioning.mondrian import SplitRule, partition
from tasks.sql import identifier
from tasks.types import BoolArray, FloatArray, IntArray

MOST_ROWS = 100_000  # of a larger table, rows at equal distances
K = 16  # rows of a class: a class that holds a model has more than the k of a drafted policy


@dataclass(frozen=True)
class SmallClasses:
    """The class of each row, and the texts of each column, None where a cell is empty."""

    label: IntArray
    texts: Mapping[str, pd.Series[str]]

    def mixtures(self, column: str, values: Sequence[str]) -> tuple[BoolArray, IntArray]:
        """Return which of the `values`, and after them of all others and the missing value, each class has,
        (classes, values + 2), and its rows (classes,).
        """
        place = {value: v for v, value in enumerate(values)}
        text = self.texts[column]
        code = text.map(place).fillna(len(values)).to_numpy(np.int64, copy=True)
        code[text.isna().to_numpy()] = len(values) + 1
        n_classes = int(self.label.max(initial=-1)) + 1
        member = np.zeros((n_classes, len(values) + 2), dtype=bool)
        member[self.label, code] = True
        return member, np.bincount(self.label, minlength=n_classes)


def small_classes(con: duckdb.DuckDBPyConnection, columns: Mapping[str, str | None]) -> SmallClasses:
    """Cut the relation `cells` by `columns`: the SQL of a value's place in an order, None of a category.

    O(n log n) for each column.
    """
    names = [*columns]
    n_rows = con.execute("SELECT count(*) FROM cells").fetchall()[0][0]
    step = max(1, -(-n_rows // MOST_ROWS))
    asked = [f"{identifier(name)} AS t{i}" for i, name in enumerate(names)]
    asked += [f"{sql} AS x{i}" for i, name in enumerate(names) if (sql := columns[name]) is not None]
    query = f"SELECT {', '.join(asked)} FROM cells WHERE rowid % {step} = 0 ORDER BY rowid"
    frame = con.execute(query).df()
    texts = {name: frame[f"t{i}"].astype(object) for i, name in enumerate(names)}
    numbers = [
        frame[f"x{i}"].to_numpy(np.float64, na_value=np.nan) for i in range(len(names)) if f"x{i}" in frame
    ]
    codes = [_by_frequency(texts[name]) for name in names if columns[name] is None]
    return SmallClasses(
        _cut(_columns(numbers, len(frame), float), _columns(codes, len(frame), np.int64)), texts
    )


def _columns(found: Sequence[np.ndarray], n_rows: int, kind: type) -> np.ndarray:
    return np.column_stack(found) if found else np.zeros((n_rows, 0), dtype=kind)


def _by_frequency(text: pd.Series[str]) -> IntArray:
    """Number the values of a column, the most frequent first; of equal ones, in their order."""
    code, values = pd.factorize(text.fillna("").astype(str), sort=True)
    rows = np.bincount(code, minlength=len(values))
    place = np.empty(len(values), dtype=np.int64)
    place[np.argsort(-rows, kind="stable")] = np.arange(len(values))
    return np.asarray(place[code], dtype=np.int64)


def _cut(numbers: FloatArray, codes: IntArray) -> IntArray:
    known = np.isfinite(numbers)
    low = np.where(known, numbers, np.inf).min(axis=0, initial=np.inf)
    span = np.where(known, numbers, -np.inf).max(axis=0, initial=-np.inf) - low
    span = np.where(np.isfinite(span), span, 0.0)
    n_values = codes.max(axis=0, initial=0) + 1
    n_columns = numbers.shape[1] + codes.shape[1]
    weight = np.full(n_columns, 1 / max(n_columns, 1))
    attributes = Attributes(np.where(known, numbers, np.nan), codes, span, n_values, weight)
    scaled = np.where(known, numbers - low, 0.0) / np.where(span > 0, span, 1.0)
    points = np.column_stack([scaled, codes / np.maximum(n_values - 1, 1)])
    rule = SplitRule(stop_size=2 * K - 1, score="ncp", quantiles=tuple(CUTS))
    return partition(points, Constraints(K, 1.0, 0.0, 0.0, ()), rule, attributes=attributes)
