"""Mondrian with constraint-aware splits, all nodes of a level at once.

A level costs a constant number of passes over the records in each dimension: the records are sorted
once a dimension and stay sorted within their nodes. O(r n log n) for the sorting, O(r^2 n) a level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tasks.partitioning.constraints import Constraints, SensitiveColumn, entropy, log_values
from tasks.types import BoolArray, FloatArray, IntArray, Progress, no_progress

CHUNK_CELLS = 4_000_000


@dataclass(frozen=True)
class SplitRule:
    """How a node is cut, and when it is left whole.

    `score` is `eq7` (Hu et al., 2026, eq. 7: `alpha` times the gain in span plus `1 - alpha` times the
    change of entropy) or `widest` (LeFevre et al., 2006: the widest dimension that can be cut).
    A node of at most `stop_size` records is a leaf, and so is one whose variance is under
    `variance_threshold` in every dimension, unless it has more than `variance_cap` records.
    """

    stop_size: int
    score: Literal["eq7", "widest"] = "eq7"
    quantiles: tuple[float, ...] = (0.25, 0.375, 0.5, 0.625, 0.75)
    alpha: float = 0.7
    min_score: float = -np.inf
    variance_threshold: float = 0.0
    variance_cap: int = 2_000


def partition(
    points: FloatArray, constraints: Constraints, rule: SplitRule, progress: Progress = no_progress
) -> IntArray:
    """Return one leaf label a record for `points` (n, r).

    Every leaf satisfies `constraints` if all records together do. Records with equal coordinates
    are never cut apart. Equal inputs give equal labels.
    """
    n, dimensions = points.shape
    labels = np.zeros(n, dtype=np.int64)
    root_span = np.ptp(points, axis=0)
    root_span[root_span == 0] = 1.0
    sorted_records = [np.argsort(points[:, d], kind="stable") for d in range(dimensions)]
    starts = np.array([0, n], dtype=np.int64)
    n_leaves = 0
    done = 0
    while len(starts) > 1:
        cut_dimension, cut_position = _best_cuts(points, sorted_records, starts, constraints, rule, root_span)
        is_leaf = cut_dimension < 0
        sizes = np.diff(starts)
        node_of = np.repeat(np.arange(len(sizes)), sizes)
        leaf_number = n_leaves + np.cumsum(is_leaf) - 1
        in_leaf = is_leaf[node_of]
        labels[sorted_records[0][in_leaf]] = leaf_number[node_of[in_leaf]]
        n_leaves += int(is_leaf.sum())
        done += int(in_leaf.sum())
        progress(done / n, f"{n_leaves} leaves")
        sorted_records, starts = _split(n, sorted_records, starts, node_of, cut_dimension, cut_position)
    return labels


def _split(
    n: int,
    sorted_records: list[IntArray],
    starts: IntArray,
    node_of: IntArray,
    cut_dimension: IntArray,
    cut_position: IntArray,
) -> tuple[list[IntArray], IntArray]:
    """Send every record of a cut node to its side, keeping each dimension's order within the sides."""
    cut = cut_dimension >= 0
    position = np.arange(len(node_of))
    goes_right = np.zeros(n, dtype=bool)
    for dimension, records in enumerate(sorted_records):
        here = (cut_dimension == dimension)[node_of] & (position >= cut_position[node_of])
        goes_right[records[here]] = True
    left_sizes = (cut_position - starts[:-1])[cut]
    right_sizes = (starts[1:] - cut_position)[cut]
    new_starts = np.concatenate([[0], np.cumsum(np.column_stack([left_sizes, right_sizes]).ravel())])
    keep = cut[node_of]
    rank = np.cumsum(cut) - 1
    node = rank[node_of[keep]]
    new_sorted = []
    for records in sorted_records:
        kept = records[keep]
        right = goes_right[kept]
        # A stable partition within each node: rank among those of the same side, from the node's start.
        lefts_before = np.cumsum(~right) - ~right
        first = np.concatenate([[0], np.cumsum(left_sizes + right_sizes)])[:-1]
        lefts_at_start = np.concatenate([[0], np.cumsum(left_sizes)])[:-1]
        left_rank = lefts_before - lefts_at_start[node]
        right_rank = np.arange(len(kept)) - first[node] - left_rank
        target = np.where(right, new_starts[2 * node + 1] + right_rank, new_starts[2 * node] + left_rank)
        moved = np.empty_like(kept)
        moved[target] = kept
        new_sorted.append(moved)
    return new_sorted, new_starts


def _best_cuts(
    points: FloatArray,
    sorted_records: list[IntArray],
    starts: IntArray,
    constraints: Constraints,
    rule: SplitRule,
    root_span: FloatArray,
) -> tuple[IntArray, IntArray]:
    """Return for each node the dimension (-1: a leaf) and the position of its best feasible cut."""
    sizes = np.diff(starts)
    cut_dimension = np.full(len(sizes), -1, dtype=np.int64)
    cut_position = starts[1:].copy()
    spans = np.column_stack(
        [
            (points[r[starts[1:] - 1], d] - points[r[starts[:-1]], d]) / root_span[d]
            for d, r in enumerate(sorted_records)
        ]
    )
    candidates = np.flatnonzero(
        (sizes >= 2 * constraints.k) & (sizes > rule.stop_size) & (spans.max(axis=1, initial=0) > 0)
    )
    if rule.variance_threshold > 0 and len(candidates):
        wide = np.zeros(len(candidates), dtype=bool)
        for d, records in enumerate(sorted_records):
            wide |= _variances(points[records, d], starts)[candidates] >= rule.variance_threshold
        candidates = candidates[wide | (sizes[candidates] > rule.variance_cap)]
    if not len(candidates):
        return cut_dimension, cut_position

    cells = (len(rule.quantiles) + 1) * max([c.n_values for c in constraints.columns] + [8])
    step = max(1, CHUNK_CELLS // cells)
    best = np.full(len(candidates), -np.inf)
    for first in range(0, len(candidates), step):
        part = candidates[first : first + step]
        for d, records in enumerate(sorted_records):
            cuts = _cut_positions(points[records, d], starts, part, constraints.k, rule.quantiles)
            scores = _scores(
                points, records, starts, part, cuts, constraints, rule, root_span, spans[part], d
            )
            choice = scores.argmax(axis=1)
            score = scores[np.arange(len(part)), choice]
            better = (score > best[first : first + step]) & (score > rule.min_score)
            best[first : first + step][better] = score[better]
            cut_dimension[part[better]] = d
            cut_position[part[better]] = cuts[np.arange(len(part)), choice][better]
    return cut_dimension, cut_position


def _variances(values: FloatArray, starts: IntArray) -> FloatArray:
    sizes = np.diff(starts)
    mean = np.add.reduceat(values, starts[:-1]) / sizes
    deviation = values - np.repeat(mean, sizes)
    return np.asarray(np.add.reduceat(deviation**2, starts[:-1]) / sizes)


def _cut_positions(
    values: FloatArray, starts: IntArray, nodes: IntArray, k: int, quantiles: tuple[float, ...]
) -> IntArray:
    """Return (nodes, quantiles) positions between two different values, nearest to each quantile.

    A position that would leave a side with under k records is replaced by the node's end.
    """
    first, last = starts[nodes][:, None], starts[nodes + 1][:, None]
    target = first + np.rint((last - first) * np.array(quantiles)).astype(np.int64)
    changes = np.flatnonzero(values[1:] != values[:-1]) + 1
    if not len(changes):
        return np.broadcast_to(last, target.shape).copy()
    place = np.searchsorted(changes, target)
    after = changes[np.minimum(place, len(changes) - 1)]
    before = changes[np.maximum(place - 1, 0)]

    def allowed(position: IntArray) -> BoolArray:
        return np.asarray((position >= first + k) & (position <= last - k))

    far = np.iinfo(np.int64).max
    distance_after = np.where(allowed(after), np.abs(after - target), far)
    distance_before = np.where(allowed(before), np.abs(before - target), far)
    nearest = np.where(distance_before <= distance_after, before, after)
    none = (distance_after == far) & (distance_before == far)
    return np.sort(np.where(none, last, nearest), axis=1)


def _scores(
    points: FloatArray,
    records: IntArray,
    starts: IntArray,
    nodes: IntArray,
    cuts: IntArray,
    constraints: Constraints,
    rule: SplitRule,
    root_span: FloatArray,
    spans: FloatArray,
    dimension: int,
) -> FloatArray:
    """Return (nodes, quantiles) scores of cutting `nodes` at `cuts` in one dimension; infeasible: -inf."""
    buckets = _Buckets(records, starts, nodes, cuts)
    feasible = (buckets.left_size >= constraints.k) & (buckets.right_size >= constraints.k)
    share_left = buckets.left_size / np.maximum(buckets.left_size + buckets.right_size, 1)
    gain_entropy = np.zeros(cuts.shape)
    for column in constraints.columns:
        left, right = buckets.counts(column)
        ranges = (
            buckets.ranges(column.numbers) if column.numbers is not None else ((None, None), (None, None))
        )
        feasible &= constraints.column_holds(column, left, *ranges[0])
        feasible &= constraints.column_holds(column, right, *ranges[1])
        if rule.score == "eq7":
            both = share_left * entropy(left) + (1 - share_left) * entropy(right)
            gain_entropy += (both - entropy(left + right)) / log_values(column) / len(constraints.columns)
    if rule.score == "widest":
        return np.where(feasible, np.broadcast_to(spans[:, dimension, None], cuts.shape), -np.inf)
    span_left, span_right = np.zeros(cuts.shape), np.zeros(cuts.shape)
    for other in range(points.shape[1]):
        (low_left, high_left), (low_right, high_right) = buckets.ranges(points[:, other])
        span_left += np.where(feasible, high_left - low_left, 0) / root_span[other] / points.shape[1]
        span_right += np.where(feasible, high_right - low_right, 0) / root_span[other] / points.shape[1]
    span = spans.mean(axis=1)[:, None]
    gain_span = (span - share_left * span_left - (1 - share_left) * span_right) / span
    return np.where(feasible, rule.alpha * gain_span + (1 - rule.alpha) * gain_entropy, -np.inf)


class _Buckets:
    """The records of nodes between successive cut positions, so that every side is a cumulative sum."""

    def __init__(self, records: IntArray, starts: IntArray, nodes: IntArray, cuts: IntArray) -> None:
        edges = np.column_stack([starts[nodes], cuts, starts[nodes + 1]])
        sizes = np.diff(edges, axis=1)
        self._shape = sizes.shape
        self._sizes = sizes.ravel()
        inside = np.zeros(len(records) + 1, dtype=np.int64)
        np.add.at(inside, edges[:, 0], 1)
        np.add.at(inside, edges[:, -1], -1)
        self._records = records[np.cumsum(inside[:-1]) > 0]
        self._bucket = np.repeat(np.arange(sizes.size), self._sizes)
        self._filled = np.flatnonzero(self._sizes)
        self._first = (np.cumsum(self._sizes) - self._sizes)[self._filled]
        self.left_size = np.cumsum(sizes, axis=1)[:, :-1]
        self.right_size = sizes.sum(axis=1, keepdims=True) - self.left_size

    def counts(self, column: SensitiveColumn) -> tuple[IntArray, IntArray]:
        """Return the counts of sensitive values left and right of each cut, each (nodes, cuts, m)."""
        m = column.n_values
        flat = np.bincount(self._bucket * m + column.codes[self._records], minlength=len(self._sizes) * m)
        running = np.cumsum(flat.reshape(*self._shape, m), axis=1)
        return running[:, :-1], running[:, -1:] - running[:, :-1]

    def ranges(
        self, values: FloatArray
    ) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
        """Return ((least, greatest) left, (least, greatest) right) of each cut, each (nodes, cuts)."""
        low, high = np.full(len(self._sizes), np.inf), np.full(len(self._sizes), -np.inf)
        if len(self._filled):
            here = values[self._records]
            low[self._filled] = np.fmin.reduceat(here, self._first)
            high[self._filled] = np.fmax.reduceat(here, self._first)
        low, high = low.reshape(self._shape), high.reshape(self._shape)
        left = np.fmin.accumulate(low, axis=1)[:, :-1], np.fmax.accumulate(high, axis=1)[:, :-1]
        right = (
            np.fmin.accumulate(low[:, ::-1], axis=1)[:, ::-1][:, 1:],
            np.fmax.accumulate(high[:, ::-1], axis=1)[:, ::-1][:, 1:],
        )
        return left, right
