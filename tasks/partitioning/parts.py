"""The partitions that a method can name. A new one is a new file and one line here."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from tasks.partitioning.constraints import Constraints
from tasks.partitioning.mondrian import SplitRule, partition
from tasks.parts import Cut, Parameters, Part, Setting, named
from tasks.types import Partition, PreparedTable, Progress, Representation

LEAF_FACTOR = 24


class MondrianParameters(Parameters):
    """Hu et al., 2026, eq. 7 and Table 1; `alpha` and the threshold of the score have no value there."""

    score: Literal["paper", "widest"] = "paper"
    alpha: Annotated[float, Field(ge=0, le=1)] = 0.7
    quantiles: Annotated[tuple[Annotated[float, Field(gt=0, lt=1)], ...], Field(min_length=1)] = (
        0.25,
        0.375,
        0.5,
        0.625,
        0.75,
    )
    min_score: float | None = None
    variance_threshold: Annotated[float, Field(ge=0)] = 0.05
    leaf_size: Annotated[int, Field(ge=2)] | None = None


def _mondrian(chosen: MondrianParameters, setting: Setting) -> Cut:
    k = setting.privacy.k
    rule = SplitRule(
        stop_size=chosen.leaf_size or (LEAF_FACTOR * k if setting.grouped else 2 * k - 1),
        score="eq7" if chosen.score == "paper" else "widest",
        alpha=chosen.alpha,
        quantiles=chosen.quantiles,
        min_score=float("-inf") if chosen.min_score is None else chosen.min_score,
        variance_threshold=chosen.variance_threshold,
    )

    def cut(
        _table: PreparedTable, where: Representation, constraints: Constraints, progress: Progress
    ) -> Partition:
        return Partition(partition(where.latent, constraints, rule, progress))

    return cut


def _none(_chosen: Parameters, _setting: Setting) -> Cut:
    def cut(
        table: PreparedTable, _where: Representation, _constraints: Constraints, _progress: Progress
    ) -> Partition:
        return Partition(np.zeros(table.n_records, dtype=np.int64))

    return cut


PARTITIONS = named(
    Part("mondrian", "cuts that both sides can bear, best score first", MondrianParameters, _mondrian),
    Part("none", "one group of all records", Parameters, _none),
)
