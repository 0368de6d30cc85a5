"""l-diversity in its three forms (Machanavajjhala et al., 2007).

Each sensitive attribute is held to it by itself, with the classes of the quasi-identifiers alone. A missing
value is a value like the others, and one; similar values are one.
"""

from __future__ import annotations

import numpy as np

from release_store.records import EquivalenceClasses, GateResult
from tasks.privacy.diversity import tails
from tasks.risk.evidence import Evidence
from tasks.risk.gates.models.checks import (
    at_least,
    check_model,
    counts_alike,
    least_of,
    models_of,
    of_some,
    sensitive_counts,
)
from tasks.risk.gates.models.classes import entropies
from tasks.types import FloatArray, IntArray


def distinct_values(classes: EquivalenceClasses, attribute: str) -> IntArray:
    """Distinct sensitive values of each class, (n_classes,)."""
    return np.asarray((classes.counts[attribute] > 0).sum(axis=1), dtype=np.int64)


def effective_values(classes: EquivalenceClasses, attribute: str) -> FloatArray:
    """The l of entropy l-diversity of each class, (n_classes,): exp of its entropy (natural logarithm).

    A class is entropy l-diverse if its entropy is at least log l, which is the same.
    """
    return np.exp(entropies(classes, attribute))


def distinct_l_gate(evidence: Evidence) -> GateResult:
    """Every class has at least l distinct values of each sensitive attribute."""
    asked, _ = models_of(evidence, "distinct_l"), sensitive_counts(evidence)
    return at_least(
        "distinct_l",
        {name: distinct_values(evidence.units_alike, name) for name in asked},
        {name: thresholds.min for name, thresholds in asked.items()},
        "fewest distinct sensitive values of a class",
        some=of_some(evidence, asked),
    )


def entropy_l_gate(evidence: Evidence) -> GateResult:
    """In every class the entropy of each sensitive attribute is at least log l."""
    asked, _ = models_of(evidence, "entropy_l"), sensitive_counts(evidence)
    return at_least(
        "entropy_l",
        {name: effective_values(evidence.units_alike, name) for name in asked},
        {name: thresholds.min for name, thresholds in asked.items()},
        "least exp of the entropy of a class",
        tolerance=1e-9,
        some=of_some(evidence, asked),
    )


def recursive_cl_gate(evidence: Evidence) -> GateResult:
    """In every class r_1 < c (r_l + ... + r_m) for each sensitive attribute.

    Its value is the least (r_l + ... + r_m) / r_1, which must be over 1 / c: a class of fewer than l values
    has 0.
    """
    asked, counts = models_of(evidence, "recursive_cl"), counts_alike(evidence)
    failing, found = {}, {}
    for name, thresholds in asked.items():
        first, tail = tails(counts[name], thresholds.l)
        # Equality fails, and so does what rounding alone would lift over it.
        failing[name] = ~(first < thresholds.c * tail * (1 - 1e-12))
        found[name] = tail / first
    limits = {name: 1 / thresholds.c for name, thresholds in asked.items()}
    worst = least_of(found, limits, some=of_some(evidence, asked))
    of = asked[worst.attribute]
    detail = f"least (r_l + ... + r_m) / r_1 of a class, l = {of.l}; must be over 1 / c, c = {of.c:g}"
    n_classes = evidence.units.n_classes
    told = detail + worst.named
    return check_model(
        "recursive_cl", worst.value, ">", worst.threshold, failing, told, n_classes, worst.measured
    )
