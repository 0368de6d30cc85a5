"""The aggregations that a method can name. A new one is a new file and one line here."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tasks.aggregation import manifold_mdav, mdav
from tasks.aggregation.ke_mdav import LocalRule, aggregate
from tasks.partitioning.constraints import Constraints
from tasks.parts import Group, NeighbourParameters, Parameters, Part, Setting, named
from tasks.representation.features import ranks, z_scored
from tasks.types import FloatArray, IntArray, PreparedTable, Progress, Representation

Metric = Literal["latent", "features", "rank"]


class MetricParameters(Parameters):
    """In which space records are near each other."""

    local_metric: Metric = Field(
        "latent",
        description="distances in a leaf: `latent`, `features`, or `rank` (ranks, half-weighted categories)",
    )


class KeMdavParameters(MetricParameters):
    """Hu et al., 2026, section 4.3; `local_metric` is ours."""

    sensitive_weight: Annotated[float, Field(ge=0)] = Field(
        0.1, description="weight of the sensitive values when a left-over record chooses its group"
    )
    max_sensitive_spread: Annotated[float | None, Field(gt=0)] = Field(
        None, description="no group of the local step is grown over so many distinct values, or such a range"
    )


def local_points(table: PreparedTable, where: Representation, metric: Metric) -> FloatArray:
    """Return the points (n, d) that a metric is the distance of."""
    if metric == "features":
        return z_scored(table)
    return ranks(table) if metric == "rank" else where.latent


def _ke_mdav(chosen: KeMdavParameters, setting: Setting) -> Group:
    rule = LocalRule(setting.max_group_size, chosen.sensitive_weight, chosen.max_sensitive_spread)

    def group(
        table: PreparedTable,
        where: Representation,
        labels: IntArray,
        constraints: Constraints,
        progress: Progress,
    ) -> IntArray:
        points = local_points(table, where, chosen.local_metric)
        return aggregate(points, labels, constraints, rule, progress)

    return group


class SizeParameters(Parameters):
    """How many records a group is grown to."""

    group_size: Annotated[int | None, Field(ge=2)] = Field(
        None, description="records that a group is grown to; none, or under it: k"
    )


class MdavParameters(MetricParameters, SizeParameters):
    """The metric, and the fixed size."""


class ManifoldMdavParameters(NeighbourParameters, SizeParameters):
    """The graph, and the fixed size."""


def _mdav(chosen: MdavParameters, _setting: Setting) -> Group:
    def group(
        table: PreparedTable,
        where: Representation,
        labels: IntArray,
        constraints: Constraints,
        progress: Progress,
    ) -> IntArray:
        points = local_points(table, where, chosen.local_metric)
        size = max(chosen.group_size or 0, constraints.k)
        return mdav.aggregate(points, labels, size, progress=progress)

    return group


def _manifold_mdav(chosen: ManifoldMdavParameters, _setting: Setting) -> Group:
    def group(
        _table: PreparedTable,
        where: Representation,
        labels: IntArray,
        constraints: Constraints,
        progress: Progress,
    ) -> IntArray:
        size = max(chosen.group_size or 0, constraints.k)
        return manifold_mdav.aggregate(
            where.latent, labels, size, neighbours=chosen.neighbours, progress=progress
        )

    return group


def _none(_chosen: Parameters, _setting: Setting) -> Group:
    def group(
        _table: PreparedTable,
        _where: Representation,
        labels: IntArray,
        _constraints: Constraints,
        _progress: Progress,
    ) -> IntArray:
        return labels

    return group


AGGREGATIONS = named(
    Part("ke-mdav", "groups of the nearest k that hold the model, in each leaf", KeMdavParameters, _ke_mdav),
    Part("mdav", "groups of the nearest k, farthest first, in each leaf", MdavParameters, _mdav),
    Part("m-mdav", "the same along a graph of neighbours", ManifoldMdavParameters, _manifold_mdav),
    Part("none", "a leaf is a group", Parameters, _none),
)
