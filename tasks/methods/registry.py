"""The methods that a policy can name, those of other packages too, and their parts bound to a policy."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import Any, TypeVar

from pydantic import Field, ValidationError, create_model

from policy.errors import PolicyError, UsageError, did_you_mean
from policy.findings import display_value
from policy.model import ReleasePolicy
from policy.recoding import contains_its_people
from policy.trusted import TRUSTED_FILE
from tasks.aggregation.parts import AGGREGATIONS
from tasks.methods.base import BoundMethod, Method
from tasks.methods.presets import PRESETS
from tasks.packages import offers, offers_elsewhere
from tasks.partitioning.full_domain import check_levels
from tasks.partitioning.parts import PARTITIONS
from tasks.parts import (
    BuildContext,
    CommonParameters,
    Component,
    Cut,
    Group,
    Parameters,
    Recode,
    Represent,
    SizeParameters,
)
from tasks.recoding.parts import RECODINGS
from tasks.representation.parts import REPRESENTATIONS

ENTRY_POINTS = "releasegate.methods"
"""The group of entry points under which another package offers a `Method`."""

F = TypeVar("F")
Chosen = tuple[Component[Represent], Component[Cut], Component[Group], Component[Recode]]


def methods() -> dict[str, Method]:
    """Return the methods by name: ours, then those of the packages that are trusted.

    Raises PolicyError where a package's entry point is no method or takes a name that is taken.
    """
    found = {method.name: method for method in PRESETS}
    for name, method in offers(ENTRY_POINTS):
        if not isinstance(method, Method) or method.name != name or method.name in found:
            raise PolicyError(
                "is not a Method of that name, or the name is taken",
                where=f"entry point {ENTRY_POINTS}:{name}",
                hint="Fix or remove the package.",
            )
        found[method.name] = method
    return found


def bound_method(policy: ReleasePolicy, where: str = "policy") -> BoundMethod:
    """Return the policy's method with its parts bound to its parameters.

    Raises PolicyError, which names `where`, for an unknown method, part or parameter, for a value out of
    range, and where the method's own recoding replaces values and the policy does not say so. Raises
    UsageError where a part needs a package that is not installed.
    """
    name = policy.method.name
    if name not in methods() and name in (elsewhere := offers_elsewhere(ENTRY_POINTS)):
        raise PolicyError(
            f"'{name}' is a method of the package {elsewhere[name]}, which is not trusted here",
            where=f"{where}: method.name",
            hint=f"The store's owner may name {elsewhere[name]} under packages in {TRUSTED_FILE}.",
        )
    method = _known(name, methods(), "method", f"{where}: method.name")
    chosen = _chosen(policy, method, where)
    _check_recoding(policy, method, where)
    _check_installed(name, chosen, where)
    try:
        parameters = parameters_of(method, chosen).model_validate(policy.method.parameters)
    except ValidationError as error:
        raise _parameter_error(error, method, parameters_of(method, chosen), where) from None
    assert isinstance(parameters, CommonParameters)  # noqa: S101 -- made so
    max_group_size = parameters.max_group_size or 3 * policy.privacy.k
    if max_group_size < 2 * policy.privacy.k - 1:
        raise PolicyError(
            f"{max_group_size} is under 2k - 1 for privacy.k {policy.privacy.k}",
            where=f"{where}: method.parameters.max_group_size",
            hint="Fewer than 2k records cannot be two classes: give at least 2k - 1.",
        )
    check_levels(policy.roles, policy.method.levels)
    represent, cut, group, recode = chosen
    k = policy.privacy.k
    setting = BuildContext(
        policy.roles,
        policy.privacy,
        policy.seed,
        max_group_size,
        _group_size(parameters, k),
        grouped=group.name != "none",
        max_suppression=policy.gates.suppression.max,
        levels=policy.method.levels,
        closures={name: policy.closure(name) for name in policy.roles.categorical},
        representation=represent.name,
        missing=policy.source.missing_label,
    )
    return BoundMethod(
        name,
        (represent.name, cut.name, group.name, recode.name),
        parameters,
        max_group_size,
        parameters.fragment_size,
        policy.seed,
        _n_weighted(represent, cut, group),
        not all(part.weighted for part in chosen),
        represent.bind(parameters, setting),
        cut.bind(parameters, setting),
        group.bind(parameters, setting),
        recode.bind(parameters, setting),
    )


def parts_of(method: Method) -> Chosen:
    """Return the four parts of a preset as it is."""
    return (
        _part(method.representation, REPRESENTATIONS),
        _part(method.partition, PARTITIONS),
        _part(method.aggregation, AGGREGATIONS),
        RECODINGS[method.recoding],
    )


def parameters_of(method: Method, chosen: Chosen | None = None) -> type[Parameters]:
    """Return the model of all parameters of the chosen parts, or the method's, with the method's defaults."""
    parts = parts_of(method) if chosen is None else chosen
    models: list[type[Parameters]] = [*(part.parameters for part in parts), CommonParameters]
    # A model that another one extends is in it already.
    bases = tuple(
        model
        for model in dict.fromkeys(models)
        if not any(model is not other and issubclass(other, model) for other in models)
    )
    make: Any = create_model  # pydantic's plugin for mypy takes a model made at run time for no type
    joined = make("Parameters", __base__=bases)
    fields: dict[str, Any] = {
        name: (info.rebuild_annotation(), Field(method.defaults[name], description=info.description))
        for name, info in joined.model_fields.items()
        if name in method.defaults
    }
    made: type[Parameters] = make(f"{method.name} parameters", __base__=joined, **fields)
    return made


def _chosen(policy: ReleasePolicy, method: Method, where: str) -> Chosen:
    asked = policy.method
    represent, cut, group, _ = parts_of(method)
    if asked.representation is not None:
        represent = _known(
            asked.representation, REPRESENTATIONS, "representation", f"{where}: method.representation"
        )
    if asked.partition is not None:
        cut = _known(asked.partition, PARTITIONS, "partition", f"{where}: method.partition")
    if asked.aggregation is not None:
        group = _known(asked.aggregation, AGGREGATIONS, "aggregation", f"{where}: method.aggregation")
    return represent, cut, group, RECODINGS[asked.recoding]


def _check_recoding(policy: ReleasePolicy, method: Method, where: str) -> None:
    """Raise PolicyError where the method has a recoding of its own and nobody said which is to be."""
    if method.recoding == "sets" or "recoding" in policy.method.model_fields_set:
        return
    untrue = "cells that may be untrue of people"
    cells = "cells of one level a column" if contains_its_people(method.recoding) else untrue
    raise PolicyError(
        f"{method.name} publishes {cells} ('{method.recoding}')",
        where=f"{where}: method.recoding",
        hint=f"Set `recoding: {method.recoding}` if that is intended, or `recoding: sets`.",
    )


def _check_installed(name: str, chosen: Chosen, where: str) -> None:
    """Raise UsageError where a part of the method needs a package that is not installed."""
    for extra in [part.extra for part in chosen if part.extra is not None]:
        if not extra.is_installed():
            raise UsageError(
                f"{name} needs the package {extra.package}, which is not installed",
                where=f"{where}: method",
                hint=extra.hint,
            )


def _n_weighted(*parts: Component[Any]) -> int:
    """Return how many of the parts take distinct records, before the first that does not."""
    return len([*takewhile(lambda part: part.weighted, parts)])


def _group_size(parameters: Parameters, k: int) -> int:
    return parameters.size(k) if isinstance(parameters, SizeParameters) else k


def _part(part: str | Component[F], known: Mapping[str, Component[F]]) -> Component[F]:
    return known[part] if isinstance(part, str) else part


def _known(name: str, known: Mapping[str, F], what: str, where: str) -> F:
    if name not in known:
        raise PolicyError(
            f"unknown {what} {display_value(name)}{did_you_mean(name, known)}",
            where=where,
            hint=f"Known {what}s: {', '.join(known)}.",
        )
    return known[name]


def _parameter_error(
    error: ValidationError, method: Method, model: type[Parameters], where: str
) -> PolicyError:
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = list(model.model_fields)
        finding = f"unknown parameter of {method.name}{did_you_mean(field, known)}"
        hint = f"Allowed here: {', '.join(known)}."
    else:
        finding = first["msg"].replace("Input should be", "should be") + f", found {first['input']!r}"
        hint = f"Run `releasegate methods {method.name}` to list the parameters."
    return PolicyError(finding, where=f"{where}: method.parameters.{field}", hint=hint)
