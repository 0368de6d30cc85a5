"""The stages from a period's table to the rows that would be published: plain functions, one a stage.

The tasks of a run and the reproduction of a release both call these, so that one cannot drift from the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policy.model import ReleasePolicy
from policy.period import periods_apart
from release_store.records import EquivalenceClasses, PersonHashes, Release
from tasks.aggregation.enforce import enforced
from tasks.methods.base import BoundMethod
from tasks.partitioning.constraints import constraints_of
from tasks.preprocessing.prepare import prepare
from tasks.repair.followers import Followers, followers_of
from tasks.repair.merge import repair
from tasks.representation.features import z_scored
from tasks.risk.beside import beside
from tasks.types import Partition, PreparedTable, Progress, Recoded, Representation, SourceTable

History = Sequence[tuple[Release, EquivalenceClasses]]
"""The earlier releases of a series with their classes, oldest first."""


@dataclass(frozen=True)
class People:
    """The key that people are hashed with, and the people of each earlier release as they are kept."""

    key: bytes | None
    earlier: Sequence[PersonHashes | None]


def leaves_of(
    table: PreparedTable,
    where: Representation,
    method: BoundMethod,
    policy: ReleasePolicy,
    progress: Progress,
) -> Partition:
    """Cut the records into leaves."""
    cut = method.partition(table, where, constraints_of(table, policy.privacy), progress)
    return Partition(cut.labels, {**where.notes, **cut.notes, "leaves": cut.n_groups})


def groups_of(
    table: PreparedTable,
    where: Representation,
    leaves: Partition,
    method: BoundMethod,
    policy: ReleasePolicy,
    progress: Progress,
) -> Partition:
    """Make the finer groups inside the leaves that will become classes.

    Whatever made them, groups that break the policy's model are merged with near ones.
    """
    constraints = constraints_of(table, policy.privacy)
    made = method.aggregate(table, where, leaves.labels, constraints, progress)
    # Blocks that are embedded by themselves have no coordinates in common.
    points = where.latent if where.blocks is None else z_scored(table)
    labels, mended = enforced(points, made, constraints, method.max_group_size)
    found = Partition(labels)
    over = int((np.bincount(labels[labels >= 0]) > method.max_group_size).sum())
    notes = {**leaves.notes, **mended, "groups": found.n_groups, "groups_over_max_group_size": over}
    return Partition(labels, notes)


def repaired(
    table: PreparedTable,
    groups: Partition,
    method: BoundMethod,
    policy: ReleasePolicy,
    history: History,
    period: str,
    progress: Progress,
    followers: Followers | None = None,
) -> Partition:
    """Merge what earlier releases would undo; where the policy does not ask for it, nothing is changed."""
    if not policy.method.history_aware:
        return groups
    releases = [release.release_id for release, _ in history]
    found = beside(
        [(release.release_id, classes) for release, classes in history],
        policy,
        periods_apart([release.period for release, _ in history], period, policy.period),
    )
    return repair(
        table,
        groups,
        policy,
        found.earlier,
        max_group_size=method.max_group_size,
        apart=found.apart,
        followers=followers and followers.into([name for name, _ in found.earlier], releases),
        progress=progress,
    )


def composed(
    source: SourceTable,
    policy: ReleasePolicy,
    method: BoundMethod,
    history: History,
    period: str,
    progress: Progress,
    people: People | None = None,
) -> tuple[Recoded, PreparedTable, Partition]:
    """Run all stages in their order over `source`, beside `history` and its people.

    Return the rows that would be published, and the table and the groups that they come from.
    """
    table = prepare(source, policy)
    followers = None if people is None else followers_of(source, policy, people.key, people.earlier)
    where = method.represent(table, _part(progress, "representation"))
    leaves = leaves_of(table, where, method, policy, _part(progress, "partitioning"))
    groups = groups_of(table, where, leaves, method, policy, _part(progress, "aggregation"))
    groups = repaired(table, groups, method, policy, history, period, _part(progress, "repair"), followers)
    return method.recode(table, where, groups.labels, policy, method.seed), table, groups


def _part(progress: Progress, name: str) -> Progress:
    progress(0.0, name)
    return lambda share, words: progress(share, f"{name}: {words}")
