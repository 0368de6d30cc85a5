"""Repair as a Prefect task."""

from __future__ import annotations

from policy.model import ReleasePolicy
from release_store.store import ReleaseStore
from tasks.methods.base import BoundMethod
from tasks.repair.merge import repair
from tasks.shielded import progress, stage
from tasks.types import Partition, PreparedTable


@stage("repair: merge what earlier releases would undo")
def repairing(
    table: PreparedTable,
    groups: Partition,
    method: BoundMethod,
    policy: ReleasePolicy,
    store: ReleaseStore,
    period: str,
) -> Partition:
    """Return the groups that stand beside the history, or `groups` where the policy does not ask for it."""
    if not policy.method.history_aware:
        return groups
    history = store.earlier_classes(policy.series)
    earlier = [(release.release_id, classes) for release, classes in history]
    later = [release.release_id for release, _ in history if release.period > period]
    with progress("repair") as tell:
        return repair(
            table,
            groups,
            policy,
            earlier,
            max_group_size=method.max_group_size,
            later=later,
            progress=tell,
        )
