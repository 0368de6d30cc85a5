"""Which classes contain which people: blocks of points and classes small enough to hold as a matrix.

Points are grouped by their values of one quasi-identifier after another, most selective first, and
classes that do not contain the value are dropped on the way, so that a block holds only classes that
may contain its points. Nobody loops over people.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tasks.geometry.space import Boxes, Points
from tasks.types import BoolArray, IntArray

BLOCK = 4_000_000


@dataclass(frozen=True)
class Block:
    """`inside[i, j]` tells whether class `classes[j]` contains point `points[i]`; both ascending."""

    points: IntArray
    classes: IntArray
    inside: BoolArray


def blocks(points: Points, boxes: Boxes) -> Iterator[Block]:
    """Yield blocks that hold every point exactly once, with all classes that contain any of them."""
    attributes = list(range(points.numbers.shape[1] + points.codes.shape[1]))
    if not (len(boxes) and len(points)):
        yield from _walk(points, boxes, np.arange(len(points)), np.arange(len(boxes)), [])
        return
    sample = np.linspace(0, len(points) - 1, min(len(points), 64)).astype(np.int64)
    everyone = np.arange(len(boxes))
    shares = [float(_covers(points, boxes, a, sample, everyone).mean()) for a in attributes]
    order = [attributes[i] for i in np.argsort(shares, kind="stable")]
    yield from _walk(points, boxes, np.arange(len(points)), everyone, order)


def _walk(
    points: Points, boxes: Boxes, here: IntArray, classes: IntArray, order: list[int]
) -> Iterator[Block]:
    if not len(here):
        return
    if not order or len(here) * len(classes) <= BLOCK:
        for part in np.array_split(here, max(1, -(-len(here) * max(len(classes), 1) // BLOCK))):
            inside = np.ones((len(part), len(classes)), dtype=bool)
            for attribute in order:
                values = _values(points, attribute)[part]
                distinct, first, place = np.unique(values, return_index=True, return_inverse=True)
                if 2 * len(distinct) < len(part):
                    inside &= _covers(points, boxes, attribute, part[first], classes)[place]
                else:
                    inside &= _covers(points, boxes, attribute, part, classes)
            yield Block(part, classes, inside)
        return
    values = _values(points, order[0])[here]
    _, first, place = np.unique(values, return_index=True, return_inverse=True)
    by_value = np.argsort(place, kind="stable")
    ends = np.cumsum(np.bincount(place))
    for number, representative in enumerate(here[first].tolist()):
        group = here[by_value[ends[number - 1] if number else 0 : ends[number]]]
        covering = _covers(points, boxes, order[0], np.array([representative]), classes)[0]
        yield from _walk(points, boxes, group, classes[covering], order[1:])


def _values(points: Points, attribute: int) -> np.ndarray:
    p = points.numbers.shape[1]
    return points.numbers[:, attribute] if attribute < p else points.codes[:, attribute - p]


def _covers(points: Points, boxes: Boxes, attribute: int, here: IntArray, classes: IntArray) -> BoolArray:
    """Tell which of `classes` cover the attribute's value of the points `here`, (points, classes)."""
    p = points.numbers.shape[1]
    if attribute < p:
        values = points.numbers[here, attribute][:, None]
        low, high = boxes.low[classes, attribute], boxes.high[classes, attribute]
        return np.asarray(((values >= low) & (values <= high)) | np.isnan(values))
    codes = points.codes[here, attribute - p]
    member = boxes.member[attribute - p][classes]
    if not member.shape[1]:  # no release names a value: every class is published as `*`
        return np.ones((len(here), len(classes)), dtype=bool)
    covered = member[:, np.maximum(codes, 0)].T.copy()
    if (codes < 0).any():
        # The source has no such attribute: its people may have any value of it.
        covered[codes < 0] = True
    return np.asarray(covered)
