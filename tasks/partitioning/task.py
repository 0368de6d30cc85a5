"""Partitioning as a Prefect task."""

from __future__ import annotations

from policy.model import ReleasePolicy
from tasks.methods.base import BoundMethod
from tasks.partitioning.constraints import constraints_of
from tasks.shielded import progress, stage
from tasks.types import Partition, PreparedTable, Representation


@stage("partitioning: cut the records into leaves")
def partitioning(
    table: PreparedTable, where: Representation, method: BoundMethod, policy: ReleasePolicy
) -> Partition:
    """Return the leaves."""
    with progress("partitioning") as tell:
        labels = method.partition(table, where, constraints_of(table, policy.privacy), tell)
    return Partition(labels, {**where.notes, "leaves": int(labels.max()) + 1})
