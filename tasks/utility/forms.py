"""TEMPORARY until policy.form and widths land."""

from __future__ import annotations

from enum import StrEnum

from policy.model import ReleasePolicy


class Form(StrEnum):
    CONTAINS = "contains"
    REPLACED = "replaced"
    NOISED = "noised"


def form_of(policy: ReleasePolicy, name: str) -> Form:
    return Form(getattr(policy, "form", lambda _name: "contains")(name))


def widths_of(policy: ReleasePolicy, name: str) -> tuple[float, ...]:
    return getattr(policy.roles.numeric[name], "widths", ())
