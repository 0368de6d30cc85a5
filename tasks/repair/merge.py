"""Repair from the leaves up: groups that fail beside earlier releases are merged, and suppressed last.

The comparison is not monotone: a part that fails can be cut into parts that pass, so a cut is never
refused because of it. Instead every failing group is merged with the neighbour that costs least NCP and with
which it passes, first among those with which it stays within the largest group size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.recoding.generalize import generalized
from tasks.repair.followers import Followers
from tasks.repair.judge import Judge
from tasks.repair.nesting import nesting_of
from tasks.risk.comparison import compared_attributes, history_of
from tasks.risk.persons import follow
from tasks.risk.space import Boxes, Space, boxes_of, points_of, space_of
from tasks.types import BoolArray, FloatArray, IntArray, Partition, PreparedTable, Progress, no_progress
from tasks.utility.ncp import Scale, scale_of

TRIES = 384
BATCH = 48


@dataclass
class _Groups:
    """The groups while they are merged; a group that was merged into another is no longer `alive`."""

    boxes: Boxes
    size: IntArray
    alive: BoolArray
    parent: IntArray
    members: list[IntArray]
    domains: tuple[BoolArray, ...]  # of the space's values, those present in this table


def repair(
    table: PreparedTable,
    partition: Partition,
    policy: ReleasePolicy,
    earlier: Sequence[tuple[str, EquivalenceClasses]],
    *,
    max_group_size: int,
    apart: Sequence[tuple[int, int]] | None = None,
    followers: Followers | None = None,
    progress: Progress = no_progress,
) -> Partition:
    """Return the partition with failing groups merged or, where no merge helps, suppressed (label -1).

    `earlier` are the classes of the earlier releases, oldest first, `apart` as in `history_of`. With
    `followers`, no person whom their hash joins with earlier classes stays narrowed either. The notes
    count merged and suppressed groups. Cost: failing groups times (groups + tried neighbours times
    earlier classes).
    """
    classes = generalized(table, partition.labels, policy)
    space = space_of([classes, *(c for _, c in earlier)], table)
    history = history_of(earlier, space, policy, apart)
    attributes = compared_attributes(policy)
    if history is None or not attributes:
        return partition
    columns = [list(space.sensitive).index(name) for name in attributes]
    followed = follow(followers.hashes, followers.earlier, history) if followers else None
    nesting = None
    if followers and followed is not None:
        nesting = nesting_of(table, followed, earlier, followers.earlier, space, attributes, policy.privacy.l)
    judge = Judge(history, points_of(table, space), columns, policy.privacy.l, followed, nesting)
    groups = _Groups(
        boxes_of(classes, space),
        classes.size.copy(),
        np.ones(classes.n_classes, dtype=bool),
        np.arange(classes.n_classes),
        _members(partition.labels, classes.n_classes),
        tuple(np.isin(values, table.domains.get(name, ())) for name, values in space.domains.items()),
    )
    measure = _Measure(scale_of(table, policy), space)
    failing = np.flatnonzero(judge.fails(groups.boxes, groups.members))
    merged, hopeless = 0, []
    for done, group in enumerate(failing[np.argsort(groups.size[failing], kind="stable")].tolist()):
        progress(done / len(failing), f"{merged} of {len(failing)} failing groups merged")
        if not groups.alive[group] or (groups.parent == group).sum() > 1:
            continue
        partner = _partner(group, groups, judge, measure, max_group_size)
        if partner is None:
            hopeless.append(group)
        else:
            _join(groups, group, partner)
            merged += 1
    # A neighbour that has grown since may take in what nobody could before.
    suppressed = []
    for group in hopeless:
        if not groups.alive[group] or (groups.parent == group).sum() > 1:
            continue
        partner = _partner(group, groups, judge, measure, max_group_size)
        if partner is None:
            suppressed.append(group)
        else:
            _join(groups, group, partner)
            merged += 1
    groups.alive[suppressed] = False
    notes = {
        **partition.notes,
        "repair": {
            "failing_groups": len(failing),
            "merged": merged,
            "suppressed_groups": len(suppressed),
            "suppressed_records": int(classes.size[np.isin(groups.parent, suppressed)].sum()),
            "over_max_group_size": int((groups.size[groups.alive] > max_group_size).sum()),
        },
    }
    number = np.full(len(groups.alive), -1, dtype=np.int64)
    number[groups.alive] = np.arange(groups.alive.sum())
    labels = np.where(partition.labels >= 0, number[groups.parent[np.maximum(partition.labels, 0)]], -1)
    return Partition(labels, notes)


def _members(labels: IntArray, n_groups: int) -> list[IntArray]:
    """Return the records of each group."""
    kept = np.flatnonzero(labels >= 0)
    order = kept[np.argsort(labels[kept], kind="stable")]
    return np.split(order, np.cumsum(np.bincount(labels[kept], minlength=n_groups))[:-1])


def _join(groups: _Groups, group: int, partner: int) -> None:
    """Make `partner` part of `group`."""
    merged = _merged(groups, group, np.array([partner]))
    boxes = groups.boxes
    boxes.low[group], boxes.high[group], boxes.whole[group] = merged.low[0], merged.high[0], merged.whole[0]
    for marks, joined in zip((*boxes.member, *boxes.present), (*merged.member, *merged.present), strict=True):
        marks[group] = joined[0]
    groups.size[group] += groups.size[partner]
    groups.members[group] = np.concatenate([groups.members[group], groups.members[partner]])
    groups.alive[partner] = False
    groups.parent[groups.parent == partner] = group


def _merged(groups: _Groups, group: int, partners: IntArray) -> Boxes:
    """Return `group` with each of `partners`; a set that holds the table's whole domain is `*`."""
    boxes, theirs = groups.boxes, groups.boxes.take(partners)
    whole = theirs.whole | boxes.whole[group]
    member = []
    for i, marks in enumerate(theirs.member):
        joined = marks | boxes.member[i][group]
        domain = groups.domains[i]
        if domain.sum() > 1:
            whole[:, i] |= joined[:, domain].all(axis=1)
        joined[whole[:, i]] = True
        member.append(joined)
    return replace(
        theirs,
        low=np.minimum(theirs.low, boxes.low[group]),
        high=np.maximum(theirs.high, boxes.high[group]),
        member=tuple(member),
        whole=whole,
        present=tuple(p | boxes.present[i][group] for i, p in enumerate(theirs.present)),
    )


def _partner(group: int, groups: _Groups, judge: Judge, measure: _Measure, max_group_size: int) -> int | None:
    """Return the neighbour with which the group passes at least cost, or None."""
    others = np.flatnonzero(groups.alive)
    others = others[others != group]
    if not len(others):
        return None
    merged = _merged(groups, group, others)
    size = groups.size[others]
    cost = (
        (size + groups.size[group]) * measure.ncp(merged)
        - size * measure.ncp(groups.boxes.take(others))
        - groups.size[group] * measure.ncp(groups.boxes.take(np.array([group])))
    )
    within = size + groups.size[group] <= max_group_size
    by_cost = np.argsort(cost, kind="stable")
    tried = np.concatenate([by_cost[within[by_cost]][: TRIES // 4], by_cost[~within[by_cost]][:TRIES]])
    for first in range(0, len(tried), BATCH):
        part = tried[first : first + BATCH]
        boxes = merged.take(part)
        for i in np.flatnonzero(~judge.fails_in_pairs(boxes)).tolist():
            partner = int(others[part[i]])
            members = np.concatenate([groups.members[group], groups.members[partner]])
            if not judge.narrows(boxes.take(np.array([i])), members):
                return partner
    return None


class _Measure:
    """NCP of boxes in a space."""

    def __init__(self, scale: Scale, space: Space) -> None:
        self._names = [*space.numeric, *space.domains]
        weights = np.array([scale.weight.get(name, 0.0) for name in self._names])
        self._weights = weights / weights.sum()
        self._span = np.array([scale.span.get(name, 0.0) for name in space.numeric])
        self._values = [scale.values.get(name, 1) for name in space.domains]

    def ncp(self, boxes: Boxes) -> FloatArray:
        """Return the weighted mean penalty of each box, (n,)."""
        total = np.zeros(len(boxes))
        for column, span in enumerate(self._span):
            if span > 0 and self._weights[column] > 0:
                width = boxes.high[:, column] - boxes.low[:, column]
                total += self._weights[column] * np.minimum(width / span, 1.0)
        for column, n_values in enumerate(self._values):
            weight = self._weights[len(self._span) + column]
            covered = boxes.member[column].sum(axis=1)
            if n_values > 1 and weight > 0:
                total += weight * np.where(covered > 1, np.minimum(covered / n_values, 1.0), 0.0)
        return total
