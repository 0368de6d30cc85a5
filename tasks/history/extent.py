"""The cells of groups, and what one more record in them costs by the normalized certainty penalty."""

from __future__ import annotations

import numpy as np

from tasks.types import BoolArray, FloatArray, IntArray, PreparedTable


class Extent:
    """The cells of g groups of a table's records: `size` (g,), ranges and sets of values."""

    def __init__(self, table: PreparedTable, labels: IntArray, n_groups: int) -> None:
        self._numeric, self._codes = table.numeric, table.codes
        rows = np.flatnonzero(labels >= 0)
        self.size = np.bincount(labels[rows], minlength=n_groups)
        self._low = np.full((n_groups, table.numeric.shape[1]), np.inf)
        self._high = np.full((n_groups, table.numeric.shape[1]), -np.inf)
        np.fmin.at(self._low, labels[rows], table.numeric[rows])
        np.fmax.at(self._high, labels[rows], table.numeric[rows])
        self._member: list[BoolArray] = []
        for column, name in enumerate(table.categorical_names):
            marks = np.zeros((n_groups, len(table.domains[name])), dtype=bool)
            marks[labels[rows], table.codes[rows, column]] = True
            self._member.append(marks)
        spread = (
            np.nanmax(table.numeric, axis=0) - np.nanmin(table.numeric, axis=0) if table.n_records else 0.0
        )
        self._span = np.where(np.asarray(spread) > 0, spread, np.inf)

    def growth(self, group: IntArray, rows: IntArray) -> FloatArray:
        """Return by how much the penalty of each group grows with each of `rows`, (groups, rows)."""
        total = np.zeros((len(group), len(rows)))
        for column, span in enumerate(self._span):
            number = self._numeric[rows, column]
            over = number - self._high[group, column, None]
            under = self._low[group, column, None] - number
            both = np.fmax(over, 0.0) + np.fmax(under, 0.0)
            total += np.where(np.isfinite(both), both, 0.0) / span
        for column, marks in enumerate(self._member):
            n_values = marks.shape[1]
            covered = marks[group].sum(axis=1)
            # A cell of one value costs nothing, one of two costs two.
            step = np.where(covered == 1, 2.0, 1.0) / n_values if n_values > 1 else np.zeros(len(group))
            total += np.where(marks[group][:, self._codes[rows, column]], 0.0, step[:, None])
        return total

    def centre(self, group: IntArray) -> FloatArray:
        """Return where each group lies by the first attribute."""
        if self._numeric.shape[1]:
            return np.asarray((self._low[group, 0] + self._high[group, 0]) / 2)
        return np.asarray(self._member[0][group].argmax(axis=1), dtype=np.float64)

    def place(self, rows: IntArray) -> FloatArray:
        """Return where each row lies by it."""
        if self._numeric.shape[1]:
            return np.asarray(self._numeric[rows, 0])
        return np.asarray(self._codes[rows, 0], dtype=np.float64)
