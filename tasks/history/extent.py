"""The cells of groups, and what one more record in them costs by the normalized certainty penalty."""

from __future__ import annotations

from collections.abc import Sequence

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

    def replace(self, group: int, other: Extent, units: Sequence[int]) -> None:
        """Make a group of some units of another; without any it is empty."""
        rows = np.array(units, dtype=np.int64)
        self.size[group] = other.size[rows].sum()
        self._low[group] = np.fmin.reduce(other._low[rows], axis=0, initial=np.inf)
        self._high[group] = np.fmax.reduce(other._high[rows], axis=0, initial=-np.inf)
        for mine, theirs in zip(self._member, other._member, strict=True):
            mine[group] = theirs[rows].any(axis=0)

    def together(self, groups: Sequence[int]) -> float:
        """Return the penalty of the people of some groups together."""
        rows = np.array(groups, dtype=np.int64)
        width = np.fmax.reduce(self._high[rows], axis=0) - np.fmin.reduce(self._low[rows], axis=0)
        total = float((np.where(np.isfinite(width), width, 0.0) / self._span).sum())
        for marks in self._member:
            covered = int(marks[rows].any(axis=0).sum())
            total += covered / marks.shape[1] if covered > 1 else 0.0
        return total * int(self.size[rows].sum())

    def cost(self, group: IntArray) -> FloatArray:
        """Return the penalty of each group's people together, (groups,)."""
        total = np.zeros(len(group))
        for column, span in enumerate(self._span):
            width = self._high[group, column] - self._low[group, column]
            total += np.where(np.isfinite(width), width, 0.0) / span
        for marks in self._member:
            covered = marks[group].sum(axis=1)
            total += np.where(covered > 1, covered, 0) / marks.shape[1]
        return total * self.size[group]

    def with_each(self, group: IntArray, other: Extent, units: IntArray) -> FloatArray:
        """Return the penalty of each group together with each of the `units` of another, (groups, units)."""
        total = np.zeros((len(group), len(units)))
        for column, span in enumerate(self._span):
            low = np.fmin(self._low[group, column, None], other._low[units, column])
            high = np.fmax(self._high[group, column, None], other._high[units, column])
            width = high - low
            total += np.where(np.isfinite(width), width, 0.0) / span
        for mine, theirs in zip(self._member, other._member, strict=True):
            if (n_values := mine.shape[1]) > 1:
                covered = (~mine[group]).astype(np.float64) @ theirs[units].T + mine[group].sum(axis=1)[
                    :, None
                ]
                total += np.where(covered > 1, covered, 0.0) / n_values
        return total * (self.size[group, None] + other.size[units])
