"""Recoding as a Prefect task."""

from __future__ import annotations

from policy.model import ReleasePolicy
from tasks.methods.base import BoundMethod
from tasks.shielded import stage
from tasks.types import Partition, PreparedTable, Recoded, Representation


@stage("recoding: groups become published cells")
def recoding(
    table: PreparedTable,
    representation: Representation,
    groups: Partition,
    method: BoundMethod,
    policy: ReleasePolicy,
) -> Recoded:
    """Return the rows as they would be published."""
    return method.recode(table, representation, groups.labels, policy, method.seed)
