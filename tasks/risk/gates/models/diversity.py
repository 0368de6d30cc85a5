"""l-diversity in its three forms (Machanavajjhala et al., 2007).

Each sensitive attribute is held to it by itself, with the classes of the quasi-identifiers alone. A missing
value is a value like the others, and one.
"""

from __future__ import annotations

import numpy as np

from release_store.records import EquivalenceClasses, GateResult
from tasks.privacy.diversity import tails
from tasks.risk.evidence import Evidence
from tasks.risk.gates.models.checks import at_least, check_model, model_of, sensitive_counts
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
    return at_least(
        "distinct_l",
        {name: distinct_values(evidence.counted, name) for name in sensitive_counts(evidence)},
        model_of(evidence.policy.gates.models.distinct_l).min,
        "fewest distinct sensitive values of a class",
    )


def entropy_l_gate(evidence: Evidence) -> GateResult:
    """In every class the entropy of each sensitive attribute is at least log l."""
    least = model_of(evidence.policy.gates.models.entropy_l).min
    return at_least(
        "entropy_l",
        {name: effective_values(evidence.counted, name) for name in sensitive_counts(evidence)},
        least,
        "least exp of the entropy of a class",
        tolerance=1e-9 * least,
    )


def recursive_cl_gate(evidence: Evidence) -> GateResult:
    """In every class r_1 < c (r_l + ... + r_m) for each sensitive attribute.

    Its value is the least (r_l + ... + r_m) / r_1, which must be over 1 / c: a class of fewer than l values
    has 0.
    """
    asked = model_of(evidence.policy.gates.models.recursive_cl)
    failing = {}
    least: list[float] = []
    for name, counts in sensitive_counts(evidence).items():
        first, tail = tails(counts, asked.l)
        # Equality fails, and so does what rounding alone would lift over it.
        failing[name] = ~(first < asked.c * tail * (1 - 1e-12))
        least += (tail / first).tolist() if len(first) else []
    detail = f"least (r_l + ... + r_m) / r_1 of a class, l = {asked.l}; must be over 1 / c, c = {asked.c:g}"
    n_classes = evidence.counted.n_classes
    return check_model("recursive_cl", min(least, default=0.0), ">", 1 / asked.c, failing, detail, n_classes)
