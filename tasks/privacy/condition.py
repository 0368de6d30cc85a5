"""What a privacy model asks of the sensitive values of one group, wherever groups are made or judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

from tasks.privacy.value_tree import ValueTree
from tasks.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Attribute:
    """A sensitive attribute: `counts` (m,) of its values in the table, the `numbers` (m,) in whose order they
    stand (nan: a missing one) or None without an order, and which values a model lists, `listed` (m,); and
    the tree of the values, if the model compares them by a hierarchy.
    """

    counts: IntArray
    numbers: FloatArray | None
    listed: BoolArray
    tree: ValueTree | None = None


class Condition(Protocol):
    """A condition that two groups meet together if each does, so that merging groups mends what fails.

    Every condition here is convex in a group's distribution of values, which is what that takes. Of people,
    of whom one may be in both groups, it is so only where the two have nobody in common.
    """

    @property
    def compares(self) -> bool:
        """Whether it looks at the whole table's values too."""

    def shortfall(self, counts: IntArray, size: IntArray) -> FloatArray:
        """Return how far groups are from the condition, (...,), about in records; 0: they meet it.

        `counts` (..., m) of values, `size` (...,) of records, or of people, of whom one may have several
        values.
        """

    def among(self, counts: IntArray) -> Self:
        """Return the condition in a table with these counts of values (m,)."""


@dataclass(frozen=True)
class BesideTheTable:
    """A limit `most` on how a group differs from the whole table, which has the counts `overall` (m,)."""

    most: float
    overall: IntArray
    compares = True

    def among(self, counts: IntArray) -> Self:
        """Return the condition beside a table with these counts (m,)."""
        return replace(self, overall=counts)
