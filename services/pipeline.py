"""From a period's table to the rows that would be published: one way for runs, reproductions and benchmarks.

`prepare` needs no history; `complete` does, and is called while nobody else can publish to the series.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import PersonHashes
from services.runtime import Runtime, Stage
from tasks.composition import (
    Engine,
    History,
    Views,
    fragments_of,
    groups_of,
    in_this_process,
    leaves_of,
    merged_beside_one_another,
    repaired,
)
from tasks.methods.base import PLACES, BoundMethod
from tasks.partitioning.full_domain import levels_of_groups
from tasks.preprocessing.prepare import prepare as prepare_table
from tasks.preprocessing.reduction import all_rows
from tasks.repair.followers import followers_of
from tasks.representation.features import unit_ranges
from tasks.reuse import EarlierCells, groups_in_cells, notes_of_reuse
from tasks.types import Notes, Partition, PreparedTable, Progress, Recoded, Representation, SourceTable

R = TypeVar("R")

PREPROCESSING = Stage("preprocessing", "convert columns to arrays")
REPRESENTATION = Stage("representation", "compute representations", long=True)
PARTITIONING = Stage("partitioning", "partition the records", long=True)
AGGREGATION = Stage("aggregation", "aggregate inside the leaves", long=True)
FRAGMENTS = Stage("fragments", "make the groups of a large table, a fragment at a time", long=True)
REUSE = Stage("reuse", "place the records in the cells of an earlier release", long=True)
REPAIR = Stage("repair", "merge groups that earlier releases would expose", long=True)
RECODING = Stage("recoding", "generalize the groups")


class Stages(Protocol):
    """Whatever carries out stages: a runtime, a run that watches them, a benchmark's meter."""

    def stage(self, stage: Stage, work: Callable[[Progress], R]) -> R:
        """Carry out one stage and return what it gives."""


@dataclass(frozen=True)
class PersonHistory:
    """The key that people are hashed with, and the people of each earlier release as they are kept."""

    key: bytes | None
    earlier: Sequence[PersonHashes | None]


@dataclass(frozen=True)
class Prepared:
    """A table as arrays, where its records lie, and the groups that they make by themselves."""

    source: SourceTable
    policy: ReleasePolicy
    method: BoundMethod
    table: PreparedTable
    representation: Representation
    groups: Partition


@dataclass(frozen=True)
class PublishableRows:
    """The rows that would be published, and what they were made from; `groups` stand beside the history."""

    prepared: Prepared
    groups: Partition
    rows: Recoded

    @property
    def table(self) -> PreparedTable:
        """The table that the rows are of."""
        return self.prepared.table

    @property
    def notes(self) -> Notes:
        """What the stages tell of themselves, as JSON values."""
        parts = dict(zip(PLACES, self.prepared.method.parts, strict=True))
        repair = {"repair": self.groups.repair.document()} if self.groups.repair else {}
        removed = self.prepared.source.removed_duplicates
        duplicates = {} if removed is None else {"removed_duplicates": removed}
        return {"parts": parts, **duplicates, **self.groups.notes, **repair, **self.rows.notes}


def preprocessed(
    source: SourceTable, policy: ReleasePolicy, stages: Stages
) -> tuple[PreparedTable, SourceTable]:
    """Return the table, and of its source what is needed beside it: the columns of key and household."""
    table = stages.stage(PREPROCESSING, lambda _: prepare_table(source, policy))
    columns = [name for name in (policy.roles.key, policy.roles.household) if name is not None]
    frame = source.frame[columns].copy()
    return table, replace(source, frame=frame, identifiers=None)


def prepare(
    source: SourceTable,
    table: PreparedTable,
    policy: ReleasePolicy,
    method: BoundMethod,
    stages: Stages,
    engine: Engine = in_this_process,
) -> Prepared:
    """Run the stages that need no history; `engine` decides the fragments of a table that has several.

    Where cells of an earlier release are used again, there are no groups yet.
    """
    if policy.method.reuse is not None:
        there = Representation(partial(unit_ranges, table), of_method=False)
        none = Partition(np.full(table.n_records, -1, dtype=np.int64))
        return Prepared(source, policy, method, table, there, none)
    views = Views(table, method.n_weighted)

    def of_fragments(tell: Progress) -> Partition | None:
        found = fragments_of(views.of(2), method, policy, engine, tell)
        if found is None:
            return None
        return merged_beside_one_another(table, views.groups_into(3, found), method, policy, tell)

    if table.n_records > method.fragment_size:
        found = stages.stage(FRAGMENTS, of_fragments)
        if found is not None:  # what a method learned is of one fragment alone
            there = Representation(partial(unit_ranges, table), of_method=False)
            return Prepared(source, policy, method, table, there, found)
    points = stages.stage(
        REPRESENTATION, lambda tell: views.points_into(1, method.represent(views.of(0), tell))
    )
    leaves = stages.stage(PARTITIONING, lambda tell: leaves_of(views.of(1), points, method, policy, tell))

    def groups_of_rows(tell: Progress) -> Partition:
        own = views.points_into(2, points), views.groups_into(2, leaves)
        found = groups_of(views.of(2), *own, method, policy, tell)
        return merged_beside_one_another(table, views.groups_into(3, found), method, policy, tell)

    groups = stages.stage(AGGREGATION, groups_of_rows)
    there = views.points_into(3, views.points_into(2, points))
    return Prepared(source, policy, method, table, there, groups)


def publishable_rows(
    prepared: Prepared,
    period: str,
    stages: Stages,
    beside: Callable[[], tuple[History, PersonHistory | None]] | None = None,
    earlier_cells: Callable[[], EarlierCells | None] | None = None,
) -> PublishableRows:
    """Fit the groups to the history, as the policy asks, and recode them.

    `beside` gives the earlier releases and their people; it is called inside the stage, and not at all for a
    policy that makes each release by itself. `earlier_cells` gives the cells that a policy uses again; it is
    called for such a policy alone.
    """
    if prepared.policy.method.reuse is not None:
        prepared = stages.stage(REUSE, lambda tell: _in_cells(prepared, earlier_cells, tell))
    policy, method = prepared.policy, prepared.method

    def repair(tell: Progress) -> Partition:
        nonlocal prepared
        if beside is None or policy.method.history == "blind":
            return prepared.groups
        history, people = beside()
        if history:  # which may leave out one of several equal rows
            prepared = _in_rows(prepared)
        followers = None
        if people is not None and (history or policy.method.history == "sticky"):
            followers = followers_of(prepared.source, policy, people.key, people.earlier)
        return repaired(
            prepared.table,
            prepared.representation,
            prepared.groups,
            method,
            policy,
            history,
            period,
            tell,
            followers,
        )

    groups = stages.stage(REPAIR, repair)
    table, representation = prepared.table, prepared.representation
    if "levels" in groups.notes:  # a merge may have raised some
        raised = levels_of_groups(table, policy.roles, groups.labels, policy.method.levels)
        groups = replace(groups, notes={**groups.notes, "levels": raised})
    groups = replace(groups, notes={**groups.notes, **notes_of_reuse(table, groups.labels)})
    rows = stages.stage(
        RECODING, lambda _: method.recode(table, representation, groups.labels, policy, method.seed)
    )
    return PublishableRows(prepared, groups, rows)


def _in_rows(prepared: Prepared) -> Prepared:
    """Return a table of distinct records as one of all its rows, with where they lie and their groups."""
    table = all_rows(prepared.table)
    if table is prepared.table or table.reduction is None:
        return prepared
    there = table.reduction.representation_of_rows(prepared.representation)
    groups = table.reduction.groups_of_rows(prepared.groups)
    return replace(prepared, table=table, representation=there, groups=groups)


def _in_cells(
    prepared: Prepared, earlier_cells: Callable[[], EarlierCells | None] | None, progress: Progress
) -> Prepared:
    """Return the table with its groups in the cells of an earlier release."""
    earlier = None if earlier_cells is None else earlier_cells()
    table, groups = groups_in_cells(prepared.table, earlier, prepared.method, prepared.policy, progress)
    return replace(prepared, table=table, groups=groups)


def make_rows(
    source: SourceTable,
    policy: ReleasePolicy,
    method: BoundMethod,
    history: History,
    period: str,
    people: PersonHistory | None = None,
    stages: Stages | None = None,
    earlier_cells: Callable[[], EarlierCells | None] | None = None,
) -> PublishableRows:
    """Run all stages over `source`, beside `history` and its people."""
    chosen = Runtime() if stages is None else stages
    table, source = preprocessed(source, policy, chosen)
    prepared = prepare(source, table, policy, method, chosen)
    return publishable_rows(prepared, period, chosen, lambda: (history, people), earlier_cells)
