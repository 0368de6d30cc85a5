"""t-closeness (Li et al., 2007): how far a class's sensitive values are from those of the whole release.

Compared with are all **published** rows: what was left out is not public.
"""

from __future__ import annotations

import numpy as np

from release_store.records import GateResult
from tasks.privacy.closeness import equal_distances, ordered_distances
from tasks.risk.evidence import Evidence
from tasks.risk.gates.models.checks import at_most, models_of, numbers_of, of_some, sensitive_counts
from tasks.types import FloatArray, IntArray

CELLS = 4_000_000


def t_closeness_gate(evidence: Evidence) -> GateResult:
    """In no class is the distribution of a sensitive attribute further than t from the release's."""
    asked, counts = models_of(evidence, "t_closeness"), sensitive_counts(evidence)
    found = {}
    for name in asked:
        numbers = None
        if evidence.policy.roles.sensitive[name].type == "numeric":
            numbers = numbers_of(evidence.units, name, evidence.policy)
        found[name] = distances(counts[name], numbers)
    return at_most(
        "t_closeness",
        found,
        {name: thresholds.max for name, thresholds in asked.items()},
        "greatest earth mover's distance of a class from all published rows",
        tolerance=1e-12,
        some=of_some(evidence, asked),
    )


def distances(counts: IntArray, numbers: FloatArray | None) -> FloatArray:
    """Return the distance of each class (n_classes, n_values) from all together, (n_classes,)."""
    overall = counts.sum(axis=0)
    parts = np.array_split(counts, max(-(-counts.size // CELLS), 1))
    if numbers is None:
        return np.concatenate([equal_distances(part, overall) for part in parts])
    return np.concatenate([ordered_distances(part, overall, numbers) for part in parts])
