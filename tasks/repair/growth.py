"""Whether a class may stop growing beside earlier releases, while lHD-Diversity grows it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.geometry.space import boxes_of, space_of
from tasks.history.intersection import compared_attributes
from tasks.partitioning.lhd import Accept
from tasks.recoding.generalize import generalized
from tasks.repair.followers import Followers
from tasks.repair.round_cache import RoundCache
from tasks.types import IntArray, PreparedTable


def acceptance(
    table: PreparedTable,
    labels: IntArray,
    policy: ReleasePolicy,
    earlier: Sequence[tuple[str, EquivalenceClasses]],
    apart: Sequence[tuple[int, int]] | None,
    followers: Followers | None,
    cache: RoundCache,
) -> Accept | None:
    """Return what tells whether records may be a class beside the `earlier` releases; None without any.

    They may where their class passes `pairwise` and `whole_history`, and `person` with `followers` (Riyana,
    2025, Algorithm 1: every result of a comparison has l values or none). `labels` (n,) are any groups of the
    table. A call costs what overlaps the class among earlier classes and people.
    """
    if not earlier or not compared_attributes(policy) or not (labels >= 0).any():
        return None
    space = space_of([generalized(table, labels, policy), *(classes for _, classes in earlier)], table)
    _, judge = cache.judge(table, policy, earlier, space, apart, followers)

    def accept(records: IntArray) -> bool:
        together = np.zeros(len(records), dtype=np.int64)
        classes = generalized(table.take(records), together, policy)
        return not judge.fails(boxes_of(classes, space), [records])[0]

    return accept
