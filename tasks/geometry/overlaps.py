"""Which boxes overlap which: by a tree where a box meets few of them, by bits where it meets many."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from tasks.geometry.bitsets import ClassIndex, set_bits
from tasks.geometry.box_tree import Asked, BoxTree, pack_boxes
from tasks.geometry.space import Boxes
from tasks.types import BoolArray, IntArray

FEW = 4096  # boxes, so few that bits are as good
ROWS = 512  # boxes that are compared at once by bits
SAMPLE = 64  # boxes by which it is decided
BITS = 128  # comparisons by bits that take as long as a node of the tree


class Overlaps:
    """N boxes, among which those that other boxes overlap are looked for."""

    def __init__(self, boxes: Boxes) -> None:
        self._boxes = boxes
        self._by_tree: dict[bool, bool] = {}

    def __len__(self) -> int:
        return len(self._boxes)

    @cached_property
    def tree(self) -> BoxTree:
        """The boxes as a tree."""
        return BoxTree(pack_boxes(self._boxes))

    @cached_property
    def bits(self) -> ClassIndex:
        """The boxes, indexed so that those that others overlap are found by bits."""
        return ClassIndex(self._boxes)

    def meets_few(self, boxes: Boxes, asked: Asked | None = None) -> bool:
        """Tell whether boxes like these, of which the first that are asked about decide, meet few.

        With `asked`, as `BoxTree.pairs` takes it, only those pairs count.
        """
        known = self._by_tree.get(asked is not None)
        if len(self) <= FEW or (known is None and not len(boxes)):
            return False
        if known is None:
            sample = np.unique(np.linspace(0, len(boxes) - 1, SAMPLE).astype(np.int64))

            def asked_of_sample(height: int, line: IntArray, node: IntArray) -> BoolArray:
                return np.ones(len(line), dtype=bool) if asked is None else asked(height, sample[line], node)

            visits = self.tree.visits(pack_boxes(boxes.take(sample)), asked_of_sample)
            known = self._by_tree[asked is not None] = visits * BITS < len(sample) * len(self)
        return known

    def pairs(self, boxes: Boxes) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield which of `boxes` overlaps which, ascending, all of one box at once.

        Cost: by the tree about log N and the pairs for each box, by bits N / 64 words a quasi-identifier.
        """
        if self.meets_few(boxes):
            yield from self.tree.pairs(pack_boxes(boxes))
            return
        for first in range(0, len(boxes), ROWS):
            rows = np.arange(first, min(first + ROWS, len(boxes)))
            line, place = set_bits(self.bits.overlapping(boxes.take(rows)))
            yield first + line, place
