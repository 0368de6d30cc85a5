"""The sensitive attributes of which a policy limits nothing: everybody of a class may have the same value."""

from __future__ import annotations

from collections.abc import Iterator

from policy.model import ReleasePolicy
from policy.privacy_models import OF_ONE_ATTRIBUTE


def unlimited(policy: ReleasePolicy) -> Iterator[tuple[str, str]]:
    """Yield for each attribute with p_max 1, and no model in its place, the fields and what they say."""
    models = policy.gates.models
    for name, attribute in policy.roles.sensitive.items():
        own = policy.privacy.of(name)
        if own.p_max < 1 or own.h_min > 0 or models.lkc is not None or models.added:
            continue
        if any(getattr(models.of(name), model) is not None for model in OF_ONE_ATTRIBUTE):
            continue
        whole = attribute.type == "categorical" and own.e <= 1
        who = "everybody" if whole else "all but a few"
        place, e = policy.privacy.place(name, "p_max"), policy.privacy.place(name, "e")
        fields = f"{place} and {e}" if whole else place
        yield fields, f"limits nothing: {who} of a class may have the same value of '{name}'"
