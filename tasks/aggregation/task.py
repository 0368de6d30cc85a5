"""Aggregation as a Prefect task."""

from __future__ import annotations

import numpy as np

from policy.model import ReleasePolicy
from tasks.methods.base import BoundMethod
from tasks.partitioning.constraints import constraints_of
from tasks.shielded import progress, stage
from tasks.types import Partition, PreparedTable, Representation


@stage("aggregation: finer groups inside the leaves")
def aggregation(
    table: PreparedTable,
    where: Representation,
    leaves: Partition,
    method: BoundMethod,
    policy: ReleasePolicy,
) -> Partition:
    """Return the groups that will become classes."""
    with progress("aggregation") as tell:
        labels = method.aggregate(where, leaves.labels, constraints_of(table, policy.privacy), tell)
    over = int((np.bincount(labels) > method.max_group_size).sum())
    notes = {**leaves.notes, "groups": int(labels.max()) + 1, "groups_over_max_group_size": over}
    return Partition(labels, notes)
