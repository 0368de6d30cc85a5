"""The repair in rounds: groups are merged and single records left out, until nobody is left to hide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from release_store.summary import Repair
from tasks.types import IntArray, Partition

ROUNDS = 12  # in which records are left out


def in_rounds(
    groups: Partition,
    merge: Callable[[Partition], Partition],
    enforce: Callable[[IntArray], IntArray],
    left_out: Sequence[Callable[[IntArray], IntArray]],
) -> Partition:
    """Return the groups as `merge` leaves them, without the records that any of `left_out` names.

    `enforce` merges groups that break the model without those records. The counts sum up all rounds.
    """
    made = merge(groups)
    total = made.repair
    if total is None or not left_out:
        return made
    n_out = 0
    for _ in range(ROUNDS):
        out = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(f(made.labels) for f in left_out)]))
        if not len(out):
            break
        labels = made.labels.copy()
        labels[out] = -1
        made = merge(replace(made, labels=enforce(labels)))
        total = sum_of(total, made.repair) if made.repair else total
        n_out += len(out)
    return replace(made, repair=replace(total, left_out_records=n_out))


def sum_of(earlier: Repair, last: Repair) -> Repair:
    """Return what two rounds did together; how many groups are too large is told by the last."""
    return replace(
        last,
        failing_groups=earlier.failing_groups,
        merged=earlier.merged + last.merged,
        suppressed_groups=earlier.suppressed_groups + last.suppressed_groups,
        suppressed_records=earlier.suppressed_records + last.suppressed_records,
    )
