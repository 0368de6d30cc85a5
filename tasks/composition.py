"""The stages that need more than one module: leaves, groups in them, and groups beside the history."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import pandas as pd

from policy.model import AttributePrivacy, ReleasePolicy
from policy.period import periods_apart
from policy.privacy_models import Models
from policy.recoding import contains_its_people
from release_store.records import EquivalenceClasses, Release
from tasks.aggregation.enforce import MERGED_FOR_MODEL, enforced, holding
from tasks.counting import counted
from tasks.history.following import may_follow_nobody
from tasks.history.search import Limits
from tasks.history.selection import select_history
from tasks.history.subjects import Unfit
from tasks.methods.base import BoundMethod
from tasks.methods.registry import bound_method
from tasks.partitioning.constraints import constraints_of, overall_counts
from tasks.partitioning.fragments import fragments
from tasks.partitioning.parts import LhdParameters
from tasks.preprocessing.reduction import with_reduction
from tasks.recoding.draws import seed_of
from tasks.recoding.equal_cells import joined_equal
from tasks.repair.followers import Followers
from tasks.repair.growth import acceptance
from tasks.repair.known_values import asks_for_known_values, merged_for_known_values
from tasks.repair.merge import repair
from tasks.repair.past import pasts_of
from tasks.repair.round_cache import RoundCache
from tasks.repair.rounds import in_rounds, sum_of
from tasks.repair.staying import staying
from tasks.repair.totals import leave_out_totals
from tasks.repair.worlds import Questions, Worlds
from tasks.representation.features import z_scored
from tasks.types import (
    FloatArray,
    IntArray,
    Partition,
    PreparedTable,
    Progress,
    Representation,
    no_progress,
)

SETTLING = 8  # rounds after which the gates say what is still broken
MERGED = "merged_for_known_values"  # a note
SIZES = ("max_group_size", "leaf_size")  # parameters that count people

History = Sequence[tuple[Release, EquivalenceClasses]]
"""The earlier releases of a series with their classes, oldest first."""


@dataclass(frozen=True)
class Fragment:
    """Records decided by themselves: what a method looks at, without identifiers, keys and kept columns."""

    table: PreparedTable
    policy: ReleasePolicy


@dataclass(frozen=True)
class Views:
    """A table as each of the first three parts of a method, 0 to 2, looks at it: its distinct records, up to
    the first part that looks at rows one by one. `points_into` and `groups_into` carry what a part gives.
    """

    table: PreparedTable
    n_weighted: int

    def of(self, part: int) -> PreparedTable:
        """Return the table that a part looks at."""
        found = self.table.reduction if part < self.n_weighted else None
        return self.table if found is None else found.table

    def points_into(self, part: int, representation: Representation) -> Representation:
        """Return where the records of a part lie, from that of the part before it; 3: the rows."""
        found = self.table.reduction if 0 < part == self.n_weighted else None
        return representation if found is None else found.representation_of_rows(representation)

    def groups_into(self, part: int, groups: Partition) -> Partition:
        """Return the leaves or groups of a part's records, from those of the part before it; 3: the rows."""
        found = self.table.reduction if 0 < part == self.n_weighted else None
        return groups if found is None else found.groups_of_rows(groups)


Decide = Callable[[Fragment], Partition]
Engine = Callable[[Decide, Iterator[Fragment], int, Progress], Iterator[Partition]]
"""What decides so many fragments, wherever it does: it gives their partitions in the fragments' order."""


def in_this_process(
    decide: Decide, each: Iterator[Fragment], number: int, progress: Progress
) -> Iterator[Partition]:
    """Decide one fragment after another, here."""
    for done, fragment in enumerate(each):
        progress(done / number, f"fragment {done + 1} of {number}")
        yield decide(fragment)


def fragments_of(
    table: PreparedTable, method: BoundMethod, policy: ReleasePolicy, engine: Engine, progress: Progress
) -> Partition | None:
    """Return the groups of all fragments of a table of many distinct records; None where it is decided whole.

    Raises ValueError where what `engine` gives is not the partition of a fragment.
    """
    whole = constraints_of(table, policy)
    found = fragments(table, whole, method.fragment_size)
    if len(found) == 1:
        return None
    nothing = pd.DataFrame(index=table.frame.index)
    overall = overall_counts(table) if table.overall is None else table.overall
    bare = replace(table, frame=nothing, weights=None, identifying=None, draw_key=b"", overall=overall)
    labels = np.full(table.n_records, -1, dtype=np.int64)
    notes: Counter[str] = Counter(fragments=len(found))
    n_groups = 0
    each = (Fragment(bare.take(records), policy) for records in found)
    for records, part in zip(found, engine(decide, each, len(found), progress), strict=True):
        if part.labels.shape != records.shape or part.labels.min() < -1:
            raise ValueError("a fragment came back with other records")
        labels[records] = np.where(part.labels < 0, -1, part.labels + n_groups)
        n_groups += part.n_groups
        for name, note in part.notes.items():
            if isinstance(note, int):
                notes[name] = max(notes[name], note) if name.startswith("largest") else notes[name] + note
    if whole.compares or whole.weights is not None:
        labels, mended = enforced(partial(z_scored, table), labels, whole, method.max_group_size)
        for name, note in mended.items():
            # What was merged comes on top of what the fragments merged; all else is as it is now.
            if isinstance(note, int):
                notes[name] = note + (notes[name] if name == MERGED_FOR_MODEL else 0)
    labels = with_equal_cells_joined(table, labels, method, policy, lambda: z_scored(table))
    return Partition(labels, dict(notes))


def decide(fragment: Fragment) -> Partition:
    """Return the groups of a fragment, as its policy's method makes them of a table of its records alone."""
    table, policy = fragment.table, fragment.policy
    method = bound_method(policy)
    views = Views(with_reduction(table), method.n_weighted)
    there = views.points_into(1, method.represent(views.of(0), no_progress))
    leaves = views.groups_into(2, leaves_of(views.of(1), there, method, policy, no_progress))
    there = views.points_into(2, there)
    found = _groups_by_themselves(views.of(2), there, leaves, method, policy, no_progress)
    found = views.groups_into(3, found)
    return Partition(found.labels.astype(np.int32), found.notes)


def labels_problem(labels: IntArray, fragment: Fragment) -> str:
    """Return what `decide` never makes of a fragment, where these labels (n,) are that: "" where it may be.

    Groups that break the policy's model come from it only where all records together do, as one group.
    """
    if len(labels) != fragment.table.n_records or labels.min(initial=0) < -1:
        return "groups of other records"
    if labels.max(initial=-1) >= len(labels):  # before anything is counted in an array of so many
        return "numbers of groups that cannot be"
    constraints = constraints_of(fragment.table, fragment.policy)
    _, holds = holding(labels, constraints)
    return "" if holds.all() or len(holds) == 1 else "groups that break the policy's model"


def leaves_of(
    table: PreparedTable,
    representation: Representation,
    method: BoundMethod,
    policy: ReleasePolicy,
    progress: Progress,
) -> Partition:
    """Cut the records into leaves."""
    cut = method.partition(table, representation, constraints_of(table, policy), progress)
    return Partition(cut.labels, {**representation.notes, **cut.notes, "leaves": cut.n_groups})


def groups_of(
    table: PreparedTable,
    representation: Representation,
    leaves: Partition,
    method: BoundMethod,
    policy: ReleasePolicy,
    progress: Progress,
) -> Partition:
    """Make the aggregate inside the leaves that will become classes.

    Whatever made them, groups that break the policy's model are merged with near ones.
    """
    found = _groups_by_themselves(table, representation, leaves, method, policy, progress)
    points = partial(_points, table, representation)
    return replace(found, labels=with_equal_cells_joined(table, found.labels, method, policy, points))


def _groups_by_themselves(
    table: PreparedTable,
    representation: Representation,
    leaves: Partition,
    method: BoundMethod,
    policy: ReleasePolicy,
    progress: Progress,
) -> Partition:
    """Make the groups, each of which satisfies what the policy's model asks of a group."""
    constraints = constraints_of(table, policy)
    made = method.aggregate(table, representation, leaves.labels, constraints, progress)
    points = partial(_points, table, representation)
    labels, mended = enforced(points, made, constraints, method.max_group_size)
    found = Partition(labels)
    over = _n_over(labels, method.max_group_size, constraints.rows)
    notes = {**leaves.notes, **mended, "groups": found.n_groups, "groups_over_max_group_size": over}
    return Partition(labels, notes)


def merged_beside_one_another(
    table: PreparedTable, groups: Partition, method: BoundMethod, policy: ReleasePolicy, progress: Progress
) -> Partition:
    """Merge groups until what the policy's model asks of all groups together holds: k^m and LKC."""
    if not asks_for_known_values(policy):
        return groups
    labels = merged_for_known_values(table, groups.labels, policy, method.max_group_size, progress)
    merged = replace(groups, labels=labels)
    before = groups.notes.get(MERGED, 0)
    assert isinstance(before, int)  # noqa: S101 -- made so
    notes = {
        **groups.notes,
        MERGED: before + groups.n_groups - merged.n_groups,
        "groups": merged.n_groups,
        "groups_over_max_group_size": _n_over(labels, method.max_group_size),
    }
    return replace(merged, notes=notes)


def with_equal_cells_joined(
    table: PreparedTable,
    labels: IntArray,
    method: BoundMethod,
    policy: ReleasePolicy,
    points: Callable[[], FloatArray],
) -> IntArray:
    """Return groups that hold the policy's model as they are published, where people or households count.

    Groups with equal cells are one class. Two that share somebody may hold the model, and not together.
    """
    if table.unit is None or not contains_its_people(policy.method.recoding):
        return labels
    constraints = constraints_of(table, policy)
    while True:  # each time there are fewer groups
        joined = joined_equal(table, labels, policy)
        if joined is labels:
            return labels
        labels = enforced(points, joined, constraints, method.max_group_size)[0]


def _n_over(labels: IntArray, max_group_size: int, rows: IntArray | None = None) -> int:
    kept = labels >= 0
    sizes = counted(labels[kept], None if rows is None else rows[kept], int(labels.max(initial=-1)) + 1)
    return int((sizes > max_group_size).sum())


def _points(table: PreparedTable, representation: Representation) -> FloatArray:
    """Return where records lie beside one another."""
    # Blocks that are embedded by themselves have no coordinates in common.
    return representation.latent if representation.blocks is None else z_scored(table)


def repaired(
    table: PreparedTable,
    representation: Representation,
    groups: Partition,
    method: BoundMethod,
    policy: ReleasePolicy,
    history: History,
    period: str,
    progress: Progress,
    followers: Followers | None = None,
) -> Partition:
    """Keep people together, and merge groups that earlier releases would expose, as the policy asks."""
    if policy.method.history == "blind":
        return groups
    releases = [release.release_id for release, _ in history]
    if policy.method.history == "sticky" and followers is not None:
        earlier = [(release.release_id, classes) for release, classes in history]
        revised = next((one.release_id for one, _ in reversed(history) if one.period == period), None)
        groups = _stayed(table, representation, groups, method, policy, earlier, followers, revised, progress)
    found = select_history(
        [(release.release_id, classes) for release, classes in history],
        policy,
        periods_apart([release.period for release, _ in history], period, policy.period),
    )
    worlds = _worlds(table, groups, policy, history, followers, period)
    followed = followers and followers.into([name for name, _ in found.earlier], releases)
    constraints = constraints_of(table, policy)
    points = cache(lambda: _points(table, representation))
    rounds = RoundCache()
    chosen = method.parameters
    if isinstance(chosen, LhdParameters) and chosen.history_in_growth and groups.seats is None:
        accept = acceptance(table, groups.labels, policy, found.earlier, found.apart, followed, rounds)
        if accept is not None and representation.of_method:
            cut = chosen.grown(table, policy.roles, policy.privacy, constraints, progress, accept)
            leaves = Partition(cut.labels, {**groups.notes, **cut.notes, "leaves": cut.n_groups})
            groups = groups_of(table, representation, leaves, method, policy, progress)
            groups = merged_beside_one_another(table, groups, method, policy, progress)

    def merge(groups: Partition) -> Partition:
        return repair(
            table,
            groups,
            policy,
            found.earlier,
            max_group_size=method.max_group_size,
            apart=found.apart,
            followers=followed,
            worlds=worlds,
            cache=rounds,
            progress=progress,
        )

    def enforce(labels: IntArray) -> IntArray:
        return enforced(points, labels, constraints, method.max_group_size)[0]

    def by_totals(labels: IntArray) -> IntArray:
        return leave_out_totals(
            table, labels, policy, found.earlier, found.apart, seed_of(table, method.seed), rounds
        )

    named = [] if worlds is None else [worlds.left_out]
    if may_follow_nobody(policy):
        named.append(by_totals)
    made = in_rounds(groups, merge, enforce, named)
    # Who was left out last has changed what some models compare groups with, and how many rows match.
    whole_matters = constraints.compares or constraints.weights is not None or table.unit is not None
    for _ in range(SETTLING if whole_matters or asks_for_known_values(policy) else 0):
        labels = with_equal_cells_joined(table, enforce(made.labels), method, policy, points)
        settled = replace(made, labels=labels)
        settled = merged_beside_one_another(table, settled, method, policy, progress)
        if np.array_equal(settled.labels, made.labels):
            break
        made = merge(settled)
    return made if table.reused is None else _with_cells_of_now(made, merge)


def _with_cells_of_now(groups: Partition, merge: Callable[[Partition], Partition]) -> Partition:
    """Repair groups until nothing changes: two reused cells that were merged have cells of their own records,
    which are narrower than the repair took them for.
    """
    for _ in range(SETTLING):
        again = merge(groups)
        n_out, n_before = ((each.labels < 0).sum() for each in (again, groups))
        if (again.n_groups, n_out) == (groups.n_groups, n_before):
            break
        repair = again.repair
        if repair is not None and groups.repair is not None:
            repair = sum_of(groups.repair, repair)
        groups = replace(again, repair=repair)
    return groups


def _worlds(
    table: PreparedTable,
    groups: Partition,
    policy: ReleasePolicy,
    history: History,
    followers: Followers | None,
    period: str,
) -> Questions | None:
    """Return what the repair asks exact reasoning by; None where that cannot be, as the gate then says."""
    if followers is None or not history:
        return None
    earlier = [(release.release_id, classes) for release, classes in history]
    try:
        apart = periods_apart([release.period for release, _ in history], period, policy.period)
        pasts = pasts_of(table, policy, earlier, followers, apart)
    except Unfit:
        return None
    limits = Limits(calls=policy.gates.worlds.calls)
    if not pasts:
        return None
    asked = [Worlds(past, policy.privacy.l, limits, groups.seats) for past in pasts]
    return Questions(asked, groups.seats)


def _stayed(
    table: PreparedTable,
    representation: Representation,
    groups: Partition,
    method: BoundMethod,
    policy: ReleasePolicy,
    earlier: Sequence[tuple[str, EquivalenceClasses]],
    followers: Followers,
    revised: str | None,
    progress: Progress,
) -> Partition:
    """Return groups that keep the last release's people together; newcomers are cut as the method does."""
    constraints, points = constraints_of(table, policy), _points(table, representation)

    def cut(rows: IntArray, each: int) -> IntArray:
        """Cut one person of each bucket; `each` stands for so many."""
        fewer = _for_some(policy, each)
        if not constraints_of(table, fewer).group_holds(rows):
            return np.full(len(rows), -1, dtype=np.int64)
        some, there = table.take(rows), representation.take(rows)
        some_method = bound_method(fewer)
        leaves = leaves_of(some, there, some_method, fewer, no_progress)
        groups = groups_of(some, there, leaves, some_method, fewer, no_progress)
        return merged_beside_one_another(some, groups, some_method, fewer, no_progress).labels

    def enforce(labels: IntArray) -> IntArray:
        return enforced(points, labels, constraints, method.max_group_size)[0]

    return staying(table, groups, points, policy, earlier, followers, cut, enforce, progress, revised)


def _for_some(policy: ReleasePolicy, each: int) -> ReleasePolicy:
    """Return the policy for groups of people of whom each stands for several, who have other values."""
    privacy = policy.privacy
    ranges = any(one.type == "numeric" for one in policy.roles.sensitive.values())

    def distinct(e: float, *, ranges: bool) -> float:
        return e if ranges else max(1, math.ceil(e / each))

    k, sizes = max(1, math.ceil(privacy.k / each)), {}
    fewer = {
        "k": k,
        "e": distinct(privacy.e, ranges=ranges),
        "p_max": min(1.0, privacy.p_max * each),
        "h_min": 0.0,
        "attributes": {
            name: AttributePrivacy(
                e=distinct(own.e, ranges=policy.roles.sensitive[name].type == "numeric"),
                p_max=min(1.0, own.p_max * each),
                h_min=0.0,
                spread=own.spread,
            )
            for name, own in ((name, privacy.of(name)) for name in privacy.attributes)
        },
    }
    gates = policy.gates.model_copy(update={"models": Models()})
    for name in SIZES:
        if policy.method.parameters.get(name) is not None:
            sizes[name] = max(2 * k - 1, math.floor(policy.method.parameters[name] / each))
    method = policy.method.model_copy(update={"parameters": {**policy.method.parameters, **sizes}})
    privacy = privacy.model_copy(update=fewer)
    return policy.model_copy(update={"privacy": privacy, "method": method, "gates": gates})
