"""Aggregation as a Prefect task."""

from __future__ import annotations

from policy.model import ReleasePolicy
from tasks.composition import groups_of
from tasks.methods.base import BoundMethod
from tasks.shielded import progress, stage
from tasks.types import Partition, PreparedTable, Representation


@stage("aggregation: finer groups inside the leaves")
def aggregation(
    table: PreparedTable,
    representation: Representation,
    leaves: Partition,
    method: BoundMethod,
    policy: ReleasePolicy,
) -> Partition:
    """Return the groups that will become classes."""
    with progress("aggregation") as tell:
        return groups_of(table, representation, leaves, method, policy, tell)
