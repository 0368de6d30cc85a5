"""beta-likeness (Cao and Karras, 2012) and delta-disclosure privacy (Brickell and Shmatikov, 2008).

Both compare each value's share in a class with that in all **published** rows: what was left out is not
public.
"""

from __future__ import annotations

from math import exp, log

from release_store.records import GateResult
from tasks.privacy.shares import gains, least_ratios
from tasks.risk.evidence import Evidence
from tasks.risk.gates.models.checks import (
    at_most,
    check_model,
    least_of,
    models_of,
    of_some,
    sensitive_counts,
)


def beta_likeness_gate(evidence: Evidence) -> GateResult:
    """In no class is (p - q) / q of a sensitive value over beta."""
    asked, counts = models_of(evidence, "beta_likeness"), sensitive_counts(evidence)
    return at_most(
        "beta_likeness",
        {name: gains(counts[name], evidence.overall[name]) for name in asked},
        {name: thresholds.max for name, thresholds in asked.items()},
        "greatest gain of a value's share in a class, as a part of its share in all published rows",
        tolerance=1e-9,
        some=of_some(evidence, asked),
    )


def delta_disclosure_gate(evidence: Evidence) -> GateResult:
    """In every class |ln(p / q)| of each sensitive value is under delta; a class without a value fails.

    Its value is the least of p / q and q / p, which must be over exp(-delta).
    """
    asked, counts = models_of(evidence, "delta_disclosure"), sensitive_counts(evidence)
    found = {name: least_ratios(counts[name], evidence.overall[name]) for name in asked}
    limits = {name: exp(-thresholds.max) for name, thresholds in asked.items()}
    # Equality fails, and so does what rounding alone would lift over it.
    failing = {name: ~(measure > limits[name] * (1 + 1e-12)) for name, measure in found.items()}
    worst = least_of(found, limits, some=of_some(evidence, asked))
    detail = (
        "least p / q or q / p of a value's share in a class, p, and in all published rows, q; must be over "
        f"exp(-delta), delta = {-log(worst.threshold):g}{worst.named}"
    )
    n_classes = evidence.units.n_classes
    return check_model(
        "delta_disclosure", worst.value, ">", worst.threshold, failing, detail, n_classes, worst.measured
    )
