"""Mondrian with constraint-aware splits, all nodes of a level at once.

A level costs a constant number of passes over the records in each dimension: the records are sorted
once a dimension and stay sorted within their nodes. O(r n log n) for the sorting; a level costs
O(r (r + a) n) for r dimensions and a published attributes that the score looks at, and there are O(log n).
Records that are equal in all of these and in what is sensitive are one, which counts as many times: a cut
never divides them, and the leaves are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tasks.counting import counted
from tasks.geometry.space import distinct_rows
from tasks.partitioning.attributes import Attributes
from tasks.partitioning.constraints import Constraints
from tasks.partitioning.cuts import Buckets, positions_of_cuts
from tasks.partitioning.scores import Score, Terms, Weights, scores
from tasks.recoding.levels import Levels
from tasks.types import FloatArray, IntArray, Progress, no_progress

CHUNK_CELLS = 4_000_000
FEW = 0.7  # distinct records in the table, past which it does not pay to look at them instead


@dataclass(frozen=True)
class Tree:
    """The hierarchy of a column: `codes` (n,) of the records into the values that `levels` are of.

    `missing` is the code of the value that stands beside every node, -1 where there is none.
    """

    codes: IntArray
    levels: Levels
    missing: int = -1

    def take(self, records: IntArray) -> Tree:
        """Return the tree of some records."""
        return replace(self, codes=self.codes[records])

    def apart(self, records: IntArray) -> IntArray:
        """Return the levels of the lowest common nodes of neighbours in a sequence of records, (n - 1,).

        -1 where one of them is the missing value.
        """
        codes = self.codes[records]
        missing = (codes[:-1] == self.missing) | (codes[1:] == self.missing)
        return np.where(missing, -1, self.levels.distance(codes[:-1], codes[1:]))


@dataclass(frozen=True)
class SplitRule:
    """How a node is cut, and when it is left whole.

    `score` is `paper` (Hu et al., 2026, eq. 7: `alpha` times the gain in span plus `1 - alpha` times the
    change of entropy), `ncp` (the share of the node's NCP that the cut saves), `blend` (the three terms
    by their weights) or `widest` (LeFevre et al., 2006: the widest dimension that can be cut). The span is
    that of the first `span_dimensions` columns of the points (None: of all).
    A node of at most `stop_size` records is a leaf, and so is one whose variance is under
    `variance_threshold` in every dimension, unless it has more than `variance_cap` records.
    """

    stop_size: int
    score: Score = "paper"
    quantiles: tuple[float, ...] = (0.25, 0.375, 0.5, 0.625, 0.75)
    alpha: float = 0.7
    min_score: float = -np.inf
    variance_threshold: float = 0.0
    variance_cap: int = 2_000
    weight_span: float = 0.35
    weight_entropy: float = 0.15
    weight_ncp: float = 0.5
    span_dimensions: int | None = None

    def terms(self) -> Weights:
        """Return the weight of each term of the score."""
        if self.score == "paper":
            return Weights(span=self.alpha, entropy=1 - self.alpha)
        if self.score == "blend":
            return Weights(self.weight_span, self.weight_entropy, self.weight_ncp)
        return Weights(ncp=1.0) if self.score == "ncp" else Weights()


def partition(
    points: FloatArray,
    constraints: Constraints,
    rule: SplitRule,
    progress: Progress = no_progress,
    attributes: Attributes | None = None,
    trees: Mapping[int, Tree] | None = None,
) -> IntArray:
    """Return one leaf label a record for `points` (n, r), whose every column is a candidate for cuts.

    The scores `ncp` and `blend` look at the cells that `attributes` would be published in; ValueError
    without them. A column that `trees` gives a hierarchy is cut between children of a node alone. Every leaf
    satisfies `constraints` if all records together do. Records with equal coordinates are never cut apart.
    Equal inputs give equal labels.
    """
    if rule.terms().ncp and attributes is None:
        raise ValueError(f"the score `{rule.score}` needs the attributes that are published")
    columns = [*points.T, *(each for one in constraints.columns for each in (one.codes, one.numbers))]
    if attributes is not None:
        columns += [*attributes.numeric.T, *attributes.codes.T]
    first, place = distinct_rows([each for each in columns if each is not None])
    if len(first) > FEW * len(points):
        return _leaves(points, constraints, rule, progress, attributes, constraints.rows, trees or {})
    own = None if attributes is None else attributes.take(first)
    rows = counted(place, constraints.rows, len(first))
    few = {dimension: tree.take(first) for dimension, tree in (trees or {}).items()}
    return _leaves(points[first], constraints.take(first), rule, progress, own, rows, few)[place]


def _leaves(
    points: FloatArray,
    constraints: Constraints,
    rule: SplitRule,
    progress: Progress,
    attributes: Attributes | None,
    rows: IntArray | None,
    trees: Mapping[int, Tree],
) -> IntArray:
    """Return one leaf label a record, each of which stands for as many `rows` (n,); None: for one."""
    weights = rule.terms()
    n, dimensions = points.shape
    labels = np.zeros(n, dtype=np.int64)
    root_span = np.ptp(points, axis=0)
    root_span[root_span == 0] = 1.0
    points = np.asfortranarray(points)  # a column is read at a time
    sorted_records = [np.argsort(points[:, d], kind="stable") for d in range(dimensions)]
    if weights.ncp and attributes is not None:
        sorted_records += [np.argsort(codes, kind="stable") for codes in attributes.codes.T]
    starts = np.array([0, n], dtype=np.int64)
    n_leaves = 0
    done = 0
    while len(starts) > 1:
        terms = Terms(
            points,
            root_span,
            dimensions if rule.span_dimensions is None else rule.span_dimensions,
            constraints,
            weights,
            attributes,
            tuple(sorted_records[dimensions:]),
            rows,
        )
        cut_dimension, cut_position = _best_cuts(sorted_records[:dimensions], starts, terms, rule, trees)
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
    # A stable partition within each node: rank among those of the same side, from the node's start.
    first = new_starts[:-1:2]
    lefts_at_start = np.cumsum(left_sizes) - left_sizes
    left_place = (first - lefts_at_start)[node]
    right_place = (new_starts[1::2] - first + lefts_at_start)[node] + np.arange(len(node))
    new_sorted = []
    for records in sorted_records:
        kept = records[keep]
        right = goes_right[kept]
        lefts_before = np.cumsum(~right) - ~right
        target = np.where(right, right_place - lefts_before, left_place + lefts_before)
        moved = np.empty_like(kept)
        moved[target] = kept
        new_sorted.append(moved)
    return new_sorted, new_starts


def _best_cuts(
    sorted_records: list[IntArray],
    starts: IntArray,
    terms: Terms,
    rule: SplitRule,
    trees: Mapping[int, Tree],
) -> tuple[IntArray, IntArray]:
    """Return for each node the dimension (-1: a leaf) and the position of its best feasible cut."""
    points, constraints, rows = terms.points, terms.constraints, terms.rows
    sizes = np.diff(starts) if rows is None else np.add.reduceat(rows[sorted_records[0]], starts[:-1])
    cut_dimension = np.full(len(sizes), -1, dtype=np.int64)
    cut_position = starts[1:].copy()
    spans = np.column_stack(
        [
            (points[r[starts[1:] - 1], d] - points[r[starts[:-1]], d]) / terms.root_span[d]
            for d, r in enumerate(sorted_records)
        ]
    )
    candidates = np.flatnonzero(
        (sizes >= 2 * constraints.k) & (sizes > rule.stop_size) & (spans.max(axis=1, initial=0) > 0)
    )
    if rule.variance_threshold > 0 and len(candidates):
        wide = np.zeros(len(candidates), dtype=bool)
        for d, records in enumerate(sorted_records):
            found = _variances(points[records, d], starts, None if rows is None else rows[records])
            wide |= found[candidates] >= rule.variance_threshold
        candidates = candidates[wide | (sizes[candidates] > rule.variance_cap)]
    if not len(candidates):
        return cut_dimension, cut_position

    cells = (len(rule.quantiles) + 1) * max([c.n_values for c in constraints.columns] + [8])
    step = max(1, CHUNK_CELLS // cells)
    best = np.full(len(candidates), -np.inf)
    for first in range(0, len(candidates), step):
        part = candidates[first : first + step]
        for d, records in enumerate(sorted_records):
            passed = None if rows is None else np.append(0, np.cumsum(rows[records]))
            at = partial(positions_of_cuts, points[records, d], starts, part, constraints.k)
            if d not in trees:
                cuts = at(rule.quantiles, passed)
            elif terms.weights.ncp:  # the score tells what cells cost, wherever they are cut
                between = at((0.5,), passed, trees[d].apart(records))
                cuts = np.sort(np.column_stack([at(rule.quantiles, passed), between]), axis=1)
            else:
                cuts = at(rule.quantiles, passed, trees[d].apart(records))
            buckets = Buckets(records, starts, part, cuts, rows)
            found = scores(buckets, terms, spans[part], d, widest=rule.score == "widest")
            choice = found.argmax(axis=1)
            score = found[np.arange(len(part)), choice]
            better = (score > best[first : first + step]) & (score > rule.min_score)
            best[first : first + step][better] = score[better]
            cut_dimension[part[better]] = d
            cut_position[part[better]] = cuts[np.arange(len(part)), choice][better]
    return cut_dimension, cut_position


def _variances(values: FloatArray, starts: IntArray, rows: IntArray | None) -> FloatArray:
    weight = np.ones(len(values)) if rows is None else rows.astype(np.float64)
    sizes = np.add.reduceat(weight, starts[:-1])
    mean = np.add.reduceat(weight * values, starts[:-1]) / sizes
    deviation = values - np.repeat(mean, np.diff(starts))
    return np.asarray(np.add.reduceat(weight * deviation**2, starts[:-1]) / sizes)
