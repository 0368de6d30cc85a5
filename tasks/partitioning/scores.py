"""What a candidate cut is worth: the terms of Hu et al. (2026, eq. 7), and the NCP of its sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tasks.partitioning.attributes import Attributes
from tasks.partitioning.constraints import Constraints, log_values
from tasks.partitioning.cuts import Buckets
from tasks.privacy.diversity import entropy
from tasks.types import FloatArray, IntArray

ENDS = (np.fmin, np.fmax)  # of two intervals together
Score = Literal["paper", "ncp", "blend", "widest"]


@dataclass(frozen=True)
class Weights:
    """How much each term of a score counts; a term of no weight is not computed."""

    span: float = 0.0
    entropy: float = 0.0
    ncp: float = 0.0


@dataclass(frozen=True)
class Terms:
    """What the terms are computed from, for all nodes of a level.

    `points` (n, r) and the root's spans of its first `r_span` columns, which the span is a mean of;
    `attributes`, and for each categorical one the records in its order within their nodes; how many `rows`
    (n,) each record stands for, None for one.
    """

    points: FloatArray
    root_span: FloatArray
    n_span: int
    constraints: Constraints
    weights: Weights
    attributes: Attributes | None
    by_code: tuple[IntArray, ...]
    rows: IntArray | None = None


def scores(buckets: Buckets, terms: Terms, spans: FloatArray, dimension: int, *, widest: bool) -> FloatArray:
    """Return (nodes, cuts) scores of cutting nodes in one dimension; infeasible: -inf.

    `spans` (nodes, r) are the nodes' spans over the root's. A cut is feasible if both sides satisfy the
    constraints.
    """
    constraints, weights = terms.constraints, terms.weights
    feasible = (buckets.left_size >= constraints.k) & (buckets.right_size >= constraints.k)
    share = buckets.left_size / np.maximum(buckets.left_size + buckets.right_size, 1)
    total = np.zeros(feasible.shape)
    for column in constraints.columns:
        left, right = buckets.counts(column)
        ranges = (
            buckets.ranges(column.numbers) if column.numbers is not None else ((None, None), (None, None))
        )
        feasible &= constraints.column_holds(column, left, *ranges[0])
        feasible &= constraints.column_holds(column, right, *ranges[1])
        if weights.entropy:
            both = share * entropy(left) + (1 - share) * entropy(right)
            gain = (both - entropy(left + right)) / log_values(column) / len(constraints.columns)
            total += weights.entropy * gain
    if widest:
        return np.where(feasible, np.broadcast_to(spans[:, dimension, None], feasible.shape), -np.inf)
    if weights.span:
        total += weights.span * _gain(share, *_spans(buckets, terms, spans, feasible))
    if weights.ncp and terms.attributes is not None:
        total += weights.ncp * _gain(share, *_penalties(buckets, terms.attributes, terms.by_code))
    return np.where(feasible, total, -np.inf)


def _gain(share: FloatArray, left: FloatArray, right: FloatArray, whole: FloatArray) -> FloatArray:
    """Return what a cut takes off the node's cost `whole` (nodes, 1), as a share of it."""
    saved = whole - share * left - (1 - share) * right
    return np.asarray(saved / np.where(whole > 0, whole, 1.0))


def _spans(
    buckets: Buckets, terms: Terms, spans: FloatArray, feasible: np.ndarray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    left, right = np.zeros(feasible.shape), np.zeros(feasible.shape)
    for d in range(terms.n_span):
        (low_left, high_left), (low_right, high_right) = buckets.ranges(terms.points[:, d])
        left += np.where(feasible, high_left - low_left, 0) / terms.root_span[d] / terms.n_span
        right += np.where(feasible, high_right - low_right, 0) / terms.root_span[d] / terms.n_span
    return left, right, spans[:, : terms.n_span].mean(axis=1)[:, None]


def _penalties(
    buckets: Buckets, attributes: Attributes, by_code: tuple[IntArray, ...]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the weighted NCP of the cells left and right of each cut and of the whole node."""
    left, right = np.zeros(buckets.left_size.shape), np.zeros(buckets.left_size.shape)
    whole = np.zeros((len(left), 1))
    for p, values in enumerate(attributes.numeric.T):
        (low_left, high_left), (low_right, high_right) = buckets.ranges(values)
        left += attributes.interval_cost(p, low_left, high_left)
        right += attributes.interval_cost(p, low_right, high_right)
        # The whole node's ends are those of the first cut's two sides together.
        low = np.fmin(low_left[:, :1], low_right[:, :1])
        whole += attributes.interval_cost(p, low, np.fmax(high_left[:, :1], high_right[:, :1]))
    for q, records in enumerate(by_code):
        codes = attributes.codes[:, q]
        if q in attributes.closed:
            closed = attributes.closed[q]
            lefts, rights = buckets.ranges(closed.numbers(codes))
            (_, unknown_left), (_, unknown_right) = buckets.ranges(closed.is_missing(codes))
            left += attributes.set_cost(q, closed.sizes(*lefts, unknown_left))
            right += attributes.set_cost(q, closed.sizes(*rights, unknown_right))
            low, high = (f(a[:, :1], b[:, :1]) for f, a, b in zip(ENDS, lefts, rights, strict=True))
            unknown = np.fmax(unknown_left[:, :1], unknown_right[:, :1])
            whole += attributes.set_cost(q, closed.sizes(low, high, unknown))
            continue
        distinct_left, distinct_right, distinct = buckets.distinct(codes, records)
        left += attributes.set_cost(q, distinct_left)
        right += attributes.set_cost(q, distinct_right)
        whole += attributes.set_cost(q, distinct)
    return left, right, whole
