"""Rows that repeat the row before them: what an input may hold by mistake.

Majeed, Lee and Hwang (2025), section 4.1: rows with equal values at neighbouring indexes are duplicates,
equal rows elsewhere are different people.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from tasks.types import BoolArray, SourceTable


def without_duplicates(table: SourceTable) -> SourceTable:
    """Return the table without each row that equals the one before it, and how many there were.

    All columns that were read count, key and identifiers too; two missing cells are equal. Of rows in a
    sequence the first stays. O(n) a column.
    """
    identifiers = table.identifiers
    repeats = _repeats(table.frame)
    if identifiers is not None and not identifiers.columns.empty:  # a frame without columns has no rows
        repeats &= _repeats(identifiers)
        identifiers = identifiers[~repeats].reset_index(drop=True)
    return replace(
        table,
        frame=table.frame[~repeats].reset_index(drop=True),
        identifiers=identifiers,
        removed_duplicates=int(repeats.sum()),
    )


def _repeats(frame: pd.DataFrame) -> BoolArray:
    """Tell which rows equal the row before them in every column, (n,)."""
    found = np.ones(len(frame), dtype=bool)
    found[:1] = False
    for name in frame.columns:
        codes, _ = pd.factorize(frame[name])  # -1 where a cell is missing
        found[1:] &= codes[1:] == codes[:-1]
    return found
