"""The representations that a method can name. A new one is a new file and one line here."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tasks.parts import Parameters, Part, Represent, Setting, named
from tasks.representation.autoencoder import encode
from tasks.representation.features import Encoding, unit_ranges, z_scored
from tasks.types import PreparedTable, Progress, Representation


class FeatureParameters(Parameters):
    """How features are made of the quasi-identifiers (Hu et al., 2026, section 4.3; one-hot is ours)."""

    encoding: Encoding = "one-hot"
    clip: Annotated[float, Field(ge=0, lt=0.5)] = 0.01


class AutoencoderParameters(FeatureParameters):
    """Defaults: Hu et al., 2026, Table 1 and section 5.2."""

    latent_dimensions: Annotated[int, Field(ge=1, le=64)] = 3
    hidden: Annotated[int, Field(ge=1, le=4096)] = 32
    epochs: Annotated[int, Field(ge=1)] = 50
    batch: Annotated[int, Field(ge=1)] = 128
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    train_sample: Annotated[int, Field(ge=100)] = 100_000


def _autoencoder(chosen: AutoencoderParameters, setting: Setting) -> Represent:
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
            progress=progress,
        )
        return Representation(latent, {"reconstruction_loss": loss})

    return represent


def _features(chosen: FeatureParameters, _setting: Setting) -> Represent:
    def represent(table: PreparedTable, _progress: Progress) -> Representation:
        return Representation(z_scored(table, encoding=chosen.encoding, clip=chosen.clip))

    return represent


def _unit(_chosen: Parameters, _setting: Setting) -> Represent:
    def represent(table: PreparedTable, _progress: Progress) -> Representation:
        return Representation(unit_ranges(table))

    return represent


REPRESENTATIONS = named(
    Part(
        "autoencoder", "latent space of an autoencoder of the features", AutoencoderParameters, _autoencoder
    ),
    Part("original", "the features: z-scored numbers, encoded categories", FeatureParameters, _features),
    Part("unit", "numbers and places of categories, each scaled to [0, 1]", Parameters, _unit),
)
