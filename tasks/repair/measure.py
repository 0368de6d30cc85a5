"""What merging groups costs: the normalized certainty penalty of boxes in a space."""

from __future__ import annotations

import numpy as np

from tasks.geometry.space import Boxes, Space
from tasks.types import FloatArray
from tasks.utility.ncp import Scale


class Measure:
    """NCP of boxes in a space."""

    def __init__(self, scale: Scale, space: Space) -> None:
        self._names = [*space.numeric, *space.domains]
        weights = np.array([scale.weight.get(name, 0.0) for name in self._names])
        self._weights = weights / weights.sum()
        self._span = np.array([scale.span.get(name, 0.0) for name in space.numeric])
        self._values = [scale.values.get(name, 1) for name in space.domains]

    def ncp(self, boxes: Boxes) -> FloatArray:
        """Return the weighted mean penalty of each box, (n,)."""
        total = np.zeros(len(boxes))
        for column, span in enumerate(self._span):
            if span > 0 and self._weights[column] > 0:
                width = boxes.high[:, column] - boxes.low[:, column]
                total += self._weights[column] * np.minimum(width / span, 1.0)
        for column, n_values in enumerate(self._values):
            weight = self._weights[len(self._span) + column]
            covered = boxes.member[column].sum(axis=1)
            if n_values > 1 and weight > 0:
                total += weight * np.where(covered > 1, np.minimum(covered / n_values, 1.0), 0.0)
        return total
