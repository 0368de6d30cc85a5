"""Records in the cells of an earlier release, such that the records of every cell in use satisfy the model.

A record goes to the cell that holds it and costs least, of equally dear ones to the first. Cells whose
records break the model are given up, and their records go to the next cell that holds them.
"""

from __future__ import annotations

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.aggregation.enforce import holding
from tasks.geometry.candidates import find_containing
from tasks.geometry.cells import cells_of
from tasks.geometry.space import boxes_of, points_of, space_of
from tasks.partitioning.constraints import Constraints
from tasks.repair.measure import Measure
from tasks.types import IntArray, PreparedTable
from tasks.utility.ncp import scale_of

DIGITS = 12
"""Losses that agree to so many digits are equal: they are sums of the same terms."""


def place_records(
    table: PreparedTable, cells: EquivalenceClasses, policy: ReleasePolicy, constraints: Constraints
) -> IntArray:
    """Return the cell of each record, (n,), -1 for a record that no cell in use takes.

    The records of every cell in use satisfy `constraints`. What a cell costs is its NCP by the spans and
    domains of the table. In each round the smaller half of the cells whose records break the model is given
    up, so that records of overlapping cells can still come to the others: about log N rounds of N cells. A
    model that compares a group with the table compares with the records that are placed if
    `method.reuse.others` leaves out the others.

    Cost: finding the pairs of a distinct record and a cell that holds it (`find_containing`, about n log n
    where cells hardly overlap), sorting them, and O(n) an attribute and round.
    """
    point_of, cell_of, place = _pairs(table, cells, policy)
    left_out = policy.method.reuse is not None and policy.method.reuse.others == "left_out"
    stands = np.ones(cells.n_classes, dtype=bool)
    while True:
        kept = stands[cell_of]
        point_of, cell_of = point_of[kept], cell_of[kept]
        chosen = np.full(int(place.max(initial=-1)) + 1, -1, dtype=np.int64)
        first = np.flatnonzero(np.diff(point_of, prepend=-1))
        chosen[point_of[first]] = cell_of[first]
        found = chosen[place]
        limits = constraints.among(np.flatnonzero(found >= 0)) if left_out else constraints
        used, holds = holding(found, limits)
        failing = used[~holds]
        if not len(failing):
            return found
        size = np.bincount(found[found >= 0], minlength=cells.n_classes)
        smaller = failing[np.argsort(size[failing], kind="stable")]
        stands[smaller[: (len(smaller) + 1) // 2]] = False


def _pairs(
    table: PreparedTable, cells: EquivalenceClasses, policy: ReleasePolicy
) -> tuple[IntArray, IntArray, IntArray]:
    """Return each distinct record with each cell that holds it, (m,) and (m,), and which of them each record
    is, (n,).

    Ascending by the distinct record, then by what the cell costs.
    """
    space = space_of([cells], table)
    boxes, points = boxes_of(cells, space), points_of(table, space)
    loss = np.round(Measure(scale_of(table, policy), space).ncp(boxes), DIGITS)
    by_loss = np.argsort(loss, kind="stable")
    rank = np.empty(len(by_loss), dtype=np.int64)
    rank[by_loss] = np.arange(len(by_loss))
    keys = (
        np.repeat(part.people, part.n_classes()) * len(rank) + rank[part.classes]
        for part in find_containing(points.numbers, points.codes, cells_of(boxes))
    )
    key = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *keys]))
    n_cells = max(len(rank), 1)
    return key // n_cells, by_loss[key % n_cells], points.place
