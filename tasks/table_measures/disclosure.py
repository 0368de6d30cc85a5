"""The strongest parameters of each privacy model that a table's sensitive values satisfy.

Each is measured as the gates of `tasks.risk.gates.models` do, with the measures of `tasks.privacy`, and is
that of the worst class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.privacy.closeness import equal_distances
from tasks.privacy.diversity import entropy, tails
from tasks.privacy.ranges import relative_ranges
from tasks.privacy.shares import gains, least_ratios
from tasks.risk.gates.models.alpha_k import shares_of
from tasks.table_measures.counts import Block, ValueCounts, padded_numbers
from tasks.table_measures.ordered import greatest_ordered_distance
from tasks.table_measures.rows import CodedTable, RowClasses
from tasks.types import FloatArray, IntArray

RECURSIVE_L = (2, 3)


@dataclass(frozen=True)
class SensitiveRisk:
    """The strongest parameters of each model for one sensitive attribute of `values` different values.

    `recursive_c[l]`: the table is recursive (c,l)-diverse for each c over it, None: for none. `delta`: it
    has delta-disclosure privacy for each delta over it, None: for none. `relative_range` is the least range
    of a class beside its largest absolute number, of a numeric attribute; the range itself could be
    somebody's number. `t_ordered` is None of categories, and where the work would be too much.
    `certain_classes` are the classes all of whose units have one value, `certain_people` the people in them.
    """

    values: int
    numeric: bool
    distinct_l: int
    entropy_l: float
    h_min: float
    recursive_c: dict[str, float | None]
    p_max: float
    t_equal: float
    t_ordered: float | None
    beta: float
    delta: float | None
    relative_range: float | None
    certain_classes: int
    certain_people: int


def sensitive_risk(
    table: CodedTable, classes: RowClasses, counts: ValueCounts, numbers: FloatArray | None
) -> SensitiveRisk:
    """Measure one sensitive attribute by its `counts`; `numbers` (n_values,) are those of a numeric one.

    O(n log n) but for the ordered distance, which has a limit.
    """
    blocks = [_of_block(block, classes.units[block.classes], numbers) for block in counts.blocks()]

    def least(measure: str) -> float:
        return min(float(found[measure].min()) for found in blocks)

    def most(measure: str) -> float:
        return max(float(found[measure].max()) for found in blocks)

    certain = np.concatenate([found["certain"] for found in blocks]).astype(np.int64)
    ratios = {each: least(f"tail_{each}") for each in RECURSIVE_L}
    smallest_ratio = least("ratio")
    return SensitiveRisk(
        values=len(counts.overall),
        numeric=numbers is not None,
        distinct_l=int(least("distinct")),
        entropy_l=float(np.exp(least("entropy"))),
        h_min=least("entropy"),
        recursive_c={str(each): 1 / ratio if ratio > 0 else None for each, ratio in ratios.items()},
        p_max=most("share"),
        t_equal=most("t_equal"),
        t_ordered=None if numbers is None else greatest_ordered_distance(counts, numbers),
        beta=most("gain"),
        delta=float(-np.log(smallest_ratio)) + 0.0 if smallest_ratio > 0 else None,
        relative_range=None if numbers is None else least("relative_range"),
        certain_classes=len(certain),
        certain_people=_people_in(certain, table, classes),
    )


def _of_block(block: Block, size: IntArray, numbers: FloatArray | None) -> dict[str, FloatArray | IntArray]:
    """Return each measure of the classes of a block, (c,), and those of them that disclose, "certain"."""
    share = shares_of(block.counts, size)
    found: dict[str, FloatArray | IntArray] = {
        "distinct": (block.counts > 0).sum(axis=1),
        "entropy": entropy(block.counts),
        "share": share,
        "t_equal": equal_distances(block.counts, block.overall),
        "gain": gains(block.counts, block.overall),
        "ratio": least_ratios(block.counts, block.overall),
        "certain": block.classes[share == 1],
    }
    for each in RECURSIVE_L:
        largest, tail = tails(block.counts, each)
        found[f"tail_{each}"] = tail / largest
    if numbers is not None:
        found["relative_range"] = relative_ranges(block.counts, padded_numbers(block, numbers))
    return found


def _people_in(certain: IntArray, table: CodedTable, classes: RowClasses) -> int:
    """Count the people with a row in one of the classes `certain` (c,)."""
    inside = np.zeros(len(classes.first), dtype=bool)
    inside[certain] = True
    rows = inside[classes.own]
    return int(rows.sum()) if table.person is None else len(np.unique(table.person[rows]))
