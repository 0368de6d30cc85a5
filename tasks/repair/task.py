"""Repair as a Prefect task."""

from __future__ import annotations

from policy.model import ReleasePolicy
from release_store.person_key import person_key
from release_store.store import ReleaseStore
from tasks.composition import repaired
from tasks.methods.base import BoundMethod
from tasks.repair.followers import followers_of
from tasks.shielded import progress, stage
from tasks.types import Partition, PreparedTable, Representation, SourceTable


@stage("repair: merge what earlier releases would undo")
def repairing(
    source: SourceTable,
    table: PreparedTable,
    representation: Representation,
    groups: Partition,
    method: BoundMethod,
    policy: ReleasePolicy,
    store: ReleaseStore,
    period: str,
) -> Partition:
    """Return the groups that stand beside the history, or `groups` where the policy does not ask for it."""
    history = store.earlier_classes(policy.series) if policy.method.history != "blind" else []
    people = store.earlier_people(policy.series) if policy.method.history != "blind" else []
    followers = followers_of(source, policy, person_key(store.root), people)
    with progress("repair") as tell:
        return repaired(table, representation, groups, method, policy, history, period, tell, followers)
