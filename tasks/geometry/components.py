"""Components of two releases: classes that nobody shares with a class of another component.

A person who is in both releases is in a class of each, and their cells overlap. So the people of a component
of overlapping classes are among themselves in both releases, and its totals can be subtracted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tasks.geometry.space import Boxes
from tasks.types import IntArray


class Pairs(Protocol):
    """Classes among which those that boxes overlap are found, as by `Overlaps`."""

    def __len__(self) -> int: ...

    def pairs(self, boxes: Boxes) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield which of `boxes` overlaps which of the classes."""
        ...


def components(one: Boxes, other: Pairs) -> tuple[IntArray, IntArray, int]:
    """Return the component of each class of two releases in one space, (n,) and (m,), and how many there are.

    Numbered in the order of their first classes. Cost: that of `other.pairs`.
    """
    n, m = len(one), len(other)
    label = np.arange(n + m)
    for line, place in other.pairs(one):
        ends = label[line], label[n + place]
        arcs = coo_array((np.ones(len(line), dtype=np.int8), ends), shape=(n + m, n + m))
        label = connected_components(arcs, directed=False)[1][label].astype(np.int64)
    found, label = np.unique(label, return_inverse=True)
    return label[:n], label[n:], len(found)
