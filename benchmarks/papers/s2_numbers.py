"""Published numbers beside the true ones: how far up the hierarchy they meet, and whom they reveal."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.trial import Figures
from tasks.types import FloatArray, IntArray
from tasks.utility.levels import Levels, interval_levels
from tasks.utility.released import Released

PARTS = 5
SHARE = 0.05
CLOSE = 1e-9
"""Squared distances that differ by less are equal."""


def ends(seen: Released, name: str) -> tuple[FloatArray, FloatArray]:
    """Return the ends of each row's published number, (m,) each: the number itself where it was noised."""
    if name in seen.noised:
        return seen.noised[name], seen.noised[name]
    low, high = seen.classes.intervals[name][seen.class_of].T
    return low, high


def number_levels(seen: Released, name: str) -> Levels:
    """Return the levels (m,) at which each row's published and true number meet (section 5.7)."""
    low, high = ends(seen, name)
    own = seen.table.numeric[seen.records, seen.table.numeric_names.index(name)]
    widths = seen.policy.roles.numeric[name].widths
    return interval_levels(np.fmin(low, own), np.fmax(high, own), widths)


def exposed(n: int, seed: int) -> list[IntArray]:
    """Return 5% of each of five equal parts of n records, in their order (section 5.7)."""
    rng = np.random.default_rng(seed)
    parts = np.array_split(np.arange(n), PARTS)
    return [np.sort(rng.choice(part, max(1, round(SHARE * len(part))), replace=False)) for part in parts]


def known_by_numbers(seen: Released, people: IntArray) -> Figures:
    """Return what who knows all numbers of each of `people` learns, as means over those who have a row.

    `people` are records of the source. R(x) are the rows nearest to x's numbers; a row whose intervals hold
    them is at distance 0. `sadr` is the largest share of one sensitive value in R(x) (eq. 11), `right` how
    often that value is x's own (ties shared), `cluster` the share of R(x) from x's own cluster, `row` the
    chance to draw x's own row from R(x).
    O(people times rows).
    """
    (sensitive,) = seen.values
    value, n_values = seen.values[sensitive], len(seen.classes.sensitive_values[sensitive])
    row_of = np.full(seen.table.n_records, -1, dtype=np.int64)
    row_of[seen.records] = np.arange(seen.n_published)
    numbers = seen.table.numeric_names
    cells = [ends(seen, name) for name in numbers]
    spans = [float(np.ptp(column)) or 1.0 for column in seen.table.numeric.T]
    found: dict[str, list[float]] = {"sadr": [], "right": [], "cluster": [], "row": []}
    for person in people[row_of[people] >= 0].tolist():
        far = np.zeros(seen.n_published)
        for column, ((low, high), span) in enumerate(zip(cells, spans, strict=True)):
            mine = seen.table.numeric[person, column]
            apart = np.maximum(np.maximum(low - mine, mine - high), 0.0) / span
            far += np.nan_to_num(apart, nan=0.0) ** 2  # what is unknown is near to all
        near = np.flatnonzero(far <= far.min() + CLOSE)
        counts = np.bincount(value[near], minlength=n_values)
        own = row_of[person]
        modes = counts == counts.max()
        found["sadr"].append(counts.max() / len(near))
        found["right"].append(float(modes[value[own]]) / modes.sum())
        found["cluster"].append(float((seen.groups[near] == seen.groups[own]).mean()))
        found["row"].append(float(own in near) / len(near))
    return {name: float(np.mean(values)) for name, values in found.items()}
