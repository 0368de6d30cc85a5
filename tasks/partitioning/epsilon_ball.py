"""Groups of records that are near in every attribute, and outliers moved to the nearest group.

Miche et al. (2016), eq. 2 to 4, doi:10.1007/978-3-319-45507-5_13.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from policy.roles import Roles
from tasks.partitioning.constraints import Constraints
from tasks.partitioning.distances import Attribute, attributes_of
from tasks.partitioning.medoids import central_values, medians
from tasks.types import BoolArray, FloatArray, IntArray, PreparedTable, Progress, no_progress

CHUNK_CELLS = 4_000_000


@dataclass(frozen=True)
class BallRule:
    """How near the records of a group are, and which groups are too small.

    `epsilon` is the greatest mapped distance of two records of a group, in [0, 1], for every attribute that
    `epsilons` does not name. Records in groups of at most `few` records (the paper's m) are outliers; a `few`
    under k - 1, or none, is k - 1, so that no group is left with under k records. With `merge_small`, two
    such groups that are large enough together may become one. `pairs` are drawn for the mapping. Above
    `compare_all` groups, an outlier is compared with the `nearest` alone.
    """

    epsilon: float = 0.25
    epsilons: Mapping[str, float] = field(default_factory=dict)
    few: int | None = None
    merge_small: bool = False
    pairs: int = 10_000
    compare_all: int = 1_024
    nearest: int = 64


def partition(
    table: PreparedTable,
    roles: Roles,
    constraints: Constraints,
    *,
    rule: BallRule | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
) -> IntArray:
    """Return one group label a record; every group has more than `few` and at least k records.

    The groups are `cells`, small ones merged in pairs if the rule says so; the outliers join the group whose
    centroid has the least sum of mapped distances (eq. 4; ties: the first group). Where no group is large
    enough, all records are one group. Only the size is kept: the method knows no other condition.
    O(n log n) in the attributes' number, and outliers * groups up to `compare_all` groups.
    """
    rule = rule or BallRule()
    attributes = attributes_of(table, roles, pairs=rule.pairs, seed=seed)
    cell = _merged(attributes, cells(attributes, rule), _few(rule, constraints.k), rule)[0]
    progress(0.5, f"{len(np.unique(cell))} cells")
    outside = _in_small(cell, _few(rule, constraints.k))
    if outside.all():
        return np.zeros(table.n_records, dtype=np.int64)
    labels = np.full(table.n_records, -1, dtype=np.int64)
    labels[~outside] = np.unique(cell[~outside], return_inverse=True)[1]
    labels[outside] = _nearest_group(attributes, labels, np.flatnonzero(outside), rule, progress)
    return labels


def outlying(
    table: PreparedTable, roles: Roles, k: int, *, rule: BallRule | None = None, seed: int = 0
) -> BoolArray:
    """Return which records `partition` moves into another group, (n,), for the same rule and seed.

    Where no group is large enough none is moved. O(n log n).
    """
    rule = rule or BallRule()
    attributes = attributes_of(table, roles, pairs=rule.pairs, seed=seed)
    cell, moved = _merged(attributes, cells(attributes, rule), _few(rule, k), rule)
    outside = _in_small(cell, _few(rule, k))
    return outside | moved if not outside.all() else np.zeros(len(outside), dtype=bool)


def cells(attributes: list[Attribute], rule: BallRule) -> IntArray:
    """Return groups in which every two records are within epsilon in every attribute (eq. 2), (n,).

    The reading of eq. 2, which does not say how such groups are found: categories that are one node within
    epsilon go together, then each number in turn is swept inside the groups so far, a new group starting
    at the least number that is too far from the last start. In one dimension no cover has fewer groups.
    O(n log n) an attribute.
    """
    cell = np.zeros(len(attributes[0].values), dtype=np.int64)
    for attribute in sorted(attributes, key=lambda each: each.levels is None):
        radius = attribute.radius(rule.epsilons.get(attribute.name, rule.epsilon))
        if attribute.levels is None:
            cell = _swept(cell, attribute.values, radius)
        else:
            node = attribute.levels.node[int(radius)][attribute.values.astype(np.int64)]
            cell = np.unique(cell * (int(node.max(initial=0)) + 1) + node, return_inverse=True)[1]
    return cell


def _swept(cell: IntArray, values: FloatArray, radius: float) -> IntArray:
    """Cut each cell into stretches of values at most `radius` long; missing numbers are one by themselves."""
    distinct, rank = np.unique(np.where(np.isnan(values), np.inf, values), return_inverse=True)
    order = np.lexsort((rank, cell))
    first_beyond = np.searchsorted(distinct, distinct + radius, side="right")
    width = len(distinct) + 1
    key = cell[order] * width + rank[order]
    follows = np.searchsorted(key, cell[order] * width + first_beyond[rank[order]])
    end = np.searchsorted(cell[order], cell[order], side="right")
    starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
    is_start = np.zeros(len(cell), dtype=bool)
    while len(starts):
        is_start[starts] = True
        starts = follows[starts][follows[starts] < end[starts]]
    finer = np.empty(len(cell), dtype=np.int64)
    finer[order] = np.cumsum(is_start) - 1
    return finer


def _few(rule: BallRule, k: int) -> int:
    return max(rule.few or 0, k - 1)


def _in_small(cell: IntArray, few: int) -> BoolArray:
    return np.asarray(np.bincount(cell)[cell] <= few)


def _merged(
    attributes: list[Attribute], cell: IntArray, few: int, rule: BallRule
) -> tuple[IntArray, BoolArray]:
    """Return the cells (n,) with pairs of small ones merged, and which records moved into the other, (n,).

    The smaller of two cells (the later, if they are equal) moves where the other's centroid is nearer to its
    own than that of any large cell, and both together have more than `few` records. The nearest pairs go
    first, and a cell is in one pair at most.
    """
    size = np.bincount(cell)
    small = np.flatnonzero(size <= few)
    if not rule.merge_small or not len(small):
        return cell, np.zeros(len(cell), dtype=bool)
    centroids = [centroid_of(each, cell, len(size)) for each in attributes]
    centres = [replace(each, values=values) for each, values in zip(attributes, centroids, strict=True)]
    near = np.arange(len(size))[None, :]
    if len(size) > rule.compare_all:
        near = _near(centres, centroids, small, rule.nearest)
    found = []
    step = max(1, CHUNK_CELLS // near.shape[1])
    for start in range(0, len(small), step):
        movers = small[start : start + step]
        others = near if len(near) == 1 else near[start : start + step]
        away = _distances(centres, centroids, movers, None if len(near) == 1 else others)
        to_large = np.where(size[others] > few, away, np.inf).min(axis=1, keepdims=True)
        earlier = (size[others] > size[movers, None]) | (
            (size[others] == size[movers, None]) & (others < movers[:, None])
        )
        together = size[others] + size[movers, None] > few
        row, column = np.nonzero((size[others] <= few) & earlier & together & (away < to_large))
        other = np.broadcast_to(others, away.shape)[row, column]
        found.append(np.column_stack([away[row, column], movers[row], other]))
    pairs = np.concatenate(found)
    pairs = pairs[np.lexsort((pairs[:, 2], pairs[:, 1], pairs[:, 0]))][:, 1:].astype(np.int64)
    into = np.arange(len(size))
    while len(pairs):
        first = np.full(len(size), len(pairs))
        np.minimum.at(first, pairs, np.arange(len(pairs))[:, None])
        chosen = pairs[(first[pairs] == np.arange(len(pairs))[:, None]).all(axis=1)]
        into[chosen[:, 0]] = chosen[:, 1]
        pairs = pairs[~np.isin(pairs, chosen).any(axis=1)]
    return into[cell], into[cell] != cell


def _distances(
    attributes: list[Attribute],
    centroids: list[FloatArray],
    records: IntArray,
    candidates: IntArray | None,
) -> FloatArray:
    """Return the summed mapped distances of records (m,) to all centroids or to `candidates` (m, c)."""
    width = len(centroids[0]) if candidates is None else candidates.shape[1]
    total = np.zeros((len(records), width))
    for attribute, centroid in zip(attributes, centroids, strict=True):
        if candidates is None:
            distinct, place = np.unique(attribute.values[records], return_inverse=True)
            total += attribute.mapped(attribute.distance(distinct[:, None], centroid))[place]
        else:
            near = centroid[candidates]
            total += attribute.mapped(attribute.distance(attribute.values[records, None], near))
    return total


def _nearest_group(
    attributes: list[Attribute], labels: IntArray, outside: IntArray, rule: BallRule, progress: Progress
) -> IntArray:
    """Return the label of the nearest group (eq. 4) of each record of `outside`."""
    n_groups = int(labels.max()) + 1
    centroids = [centroid_of(each, labels, n_groups) for each in attributes]
    candidates = None
    if n_groups > rule.compare_all:
        candidates = _near(attributes, centroids, outside, rule.nearest)
    width = n_groups if candidates is None else candidates.shape[1]
    found = np.empty(len(outside), dtype=np.int64)
    step = max(1, CHUNK_CELLS // width)
    for start in range(0, len(outside), step):
        near = None if candidates is None else candidates[start : start + step]
        best = _distances(attributes, centroids, outside[start : start + step], near).argmin(axis=1)
        if candidates is not None:
            best = candidates[np.arange(start, start + len(best)), best]
        found[start : start + step] = best
        progress(0.5 + 0.5 * min(1.0, (start + step) / len(outside)), "outliers moved")
    return found


def centroid_of(attribute: Attribute, labels: IntArray, n_groups: int) -> FloatArray:
    """Return the medoid of each group of `labels` (n,) in one attribute (eq. 3), (n_groups,).

    NaN where all of a group's numbers are missing.
    """
    if attribute.levels is None:
        return medians(attribute.values, labels, n_groups)
    codes = attribute.values.astype(np.int64)
    return central_values(codes, labels, n_groups, attribute.levels).astype(np.float64)


def _near(
    attributes: list[Attribute], centroids: list[FloatArray], outside: IntArray, nearest: int
) -> IntArray:
    """Return for each record of `outside` the groups nearest in unit-scaled values, (m, nearest), sorted."""
    columns = [_unit(each.values, centroid) for each, centroid in zip(attributes, centroids, strict=True)]
    from scipy.spatial import cKDTree  # here: it is slow to import

    tree = cKDTree(np.column_stack([centroid for _, centroid in columns]))
    records = np.column_stack([values[outside] for values, _ in columns])
    return np.sort(tree.query(records, k=nearest, p=1, workers=1)[1], axis=1).astype(np.int64)


def _unit(values: FloatArray, centroid: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Scale to [0, 1] over the table; a missing number lies beside all known ones, at 2."""
    least = np.nanmin(values)
    span = (np.nanmax(values) - least) or 1.0
    unit = [(each - least) / span for each in (values, centroid)]
    return np.where(np.isnan(unit[0]), 2.0, unit[0]), np.where(np.isnan(unit[1]), 2.0, unit[1])
