"""The aggregations that a method can name. A new one is a new file and one line here."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from policy.roles import Roles
from tasks.aggregation import manifold_mdav, mdav
from tasks.aggregation.ke_mdav import LocalRule, aggregate
from tasks.aggregation.polish import PolishRule, polish
from tasks.partitioning.attributes import attributes_of, weights_of
from tasks.partitioning.constraints import Constraints
from tasks.parts import (
    BuildContext,
    Component,
    Group,
    NeighbourParameters,
    Parameters,
    SizeParameters,
    named_parts,
)
from tasks.representation.features import ranks, z_scored
from tasks.types import FloatArray, IntArray, PreparedTable, Progress, Representation

Metric = Literal["latent", "features", "rank", "ncp"]


class MetricParameters(Parameters):
    """In which space records are near each other."""

    local_metric: Metric = Field(
        "latent",
        description="distances: `latent`, `features`, `rank` (ranks, half-weighted categories) or `ncp`",
    )


class KeMdavParameters(MetricParameters, SizeParameters):
    """Hu et al., 2026, section 4.3; metric, planned sizes and polish are ours."""

    sensitive_weight: Annotated[float, Field(ge=0)] = Field(
        0.1, description="weight of the sensitive values when a left-over record chooses its group"
    )
    max_sensitive_spread: Annotated[float | None, Field(gt=0)] = Field(
        None, description="no group of the local step is grown over so many distinct values, or such a range"
    )
    sweeps: Annotated[int, Field(ge=0, le=100)] = Field(
        0, description="times that records are swapped between neighbouring groups at the end, for less NCP"
    )
    overlap_weight: Annotated[float, Field(ge=0)] = Field(
        0.0, description="what one person in a single class costs there, in units of one record's NCP"
    )
    widened_classes: Annotated[int, Field(ge=0, le=1000)] = Field(
        0, description="other classes, cheapest first, that swaps try to widen for each of these people"
    )


def local_points(
    table: PreparedTable, representation: Representation, metric: Metric, roles: Roles
) -> FloatArray:
    """Return the points (n, d) that a metric is the distance of."""
    if metric == "features":
        return z_scored(table)
    if metric == "ncp":
        return attributes_of(table, weights_of(roles)).points()
    return ranks(table) if metric == "rank" else representation.latent


def _ke_mdav(chosen: KeMdavParameters, setting: BuildContext) -> Group:
    planned = None if chosen.group_size is None and chosen.group_factor == 1 else setting.group_size
    rule = LocalRule(setting.max_group_size, chosen.sensitive_weight, chosen.max_sensitive_spread, planned)
    polishing = PolishRule(
        overlap_weight=chosen.overlap_weight,
        widened_classes=chosen.widened_classes,
        sweeps=chosen.sweeps,
        seed=setting.seed,
    )

    def group(
        table: PreparedTable,
        representation: Representation,
        labels: IntArray,
        constraints: Constraints,
        progress: Progress,
    ) -> IntArray:
        points = local_points(table, representation, chosen.local_metric, setting.roles)
        groups = aggregate(points, labels, constraints, rule, progress)
        if not chosen.sweeps:
            return groups
        return polish(
            groups, attributes_of(table, weights_of(setting.roles)), constraints, polishing, progress
        )

    return group


class MdavParameters(MetricParameters, SizeParameters):
    """The metric, and the fixed size."""


class ManifoldMdavParameters(NeighbourParameters, SizeParameters):
    """The graph, and the fixed size."""


def _mdav(chosen: MdavParameters, setting: BuildContext) -> Group:
    def group(
        table: PreparedTable,
        representation: Representation,
        labels: IntArray,
        constraints: Constraints,
        progress: Progress,
    ) -> IntArray:
        points = local_points(table, representation, chosen.local_metric, setting.roles)
        size = max(setting.group_size, constraints.k)
        return mdav.aggregate(points, labels, size, progress=progress)

    return group


def _manifold_mdav(chosen: ManifoldMdavParameters, setting: BuildContext) -> Group:
    def group(
        _table: PreparedTable,
        representation: Representation,
        labels: IntArray,
        constraints: Constraints,
        progress: Progress,
    ) -> IntArray:
        size = max(setting.group_size, constraints.k)
        return manifold_mdav.aggregate(
            representation.latent, labels, size, neighbours=chosen.neighbours, progress=progress
        )

    return group


def _none(_chosen: Parameters, _setting: BuildContext) -> Group:
    def group(
        _table: PreparedTable,
        _where: Representation,
        labels: IntArray,
        _constraints: Constraints,
        _progress: Progress,
    ) -> IntArray:
        return labels

    return group


AGGREGATIONS = named_parts(
    Component(
        "ke-mdav", "groups of the nearest k that hold the model, in each leaf", KeMdavParameters, _ke_mdav
    ),
    Component("mdav", "groups of the nearest k, farthest first, in each leaf", MdavParameters, _mdav),
    Component("m-mdav", "the same along a graph of neighbours", ManifoldMdavParameters, _manifold_mdav),
    Component("none", "a leaf is a group", Parameters, _none, weighted=True),
)
