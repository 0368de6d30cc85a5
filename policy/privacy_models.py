"""The privacy models that a policy may ask for beside its own: a gate each, with its thresholds.

A threshold that every release would meet is refused: a gate that cannot fail says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, model_validator

from policy.roles import Distance, SensitiveAttribute
from policy.section import Section

ProperShare = Annotated[float, Field(gt=0, lt=1)]
SensitiveValues = Annotated[
    dict[str, Annotated[tuple[str, ...], Field(min_length=1)]] | None, Field(min_length=1)
]


AddedName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class DistinctL(Section):
    """Distinct l-diversity: the fewest sensitive values of a class."""

    min: Annotated[int, Field(ge=2)]


class EntropyL(Section):
    """Entropy l-diversity: the least l, where a class's entropy is at least log l."""

    min: Annotated[float, Field(gt=1)]


class RecursiveCL(Section):
    """Recursive (c,l)-diversity: r_1 < c (r_l + ... + r_m) in every class."""

    c: Annotated[float, Field(gt=0)]
    l: Annotated[int, Field(ge=2)]  # noqa: E741 -- the field's own name for it


class TCloseness(Section):
    """t-closeness: the greatest distance of a class's distribution from the release's.

    `distance` is how far apart the values of an attribute are, in place of the attribute's own.
    """

    max: Annotated[float, Field(ge=0, lt=1)]
    # Left out of the document where there is none: the digests of older policies stay.
    distance: dict[str, Distance] = Field(default={}, exclude_if=lambda value: not value)

    def distance_of(self, name: str, attribute: SensitiveAttribute) -> Distance:
        """Return how far apart the values of a sensitive attribute are."""
        return self.distance.get(name, attribute.own_distance)


class AlphaK(Section):
    """(alpha,k)-anonymity: `values` are the sensitive ones of an attribute; where none are given, all."""

    alpha: ProperShare
    k: Annotated[int, Field(ge=2)]
    values: SensitiveValues = None


class BetaLikeness(Section):
    """beta-likeness: the greatest (p - q) / q of a value's share p in a class and q in the release."""

    max: Annotated[float, Field(gt=0)]


class DeltaDisclosure(Section):
    """delta-disclosure privacy: in every class |ln(p / q)| is under `max` for every value of the release."""

    max: Annotated[float, Field(gt=0)]


class KM(Section):
    """k^m-anonymity: at least k rows for whatever m quasi-identifiers somebody knows of a person."""

    k: Annotated[int, Field(ge=2)]
    m: Annotated[int, Field(ge=1)]


class LKC(Section):
    """LKC-privacy: as k^m with L for m; and no sensitive value is inferred with a confidence over C."""

    l: Annotated[int, Field(ge=1)]  # noqa: E741 -- the field's own name for it
    k: Annotated[int, Field(ge=2)]
    c: ProperShare
    values: SensitiveValues = None


class AttributeAlpha(Section):
    """alpha of one sensitive attribute; k is of the class, and the values are those of `models.alpha_k`."""

    alpha: ProperShare


OfOneAttribute = Literal[
    "distinct_l",
    "entropy_l",
    "recursive_cl",
    "t_closeness",
    "alpha_k",
    "beta_likeness",
    "delta_disclosure",
]
OF_ONE_ATTRIBUTE: tuple[str, ...] = get_args(OfOneAttribute)


class AttributeModels(Section):
    """The models of one sensitive attribute, in place of those of all.

    It is not held to those that `without` names.
    """

    distinct_l: DistinctL | None = None
    entropy_l: EntropyL | None = None
    recursive_cl: RecursiveCL | None = None
    t_closeness: TCloseness | None = None
    alpha_k: AttributeAlpha | None = None
    beta_likeness: BetaLikeness | None = None
    delta_disclosure: DeltaDisclosure | None = None
    without: tuple[OfOneAttribute, ...] = ()

    def own(self) -> dict[str, Any]:
        """The models that are set here, by name."""
        found = {name: getattr(self, name) for name in OF_ONE_ATTRIBUTE}
        return {name: model for name, model in found.items() if model is not None}

    @model_validator(mode="after")
    def _not_both(self) -> Self:
        for name in self.without:
            if name in self.own():
                raise ValueError(f"without names '{name}', which is set here: leave one of them out")
        return self


class Models(Section):
    """Privacy models that the published classes are held to, each only if it is named.

    Those of `attributes` are of one sensitive attribute, in place of those that are of all. `added` are those
    of other packages with their parameters, which the packages themselves check.
    """

    distinct_l: DistinctL | None = None
    entropy_l: EntropyL | None = None
    recursive_cl: RecursiveCL | None = None
    t_closeness: TCloseness | None = None
    alpha_k: AlphaK | None = None
    beta_likeness: BetaLikeness | None = None
    delta_disclosure: DeltaDisclosure | None = None
    km: KM | None = None
    lkc: LKC | None = None
    # Left out of the document where there are none: the digests of older policies stay.
    attributes: dict[str, AttributeModels] = Field(default={}, exclude_if=lambda value: not value)
    added: dict[AddedName, dict[str, Any]] = Field(default={}, exclude_if=lambda value: not value)

    @model_validator(mode="after")
    def _of_attributes(self) -> Self:
        for attribute, models in self.attributes.items():
            if models.alpha_k is not None and self.alpha_k is None:
                raise ValueError(f"attributes.{attribute}.alpha_k needs alpha_k, which has k")
            for name in models.t_closeness.distance if models.t_closeness is not None else ():
                if name != attribute:
                    raise ValueError(f"attributes.{attribute}.t_closeness.distance names '{name}'")
            for name in models.without:
                if getattr(self, name) is None:
                    raise ValueError(f"attributes.{attribute}.without names '{name}', which is not asked for")
        return self

    def of(self, attribute: str) -> Models:
        """Return the models that one sensitive attribute is held to."""
        models = self.attributes.get(attribute)
        if models is None:
            return self
        own = models.own() | dict.fromkeys(models.without)
        if models.alpha_k is not None and self.alpha_k is not None:
            own["alpha_k"] = self.alpha_k.model_copy(update={"alpha": models.alpha_k.alpha})
        return self.model_copy(update=own | {"attributes": {}})

    def place(self, attribute: str, model: str) -> str:
        """Return the field that sets a model of a sensitive attribute."""
        models = self.attributes.get(attribute)
        own = models is not None and model in models.own()
        return f"gates.models.attributes.{attribute}.{model}" if own else f"gates.models.{model}"

    def known_at_most(self) -> dict[str, int]:
        """How many quasi-identifiers the attackers of k^m-anonymity and LKC-privacy know, by field."""
        known = {}
        if self.km is not None:
            known["km.m"] = self.km.m
        if self.lkc is not None:
            known["lkc.l"] = self.lkc.l
        return known

    def distances(self) -> Iterator[tuple[str, str, Distance]]:
        """Give the distances of t-closeness: the field, the attribute that it names, and its distance."""
        asked = {"t_closeness": self.t_closeness}
        asked |= {f"attributes.{name}.t_closeness": one.t_closeness for name, one in self.attributes.items()}
        for field, model in asked.items():
            if model is not None:
                yield from ((f"{field}.distance", *each) for each in model.distance.items())

    def listed_values(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """The lists of sensitive values, by field and attribute."""
        asked = {"alpha_k": self.alpha_k, "lkc": self.lkc}
        return {f"{field}.values": one.values for field, one in asked.items() if one and one.values}
