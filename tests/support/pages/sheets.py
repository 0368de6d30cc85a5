"""Facts, figures and what the store keeps, as small as a report can be, for the tests of the desk."""

from __future__ import annotations

from typing import Any

from reports.report_model import SheetData

HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<!--<script>",
    "{{ 7 * 7 }}",
    "שלום עולם",
    "a\u202eb\u0007c",
    "x" * 300,
    "line\u2028separator & ampersand",
)


def gate(name: str, verdict: str = "pass", value: float | None = 0.0, **changed: Any) -> dict[str, Any]:
    """Return one gate as the manifest has it."""
    made = {
        "gate": name,
        "verdict": verdict,
        "value": value,
        "threshold": 0.0,
        "relation": "<=",
        "attacker": "a reader",
        "detail": "",
        "seconds": 0.1,
        "witness": {},
    }
    return {**made, **changed}


def facts(*gates: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """Return what a manifest says of a release."""
    made = {
        "release_id": "clinic-2024-r1",
        "series": "clinic",
        "period": "2024",
        "candidate_id": "clinic-2024-c1",
        "candidate_digest": "ab" * 32,
        "made_by": "ann",
        "made_at": "2026-01-02T03:04:05+00:00",
        "files": {"data.parquet": "cd" * 32},
        "policy_digest": "ef" * 32,
        "input_digest": "12" * 32,
        "history_head": "34" * 32,
        "summary": {"method": "mondrian", "n_source": 10, "n_published": 9, "seed": 1, "history": "sticky"},
        "gates": list(gates),
        "decisions": [],
        "software": {"python": "3.11", "releasegate": "0.1.0"},
    }
    return {**made, **changed}


def kept(**changed: Any) -> SheetData:
    """Return what the store keeps beside it."""
    policy = {
        "privacy": {"k": 2, "l": 2},
        "publication": {"title": "Clinic"},
        "roles": {
            "quasi_identifiers": [{"name": "age"}],
            "sensitive": [{"name": "disease", "stability": "stable"}],
        },
    }
    fields: dict[str, Any] = {
        "policy": policy,
        "figures": None,
        "columns": ("age_min", "disease"),
        "rows": (("20", "flu"), ("30", None)),
        "n_earlier": 0,
    }
    return SheetData(**{**fields, **changed})


def figures(label: str = "20 to 24") -> dict[str, Any]:
    """Return figures with one of each."""
    curve = {"attribute": "disease", "releases": 1, "least": 2, "unit": "people"}
    return {
        "format": "releasegate/figures/1",
        "least": 2,
        "classes": {
            "n": 2,
            "records": 9,
            "least": 4,
            "median": 4.5,
            "greatest": 5,
            "sizes": [{"low": 4, "high": 5, "classes": 2, "records": 9}],
        },
        "ncp": {label: 0.25, "sex": 0.0},
        "narrowing": [
            {**curve, "basis": "alone", "counts": [[3, 9]]},
            {**curve, "basis": "cells", "counts": [[1, 2], [3, 7]]},
        ],
        "placing": {
            "people": 9,
            "classes": 0.4444,
            "values": {"disease": 0.0},
            "effective_k": 4,
            "rows": 6.7,
        },
        "attributes": [
            {
                "name": label,
                "role": "categorical",
                "bins": [
                    {"label": label, "before": 5, "after": 4.5},
                    {"label": "other", "before": None, "after": 4.5},
                ],
                "before_not_told": 4,
            },
            {"name": "disease", "role": "sensitive", "bins": [{"label": "flu", "before": None, "after": 9}]},
        ],
        "latent": {
            "before": [[0.1, 0.2, 5]],
            "step": [0.1, 0.1],
            "before_not_told": 4,
            "after": [[0.1, 0.2, 5], [0.5, 0.5, 4]],
            "after_not_told": 0,
            "dimensions": 2,
        },
    }
