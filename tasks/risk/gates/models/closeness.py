"""t-closeness (Li et al., 2007): how far a class's sensitive values are from those of the whole release.

The distance is the earth mover's, between the distribution in a class and the one in all **published** rows:
what was left out is not public. Between two categories it is 1 (equal distance); between the i-th and the
j-th of m numbers that stand in the release |i - j| / (m - 1) (ordered distance). A missing number has no
place in the order: it is one value, 1 from every number.
"""

from __future__ import annotations

import numpy as np

from release_store.records import GateResult
from tasks.risk.evidence import Evidence
from tasks.risk.gates.models.checks import at_most, model_of, numbers_of, sensitive_counts
from tasks.types import FloatArray, IntArray

CELLS = 4_000_000


def equal_distances(counts: IntArray) -> FloatArray:
    """Distance of each class (n_classes, n_values) from all together: half of sum |p - q|, (n_classes,)."""
    overall = counts.sum(axis=0) / max(counts.sum(), 1)
    found = [np.abs(_shares(part) - overall).sum(axis=1) / 2 for part in _parts(counts)]
    return np.concatenate(found) if found else np.zeros(0)


def ordered_distances(counts: IntArray, numbers: FloatArray) -> FloatArray:
    """Distance of each class from all together, over numbers (n_values,), nan for the missing value.

    Sum of |p_1 + ... + p_i - q_1 - ... - q_i| over the order, divided by m - 1. Where values are missing
    it is the cost of one way to move: the surplus on one side to or from the missing value in proportion,
    the rest in the order. No way costs more than 1, and the cheapest may cost less; so nothing passes that
    the exact distance would refuse. O(n_classes n_values).
    """
    standing = counts.sum(axis=0) > 0
    order = np.argsort(numbers, kind="stable")
    order = order[standing[order] & ~np.isnan(numbers[order])]
    steps = max(len(order) - 1, 1)
    total = max(counts.sum(), 1)
    overall = counts[:, order].sum(axis=0) / total
    found = []
    for part in _parts(counts):
        shares = _shares(part)[:, order]
        known, known_overall = shares.sum(axis=1), overall.sum()
        moved = np.abs(known - known_overall)
        apart = _proper(shares, known[:, None]) - _proper(overall, known_overall)
        within = np.abs(np.cumsum(apart, axis=1)[:, :-1]).sum(axis=1) / steps
        found.append(moved + np.minimum(known, known_overall) * within)
    return np.concatenate(found) if found else np.zeros(0)


def t_closeness_gate(evidence: Evidence) -> GateResult:
    """In no class is the distribution of a sensitive attribute further than t from the release's."""
    found = {}
    for name, counts in sensitive_counts(evidence).items():
        if evidence.policy.roles.sensitive[name].type == "numeric":
            numbers = numbers_of(evidence.counted, name, evidence.policy)
            found[name] = ordered_distances(counts, numbers)
        else:
            found[name] = equal_distances(counts)
    return at_most(
        "t_closeness",
        found,
        model_of(evidence.policy.gates.models.t_closeness).max,
        "greatest earth mover's distance of a class from all published rows",
        tolerance=1e-12,
    )


def _shares(counts: IntArray) -> FloatArray:
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _proper(shares: FloatArray, total: FloatArray) -> FloatArray:
    """Return shares as those of their total; where that is 0, nothing is moved by them."""
    return np.asarray(shares / np.where(total > 0, total, 1.0))


def _parts(counts: IntArray) -> list[IntArray]:
    n_parts = -(-counts.size // CELLS)
    return np.array_split(counts, n_parts) if n_parts else []
