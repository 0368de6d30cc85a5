"""How many values of each sensitive attribute have to be left, and which of them count as one.

What is left of somebody is worked out by the values themselves, which are published and which every reader
has. Then those that are similar, or numbers of one range, are counted as one: whoever is left with gastritis
and an ulcer is known to have a stomach disease. Taking similar values for one before that would miss what
they tell apart: between {gastritis, flu} and {ulcer, flu} flu alone is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from policy.model import ReleasePolicy
from policy.text import number_of
from tasks.geometry.bitsets import Words, packed
from tasks.geometry.space import Space
from tasks.privacy.similar import groups_of, together
from tasks.types import BoolArray, IntArray


@dataclass(frozen=True)
class Required:
    """At least `least` values of one attribute have to be left, or none.

    `groups` (m,) are those of its m values in a space that count as one; None: each counts.
    """

    least: int
    groups: IntArray | None = None

    @cached_property
    def alike(self) -> Words | None:
        """The values of each group of several as bits, (g, words); None where there is no such group."""
        if self.groups is None:
            return None
        several = np.flatnonzero(np.bincount(self.groups) > 1)
        return packed(several[:, None] == self.groups) if len(several) else None

    def sizes(self, words: Words) -> IntArray:
        """Return how many values each set of `words` (n, words) counts, (n,)."""
        return sizes_of(words, self.alike)

    def counted(self, marks: BoolArray) -> IntArray:
        """Return how many values the marked ones of (..., m) count, (...,)."""
        if self.groups is None:
            return np.asarray(marks.sum(axis=-1))
        return np.asarray((together(marks.astype(np.int64), self.groups) > 0).sum(axis=-1))


def sizes_of(words: Words, alike: Words | None = None) -> IntArray:
    """Return how many values each set of `words` (n, words) has, (n,); those of a row of `alike` are one."""
    counts = np.bitwise_count(words)
    size = np.asarray(counts.sum(axis=1, dtype=np.int64) if words.shape[1] > 1 else counts[:, 0], np.int64)
    for group in () if alike is None else alike:
        size = size - np.maximum(sizes_of(words & group) - 1, 0)
    return size


def required_of(policy: ReleasePolicy, space: Space, attributes: Iterable[str]) -> dict[str, Required]:
    """Return what the policy requires of these attributes, by their values in the space."""
    return {name: required_values(policy, name, space.sensitive[name]) for name in attributes}


def required_values(policy: ReleasePolicy, name: str, values: tuple[str, ...]) -> Required:
    """Return what the policy requires of an attribute that has these values."""
    groups = groups_of(policy.roles.sensitive[name], values, policy.source.missing_label)
    return Required(policy.privacy.of(name).l, groups)


def least_of_each(policy: ReleasePolicy) -> str:
    """Say how many values have to be left: l, and that of each attribute that has its own."""
    own = [f"{name} {least}" for name, least in policy.privacy.own_least().items()]
    return f"l = {policy.privacy.l}" + (f" ({', '.join(own)})" if own else "")


def nearest_to_its_limit(policy: ReleasePolicy, fewest: Mapping[str, int]) -> str:
    """Say which attribute leaves the fewest values above its l, by the `fewest` of each that anybody has.

    "" where no attribute has its own l, or nothing is known.
    """
    if not fewest or not policy.privacy.own_least():
        return ""
    name = min(fewest, key=lambda each: fewest[each] - policy.privacy.of(each).l)
    values = number_of(fewest[name], "value")
    return f"; nearest to its limit is {name}: {values}, l = {policy.privacy.of(name).l}"
