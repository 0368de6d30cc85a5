"""Blocks of bounded size, inside which a quadratic method stays affordable."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tasks.partitioning.constraints import Constraints
from tasks.partitioning.mondrian import SplitRule, partition
from tasks.types import FloatArray, IntArray, Note, Progress, no_progress


def blocks(
    points: FloatArray,
    k: int,
    *,
    whole_up_to: int = 20_000,
    block_size: int = 4_000,
    score: Literal["span", "widest"] = "span",
    progress: Progress = no_progress,
) -> tuple[IntArray, dict[str, Note]]:
    """Return one block a record, (n,), for `points` (n, r), and notes that name what was done.

    Up to `whole_up_to` records are one block. More are the leaves of a Mondrian (LeFevre et al., 2006) of
    at most `block_size` records, or 2k - 1 where that is more. Of the model a cut keeps k alone: the
    groups made inside the blocks are what must hold the rest. A leaf that cannot be cut, because nearly all
    its records lie at one place, is cut by record number.

    A cut is the median one, `span`: of the dimension that narrows the sides most, over all dimensions (Hu
    et al., 2026, eq. 7 with alpha = 1), O(r^2 n log n); `widest`: of the widest, O(r n log n). On one-hot
    features all are equally wide, and the first of them would be cut.
    """
    n = len(points)
    most = max(block_size, 2 * k - 1)
    if n <= max(whole_up_to, most):
        return np.zeros(n, dtype=np.int64), {"blocks": 1, "largest_block": n}
    only_k = Constraints(k, p_max=1.0, h_min=0.0, e=1, columns=())
    rule = SplitRule(most, "paper" if score == "span" else "widest", (0.5,), alpha=1.0)
    leaves = partition(points, only_k, rule, progress)
    labels = _cut_by_number(leaves, most)
    sizes = np.bincount(labels)
    return labels, {"blocks": len(sizes), "largest_block": int(sizes.max()), "blocks_by": "mondrian"}


def _cut_by_number(leaves: IntArray, most: int) -> IntArray:
    """Cut every leaf of over `most` records into as few nearly equal runs as it takes."""
    size = np.bincount(leaves)
    runs = -(-size // most)
    order = np.argsort(leaves, kind="stable")
    rank = np.empty(len(leaves), dtype=np.int64)
    rank[order] = np.arange(len(leaves)) - np.repeat(np.cumsum(size) - size, size)
    first = np.cumsum(runs) - runs
    return np.asarray(first[leaves] + rank * runs[leaves] // size[leaves])
