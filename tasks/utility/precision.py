"""Precision, PREC: how far cells were raised in their hierarchies, and what was left out (Riyana, 2025, eq.
1-3).

f_GEN is the sum over the published rows and quasi-identifiers of level over height; f_SUP the number of
records left out times the number of records; PREC is their sum, so that less is better. (Sweeney's precision,
2002, is 1 less the mean level over height.)
"""

from __future__ import annotations

from tasks.utility.levels import levels_of
from tasks.utility.released import Released


def precision(released: Released) -> dict[str, float | None]:
    """Return PREC, its two terms, and the mean level over height of a published cell.

    None where values were put in place of others: they have no level.
    """
    names = ("prec", "prec_generalized", "prec_suppressed", "prec_mean_level")
    if not released.all_true:
        return dict.fromkeys(names)
    levels = levels_of(released.classes, released.policy)
    generalized = sum(float((found.share * released.classes.size).sum()) for found in levels.values())
    suppressed = float(released.n_suppressed * released.table.n_records)
    n_cells = released.n_published * len(levels)
    mean = generalized / n_cells if n_cells else None
    return dict(zip(names, (generalized + suppressed, generalized, suppressed, mean), strict=True))
