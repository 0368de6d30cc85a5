"""beta-likeness (Cao and Karras, 2012) and delta-disclosure privacy (Brickell and Shmatikov, 2008).

Both compare each value's share in a class with that in all **published** rows: what was left out is not
public.
"""

from __future__ import annotations

from math import exp

from release_store.records import GateResult
from tasks.privacy.shares import gains, least_ratios
from tasks.risk.evidence import Evidence
from tasks.risk.gates.models.checks import at_most, check_model, model_of, sensitive_counts


def beta_likeness_gate(evidence: Evidence) -> GateResult:
    """In no class is (p - q) / q of a sensitive value over beta."""
    return at_most(
        "beta_likeness",
        {name: gains(counts, counts.sum(axis=0)) for name, counts in sensitive_counts(evidence).items()},
        model_of(evidence.policy.gates.models.beta_likeness).max,
        "greatest gain of a value's share in a class, as a part of its share in all published rows",
        tolerance=1e-9,
    )


def delta_disclosure_gate(evidence: Evidence) -> GateResult:
    """In every class |ln(p / q)| of each sensitive value is under delta; a class without a value fails.

    Its value is the least of p / q and q / p, which must be over exp(-delta).
    """
    delta = model_of(evidence.policy.gates.models.delta_disclosure).max
    found = {
        name: least_ratios(counts, counts.sum(axis=0)) for name, counts in sensitive_counts(evidence).items()
    }
    # Equality fails, and so does what rounding alone would lift over it.
    failing = {name: ~(measure > exp(-delta) * (1 + 1e-12)) for name, measure in found.items()}
    value = min((float(measure.min()) for measure in found.values() if len(measure)), default=0.0)
    detail = (
        "least p / q or q / p of a value's share in a class, p, and in all published rows, q; must be over "
        f"exp(-delta), delta = {delta:g}"
    )
    n_classes = evidence.counted.n_classes
    return check_model("delta_disclosure", value, ">", exp(-delta), failing, detail, n_classes)
