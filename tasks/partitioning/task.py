"""Partitioning as a Prefect task."""

from __future__ import annotations

from policy.model import ReleasePolicy
from tasks.composition import leaves_of
from tasks.methods.base import BoundMethod
from tasks.shielded import progress, stage
from tasks.types import Partition, PreparedTable, Representation


@stage("partitioning: cut the records into leaves")
def partitioning(
    table: PreparedTable, representation: Representation, method: BoundMethod, policy: ReleasePolicy
) -> Partition:
    """Return the leaves."""
    with progress("partitioning") as tell:
        return leaves_of(table, representation, method, policy, tell)
