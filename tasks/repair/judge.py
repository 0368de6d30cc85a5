"""Which groups would fail beside the earlier releases: the gate's own checks, a group at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from tasks.geometry.bitsets import Words, packed
from tasks.geometry.box_tree import pack_boxes
from tasks.geometry.candidates import find_containing
from tasks.geometry.cells import cells_of
from tasks.geometry.overlaps import Overlaps
from tasks.geometry.space import Boxes, Points, distinct_rows, point_boxes
from tasks.history.intersection import (
    Allowed,
    History,
    allowed_values,
    narrowed,
    pairwise_fails,
    pairwise_failures,
)
from tasks.history.persons import Followed, allowed_by_person
from tasks.history.required import Required
from tasks.repair.known_pairs import cell_keys
from tasks.types import BoolArray, IntArray

ROWS = 512
MANY = 4096  # groups, beside which people are sooner looked for tile by tile
PAIRS = 1_000_000


class Judge:
    """Tells which groups fail: by `cells`, pairwise and over the whole history, and by person."""

    def __init__(
        self,
        history: History,
        points: Points,
        required: Mapping[int, Required],
        followed: Followed | None = None,
        *,
        cells: bool = True,
    ) -> None:
        self._history = history
        self._cells = cells
        self._required = required
        self._known: dict[bytes, bool] = {}
        self._points = points
        self._people = Overlaps(point_boxes(points, history.boxes))
        self._by_cells = _Views.of(allowed_values(points, history, list(required)))
        self._by_person = None
        if followed is not None and followed.anywhere.any():
            self._by_person = _Views.of(allowed_by_person(followed, history, list(required)))

    def fails_still(self, boxes: Boxes, members: Sequence[IntArray]) -> BoolArray:
        """Tell the same as `fails`; looks only at groups that were not among those of the last call."""
        keys = [
            cell + rows.tobytes() for cell, rows in zip(cell_keys(boxes, boxes.present), members, strict=True)
        ]
        new = np.flatnonzero([key not in self._known for key in keys])
        found = self.fails(boxes.take(new), [members[one] for one in new.tolist()])
        known = self._known | {
            keys[one]: fails for one, fails in zip(new.tolist(), found.tolist(), strict=True)
        }
        self._known = {key: known[key] for key in keys}
        return np.array(list(map(self._known.__getitem__, keys)), dtype=bool)

    def failures(self, boxes: Boxes) -> list[IntArray]:
        """Return beside which earlier classes each group fails, and by which attribute, (m, 2) each."""
        if not self._cells:
            return [np.empty((0, 2), dtype=np.int64)] * len(boxes)
        found = pairwise_failures(boxes, self._history, self._required).T
        found = found[np.argsort(found[:, 0], kind="stable")]
        ends = np.searchsorted(found[:, 0], np.arange(len(boxes) + 1)).tolist()
        return [found[begin:end, 1:] for begin, end in pairwise(ends)]

    def fails_beside(self, failures: Sequence[IntArray], present: Sequence[BoolArray]) -> BoolArray:
        """Tell for each group, with `present[a]` (n, values), if it fails where a part of it does.

        `failures` are those of the part, as `failures` returns them. Cost: their number.
        """
        failing = np.zeros(len(failures), dtype=bool)
        line = np.repeat(np.arange(len(failures)), [len(each) for each in failures])
        place, column = np.concatenate([np.empty((0, 2), dtype=np.int64), *failures]).T
        for c, required in self._required.items():
            at = np.flatnonzero(column == c)
            common = packed(present[c])[line[at]] & self._history.values[c][place[at]]
            failing[line[at[required.sizes(common) < required.least]]] = True
        return failing

    def fails(self, boxes: Boxes, members: Sequence[IntArray]) -> BoolArray:
        """Tell for each group, with the records in it, whether it fails, (n,).

        It fails beside a single earlier class, or somebody inside its cells, or in it, is narrowed to under l
        values.
        """
        failing = np.zeros(len(boxes), dtype=bool)
        if self._cells:
            for first in range(0, len(boxes), ROWS):
                rows = np.arange(first, min(first + ROWS, len(boxes)))
                part = boxes.take(rows)
                failing[rows] = pairwise_fails(part, self._history, self._required)
        own = {c: packed(boxes.present[c]) for c in self._required}
        if self._by_person is not None:
            line = np.repeat(np.arange(len(boxes)), [len(one) for one in members])
            rows = np.concatenate([np.empty(0, dtype=np.int64), *members])
            inside = ~failing[line]
            self._mark_narrowed(failing, own, self._by_person, line[inside], rows[inside])
        if self._cells:
            passing = np.flatnonzero(~failing)
            some = {c: words[passing] for c, words in own.items()}
            for line, point in self._inside(boxes.take(passing), some):
                self._mark_narrowed(failing, own, self._by_cells, passing[line], point)
        return failing

    @cached_property
    def _left(self) -> dict[int, list[Words]]:
        """What all releases leave all people of each node of the tree, for every height, an attribute."""
        return {c: self._people.tree.in_common(left) for c, left in self._by_cells.allowed.by_all().items()}

    def _inside(self, boxes: Boxes, own: dict[int, Words]) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield which group has which points in its cells, some apart who are not narrowed.

        `own` are the values of each group. Whom all releases together leave l of them, no choice narrows: a
        tree need not be looked at below such people. Else, tile by tile where there are many groups.
        """

        def asked(height: int, line: IntArray, node: IntArray) -> BoolArray:
            few = np.zeros(len(line), dtype=bool)
            for c, required in self._required.items():
                left = required.sizes(own[c][line] & self._left[c][height][node])
                few |= left < required.least
            return few

        if self._people.meets_few(boxes, asked):
            yield from self._people.tree.pairs(pack_boxes(boxes), asked)
        elif len(boxes) < MANY:
            yield from self._people.pairs(boxes)
        else:
            for found in find_containing(self._points.numbers, self._points.codes, cells_of(boxes)):
                yield found.classes, np.repeat(found.people, found.n_classes())

    def _mark_narrowed(
        self, failing: BoolArray, own: dict[int, Words], views: _Views, line: IntArray, row: IntArray
    ) -> None:
        """Mark the groups `line` (m,) of which `row` (m,) is in and narrowed."""
        for c, required in self._required.items():
            n_views = max(len(views.first[c]), 1)
            key = np.unique(line * n_views + views.place[c][row])
            group, view = key // n_views, views.first[c][key % n_views]
            for first in range(0, len(key), PAIRS):
                part = slice(first, first + PAIRS)
                masks, seen = views.allowed.masks[c][view[part]], views.allowed.seen[c][view[part]]
                mine = own[c][group[part]]
                short = narrowed(mine, masks, seen, required.least, required.alike)
                failing[group[part][short]] = True


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
