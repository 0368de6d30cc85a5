"""What merging groups costs: the normalized certainty penalty of boxes in a space."""

from __future__ import annotations

import numpy as np

from tasks.geometry.space import Boxes, Space
from tasks.types import FloatArray
from tasks.utility.ncp import Scale


class Measure:
    """NCP of boxes in a space."""

    def __init__(self, scale: Scale, space: Space) -> None:
        names = [*space.numeric, *space.domains]
        weights = np.array([scale.weight.get(name, 0.0) for name in names])
        weights = weights / weights.sum()
        spans = [scale.span.get(name, 0.0) for name in space.numeric]
        values = [scale.values.get(name, 1) for name in space.domains]
        n = len(spans)
        self.numbers = [(i, float(weights[i]), span) for i, span in enumerate(spans) if span > 0 < weights[i]]
        """The column of each number that counts, its weight and its span."""
        self.sets = [
            (i, float(weights[n + i]), m) for i, m in enumerate(values) if m > 1 and weights[n + i] > 0
        ]
        """The column of each set that counts, its weight and the number of its values."""

    def ncp(self, boxes: Boxes) -> FloatArray:
        """Return the weighted mean penalty of each box, (n,)."""
        total = np.zeros(len(boxes))
        for column, weight, span in self.numbers:
            width = boxes.high[:, column] - boxes.low[:, column]
            total += weight * np.minimum(width / span, 1.0)
        for column, weight, n_values in self.sets:
            covered = boxes.member[column].sum(axis=1)
            total += weight * np.where(covered > 1, np.minimum(covered / n_values, 1.0), 0.0)
        return total
