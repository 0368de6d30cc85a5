"""The privacy models that a policy may ask for beside its own: a gate each, with its thresholds.

A threshold that every release would meet is refused: a gate that cannot fail says nothing.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from policy.section import Section

ProperShare = Annotated[float, Field(gt=0, lt=1)]
SensitiveValues = Annotated[
    dict[str, Annotated[tuple[str, ...], Field(min_length=1)]] | None, Field(min_length=1)
]


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
    """t-closeness: the greatest distance of a class's distribution from the release's."""

    max: Annotated[float, Field(ge=0, lt=1)]


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


class Models(Section):
    """Privacy models that the published classes are held to, each only if it is named."""

    distinct_l: DistinctL | None = None
    entropy_l: EntropyL | None = None
    recursive_cl: RecursiveCL | None = None
    t_closeness: TCloseness | None = None
    alpha_k: AlphaK | None = None
    beta_likeness: BetaLikeness | None = None
    delta_disclosure: DeltaDisclosure | None = None
    km: KM | None = None
    lkc: LKC | None = None

    def known_at_most(self) -> dict[str, int]:
        """How many quasi-identifiers the attackers of k^m-anonymity and LKC-privacy know, by field."""
        known = {}
        if self.km is not None:
            known["km.m"] = self.km.m
        if self.lkc is not None:
            known["lkc.l"] = self.lkc.l
        return known

    def listed_values(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """The lists of sensitive values, by field and attribute."""
        asked = {"alpha_k": self.alpha_k, "lkc": self.lkc}
        return {f"{field}.values": one.values for field, one in asked.items() if one and one.values}
