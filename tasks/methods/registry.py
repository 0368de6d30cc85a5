"""The methods that a policy can name. A new one is a new file and one line here."""

from __future__ import annotations

from pydantic import ValidationError

from policy.errors import PolicyError, did_you_mean
from policy.model import ReleasePolicy
from tasks.methods.ae_lrhma import AE_LRHMA
from tasks.methods.base import BoundMethod, Method
from tasks.methods.mondrian import MONDRIAN

METHODS: dict[str, Method] = {method.name: method for method in (AE_LRHMA, MONDRIAN)}


def bound_method(policy: ReleasePolicy, where: str = "policy") -> BoundMethod:
    """Return the policy's method with its parameters checked.

    Raises PolicyError, which names `where`, for an unknown method or parameter, or a value out of range.
    """
    name = policy.method.name
    if name not in METHODS:
        raise PolicyError(
            f"unknown method '{name}'{did_you_mean(name, METHODS)}",
            where=f"{where}: method.name",
            mend=f"Known methods: {', '.join(METHODS)}.",
        )
    method = METHODS[name]
    try:
        parameters = method.parameters.model_validate(policy.method.parameters)
    except ValidationError as error:
        raise _parameter_error(error, method, where) from None
    bound = method.bind(parameters, policy.privacy, policy.seed)
    if bound.max_group_size < policy.privacy.k:
        raise PolicyError(
            f"{bound.max_group_size} is under privacy.k ({policy.privacy.k})",
            where=f"{where}: method.parameters.max_group_size",
            mend="Classes have at least k records: give at least 2k - 1.",
        )
    return bound


def _parameter_error(error: ValidationError, method: Method, where: str) -> PolicyError:
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = list(method.parameters.model_fields)
        finding = f"unknown parameter of {method.name}{did_you_mean(field, known)}"
        mend = f"Allowed here: {', '.join(known)}."
    else:
        finding = first["msg"].replace("Input should be", "should be") + f", found {first['input']!r}"
        mend = f"`releasegate methods {method.name}` lists the parameters."
    return PolicyError(finding, where=f"{where}: method.parameters.{field}", mend=mend)
