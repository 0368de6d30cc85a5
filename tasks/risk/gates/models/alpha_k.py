"""(alpha,k)-anonymity (Wong et al., 2006): k records a class, and no sensitive value in more than alpha."""

from __future__ import annotations

import numpy as np

from release_store.records import GateResult
from tasks.privacy.listed import select_values
from tasks.risk.evidence import Evidence
from tasks.risk.gates.models.checks import check_model, model_of, sensitive_counts
from tasks.types import FloatArray, IntArray


def shares_of(counts: IntArray, size: IntArray) -> FloatArray:
    """Largest share of one value in each class of `size` (n_classes,): counts (n_classes, n_values)."""
    return np.asarray(counts.max(axis=1, initial=0) / size)


def alpha_k_gate(evidence: Evidence) -> GateResult:
    """Every class has k records, and in none has a value to be protected a share over alpha.

    Value and threshold are those of the share, unless k alone fails.
    """
    asked = model_of(evidence.policy.gates.models.alpha_k)
    classes = evidence.counted
    found = {
        name: shares_of(counts[:, select_values(classes, name, asked.values)], classes.size)
        for name, counts in sensitive_counts(evidence).items()
    }
    over = {name: ~(share <= asked.alpha + 1e-12) for name, share in found.items()}
    small = classes.size < asked.k
    largest = max((float(share.max()) for share in found.values() if len(share)), default=0.0)
    smallest = int(classes.size.min()) if len(classes.size) else 0
    detail = (
        f"largest share of a sensitive value in a class {largest:.4g}, alpha = {asked.alpha:g}; "
        f"smallest class {smallest}, k = {asked.k}"
    )
    by_k = smallest < asked.k and not any(marks.any() for marks in over.values())
    value, relation, threshold = (smallest, ">=", asked.k) if by_k else (largest, "<=", asked.alpha)
    return check_model("alpha_k", value, relation, threshold, {**over, "": small}, detail, classes.n_classes)
