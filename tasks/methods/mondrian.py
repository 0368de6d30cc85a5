"""Mondrian (LeFevre, DeWitt and Ramakrishnan, 2006): median cuts of the widest attribute that can be cut."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from policy.model import Privacy
from tasks.methods.base import BoundMethod, Method, Parameters
from tasks.partitioning.constraints import Constraints
from tasks.partitioning.mondrian import SplitRule, partition
from tasks.representation.features import unit_ranges
from tasks.types import IntArray, PreparedTable, Progress, Representation


class MondrianParameters(Parameters):
    """Classes are cut as long as both sides satisfy the model; `leaf_size` stops earlier."""

    leaf_size: Annotated[int, Field(ge=2)] | None = None
    max_group_size: Annotated[int, Field(ge=2)] | None = None


def bind(parameters: Parameters, privacy: Privacy, _seed: int) -> BoundMethod:
    """Fix parameters and model; the method draws nothing."""
    assert isinstance(parameters, MondrianParameters)  # noqa: S101 -- the registry made them
    rule = SplitRule(stop_size=parameters.leaf_size or 2 * privacy.k - 1, score="widest", quantiles=(0.5,))

    def represent(table: PreparedTable, _progress: Progress) -> Representation:
        unit = unit_ranges(table)
        return Representation(unit, unit)

    def cut(
        _table: PreparedTable, where: Representation, constraints: Constraints, progress: Progress
    ) -> IntArray:
        return partition(where.latent, constraints, rule, progress)

    def leave(
        _where: Representation, labels: IntArray, _constraints: Constraints, _progress: Progress
    ) -> IntArray:
        return labels

    return BoundMethod(
        "mondrian", parameters, parameters.max_group_size or 3 * privacy.k, represent, cut, leave
    )


MONDRIAN = Method(
    name="mondrian",
    summary="Median cuts of the widest attribute that can be cut, on the original attributes; "
    "intervals and sets.",
    source="LeFevre, DeWitt and Ramakrishnan (2006), doi:10.1109/ICDE.2006.101",
    guarantees="k, e, p_max and h_min in every class, where all records together have them; "
    "disjoint classes.",
    parameters=MondrianParameters,
    bind=bind,
)
