"""The model that every group must satisfy: k, p_max, h_min and e, on counts of sensitive values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log

import numpy as np

from policy.model import Privacy
from tasks.types import BoolArray, FloatArray, IntArray, PreparedTable


@dataclass(frozen=True)
class SensitiveColumn:
    """One sensitive attribute of n records: `codes` (n,) into `n_values` values, and any numbers."""

    codes: IntArray
    n_values: int
    numbers: FloatArray | None = None

    def take(self, records: IntArray) -> SensitiveColumn:
        """Return the attribute of some of the records."""
        numbers = None if self.numbers is None else self.numbers[records]
        return replace(self, codes=self.codes[records], numbers=numbers)


@dataclass(frozen=True)
class Constraints:
    """What a group must hold: at least `k` records, and for each sensitive attribute a largest share of
    at most `p_max`, an entropy (natural logarithm) of at least `h_min`, and at least `e` distinct values
    (a numeric attribute: a range of at least `e`; Zhang et al., 2007), which is at least `spread` of the
    largest absolute value.

    With `person` (n,), whose a record is, all but the range is of people: a person counts once in a group,
    and once for each of the values that their records there have.
    """

    k: int
    p_max: float
    h_min: float
    e: float
    columns: tuple[SensitiveColumn, ...]
    spread: float = 0.0
    person: IntArray | None = None

    def column_holds(
        self,
        column: SensitiveColumn,
        counts: IntArray,
        low: FloatArray | None,
        high: FloatArray | None,
        size: IntArray | None = None,
    ) -> BoolArray:
        """Tell for groups (...,) with value counts (..., m) whether one attribute's conditions hold.

        `size` (...,) counts the people where the counts are of people, of whom one may have several values.
        """
        size = counts.sum(axis=-1) if size is None else size
        holds = counts.max(axis=-1) <= self.p_max * size + 1e-9
        if self.h_min > 0:
            holds &= entropy(counts) >= self.h_min - 1e-12
        if column.numbers is None:
            holds &= (counts > 0).sum(axis=-1) >= self.e
        elif low is not None and high is not None:
            holds &= high - low >= self.e
            if self.spread > 0:
                holds &= high - low >= self.spread * np.maximum(np.abs(high), np.abs(low)) - 1e-12
        return np.asarray(holds & (size > 0))

    def group_holds(self, records: IntArray) -> bool:
        """Tell whether these records together are a valid group."""
        size = np.asarray(len(records) if self.person is None else len(np.unique(self.person[records])))
        if size < self.k:
            return False
        for column in self.columns:
            counts = np.bincount(self.counted(column, records), minlength=column.n_values)
            low, high = number_range(column, records)
            if not bool(self.column_holds(column, counts, low, high, size)):
                return False
        return True

    def take(self, records: IntArray) -> Constraints:
        """Return the constraints on some of the records."""
        person = None if self.person is None else self.person[records]
        return replace(self, columns=tuple(one.take(records) for one in self.columns), person=person)

    def counted(self, column: SensitiveColumn, records: IntArray) -> IntArray:
        """Return the codes that count in a group of these records: of a person, each code once."""
        codes = column.codes[records]
        if self.person is None:
            return codes
        return np.asarray(np.unique(self.person[records] * column.n_values + codes) % column.n_values)


def constraints_of(table: PreparedTable, privacy: Privacy) -> Constraints:
    """Bind the policy's model to a table's sensitive attributes."""
    columns = tuple(
        SensitiveColumn(
            table.sensitive[:, i].astype(np.int64),
            len(table.sensitive_values[name]),
            table.sensitive_numbers.get(name),
        )
        for i, name in enumerate(table.sensitive_names)
    )
    return Constraints(
        privacy.k, privacy.p_max, privacy.h_min, privacy.e, columns, privacy.spread, table.person
    )


def number_range(column: SensitiveColumn, records: IntArray) -> tuple[FloatArray | None, FloatArray | None]:
    """Return the least and greatest number of these records, or None for a categorical attribute.

    Missing numbers are left out; where all are missing the range is empty (nan).
    """
    if column.numbers is None:
        return None, None
    known = column.numbers[records]
    known = known[~np.isnan(known)]
    if not len(known):
        return np.asarray(np.nan), np.asarray(np.nan)
    return np.asarray(known.min()), np.asarray(known.max())


def entropy(counts: IntArray) -> FloatArray:
    """Return the Shannon entropy (natural logarithm) of counts (..., m), shape (...,)."""
    size = counts.sum(axis=-1)
    inside = (counts * np.log(np.maximum(counts, 1))).sum(axis=-1)
    return np.asarray(np.log(np.maximum(size, 1)) - inside / np.maximum(size, 1))


def log_values(column: SensitiveColumn) -> float:
    """Return the largest entropy that the attribute can have; 1 where it has a single value."""
    return log(column.n_values) if column.n_values > 1 else 1.0
