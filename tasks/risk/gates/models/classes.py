"""The models that every policy names: k-anonymity, p_max, h_min and (k,e)."""

from __future__ import annotations

import numpy as np

from policy.model import ReleasePolicy
from policy.recoding import Form
from policy.text import number_of
from release_store.records import EquivalenceClasses, GateResult
from tasks.privacy import ranges
from tasks.privacy.diversity import entropy
from tasks.risk.evidence import Evidence
from tasks.risk.gates.models.checks import at_least, at_most, decimals_of, numbers_of, sensitive_counts
from tasks.types import FloatArray


def largest_shares(classes: EquivalenceClasses, attribute: str) -> FloatArray:
    """Largest share of one sensitive value in each class, (n_classes,) (Hu et al., 2026, eq. 2)."""
    return np.asarray(classes.counts[attribute].max(axis=1, initial=0) / classes.size)


def entropies(classes: EquivalenceClasses, attribute: str) -> FloatArray:
    """Entropy of each class, natural logarithm, (n_classes,) (Hu et al., 2026, eq. 3)."""
    return entropy(classes.counts[attribute])


def spreads(classes: EquivalenceClasses, attribute: str, policy: ReleasePolicy) -> FloatArray:
    """Distinct sensitive values of each class, or a numeric attribute's range, (n_classes,).

    The model is (k,e)-anonymity (Zhang et al., 2007). A missing number is no number: it does not widen
    the range. Raises CannotTell where a numeric attribute has a value that is not a finite number.
    """
    if policy.roles.sensitive[attribute].type == "categorical":
        return np.asarray((classes.counts[attribute] > 0).sum(axis=1), dtype=np.float64)
    return ranges.exact_ranges(classes.counts[attribute], decimals_of(classes, attribute, policy))


def relative_ranges(classes: EquivalenceClasses, attribute: str, policy: ReleasePolicy) -> FloatArray:
    """Range of a numeric sensitive attribute in each class, beside its largest absolute value, (n_classes,).

    A class without a number has a range of 0. Raises CannotTell where a value is no finite number.
    """
    counts, numbers = classes.counts[attribute], numbers_of(classes, attribute, policy)
    return ranges.relative_ranges(counts, numbers, spreads(classes, attribute, policy))


def limits_of(evidence: Evidence, field: str) -> dict[str, float]:
    """Return a limit of the policy's `privacy` by sensitive attribute."""
    privacy = evidence.policy.privacy
    return {name: getattr(privacy.of(name), field) for name in evidence.policy.roles.sensitive}


def _in_households(evidence: Evidence) -> str:
    return "" if evidence.policy.roles.household is None else ", in households"


def k_gate(evidence: Evidence) -> GateResult:
    """Every class has at least k records (Sweeney, 2002)."""
    size = evidence.units.size
    noised = list(evidence.policy.cell_columns(Form.NOISED))
    beside = f", without {', '.join(noised)}, which has noise in each row" if noised else ""
    counted = {"one_per_person": "", "several": ", in people"}[evidence.policy.rows]
    if evidence.policy.roles.household is not None:
        counted = ", in households"
    elif evidence.policy.roles.key is None:
        counted = "; ROWS are counted, because there is no key: people are as many only if each has one row"
    detail = f"smallest of {number_of(len(size), 'class', 'classes')}{beside}{counted}"
    return at_least("k", {"": size}, evidence.policy.privacy.k, detail)


def p_max_gate(evidence: Evidence) -> GateResult:
    """In no class has one sensitive value a share over p_max."""
    return at_most(
        "p_max",
        {name: largest_shares(evidence.units_alike, name) for name in sensitive_counts(evidence)},
        limits_of(evidence, "p_max"),
        "largest share of one sensitive value in a class" + _in_households(evidence),
        tolerance=1e-9,
    )


def h_min_gate(evidence: Evidence) -> GateResult:
    """In every class the entropy of each sensitive attribute is at least h_min."""
    return at_least(
        "h_min",
        {name: entropies(evidence.units_alike, name) for name in sensitive_counts(evidence)},
        limits_of(evidence, "h_min"),
        "smallest entropy of a class (natural logarithm)" + _in_households(evidence),
        tolerance=1e-12,
    )


def e_gate(evidence: Evidence) -> GateResult:
    """Every class has at least e distinct values of each sensitive attribute, or a range of at least e."""
    return at_least(
        "e",
        {name: _spreads(evidence, name) for name in sensitive_counts(evidence)},
        limits_of(evidence, "e"),
        "fewest distinct sensitive values (or least range) of a class",
    )


def _spreads(evidence: Evidence, attribute: str) -> FloatArray:
    """Return the range of numbers, or the distinct values of which similar ones are one, (n_classes,)."""
    numeric = evidence.policy.roles.sensitive[attribute].type == "numeric"
    classes = evidence.units if numeric else evidence.units_alike
    return spreads(classes, attribute, evidence.policy)


def spread_gate(evidence: Evidence) -> GateResult:
    """In every class a numeric sensitive attribute has a range of at least a share of its largest value.

    Without it, a class of numbers that nearly agree tells each of them; a range alone passes for large ones.
    """
    sensitive = evidence.policy.roles.sensitive
    numeric = [name for name in sensitive_counts(evidence) if sensitive[name].type == "numeric"]
    limits = limits_of(evidence, "spread")
    return at_least(
        "spread",
        {name: relative_ranges(evidence.units, name, evidence.policy) for name in numeric},
        {name: limits[name] for name in numeric},
        "least range of a numeric attribute in a class, beside its largest absolute value",
        tolerance=1e-12,
    )
