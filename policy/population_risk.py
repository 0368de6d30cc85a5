"""The limits of the gates on risk for a population, of which the source is a sample."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from policy.section import Section, Share

Estimator = Literal["dankar", "pitman", "zayatz", "snb"]


class KMap(Section):
    """k-map: the fewest people of the population that a class may stand for, as weights estimate it."""

    k: Annotated[int, Field(ge=2)]


class PopulationUniqueness(Section):
    """The largest estimated share of people whom nobody in the population shares all values with.

    `values` are the exact quasi-identifiers of the source, or the published cells and kept columns.
    """

    max: Share
    estimator: Estimator = "dankar"
    values: Literal["exact", "published"] = "exact"


class DeltaPresence(Section):
    """delta-presence: between which shares of a population's people of a class may be in the release."""

    min: Share = 0.0
    max: Share

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.min > self.max:
            raise ValueError("min is over max: no release can be between them")
        if self.min == 0 and self.max == 1:
            raise ValueError("min: 0 and max: 1 let every release pass")
        return self
