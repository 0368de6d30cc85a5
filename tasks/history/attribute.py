"""A sensitive attribute of the tuples of values that people have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Attribute:
    """One sensitive attribute of m tuples: which of its values each tuple has, (m,).

    `number` (values,), where it is numeric: numbers at most `width` apart count as one. `published` (r,)
    tells which releases have it, where not all do: nothing is asked of who is in none of these.
    """

    value: IntArray
    number: FloatArray | None = None
    width: float = 0.0
    published: BoolArray | None = None

    def apart(self, tuples: IntArray, other: int) -> BoolArray:
        """Tell which of some tuples have a value that does not count as one with that of another."""
        if self.number is None or not self.width:
            return np.asarray(self.value[tuples] != self.value[other])
        return np.asarray(
            np.abs(self.number[self.value[tuples]] - self.number[self.value[other]]) > self.width
        )
