"""Which classes are linked with a person where published values were put in place of people's own.

Such a cell contains nobody for certain. The link is then the nearest of the classes that contain the person
in all other attributes: a number's distance is counted in units of its scale, a category's is 0 or 1, and
all that are equally near are linked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.types import BoolArray, FloatArray, IntArray

PAIRS = 2_000_000
CLOSE = 1e-9
"""Squared distances that differ by less are equal: they are sums of the same terms."""


@dataclass(frozen=True)
class Replaced:
    """The cells that were put in place of values: `columns` of the numbers with `values` (N, c) and the
    `scale` (c,) of their distance; `sets`, columns of the codes, with `member[i]` (N, |domain|).
    """

    columns: IntArray
    values: FloatArray
    scale: FloatArray
    sets: IntArray
    member: tuple[BoolArray, ...]


def nearest(
    people: IntArray,
    starts: IntArray,
    classes: IntArray,
    numbers: FloatArray,
    codes: NDArray[np.int32],
    cells: Replaced,
) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Yield (people, starts, classes) with only the nearest of each person's classes.

    Person `people[i]` has the classes `classes[starts[i]:starts[i + 1]]`; `numbers` (n, p) and `codes` (n, q)
    hold what is known, nan and -1: unknown, which is no distance. Cost: the pairs times the attributes.
    """
    ends = np.append(starts, len(classes))
    first = 0
    while first < len(people):
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + PAIRS, side="right")) - 1)
        here, begins = people[first:last], ends[first:last] - ends[first]
        candidates = classes[ends[first] : ends[last]]
        of = np.repeat(here, np.diff(ends[first : last + 1]))
        far = _distances(of, candidates, numbers, codes, cells)
        least = np.minimum.reduceat(far, begins)
        near = far <= np.repeat(least, np.diff(ends[first : last + 1])) + CLOSE
        count = np.add.reduceat(near.astype(np.int64), begins)
        yield here, np.cumsum(count) - count, candidates[near]
        first = last


def nearest_of_all(
    people: IntArray, numbers: FloatArray, codes: NDArray[np.int32], cells: Replaced
) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Yield the same of `people` where every class may be anybody's: all known cells were replaced.

    Cost: people times classes times attributes.
    """
    n_classes = len(cells.values)
    step = max(1, PAIRS // n_classes)
    held = [np.ascontiguousarray(~member.T) for member in cells.member]
    for first in range(0, len(people), step):
        here = people[first : first + step]
        far = np.zeros((len(here), n_classes))
        for place, column in enumerate(cells.columns.tolist()):
            apart = numbers[here, column][:, None] - cells.values[:, place]
            apart /= cells.scale[place]
            apart *= apart
            far += np.where(np.isnan(apart), 0.0, apart) if np.isnan(apart).any() else apart
        for other, column in zip(held, cells.sets.tolist(), strict=True):
            mine = codes[here, column]
            if len(other):
                far += other[np.maximum(mine, 0)] & (mine >= 0)[:, None]
        person, place_of = np.nonzero(far <= far.min(axis=1, keepdims=True) + CLOSE)
        yield here, np.flatnonzero(np.diff(person, prepend=-1)), place_of


def _distances(
    of: IntArray, classes: IntArray, numbers: FloatArray, codes: NDArray[np.int32], cells: Replaced
) -> FloatArray:
    """Return the squared distance of each pair of person and class, (pairs,)."""
    far = np.zeros(len(of))
    for place, column in enumerate(cells.columns.tolist()):
        apart = (numbers[of, column] - cells.values[classes, place]) / cells.scale[place]
        far += np.where(np.isnan(apart), 0.0, apart * apart)
    for member, column in zip(cells.member, cells.sets.tolist(), strict=True):
        if not member.shape[1]:
            continue
        mine = codes[of, column]
        far += (mine >= 0) & ~member[classes, np.maximum(mine, 0)]
    return far
