"""Which groups would fail beside the earlier releases: the gate's own checks, a group at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.geometry.bitsets import ClassIndex, packed, places
from tasks.geometry.space import Boxes, Points, distinct_rows
from tasks.history.intersection import Allowed, History, allowed_values, narrowed, pairwise_fails
from tasks.history.persons import Followed, allowed_by_person
from tasks.types import BoolArray, IntArray

ROWS = 512


class Judge:
    """Tells which groups fail: by `cells`, pairwise and over the whole history, and by person."""

    def __init__(
        self,
        history: History,
        points: Points,
        columns: Sequence[int],
        l_least: int,
        followed: Followed | None = None,
        *,
        cells: bool = True,
    ) -> None:
        self._history = history
        self._cells = cells
        self._columns = columns
        self._l_least = l_least
        self._people = ClassIndex(_as_boxes(points, history.boxes))
        self._by_cells = _Views.of(allowed_values(points, history, columns))
        self._by_person = None
        if followed is not None and followed.anywhere.any():
            self._by_person = _Views.of(allowed_by_person(followed, history, columns))

    def fails(self, boxes: Boxes, members: Sequence[IntArray]) -> BoolArray:
        """Tell for each group, with the records in it, whether it fails, (n,)."""
        failing = np.zeros(len(boxes), dtype=bool)
        for first in range(0, len(boxes), ROWS):
            rows = np.arange(first, min(first + ROWS, len(boxes)))
            failing[rows] = self.fails_in_pairs(boxes.take(rows))
        for row in np.flatnonzero(~failing).tolist():
            failing[row] = self.narrows(boxes.take(np.array([row])), members[row])
        return failing

    def fails_in_pairs(self, boxes: Boxes) -> BoolArray:
        """Tell for each group whether it fails beside a single earlier class, (n,)."""
        if not self._cells:
            return np.zeros(len(boxes), dtype=bool)
        return pairwise_fails(boxes, self._history, self._columns, self._l_least)

    def narrows(self, box: Boxes, members: IntArray) -> bool:
        """Tell whether anybody inside one group's cells, or in the group, is narrowed to under l values."""
        if self._by_person is not None and self._some_narrowed(box, self._by_person, members):
            return True
        if not self._cells:
            return False
        return self._some_narrowed(box, self._by_cells, places(self._people.overlapping(box)[0]))

    def _some_narrowed(self, box: Boxes, views: _Views, rows: IntArray) -> bool:
        for c in self._columns:
            people = views.first[c][np.unique(views.place[c][rows])]
            own = np.repeat(packed(box.present[c]), len(people), axis=0)
            masks, seen = views.allowed.masks[c][people], views.allowed.seen[c][people]
            if narrowed(own, masks, seen, self._l_least).any():
                return True
        return False


@dataclass(frozen=True)
class _Views:
    """What rows are allowed; for each attribute one row of every combination (`first`), and each row's
    combination (`place`).
    """

    allowed: Allowed
    first: dict[int, IntArray]
    place: dict[int, IntArray]

    @classmethod
    def of(cls, allowed: Allowed) -> _Views:
        first, place = {}, {}
        for c, masks in allowed.masks.items():
            columns = [*masks.reshape(len(masks), -1).T, *allowed.seen[c].T]
            first[c], place[c] = distinct_rows(columns)
        return cls(allowed, first, place)


def _as_boxes(points: Points, like: Boxes) -> Boxes:
    """Return each person as a box of one point, so that those inside a class are found by bits."""
    n = len(points)
    unknown = np.isnan(points.numbers)
    return Boxes(
        np.where(unknown, -np.inf, points.numbers),
        np.where(unknown, np.inf, points.numbers),
        tuple(
            codes[:, None] == np.arange(member.shape[1])
            for codes, member in zip(points.codes.T, like.member, strict=True)
        ),
        np.zeros((n, len(like.member)), dtype=bool),
        tuple(np.zeros((n, present.shape[1]), dtype=bool) for present in like.present),
        np.zeros((n, len(like.present)), dtype=bool),
    )
