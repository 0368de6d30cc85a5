"""The models that are conditions on a group's sensitive values. A new one is a class and one line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from policy.privacy_models import Models
from tasks.privacy.closeness import Closeness
from tasks.privacy.condition import Attribute, Condition
from tasks.privacy.diversity import Distinct, Entropy, Recursive
from tasks.privacy.shares import Alpha, Disclosure, Likeness

CONDITIONS: dict[str, Callable[[Any, Attribute], Condition]] = {
    "distinct_l": lambda model, _: Distinct(model.min),
    "entropy_l": lambda model, _: Entropy(model.min),
    "recursive_cl": lambda model, _: Recursive(model.c, model.l),
    "t_closeness": lambda model, it: Closeness(model.max, it.counts, it.numbers, it.tree),
    "alpha_k": lambda model, it: Alpha(model.alpha, it.listed),
    "beta_likeness": lambda model, it: Likeness(model.max, it.counts),
    "delta_disclosure": lambda model, it: Disclosure(model.max, it.counts),
}


def conditions_of(models: Models, attribute: Callable[[Any], Attribute]) -> tuple[Condition, ...]:
    """Return the conditions that a policy's models set for one sensitive attribute.

    `attribute` gives the attribute as a model lists its values.
    """
    asked = {name: getattr(models, name) for name in CONDITIONS}
    return tuple(
        CONDITIONS[name](model, attribute(model)) for name, model in asked.items() if model is not None
    )
