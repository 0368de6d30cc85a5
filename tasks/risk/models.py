"""The models that every published class must satisfy: k-anonymity, p_max, h_min and (k,e)."""

from __future__ import annotations

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, GateResult, Verdict
from tasks.partitioning.constraints import entropy
from tasks.risk.evidence import Evidence
from tasks.types import FloatArray

NOBODY = "anyone who reads the release and can tell a person's class"


def largest_shares(classes: EquivalenceClasses, attribute: str) -> FloatArray:
    """Largest share of one sensitive value in each class, (n_classes,) (Hu et al., 2026, eq. 2)."""
    return np.asarray(classes.counts[attribute].max(axis=1, initial=0) / classes.size)


def entropies(classes: EquivalenceClasses, attribute: str) -> FloatArray:
    """Entropy of each class, natural logarithm, (n_classes,) (Hu et al., 2026, eq. 3)."""
    return entropy(classes.counts[attribute])


def spreads(classes: EquivalenceClasses, attribute: str, policy: ReleasePolicy) -> FloatArray:
    """Distinct sensitive values of each class, or a numeric attribute's range, (n_classes,).

    The model is (k,e)-anonymity (Zhang et al., 2007). A missing number is no number: it does not widen
    the range.
    """
    present = classes.counts[attribute] > 0
    if policy.roles.sensitive[attribute].type == "categorical":
        return np.asarray(present.sum(axis=1), dtype=np.float64)
    label = policy.source.missing_label
    numbers = np.array([np.nan if v == label else float(v) for v in classes.sensitive_values[attribute]])
    known = present & ~np.isnan(numbers)
    high = np.where(known, numbers, -np.inf).max(axis=1)
    low = np.where(known, numbers, np.inf).min(axis=1)
    return np.where(known.any(axis=1), high - low, 0.0)


def k_gate(evidence: Evidence) -> GateResult:
    """Every class has at least k records (Sweeney, 2002)."""
    size = evidence.classes.size
    least = evidence.policy.privacy.k
    small = np.flatnonzero(size < least)
    smallest = int(size.min()) if len(size) else 0
    passed = len(size) > 0 and not len(small)
    return _result("k", smallest, least, ">=", passed, small, f"smallest of {len(size)} classes")


def p_max_gate(evidence: Evidence) -> GateResult:
    """In no class has one sensitive value a share over p_max."""
    most = evidence.policy.privacy.p_max
    shares = {a: largest_shares(evidence.classes, a) for a in evidence.classes.counts}
    failing = _any([share > most + 1e-9 for share in shares.values()])
    value = max((float(share.max()) for share in shares.values() if len(share)), default=1.0)
    passed = evidence.classes.n_classes > 0 and not len(failing)
    return _result(
        "p_max", value, most, "<=", passed, failing, "largest share of one sensitive value in a class"
    )


def h_min_gate(evidence: Evidence) -> GateResult:
    """In every class the entropy of each sensitive attribute is at least h_min."""
    least = evidence.policy.privacy.h_min
    found = {a: entropies(evidence.classes, a) for a in evidence.classes.counts}
    failing = _any([h < least - 1e-12 for h in found.values()])
    value = min((float(h.min()) for h in found.values() if len(h)), default=0.0)
    passed = evidence.classes.n_classes > 0 and not len(failing)
    return _result(
        "h_min", value, least, ">=", passed, failing, "smallest entropy of a class (natural logarithm)"
    )


def e_gate(evidence: Evidence) -> GateResult:
    """Every class has at least e distinct values of each sensitive attribute, or a range of at least e."""
    least = evidence.policy.privacy.e
    found = {a: spreads(evidence.classes, a, evidence.policy) for a in evidence.classes.counts}
    failing = _any([spread < least for spread in found.values()])
    value = min((float(s.min()) for s in found.values() if len(s)), default=0.0)
    passed = evidence.classes.n_classes > 0 and not len(failing)
    return _result(
        "e",
        value,
        least,
        ">=",
        passed,
        failing,
        "fewest distinct sensitive values (or least range) of a class",
    )


def _any(failing: list[np.ndarray]) -> np.ndarray:
    return np.flatnonzero(np.any(failing, axis=0)) if failing else np.array([], dtype=int)


def _result(
    gate: str, value: float, threshold: float, relation: str, passed: bool, failing: np.ndarray, detail: str
) -> GateResult:
    witness = (
        {"failing_classes": len(failing), "first": [int(c) for c in failing[:5]]} if len(failing) else {}
    )
    verdict = Verdict.PASS if passed else Verdict.FAIL
    return GateResult(gate, verdict, float(value), float(threshold), relation, NOBODY, 0.0, detail, witness)
