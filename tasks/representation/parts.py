"""The representations that a method can name. A new one is a new file and one line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from tasks.partitioning.blocks import blocks
from tasks.parts import (
    BlockParameters,
    BuildContext,
    Component,
    Extra,
    NeighbourParameters,
    Parameters,
    Represent,
    named_parts,
)
from tasks.representation.autoencoder import encode
from tasks.representation.features import Encoding, unit_ranges, z_scored
from tasks.representation.manifold import Metric, isomap, lle
from tasks.types import FloatArray, PreparedTable, Progress, Representation


class FeatureParameters(Parameters):
    """How features are made of the quasi-identifiers (Hu et al., 2026, section 4.3; one-hot is ours)."""

    encoding: Encoding = Field(
        "one-hot", description="of categories in the features (2.5 GB at most); `integer` is the paper's"
    )
    clip: Annotated[float, Field(ge=0, lt=0.5)] = Field(
        0.01, description="share of each number's values that is clipped at either end, in the features"
    )


class AutoencoderParameters(FeatureParameters):
    """Defaults: Hu et al., 2026, Table 1 and section 5.2."""

    latent_dimensions: Annotated[int, Field(ge=1, le=64)] = Field(3, description="r (Table 1)")
    hidden: Annotated[int, Field(ge=1, le=4096)] = Field(32, description="width of the hidden layers")
    epochs: Annotated[int, Field(ge=1, le=10_000)] = Field(50, description="of training (Table 1)")
    batch: Annotated[int, Field(ge=1)] = Field(128, description="rows a step (section 5.2)")
    learning_rate: Annotated[float, Field(gt=0)] = Field(1e-3, description="of Adam (section 5.2)")
    train_sample: Annotated[int, Field(ge=100)] = Field(100_000, description="rows to train on at most")


class ManifoldParameters(FeatureParameters, BlockParameters, NeighbourParameters):
    """The graph of neighbours of the features, block by block."""


class EmbeddingParameters(ManifoldParameters):
    """An embedding of that graph."""

    dimensions: Annotated[int, Field(ge=1, le=64)] = Field(6, description="of the embedding")


class LleParameters(EmbeddingParameters):
    """A locally linear one. Garg and Torra (2023) name a geodesic LLE and do not describe it."""

    metric: Metric = Field(
        "euclidean",
        description="distances by which LLE places a record among its neighbours: `euclidean` or `geodesic`",
    )


def _autoencoder(chosen: AutoencoderParameters, setting: BuildContext) -> Represent:
    def represent(table: PreparedTable, progress: Progress) -> Representation:
        latent, loss = encode(
            z_scored(table, encoding=chosen.encoding, clip=chosen.clip),
            latent_dimensions=chosen.latent_dimensions,
            hidden=chosen.hidden,
            epochs=chosen.epochs,
            batch=chosen.batch,
            learning_rate=chosen.learning_rate,
            train_sample=chosen.train_sample,
            seed=setting.seed,
            rows=table.rows,
            progress=progress,
        )
        return Representation(latent, notes={"reconstruction_loss": loss})

    return represent


def _features(chosen: FeatureParameters, _setting: BuildContext) -> Represent:
    def represent(table: PreparedTable, _progress: Progress) -> Representation:
        return Representation(z_scored(table, encoding=chosen.encoding, clip=chosen.clip))

    return represent


def _unit(_chosen: Parameters, _setting: BuildContext) -> Represent:
    def represent(table: PreparedTable, _progress: Progress) -> Representation:
        return Representation(unit_ranges(table))

    return represent


def _geodesic(chosen: ManifoldParameters, setting: BuildContext) -> Represent:
    def represent(table: PreparedTable, progress: Progress) -> Representation:
        return _in_blocks(table, chosen, setting, progress)

    return represent


def _embedding(embed: Callable[..., FloatArray]) -> Callable[[EmbeddingParameters, BuildContext], Represent]:
    def bind(chosen: EmbeddingParameters, setting: BuildContext) -> Represent:
        def represent(table: PreparedTable, progress: Progress) -> Representation:
            found = _in_blocks(table, chosen, setting, progress)
            latent = embed(
                found.latent,
                found.blocks,
                dimensions=chosen.dimensions,
                neighbours=chosen.neighbours,
                seed=setting.seed,
                progress=progress,
                **chosen.model_dump(include={"metric"}),
            )
            return Representation(latent, found.blocks, found.notes)

        return represent

    return bind


def _in_blocks(
    table: PreparedTable, chosen: ManifoldParameters, setting: BuildContext, progress: Progress
) -> Representation:
    features = z_scored(table, encoding=chosen.encoding, clip=chosen.clip)
    found, notes = blocks(
        unit_ranges(table),
        setting.privacy.k,
        whole_up_to=chosen.whole_up_to,
        block_size=chosen.block_size,
        progress=progress,
    )
    return Representation(features, found, notes)


TORCH = Extra(
    "torch",
    "Run `pip install 'releasegate[autoencoder]' --extra-index-url https://download.pytorch.org/whl/cpu`, "
    "or choose another method.",
)
"""PyTorch; that index has its builds without CUDA."""

REPRESENTATIONS = named_parts(
    Component(
        "autoencoder",
        "latent space of an autoencoder of the features",
        AutoencoderParameters,
        _autoencoder,
        TORCH,
        weighted=True,
    ),
    Component(
        "original",
        "the features: z-scored numbers, encoded categories",
        FeatureParameters,
        _features,
        weighted=True,
    ),
    Component(
        "geodesic",
        "the features, and blocks in which distances go along neighbours",
        ManifoldParameters,
        _geodesic,
    ),
    Component("isomap", "Isomap embedding of the features", EmbeddingParameters, _embedding(isomap)),
    Component("lle", "locally linear embedding of the features", LleParameters, _embedding(lle)),
    Component(
        "unit", "numbers and places of categories, each scaled to [0, 1]", Parameters, _unit, weighted=True
    ),
)
