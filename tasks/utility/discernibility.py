"""Discernibility metric, DM: how many records look like each record (Riyana, 2025, eq. 4).

The sum of the squares of the class sizes. A record left out looks like any of the n of the source and
counts n, as in Bayardo and Agrawal (2005); the equation as it is printed leaves it out.
"""

from __future__ import annotations

from tasks.utility.released import Released


def discernibility(released: Released) -> dict[str, float | None]:
    """Return DM, and DM over n: the mean number of records that look like one."""
    n = released.table.n_records
    found = float((released.classes.size**2).sum() + released.n_suppressed * n)
    return {"dm": found, "dm_mean": found / n}
