"""Hierarchy lookups: how many cells had to be looked up to be raised (doi:10.3390/app152111849, section
5.6.1).

The paper counts one lookup a record and quasi-identifier (30,000 records of 5 make 150,000) for methods
that raise everything, fewer where cells are kept, and finds fewer for larger k, "due to a decrease in the
number of clusters"; the first is a count over records, the second one over classes. Both are told. A cell
above level 0 was looked up; a single value, a replaced and a noised one were not.
"""

from __future__ import annotations

from tasks.utility.levels import levels_of
from tasks.utility.released import Released


def lookups(released: Released) -> dict[str, float | None]:
    """Return the lookups by record, their share of all published cells, and the lookups by class."""
    size = released.classes.size
    raised = [found.level > 0 for found in levels_of(released.classes, released.policy).values()]
    by_record = float(sum(int(size[cells].sum()) for cells in raised))
    n_cells = released.n_published * len(released.policy.roles.quasi_identifiers)
    return {
        "lookups": by_record,
        "lookups_share": by_record / n_cells if n_cells else None,
        "lookups_by_class": float(sum(int(cells.sum()) for cells in raised)),
    }
