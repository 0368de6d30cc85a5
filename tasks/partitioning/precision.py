"""What a class costs in precision, as it grows: PREC (Riyana, 2025, eq. 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policy.roles import Roles
from tasks.recoding.levels import Levels, category_levels, number_levels
from tasks.types import FloatArray, IntArray, PreparedTable


@dataclass(frozen=True)
class Boxes:
    """What g classes are generalized to.

    `first` (g,) a record of each, `share` (d, g) the level over the height of each hierarchy, `low` and
    `high` (p, g) the ends of numbers without one, in shares of the table's range; NaN where none is known.
    """

    first: IntArray
    share: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Precision:
    """The quasi-identifiers of n records: `codes` (d, n) with the `levels` of each, `numbers` (p, n) without.

    The penalty of one record is the level over the height of each hierarchy, an attribute without a hierarchy
    having 0 and 1 alone; for numbers that the policy gives no interval widths it is the share of the range.
    """

    codes: IntArray
    levels: tuple[Levels, ...]
    numbers: FloatArray

    @property
    def n_records(self) -> int:
        """How many records there are."""
        return int(self.codes.shape[1])

    def alone(self, records: IntArray) -> Boxes:
        """Return each record as a class of its own."""
        share = np.zeros((len(self.levels), len(records)))
        return Boxes(records, share, self.numbers[:, records], self.numbers[:, records])

    def joined(self, boxes: Boxes, records: IntArray) -> Boxes:
        """Return classes with a record more: one with each record, each with one record, or row by row."""
        share = np.empty((len(self.levels), max(len(boxes.first), len(records))))
        for codes, levels, own, joined in zip(self.codes, self.levels, boxes.share, share, strict=True):
            # The distance is an ultrametric: any record of a class is as good as all of them.
            np.maximum(own, _share(levels, codes[boxes.first], codes[records]), out=joined)
        numbers = self.numbers[:, records]
        low, high = np.fmin(boxes.low, numbers), np.fmax(boxes.high, numbers)
        return Boxes(np.broadcast_to(boxes.first, share.shape[1:]), share, low, high)

    def penalty(self, boxes: Boxes) -> FloatArray:
        """Return what a record of each class costs, between 0 and the number of attributes, (g,)."""
        width = boxes.high - boxes.low
        found = boxes.share.sum(axis=0) + np.where(np.isnan(width), 0.0, width).sum(axis=0)
        return np.asarray(found)

    def places(self) -> FloatArray:
        """Return where the records lie for a search of near ones, (n, d + p).

        Each attribute is a line; two neighbouring values of a hierarchy lie as far apart as their lowest
        common node is high.
        """
        lines = [np.nan_to_num(numbers, nan=0.5) for numbers in self.numbers]
        for codes, levels in zip(self.codes, self.levels, strict=True):
            values = np.arange(levels.n_values)
            gaps = _share(levels, values[1:], values[:-1])
            lines.append(np.concatenate([[0.0], np.cumsum(gaps)])[codes])
        return np.column_stack(lines)


def _share(levels: Levels, first: IntArray, second: IntArray) -> FloatArray:
    """Return distances over the height; from one value to many, those to all values are looked up."""
    if len(second) == 1:
        first, second = second, first
    if len(first) == 1:
        return np.asarray((levels.distance(first, np.arange(levels.n_values)) / levels.height)[second])
    return levels.distance(first, second) / levels.height


def precision_of(table: PreparedTable, roles: Roles) -> Precision:
    """Return the quasi-identifiers with their hierarchies and interval widths. O(n log n) a number."""
    codes, levels, numbers = [], [], []
    for name, values in zip(table.numeric_names, table.numeric.T, strict=True):
        qi = roles.numeric[name]
        if qi.widths:
            code, found = number_levels(values, qi.bounds[0], qi.widths)
            codes.append(code)
            levels.append(found)
        else:
            least = np.nanmin(values)
            numbers.append((values - least) / ((np.nanmax(values) - least) or 1.0))
    for name, column in zip(table.categorical_names, table.codes.T, strict=True):
        codes.append(column.astype(np.int64))
        levels.append(category_levels(table.domains[name], roles.categorical[name].tree))
    n = table.n_records
    return Precision(
        np.stack(codes) if codes else np.empty((0, n), dtype=np.int64),
        tuple(levels),
        np.stack(numbers) if numbers else np.empty((0, n)),
    )
