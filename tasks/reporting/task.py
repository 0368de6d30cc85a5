"""The table's figures as a Prefect task."""

from __future__ import annotations

from typing import Any

from policy.model import ReleasePolicy
from tasks.reporting.table import table_figures
from tasks.shielded import stage
from tasks.types import Partition, PreparedTable, Recoded, Representation


@stage("figures: what a report shows of the table")
def table_figuring(
    table: PreparedTable,
    representation: Representation,
    groups: Partition,
    rows: Recoded,
    policy: ReleasePolicy,
) -> dict[str, Any]:
    """Return each attribute before and after, and the latent space, as aggregates."""
    return table_figures(table, rows.records, representation, groups.labels, rows.frame, policy)
