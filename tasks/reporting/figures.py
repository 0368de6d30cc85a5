"""The figures of a candidate: one JSON document of aggregates, kept with its gate results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tasks.risk.evidence import Evidence
from tasks.risk.gate import GateReport

FORMAT = "releasegate/figures/1"


def figures_of(
    evidence: Evidence,
    report: GateReport,  # noqa: ARG001
    table_figures: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the figures of a candidate after its gates were asked: the same bytes for the same input."""
    size = evidence.classes.size
    return {
        "format": FORMAT,
        "least": evidence.policy.privacy.k,
        "classes": {
            "n": evidence.classes.n_classes,
            "records": evidence.n_published,
            "least": int(size.min(initial=0)),
            "median": float(np.median(size)) if len(size) else 0.0,
            "greatest": int(size.max(initial=0)),
        },
        "attributes": list(table_figures.get("attributes") or ()),
        "latent": table_figures.get("latent"),
    }
