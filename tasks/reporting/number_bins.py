"""Bins of numbers between round edges, and the published rows spread over them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import floor, log10

import numpy as np

from tasks.types import FloatArray, IntArray

MOST = 20
ROUND = (1, 2, 5)


@dataclass(frozen=True)
class NumberBins:
    """b bins [edges[i], edges[i + 1]) with `edges` (b + 1,), ascending; the outer ones are open where
    `is_open`.

    `whole` numbers have bins of whole numbers.
    """

    edges: tuple[Decimal, ...]
    whole: bool
    is_open: bool

    def __len__(self) -> int:
        return len(self.edges) - 1

    @property
    def bounds(self) -> FloatArray:
        """The edges as floats, (b + 1,)."""
        return np.array([float(edge) for edge in self.edges])

    @property
    def labels(self) -> list[str]:
        """What the bins are called: `20 to 24`, `20 to under 25`, `under 20`, `90 and more`."""
        named = []
        for number in range(len(self)):
            low, high = self.edges[number], self.edges[number + 1]
            if self.whole:
                named.append(_text(low) if high - low == 1 else f"{_text(low)} to {_text(high - 1)}")
            else:
                named.append(f"{_text(low)} to under {_text(high)}")
        if self.is_open and len(self) == 1:
            return ["all values"]
        if self.is_open:
            named[0], named[-1] = f"under {_text(self.edges[1])}", f"{_text(self.edges[-2])} and more"
        return named

    def place(self, values: FloatArray) -> IntArray:
        """Return the bin of each value (n,), the nearest one for a value outside."""
        return np.searchsorted(self.bounds[1:-1], values, side="right").astype(np.int64)

    def spread(self, low: FloatArray, high: FloatArray, rows: IntArray) -> FloatArray:
        """Return the rows of each bin, (b,), where so many `rows` (n,) lie anywhere in [low, high] (n,).

        Every number, or every whole number, between the two is as likely. O(n b).
        """
        width = high - low + (1.0 if self.whole else 0.0)
        found = np.zeros(len(self.edges))
        for number, edge in enumerate(self.bounds[1:-1], start=1):
            with np.errstate(invalid="ignore", divide="ignore"):
                share = np.where(width > 0, (edge - low) / width, np.where(edge > low, 1.0, 0.0))
            found[number] = (np.clip(share, 0.0, 1.0) * rows).sum()
        found[-1] = rows.sum()
        return np.diff(found)


def number_bins(low: float, high: float, *, whole: bool, is_open: bool = False) -> NumberBins:
    """Return at most 20 bins with round edges (1, 2 or 5 times a power of ten apart) over [low, high].

    Both are numbers that stand in published cells. Whole numbers have bins of one number at least.
    """
    exponent = _exponent(low, high)
    if whole:
        exponent = max(exponent, 0) if low < high else 0
    while True:
        for times in ROUND:
            step = Decimal(times).scaleb(exponent)
            first, last = _below(low, step), _below(high, step)
            if last - first < MOST:
                edges = tuple(step * number for number in range(first, last + 2))
                return NumberBins(edges, whole, is_open)
        exponent += 1


def _exponent(low: float, high: float) -> int:
    """Return a power of ten by which the range is more than so many steps long, or just fits."""
    span = high / MOST - low / MOST
    if span > 0:
        # Steps that are lost beside the numbers themselves would make bins that no float is in.
        return max(floor(log10(span)) - 1, floor(log10(max(abs(low), abs(high)))) - 12)
    return floor(log10(abs(low))) if low else 0


def _below(value: float, step: Decimal) -> int:
    """Return the number of the last edge that is at most `value`, as floats are compared."""
    number = int((Decimal(value) / step).to_integral_value("ROUND_FLOOR"))
    while float(step * (number + 1)) <= value:
        number += 1
    while float(step * number) > value:
        number -= 1
    return number


def _text(edge: Decimal) -> str:
    plain = format(edge.normalize() + 0, "f")
    return plain if len(plain) <= 18 else format(float(edge), "g")
