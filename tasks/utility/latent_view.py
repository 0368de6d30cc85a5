"""What may be shown of a latent space: counts of records in hexagons, and the centres of classes.

A hexagon, like a class, is shown only if it holds at least `least` records, so that nobody's record can be
told. Regions are classes put together by where their centres lie, for colouring only (Hu et al., 2026,
section 5.4, figures 4 and 5).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tasks.types import FloatArray, IntArray

HEXAGONS = 36  # side by side
REGIONS = 8


@dataclass(frozen=True)
class LatentView:
    """Two dimensions of a representation, before and after.

    Before: `hexagons` (h, 2) centres with `count` (h,) records, most of which lie in classes of
    `hexagon_region` (h,); `step` (2,) how far the hexagons' centres are apart. After: `centres` (c, 2) of
    classes of `size` (c,) in `region` (c,). `n_hidden` records lie in hexagons that are left out,
    `n_hidden_classes` classes are left out.
    """

    hexagons: FloatArray
    count: IntArray
    hexagon_region: IntArray
    step: FloatArray
    centres: FloatArray
    size: IntArray
    region: IntArray
    n_hidden: int
    n_hidden_classes: int


def latent_view(latent: FloatArray, groups: IntArray, least: int) -> LatentView:
    """Return what may be shown of `latent` (n, r) whose records are in `groups` (n,), -1: in none. O(n log
    n).
    """
    points = np.zeros((len(latent), 2))
    points[:, : min(2, latent.shape[1])] = latent[:, :2]
    number, step, centre_of = hexagons(points)
    inside = groups >= 0
    centres, size = centres_of(points[inside], groups[inside])
    shown = np.flatnonzero(size >= least)
    region = np.full(len(size), -1, dtype=np.int64)
    region[shown] = _regions(centres[shown], size[shown])
    region_of = np.full(len(points), -1, dtype=np.int64)
    region_of[inside] = region[groups[inside]]
    distinct, place, count = np.unique(number, return_inverse=True, return_counts=True)
    most = np.zeros((len(distinct), REGIONS + 1), dtype=np.int64)
    np.add.at(most, (place, region_of), 1)  # the last column is of those in no region
    kept = count >= least
    return LatentView(
        centre_of(distinct[kept]),
        count[kept],
        most[kept, :REGIONS].argmax(axis=1),
        step,
        centres[shown],
        size[shown],
        region[shown],
        int(count[~kept].sum()),
        len(size) - len(shown),
    )


def centres_of(points: FloatArray, groups: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the mean and the number of the points (n, 2) of each group, (g, 2) and (g,)."""
    n_groups = int(groups.max(initial=-1)) + 1
    size = np.bincount(groups, minlength=n_groups).astype(np.int64)
    total = [np.bincount(groups, weights=axis, minlength=n_groups) for axis in points.T]
    return np.column_stack(total) / np.maximum(size, 1)[:, None], size


def hexagons(points: FloatArray) -> tuple[IntArray, FloatArray, Callable[[IntArray], FloatArray]]:
    """Return the number of each point's hexagon (n,), the step, and a function from numbers to centres.

    Hexagons lie on two rectangular lattices, the second one half a step aside; a point is in the nearer
    centre's. Steps have two digits and both lattices lie on multiples of half a step, so that no centre tells
    where the outermost point lies.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    step = _two_digits(span / np.array([HEXAGONS, HEXAGONS / np.sqrt(3)]))
    low = np.floor(low / step) * step
    scaled = (points - low) / step
    even, odd = np.rint(scaled), np.floor(scaled)
    weight = np.array([1.0, 3.0])
    far_even = ((scaled - even) ** 2 * weight).sum(axis=1)
    far_odd = ((scaled - odd - 0.5) ** 2 * weight).sum(axis=1)
    is_odd = far_odd < far_even
    lattice = np.where(is_odd[:, None], 2 * odd + 1, 2 * even).astype(np.int64)
    wide = 4 * HEXAGONS
    number = lattice[:, 0] + wide * lattice[:, 1]

    def centre_of(numbers: IntArray) -> FloatArray:
        return np.asarray(low + step * np.column_stack([numbers % wide, numbers // wide]) / 2)

    return number, step, centre_of


def _two_digits(step: FloatArray) -> FloatArray:
    unit = 10.0 ** (np.floor(np.log10(step)) - 1)
    return np.asarray(np.ceil(step / unit) * unit)


def _regions(centres: FloatArray, size: IntArray) -> IntArray:
    """Return the region of each class, numbered from the left."""
    from sklearn.cluster import KMeans

    distinct = len(np.unique(centres, axis=0))
    if not distinct:
        return np.zeros(0, dtype=np.int64)
    found = KMeans(min(REGIONS, distinct), n_init=4, random_state=0).fit(centres, sample_weight=size)
    order = np.lexsort(found.cluster_centers_.T[::-1])
    return np.asarray(np.argsort(order)[found.labels_], dtype=np.int64)
