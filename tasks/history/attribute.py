"""A sensitive attribute of the tuples of values that people have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.types import BoolArray, FloatArray, IntArray


def each_by_itself(_texts: Sequence[str]) -> IntArray | None:
    """Return no groups: each value counts."""
    return None


@dataclass(frozen=True)
class Counting:
    """How the values of an attribute are counted: numbers at most `width` apart as one, and what is alike.

    `groups` returns the group of each of some values, those of one counting as one, or None. So many values
    `more` than of other attributes have to be possible; fewer if it is negative.
    """

    width: float = 0.0
    groups: Callable[[Sequence[str]], IntArray | None] = each_by_itself
    more: int = 0


@dataclass(frozen=True)
class Attribute:
    """One sensitive attribute of m tuples: which of its values each tuple has, (m,); similar ones are one.

    `number` (values,), where it is numeric: numbers at most `width` apart count as one. `published` (r,)
    tells which releases have it, where not all do: nothing is asked of who is in none of these. So many
    values `more` than of others have to be possible, or fewer.
    """

    value: IntArray
    number: FloatArray | None = None
    width: float = 0.0
    published: BoolArray | None = None
    more: int = 0

    def apart(self, tuples: IntArray, other: int) -> BoolArray:
        """Tell which of some tuples have a value that does not count as one with that of another."""
        if self.number is None or not self.width:
            return np.asarray(self.value[tuples] != self.value[other])
        return np.asarray(
            np.abs(self.number[self.value[tuples]] - self.number[self.value[other]]) > self.width
        )


def least_values(attributes: Sequence[Attribute], enough: int) -> IntArray:
    """Return how many values of each attribute have to be possible, (s,), where `enough` of others have."""
    return np.array([enough + each.more for each in attributes], dtype=np.int64)
