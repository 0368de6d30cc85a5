"""The Pareto front of points of which less is better in both coordinates."""

from __future__ import annotations

from collections.abc import Sequence


def front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return the places of the points that no other one beats, by their first coordinate. O(n log n).

    A point is beaten by one that is no worse in either coordinate and better in one; equal points are all
    kept.
    """
    order = sorted(range(len(points)), key=lambda i: points[i])
    kept: list[int] = []
    for i in order:
        last = points[kept[-1]] if kept else None
        if last is None or points[i][1] < last[1] or points[i] == last:
            kept.append(i)
    return kept
