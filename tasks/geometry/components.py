"""Components of two releases: classes that nobody shares with a class of another component.

A person who is in both releases is in a class of each, and their cells overlap. So the people of a component
of overlapping classes are among themselves in both releases, and its totals can be subtracted.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tasks.geometry.bitsets import ClassIndex, set_bits
from tasks.geometry.space import Boxes
from tasks.types import IntArray

ROWS = 512


def components(one: Boxes, other: Boxes) -> tuple[IntArray, IntArray, int]:
    """Return the component of each class of two releases in one space, (n,) and (m,), and how many there are.

    Cost: n times m / 64 words a quasi-identifier, in blocks.
    """
    n, m = len(one), len(other)
    label = np.arange(n + m)
    index = ClassIndex(other)
    for first in range(0, n, ROWS):
        rows = np.arange(first, min(first + ROWS, n))
        line, place = set_bits(index.overlapping(one.take(rows)))
        ends = label[rows[line]], label[n + place]
        arcs = coo_array((np.ones(len(line), dtype=np.int8), ends), shape=(n + m, n + m))
        label = connected_components(arcs, directed=False)[1][label].astype(np.int64)
    found, label = np.unique(label, return_inverse=True)
    return label[:n], label[n:], len(found)
