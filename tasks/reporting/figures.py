"""The figures of one candidate, as one document: what a report draws, and the store keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from release_store.records import Verdict
from tasks.reporting.classes import class_figures
from tasks.reporting.narrowing import narrowing_figures
from tasks.reporting.placing import placing_figures
from tasks.risk.evidence import Evidence
from tasks.risk.registry import GateReport
from tasks.utility.groupable import groupable_columns

FORMAT = "releasegate/figures/1"
DECIMALS = 2  # more would tell the source's span to whoever divides the published widths by it


def figures_of(evidence: Evidence, report: GateReport, table_figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole document: plain JSON, the same for the same input.

    `report` is what the gates said of this `evidence`: a figure that one of them measures is there only where
    that gate could measure it. `table_figures` are those of `tasks.reporting.table`; where it has none, as
    where the source is missing, `attributes` is empty and `latent` None. Of the source nothing is told in
    fewer than `least` records; the counts of `narrowing` and the shares of `placing` are measured, and told
    as they are.
    """
    unable = (Verdict.ERROR, Verdict.NOT_RUN)
    measured = frozenset(
        one.gate for one in report.results if one.verdict not in unable and one.value is not None
    )
    there = evidence.table is not None and evidence.n_published and "ncp" in measured
    losses = evidence.losses if there else {}
    groupable = groupable_columns(evidence.classes, evidence.policy)
    return {
        "format": FORMAT,
        "least": evidence.policy.privacy.k,
        "classes": class_figures(evidence.classes),
        "ncp": {name: round(value, DECIMALS) for name, value in losses.items()},
        "groupable": {name: one.document() for name, one in groupable.items()},
        "narrowing": narrowing_figures(evidence, measured),
        "placing": placing_figures(evidence),
        "attributes": list(table_figures.get("attributes") or ()),
        "latent": table_figures.get("latent"),
    }
