"""The repair in rounds: groups are merged and single records left out, until nobody is left to hide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tasks.types import IntArray, Partition

ROUNDS = 12  # in which records are left out
SUMMED = ("merged", "suppressed_groups", "suppressed_records")


def in_rounds(
    groups: Partition,
    merge: Callable[[Partition], Partition],
    enforce: Callable[[IntArray], IntArray],
    left_out: Sequence[Callable[[IntArray], IntArray]],
) -> Partition:
    """Return the groups as `merge` leaves them, without the records that any of `left_out` names.

    `enforce` merges groups that break the model without those records. The notes sum up all rounds.
    """
    made = merge(groups)
    if "repair" not in made.notes:
        return made
    total: dict[str, Any] = dict(made.notes["repair"]) | {"left_out_records": 0}
    for _ in range(ROUNDS):
        out = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(f(made.labels) for f in left_out)]))
        if not len(out):
            break
        labels = made.labels.copy()
        labels[out] = -1
        made = merge(replace(made, labels=enforce(labels)))
        again = made.notes["repair"]
        total |= {name: total[name] + again[name] for name in SUMMED}
        total["over_max_group_size"] = again["over_max_group_size"]
        total["left_out_records"] += len(out)
    return replace(made, notes={**made.notes, "repair": total} if left_out else made.notes)
