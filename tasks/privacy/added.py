"""The privacy models of other packages: found by entry points, named under `gates.models.added`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from pydantic import ValidationError

from policy.errors import PolicyError, did_you_mean
from policy.findings import display_value
from policy.model import ReleasePolicy
from policy.privacy_models import Models
from policy.section import Section
from policy.trusted import TRUSTED_FILE
from release_store.records import EquivalenceClasses, GateResult
from tasks.packages import offers, offers_elsewhere
from tasks.privacy.condition import Attribute, Condition
from tasks.types import FloatArray, IntArray

ENTRY_POINTS = "releasegate.privacy_models"
"""The group of entry points under which another package offers a `PrivacyModel`."""


@dataclass(frozen=True)
class PrivacyModel:
    """A privacy model that another package offers.

    `question` is what its gate asks, in one sentence, and `source` where it is from. `parameters` are its
    fields of a policy. `gate` measures the published classes, in which people or households are counted, and
    returns a result of the model's name; it is given the parameters, the classes and the policy. `condition`
    is what a group's values of one sensitive attribute must meet, so that methods make such classes; without
    it the model is a gate alone.
    """

    name: str
    question: str
    source: str
    parameters: type[Section]
    gate: Callable[[Any, EquivalenceClasses, ReleasePolicy], GateResult]
    condition: Callable[[Any, Attribute], Condition] | None = None


@dataclass(frozen=True)
class BoundModel:
    """A privacy model with the parameters that a policy gives it."""

    model: PrivacyModel
    parameters: Section


@dataclass(frozen=True)
class AddedCondition:
    """The condition of another package; groups of which it gives no number do not meet it.

    It looks at each value by itself, whichever are similar.
    """

    condition: Condition

    @property
    def compares(self) -> bool:
        """Whether it looks at the whole table's values too."""
        return self.condition.compares

    def shortfall(self, counts: IntArray, size: IntArray) -> FloatArray:
        """Return how far groups are from the condition, (...,)."""
        return np.nan_to_num(self.condition.shortfall(counts, size), nan=np.inf)

    def among(self, counts: IntArray) -> Self:
        """Return the condition in a table with these counts of values (m,)."""
        return replace(self, condition=self.condition.among(counts))


def added_models() -> dict[str, PrivacyModel]:
    """Return the privacy models of the packages that are trusted, by name.

    Raises PolicyError where an entry point is no privacy model or takes a name that is taken.
    """
    found = dict[str, PrivacyModel]()
    for name, model in offers(ENTRY_POINTS):
        if not _is_model(name, model) or name in found or name in Models.model_fields:
            raise PolicyError(
                "is not a PrivacyModel of that name, or the name is taken",
                where=f"entry point {ENTRY_POINTS}:{name}",
                hint="Fix or remove the package.",
            )
        assert isinstance(model, PrivacyModel)  # noqa: S101 -- `_is_model` looked
        found[name] = model
    return found


def _is_model(name: str, model: object) -> bool:
    if not isinstance(model, PrivacyModel) or model.name != name:
        return False
    return isinstance(model.parameters, type) and issubclass(model.parameters, Section)


def bound_models(models: Models, where: str = "policy") -> dict[str, BoundModel]:
    """Return the added models of a policy with their parameters, by name.

    Raises PolicyError, which names `where`, for a model that no trusted package offers, an unknown parameter,
    and a value out of range.
    """
    if not models.added:
        return {}
    known, found = added_models(), dict[str, BoundModel]()
    for name, given in models.added.items():
        place = f"{where}: gates.models.added.{name}"
        if name not in known:
            raise _unknown(name, known, place)
        parameters = known[name].parameters
        try:
            found[name] = BoundModel(known[name], parameters.model_validate(given))
        except ValidationError as error:
            raise _parameter_error(error, known[name], place) from None
    return found


def _unknown(name: str, known: dict[str, PrivacyModel], place: str) -> PolicyError:
    elsewhere = offers_elsewhere(ENTRY_POINTS)
    if name in elsewhere:
        return PolicyError(
            f"is a privacy model of the package {elsewhere[name]}, which is not trusted here",
            where=place,
            hint=f"The store's owner may name {elsewhere[name]} under packages in {TRUSTED_FILE}.",
        )
    offered = f"Offered here: {', '.join(known)}." if known else "No trusted package offers one."
    return PolicyError(f"unknown privacy model{did_you_mean(name, known)}", where=place, hint=offered)


def _parameter_error(error: ValidationError, model: PrivacyModel, place: str) -> PolicyError:
    # A misspelt parameter is found twice, as unknown and as missing: tell the former.
    first = min(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
    field, known = ".".join(str(part) for part in first["loc"]), list(model.parameters.model_fields)
    if first["type"] == "extra_forbidden":
        finding = f"unknown parameter{did_you_mean(field, known)}"
    elif first["type"] == "missing":
        finding = "is missing"
    else:
        said = first["msg"].replace("Input should be", "should be").replace("Value error, ", "")
        finding = f"{said}, found {display_value(first['input'])}"
    allowed = f"Allowed here: {', '.join(known)}." if known else "It has no parameters."
    return PolicyError(finding, where=f"{place}.{field}" if field else place, hint=allowed)


def added_conditions(models: Models, attribute: Callable[[], Attribute]) -> dict[str, AddedCondition]:
    """Return the conditions that a policy's added models set for one sensitive attribute, by model.

    Raises PolicyError as `bound_models`.
    """
    return {
        name: AddedCondition(bound.model.condition(bound.parameters, attribute()))
        for name, bound in bound_models(models).items()
        if bound.model.condition is not None
    }
