"""The recodings that a policy can name. A new one is a new file, a line here, and its form in
`policy.recoding`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from policy.model import ReleasePolicy
from tasks.partitioning.parts import BallParameters
from tasks.parts import BuildContext, Component, NeighbourParameters, Parameters, Recode, named_parts
from tasks.recoding.adaptive import AdaptiveRule, adaptive
from tasks.recoding.crowd import Bound
from tasks.recoding.draws import seed_of
from tasks.recoding.generalize import generalized_rows
from tasks.recoding.quantized import QuantizedRule, quantized
from tasks.recoding.replacement import centroids, medians
from tasks.types import IntArray, PreparedTable, Recoded, Representation


def _generalized(_chosen: Parameters, _setting: BuildContext) -> Recode:
    def recode(
        table: PreparedTable, _where: Representation, labels: IntArray, policy: ReleasePolicy, _seed: int
    ) -> Recoded:
        return generalized_rows(table, labels, policy)

    return recode


class CentroidParameters(Parameters):
    """APMCA's perturbation, as we read its name: noise on a mean that adapts to the group."""

    perturbation: Annotated[float, Field(ge=0, le=100)] = Field(
        0.0, description="scale of Laplace noise on means, in mean absolute deviations of the group; 0: none"
    )


def _centroid(chosen: CentroidParameters, _setting: BuildContext) -> Recode:
    def recode(
        table: PreparedTable, _where: Representation, labels: IntArray, policy: ReleasePolicy, seed: int
    ) -> Recoded:
        drawn = seed_of(table, seed) if chosen.perturbation else 0
        return centroids(table, labels, policy, perturbation=chosen.perturbation, seed=drawn)

    return recode


def _median(chosen: NeighbourParameters, _setting: BuildContext) -> Recode:
    def recode(
        table: PreparedTable,
        representation: Representation,
        labels: IntArray,
        policy: ReleasePolicy,
        _seed: int,
    ) -> Recoded:
        return medians(table, representation, labels, policy, neighbours=chosen.neighbours)

    return recode


class AdaptiveParameters(Parameters):
    """Majeed, Lee and Hwang, 2025, section 5.2; the threshold is 0.65 for two sensitive values, else 0.60."""

    threshold: Annotated[float | None, Field(ge=0, le=1)] = Field(
        None, description="diversity from which a cluster is diverse; none: 0.65 for two values, else 0.60"
    )
    dominance: Annotated[float, Field(gt=0, le=1)] = Field(
        0.5, description="share of a cluster from which a value is its pattern"
    )
    epsilon_kept: Annotated[float, Field(gt=0, le=1)] = Field(
        0.5, description="of a number's noise, in clusters whose categories are kept; over 1 it hides little"
    )
    epsilon_raised: Annotated[float, Field(gt=0, le=1)] = Field(0.3, description="the same in all others")
    noise_on: Literal["record", "cluster"] = Field(
        "record", description="noise on every record's number, or on the cluster's mean"
    )


def _adaptive(chosen: AdaptiveParameters, _setting: BuildContext) -> Recode:
    rule = AdaptiveRule(**chosen.model_dump(include=set(AdaptiveParameters.model_fields)))

    def recode(
        table: PreparedTable,
        representation: Representation,
        labels: IntArray,
        policy: ReleasePolicy,
        seed: int,
    ) -> Recoded:
        return adaptive(table, representation, labels, policy, seed_of(table, seed), rule=rule)

    return recode


class QuantizedParameters(BallParameters):
    """Miche et al., 2016, sections 4.1 and 4.2: the ways to move an outlier and to stir a group."""

    outliers: Literal["noise", "centroid", "member"] = Field(
        "member", description="what an outlier gets where it lies outside its group (eq. 6, 7, 8)"
    )
    stir: Literal["flatten", "shuffle", "resample"] = Field(
        "flatten", description="of a group's quasi-identifiers (eq. 9, 10); only `flatten` makes classes"
    )
    stir_sensitive: Literal["keep", "flatten", "shuffle", "resample"] = Field(
        "keep", description="the same of its sensitive attributes; `flatten` is untrue, and blocked"
    )
    divergence: Annotated[float, Field(gt=0)] = Field(
        0.1, description="greatest Kullback-Leibler divergence of noise and resampling, in nats"
    )


def _quantized(chosen: QuantizedParameters, setting: BuildContext) -> Recode:
    rule = QuantizedRule(
        outliers=chosen.outliers,
        stir=chosen.stir,
        sensitive=chosen.stir_sensitive,
        bound=Bound(chosen.divergence),
        balls=chosen.rule(),
        balls_seed=setting.seed,
    )

    def recode(
        table: PreparedTable,
        representation: Representation,
        labels: IntArray,
        policy: ReleasePolicy,
        seed: int,
    ) -> Recoded:
        return quantized(table, representation, labels, policy, seed_of(table, seed), rule=rule)

    return recode


RECODINGS = named_parts(
    Component(
        "sets",
        "intervals and value sets that hold the group's values",
        Parameters,
        _generalized,
        weighted=True,
    ),
    Component(
        "hierarchy",
        "intervals and sets closed up to the policy's hierarchies",
        Parameters,
        _generalized,
        weighted=True,
    ),
    Component(
        "full-domain",
        "nodes of one level of the hierarchy a column",
        Parameters,
        _generalized,
        weighted=True,
    ),
    Component(
        "centroid", "means and most frequent categories in place of values", CentroidParameters, _centroid
    ),
    Component("median", "the group's median record in place of all", NeighbourParameters, _median),
    Component(
        "adaptive", "categories kept or raised a level, numbers with noise", AdaptiveParameters, _adaptive
    ),
    Component(
        "quantized", "outliers moved into their group, groups stirred", QuantizedParameters, _quantized
    ),
)
