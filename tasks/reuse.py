"""Classes with the cells of an earlier release, and classes of their own for the rows that no cell takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.aggregation.enforce import enforced
from tasks.composition import (
    Fragment,
    decide,
    fragments_of,
    in_this_process,
    merged_beside_one_another,
    with_equal_cells_joined,
)
from tasks.methods.base import BoundMethod
from tasks.partitioning.constraints import constraints_of, overall_counts
from tasks.partitioning.placing import place_records
from tasks.recoding.reused import cells_of_groups
from tasks.representation.features import unit_ranges
from tasks.types import (
    IntArray,
    Note,
    Notes,
    Partition,
    PreparedTable,
    Progress,
    ReusedCells,
)


@dataclass(frozen=True)
class EarlierCells:
    """The classes of an earlier release, read by today's hierarchies."""

    release_id: str
    classes: EquivalenceClasses


def groups_in_cells(
    table: PreparedTable,
    earlier: EarlierCells | None,
    method: BoundMethod,
    policy: ReleasePolicy,
    progress: Progress,
) -> tuple[PreparedTable, Partition]:
    """Return the table with the cell of each record, and the groups that satisfy the policy's model.

    Of the records that no cell takes, the method makes groups as of a table of these alone, or they are left
    out (`method.reuse.others`). Where they are too few or too alike for a group, each is merged with the
    nearest group. Without an earlier release, the method makes all groups. Cost: as `place_records`, and that
    of the method on the records that no cell takes.
    """
    if policy.method.reuse is None:
        raise ValueError("the policy uses no cells again")
    if earlier is None:
        made = _by_the_method(table, method, policy, progress)
        labels = with_equal_cells_joined(table, made.labels, method, policy, lambda: unit_ranges(table))
        made = replace(made, labels=labels)
        return table, merged_beside_one_another(table, made, method, policy, progress)
    constraints = constraints_of(table, policy)
    progress(0.0, "records in the cells of an earlier release")
    cell = place_records(table, earlier.classes, policy, constraints)
    table = replace(table, reused=ReusedCells(earlier.classes, cell), reduction=None)
    labels = np.unique(cell[cell >= 0], return_inverse=True)[1].reshape(-1)
    found = np.full(table.n_records, -1, dtype=np.int64)
    found[cell >= 0] = labels
    others, notes = np.flatnonzero(cell < 0), {}
    if policy.method.reuse.others == "cut" and len(others):
        first = int(labels.max(initial=-1)) + 1
        # Who is counted may be in several groups: these may hold though all together do not.
        if constraints.group_holds(others) or table.unit is not None:
            rest = replace(table.take(others), reused=None, overall=overall_counts(table))
            part = _by_the_method(rest, method, policy, progress)
            found[others] = np.where(part.labels < 0, -1, part.labels + first)
            notes = {name: note for name, note in part.notes.items() if isinstance(note, int)}
        else:
            found[others] = first + _by_values(table.take(others))
    found, mended = enforced(partial(unit_ranges, table), found, constraints, method.max_group_size)
    found = with_equal_cells_joined(table, found, method, policy, lambda: unit_ranges(table))
    told: dict[str, Note] = {
        **notes,
        **mended,
        "groups": int(found.max(initial=-1)) + 1,
        "reused_release": earlier.release_id,
        "reusable_cells": earlier.classes.n_classes,
        "records_of_no_cell": len(others),
    }
    return table, merged_beside_one_another(table, Partition(found, told), method, policy, progress)


def _by_values(table: PreparedTable) -> IntArray:
    """Return the places of records by their values, (n,), whatever the order of the rows."""
    columns = [*table.sensitive.T, *table.codes.T, *table.numeric.T]
    return np.argsort(np.lexsort(columns), kind="stable")


def notes_of_reuse(table: PreparedTable, labels: IntArray) -> Notes:
    """Return how many groups have a cell of the earlier release, and how many records are in them.

    `labels` (n,) are those of the groups. Nothing for a table that uses no such cells.
    """
    if table.reused is None:
        return {}
    cells = cells_of_groups(table.reused, labels)
    number = np.unique(cells[cells >= 0])
    records = int((cells[labels[labels >= 0]] >= 0).sum())
    return {"reused_classes": len(number), "reused_cell_records": records}


def _by_the_method(
    table: PreparedTable, method: BoundMethod, policy: ReleasePolicy, progress: Progress
) -> Partition:
    """Return the groups that the method makes of a table."""
    found = None
    if table.n_records > method.fragment_size:
        found = fragments_of(table, method, policy, in_this_process, progress)
    return decide(Fragment(table, policy)) if found is None else found
