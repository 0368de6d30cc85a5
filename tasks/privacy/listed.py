"""Which sensitive values a model protects, where a policy may list them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.privacy.similar import any_of, groups_by_attribute, together
from tasks.types import BoolArray, IntArray

Listed = Mapping[str, tuple[str, ...]] | None
"""The values of attributes that a model lists; all of an attribute that is not there, or None: of each."""


def select_values(
    classes: EquivalenceClasses, attribute: str, listed: Listed, policy: ReleasePolicy
) -> BoolArray:
    """Tell which values of an attribute a model protects, (n_values,): listed and similar ones, or all."""
    values = classes.sensitive_values[attribute]
    if listed is None or attribute not in listed:
        return np.ones(len(values), dtype=bool)
    protected = policy.roles.sensitive[attribute].with_similar(listed[attribute])
    return np.array([value in protected for value in values], dtype=bool)


def protected_counts(
    classes: EquivalenceClasses, listed: Listed, policy: ReleasePolicy
) -> dict[str, IntArray]:
    """Return each attribute's counts of protected values, (n_classes, n_protected), similar ones as one."""
    groups = groups_by_attribute(policy.roles, classes.sensitive_values, policy.source.missing_label)
    found = {}
    for name, counts in classes.counts.items():
        protected = any_of(select_values(classes, name, listed, policy), groups.get(name))
        found[name] = (together(counts, groups[name]) if name in groups else counts)[:, protected]
    return found
