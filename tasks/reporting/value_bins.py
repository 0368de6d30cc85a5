"""Bins of values: the most frequent by what is published, the rest together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tasks.counting import counted
from tasks.recoding.labels import Labels, read_cell
from tasks.types import BoolArray, FloatArray, IntArray

MOST = 20
OTHERS = "other values"


@dataclass(frozen=True)
class Cells:
    """c different published cells, sorted by their text: `rows` (c,) rows have each, `of_row` (m,) is each
    row's.

    The pairs `cell`, `value` (p,) are which values a cell names, places in `names`, sorted; `whole` (c,)
    marks `*`, which names none.
    """

    rows: IntArray
    of_row: IntArray
    names: tuple[str, ...]
    cell: IntArray
    value: IntArray
    whole: BoolArray

    @property
    def weight(self) -> FloatArray:
        """The rows of each value (names,): a row counts for each value of its cell alike, `*` for all."""
        named = np.bincount(self.cell, minlength=len(self.rows))
        share = self.rows[self.cell] / named[self.cell]
        found = np.bincount(self.value, weights=share, minlength=len(self.names)).astype(np.float64)
        return np.asarray(found + self.rows[self.whole].sum() / max(len(self.names), 1))


def cells_of(column: pd.Series[str], labels: Labels | None = None, times: IntArray | None = None) -> Cells:
    """Read the m published cells of a categorical quasi-identifier; each may stand several `times` (m,).

    O(m + values of all cells).
    """
    codes, texts = pd.factorize(column)
    rows = counted(codes, times, len(texts)).astype(np.int64)
    written = np.array([str(text) for text in texts], dtype=object)
    order = np.argsort(written)
    read = [read_cell(text, labels) for text in written[order]]
    cell = np.repeat(np.arange(len(read)), [len(values or ()) for values in read])
    flat = np.array([value for values in read for value in values or ()], dtype=object)
    value, names = pd.factorize(flat, sort=True)
    whole = np.array([values is None for values in read], dtype=bool)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return Cells(rows[order], rank[codes], tuple(names), cell.astype(np.int64), value.astype(np.int64), whole)


@dataclass(frozen=True)
class ValueBins:
    """The bins' `labels`, b of them; those of the first are values of that name; `others` is the place of the
    bin of all others, -1 where there is none.
    """

    labels: tuple[str, ...]
    others: int

    def __len__(self) -> int:
        return len(self.labels)

    def place(self, names: Sequence[str]) -> IntArray:
        """Return the bin of each name, (n,)."""
        known = {name: number for number, name in enumerate(self.labels) if number != self.others}
        return np.array([known.get(name, self.others) for name in names], dtype=np.int64)


def value_bins(names: Sequence[str], weight: FloatArray, *, missing: str, others: bool = False) -> ValueBins:
    """Return bins of the 20 values with the most weight (names,), then of all others, then of missing ones.

    `others` asks for a bin of others where all names have bins of their own.
    """
    ranked = sorted(range(len(names)), key=lambda i: (-weight[i], names[i]))
    named = [names[i] for i in ranked if names[i] != missing]
    labels = named[:MOST]
    place = -1
    if len(named) > MOST or others:
        place, label = len(labels), OTHERS
        while label in names:  # a value of that name
            label = f"all {label}"
        labels.append(label)
    return ValueBins((*labels, missing) if missing in names else tuple(labels), place)
