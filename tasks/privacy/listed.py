"""Which sensitive values a model protects, where a policy may list them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from release_store.records import EquivalenceClasses
from tasks.types import BoolArray


def select_values(
    classes: EquivalenceClasses, attribute: str, listed: Mapping[str, tuple[str, ...]] | None
) -> BoolArray:
    """Tell which values of an attribute a model protects, (n_values,): the listed ones, or all."""
    values = classes.sensitive_values[attribute]
    if listed is None or attribute not in listed:
        return np.ones(len(values), dtype=bool)
    return np.array([value in listed[attribute] for value in values], dtype=bool)
