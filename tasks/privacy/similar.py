"""Similar sensitive values as one: a class of stomach diseases alone tells enough (Li et al., 2007)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from policy.roles import Roles, SensitiveAttribute
from policy.text import one_spelling
from tasks.types import BoolArray, IntArray


def groups_of(attribute: SensitiveAttribute, values: Sequence[str], missing_label: str) -> IntArray | None:
    """Return the group of each of m values, (m,), in the order of their first values; None: each is its own.

    Texts that look alike (`one_spelling`) are one. A missing value is a group of its own, and so is what is
    no number of a numeric attribute.
    """
    texts = [*map(one_spelling, values)]
    if not attribute.similar and not attribute.ranges and len({*texts}) == len(texts):
        return None
    names: list[object] = []
    alike = enumerate(attribute.similar)
    listed = {one_spelling(value): group for group, members in alike for value in members}
    for value in texts:
        range_ = None if value == missing_label else _range(attribute, value)
        names.append(listed.get(value, value) if range_ is None else range_)
    number = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return np.array([number[name] for name in names], dtype=np.int64)


def _range(attribute: SensitiveAttribute, value: str) -> int | None:
    """Return the number of the range that a number is in, each up to its end and without it."""
    try:
        return (
            int(np.searchsorted(attribute.ranges, float(value), side="right")) if attribute.ranges else None
        )
    except ValueError:
        return None


def groups_by_attribute(
    roles: Roles, values: Mapping[str, Sequence[str]], missing_label: str
) -> dict[str, IntArray]:
    """Return the groups (m,) of each attribute's values, where they do not each count by themselves."""
    there = [name for name in roles.sensitive if name in values]
    found = {name: groups_of(roles.sensitive[name], values[name], missing_label) for name in there}
    return {name: groups for name, groups in found.items() if groups is not None}


def together(counts: IntArray, groups: IntArray) -> IntArray:
    """Return the counts (..., g) of groups of values from those of the values (..., m)."""
    order = np.argsort(groups, kind="stable")
    if not len(order):
        return counts
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    return np.asarray(np.add.reduceat(counts[..., order], starts, axis=-1))


def any_of(marks: BoolArray, groups: IntArray | None) -> BoolArray:
    """Tell of which groups (g,) a value is marked; `marks` (m,)."""
    if groups is None:
        return marks
    return np.asarray(together(marks.astype(np.int64), groups) > 0)
