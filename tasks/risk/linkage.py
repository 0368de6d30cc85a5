"""Linkage and disclosure by an attacker who knows all quasi-identifiers (Hu et al., 2026, eq. 8 to 12).

For a person x, C(x) are the classes whose every cell contains x, m(x) is the smallest of their sizes, and
R(x) are the published rows of all of them. An unknown (missing) number of x fits every cell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from release_store.records import EquivalenceClasses
from tasks.risk.containment import blocks
from tasks.risk.space import boxes_of, points_of, space_of
from tasks.types import FloatArray, IntArray, PreparedTable


@dataclass(frozen=True)
class Links:
    """What an attacker finds for each source record: `smallest` m(x) (0: C(x) is empty), `candidates` |C(x)|,
    `largest_share[attribute]` the largest share of one sensitive value in R(x) (nan: R(x) is empty).
    All have shape (n,).
    """

    smallest: IntArray
    candidates: IntArray
    largest_share: dict[str, FloatArray]


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation (ddof 1) over draws of the attacker's table."""

    mean: float
    std: float


def link(table: PreparedTable, classes: EquivalenceClasses) -> Links:
    """Find C(x), m(x) and R(x) for every source record; equal records are counted once.

    Cost: distinct records times the classes that share their most selective values.
    """
    space = space_of([classes], table)
    points = points_of(table, space)
    by_size = np.argsort(classes.size, kind="stable")
    boxes = boxes_of(classes, space).take(by_size)
    size = classes.size[by_size]
    smallest = np.zeros(len(points), dtype=np.int64)
    candidates = np.zeros(len(points), dtype=np.int64)
    share = {name: np.full(len(points), np.nan) for name in classes.counts}
    counts = {name: c[by_size].astype(np.float32) for name, c in classes.counts.items()}
    for block in blocks(points, boxes):
        if not len(block.classes):
            continue
        found = block.inside.sum(axis=1)
        candidates[block.points] = found
        # Classes stand in the order of their size: the first that contains x is the smallest.
        first = size[block.classes[block.inside.argmax(axis=1)]]
        smallest[block.points] = np.where(found > 0, first, 0)
        inside = block.inside.astype(np.float32)
        linked = found > 0
        for name, count in counts.items():
            # Counts under 2**24 are exact in single precision; their quotient is not.
            rows = (inside @ count[block.classes]).astype(np.float64)
            largest = rows.max(axis=1) / np.maximum(rows.sum(axis=1), 1)
            share[name][block.points[linked]] = largest[linked]
    return Links(
        smallest[points.place], candidates[points.place], {name: s[points.place] for name, s in share.items()}
    )


def draws(n_records: int, ext_frac: float, seeds: int) -> list[IntArray]:
    """Return the attacker's tables: for each seed 0, 1, ... a share of the source's rows, none twice."""
    size = max(1, round(ext_frac * n_records))
    return [np.random.default_rng(seed).choice(n_records, size=size, replace=False) for seed in range(seeds)]


def expected_risk(links: Links, tables: list[IntArray]) -> Spread:
    """ERR: mean over the attacker's table of 1/m(x), 0 where C(x) is empty (eq. 11)."""
    risk = np.where(links.smallest > 0, 1 / np.maximum(links.smallest, 1), 0.0)
    return _over_draws([float(risk[rows].mean()) for rows in tables])


def unique_match_rate(links: Links, tables: list[IntArray]) -> Spread:
    """UMR: share of the attacker's table with exactly one candidate class (eq. 12)."""
    return _over_draws([float((links.candidates[rows] == 1).mean()) for rows in tables])


def disclosure(links: Links, tables: list[IntArray], attribute: str) -> tuple[float, float]:
    """SADR with all quasi-identifiers known: greatest and mean largest share over all draws.

    Only those who link are counted; 0 where nobody does.
    """
    found = np.concatenate([links.largest_share[attribute][rows] for rows in tables])
    found = found[~np.isnan(found)]
    return (float(found.max()), float(found.mean())) if len(found) else (0.0, 0.0)


def _over_draws(values: list[float]) -> Spread:
    return Spread(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)
