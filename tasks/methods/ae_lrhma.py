"""AE-LRHMA (Hu et al., 2026): Mondrian in an autoencoder's latent space, then (k,e)-MDAV in each leaf."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from policy.model import Privacy
from tasks.aggregation.ke_mdav import LocalRule, aggregate
from tasks.methods.base import BoundMethod, Method, Parameters
from tasks.partitioning.constraints import Constraints
from tasks.partitioning.mondrian import SplitRule, partition
from tasks.representation.autoencoder import encode
from tasks.representation.features import ranks, z_scored
from tasks.types import IntArray, PreparedTable, Progress, Representation

LEAF_FACTOR = 24


class AeLrhmaParameters(Parameters):
    """Defaults: Hu et al., 2026, Table 1; `leaf_size` and `local_metric` are ours."""

    representation: Literal["autoencoder", "original"] = "autoencoder"
    encoding: Literal["one-hot", "integer"] = "one-hot"
    clip: Annotated[float, Field(ge=0, lt=0.5)] = 0.01
    latent_dimensions: Annotated[int, Field(ge=1, le=64)] = 3
    hidden: Annotated[int, Field(ge=1, le=4096)] = 32
    epochs: Annotated[int, Field(ge=1)] = 50
    batch: Annotated[int, Field(ge=1)] = 128
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    train_sample: Annotated[int, Field(ge=100)] = 100_000
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
    max_group_size: Annotated[int, Field(ge=2)] | None = None
    local_metric: Literal["latent", "features", "rank"] = "latent"
    sensitive_weight: Annotated[float, Field(ge=0)] = 0.1
    max_sensitive_spread: Annotated[float, Field(gt=0)] | None = None


def bind(parameters: Parameters, privacy: Privacy, seed: int) -> BoundMethod:
    """Fix parameters, model and seed."""
    assert isinstance(parameters, AeLrhmaParameters)  # noqa: S101 -- the registry made them
    chosen = parameters
    max_group_size = chosen.max_group_size or 3 * privacy.k
    rule = SplitRule(
        stop_size=chosen.leaf_size or LEAF_FACTOR * privacy.k,
        alpha=chosen.alpha,
        quantiles=chosen.quantiles,
        min_score=float("-inf") if chosen.min_score is None else chosen.min_score,
        variance_threshold=chosen.variance_threshold,
    )
    local_rule = LocalRule(max_group_size, chosen.sensitive_weight, chosen.max_sensitive_spread)

    def represent(table: PreparedTable, progress: Progress) -> Representation:
        features = z_scored(table, encoding=chosen.encoding, clip=chosen.clip)
        latent, notes = features, {}
        if chosen.representation == "autoencoder":
            latent, loss = encode(
                features,
                latent_dimensions=chosen.latent_dimensions,
                hidden=chosen.hidden,
                epochs=chosen.epochs,
                batch=chosen.batch,
                learning_rate=chosen.learning_rate,
                train_sample=chosen.train_sample,
                seed=seed,
                progress=progress,
            )
            notes = {"reconstruction_loss": loss}
        local = {"latent": lambda: latent, "features": lambda: features, "rank": lambda: ranks(table)}
        return Representation(latent, local[chosen.local_metric](), notes)

    def cut(
        _table: PreparedTable, where: Representation, constraints: Constraints, progress: Progress
    ) -> IntArray:
        return partition(where.latent, constraints, rule, progress)

    def group(
        where: Representation, labels: IntArray, constraints: Constraints, progress: Progress
    ) -> IntArray:
        return aggregate(where.local, labels, constraints, local_rule, progress)

    return BoundMethod("ae-lrhma", chosen, max_group_size, represent, cut, group)


AE_LRHMA = Method(
    name="ae-lrhma",
    summary="Autoencoder, constraint-aware Mondrian in its latent space, (k,e)-MDAV in each leaf, "
    "intervals and sets.",
    source="Hu, Hu, Shen and Zheng (2026), doi:10.20944/preprints202602.0124.v1",
    guarantees="k, e, p_max and h_min in every class, where all records together have them; "
    "overlapping classes.",
    parameters=AeLrhmaParameters,
    bind=bind,
)
