"""(alpha,k)-anonymity (Wong et al., 2006): k records a class, and no sensitive value in more than alpha."""

from __future__ import annotations

import numpy as np

from release_store.records import GateResult
from tasks.privacy.listed import select_values
from tasks.privacy.similar import any_of, groups_by_attribute
from tasks.risk.evidence import Evidence
from tasks.risk.gates.models.checks import (
    check_model,
    counts_alike,
    model_of,
    models_of,
    most_of,
    of_some,
)
from tasks.types import FloatArray, IntArray


def shares_of(counts: IntArray, size: IntArray) -> FloatArray:
    """Largest share of one value in each class of `size` (n_classes,): counts (n_classes, n_values)."""
    return np.asarray(counts.max(axis=1, initial=0) / size)


def alpha_k_gate(evidence: Evidence) -> GateResult:
    """Every class has k records, and in none has a value to be protected a share over alpha.

    Value and threshold are those of the share, unless k alone fails.
    """
    general = model_of(evidence.policy.gates.models.alpha_k)
    asked, counts, classes = models_of(evidence, "alpha_k"), counts_alike(evidence), evidence.units
    groups = groups_by_attribute(
        evidence.policy.roles, classes.sensitive_values, evidence.policy.source.missing_label
    )
    found = {}
    for name in asked:
        protected = any_of(select_values(classes, name, general.values, evidence.policy), groups.get(name))
        found[name] = shares_of(counts[name][:, protected], classes.size)
    limits = {name: thresholds.alpha for name, thresholds in asked.items()}
    over = {name: ~(share <= limits[name] + 1e-12) for name, share in found.items()}
    small = classes.size < general.k
    worst = most_of(found, limits, some=of_some(evidence, asked), nothing=0.0)
    smallest = int(classes.size.min()) if len(classes.size) else 0
    detail = (
        f"largest share of a sensitive value in a class {worst.value:.4g}, alpha = {worst.threshold:g}"
        f"{worst.named}; smallest class {smallest}, k = {general.k}"
    )
    by_k = smallest < general.k and not any(marks.any() for marks in over.values())
    value, relation, threshold = (smallest, ">=", general.k) if by_k else (worst.value, "<=", worst.threshold)
    failing = {**over, "": small}
    return check_model(
        "alpha_k", value, relation, threshold, failing, detail, classes.n_classes, worst.measured
    )
