"""A table too large to be decided at once, cut into fragments that are decided one by one.

The cuts are medians of single attributes, each over all records of what it cuts: the tree does not depend on
the order of the records, on a sample, or on where the fragments are decided (LeFevre et al., 2006, cut so).
"""

from __future__ import annotations

import numpy as np

from tasks.geometry.space import distinct_rows
from tasks.partitioning.constraints import Constraints
from tasks.representation.features import imputed
from tasks.types import BoolArray, FloatArray, IntArray, PreparedTable

MOST_RECORDS = 10_000_000  # of a fragment, however few of them are distinct


def fragments(table: PreparedTable, constraints: Constraints, most: int) -> list[IntArray]:
    """Return the records of each fragment, in their order: one of all if they are `most` distinct ones.

    They may stand for several rows each: a median is that of the rows.

    Records are equal that have the same quasi-identifiers, sensitive values and person. Where there are more
    than `most` distinct ones, a fragment of more than `most` records is cut at the median of the attribute
    whose sides are narrowest beside it, if both sides hold `constraints`; else at that of the next attribute.
    Where there are as few, one of more than MOST_RECORDS is. One that cannot be cut stays whole. Records that
    are equal in all attributes stay together. O(d n log(n / most)) for d attributes.
    """
    everybody = np.arange(table.n_records)
    if table.n_records > most and _n_distinct(table) <= most:
        most = max(most, MOST_RECORDS)
    if table.n_records <= most:
        return [everybody]
    columns = [*(imputed(values, table.rows) for values in table.numeric.T), *table.codes.T]
    spans = [float(np.ptp(column)) or 1.0 for column in columns]
    found: list[IntArray] = []
    left = [everybody]
    while left:
        records = left.pop()
        sides = _sides(columns, spans, records, constraints) if len(records) > most else None
        if sides is None:
            found.append(records)
        else:
            left += [records[~sides], records[sides]]
    return found


def _n_distinct(table: PreparedTable) -> int:
    whose = [] if table.unit is None else [table.unit]
    first, _ = distinct_rows([*table.numeric.T, *table.codes.T, *table.sensitive.T, *whose])
    return len(first)


def _sides(
    columns: list[FloatArray], spans: list[float], records: IntArray, constraints: Constraints
) -> BoolArray | None:
    """Return which of the records are on the low side of the best cut that both sides can bear, if any."""
    gains = np.zeros(len(columns))
    rows = None if constraints.rows is None else constraints.rows[records]
    for number, column in enumerate(columns):
        values = column[records]
        low = _low_side(values, rows)
        share = np.average(low, weights=rows)
        if 0 < share < 1:
            inside = share * np.ptp(values[low]) + (1 - share) * np.ptp(values[~low])
            gains[number] = (np.ptp(values) - inside) / spans[number] * min(share, 1 - share)
    for number in np.argsort(-gains, kind="stable").tolist():
        if gains[number] <= 0:
            return None
        low = _low_side(columns[number][records], rows)
        if constraints.group_holds(records[low]) and constraints.group_holds(records[~low]):
            return low
    return None


def _low_side(values: FloatArray, rows: IntArray | None) -> BoolArray:
    """Return which values are under the median, or at it, whichever divides them more evenly."""
    if rows is None:
        median = np.partition(values, len(values) // 2)[len(values) // 2]
    else:
        order = np.argsort(values)
        up_to = np.cumsum(rows[order])
        median = values[order][np.searchsorted(up_to, up_to[-1] // 2, side="right")]
    under, at = values < median, values <= median
    shares = [float(np.average(side, weights=rows)) for side in (under, at)]
    return np.asarray(under if abs(shares[0] - 0.5) <= abs(shares[1] - 0.5) else at)
