"""ILoss: weighted levels of generalization (doi:10.3390/app152111849, eq. 12 and 13).

The sum over the published rows and quasi-identifiers of level / levels * weight; a cell that was not
generalized costs nothing. The levels are those above the leaves, so that the root costs the whole weight
(section 5.5: with five levels, level 1 costs 1/5 and level 5 costs 5/5). The weights are the policy's.

Where a value was put in place of another, its level is that on which the two meet (section 5.7): of the
smallest width that covers both numbers, or of the lowest node above both categories.
"""

from __future__ import annotations

import numpy as np

from release_store.records import SetCells
from tasks.types import FloatArray
from tasks.utility.levels import interval_levels, levels_of, set_levels
from tasks.utility.released import Released

STEP = 100_000


def information_loss(released: Released) -> dict[str, float | None]:
    """Return ILoss, and its mean over the published cells by weight, between 0 and 1."""
    if not released.n_published:
        return {"iloss": 0.0, "iloss_mean": None}
    levels = levels_of(released.classes, released.policy)
    total, weights = 0.0, 0.0
    for name, attribute in released.policy.roles.quasi_identifiers.items():
        if name in released.untrue:
            share = float(_apart(released, name).sum())
        else:
            share = float((levels[name].share * released.classes.size).sum())
        total += attribute.weight * share
        weights += attribute.weight
    return {"iloss": total, "iloss_mean": total / weights / released.n_published}


def _apart(released: Released, name: str) -> FloatArray:
    """Return for each row level over height where the published and the true value meet, (m,)."""
    table, rows = released.table, released.records
    if name in table.numeric_names:
        own = table.numeric[rows, table.numeric_names.index(name)]
        if name in released.noised:
            low = high = released.noised[name]
        else:
            low, high = released.classes.intervals[name][released.class_of].T
        widths = released.policy.roles.numeric[name].widths
        # What is unknown of a person lies in every cell.
        return interval_levels(np.fmin(low, own), np.fmax(high, own), widths).share
    own_values, cells = table.domains[name], released.classes.sets[name]
    domain = tuple(dict.fromkeys((*cells.values, *own_values)))
    own_place = np.array([domain.index(value) for value in own_values])
    codes = table.codes[rows, table.categorical_names.index(name)]
    hierarchy = released.policy.roles.categorical[name].tree
    found = np.empty(len(rows))
    for first in range(0, len(rows), STEP):
        part = slice(first, first + STEP)
        classes = released.class_of[part]
        both = np.zeros((len(classes), len(domain)), dtype=bool)
        both[:, : len(cells.values)] = cells.member[classes]
        both[np.arange(len(classes)), own_place[codes[part]]] = True
        found[part] = set_levels(SetCells(domain, both, cells.whole[classes]), hierarchy).share
    return found
