"""The groups while they are merged: their cells, sizes, counts of sensitive values and records."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from release_store.records import EquivalenceClasses
from tasks.geometry.space import Boxes, Space, boxes_of, counts_of, distinct_rows
from tasks.repair.closing import Closing
from tasks.sorting import stable_order
from tasks.types import BoolArray, IntArray


@dataclass
class Groups:
    """A group that was merged into another is no longer `alive`, and `parent` tells into which.

    `counts[attribute]` (n, values) records a sensitive value of the space; `members` the records of each.
    """

    boxes: Boxes
    size: IntArray
    counts: dict[str, IntArray]
    alive: BoolArray
    parent: IntArray
    members: list[IntArray]
    close: Closing
    _parts: dict[int, list[int]] = field(default_factory=dict)  # the groups that were merged into each

    @property
    def living(self) -> IntArray:
        """The numbers of the groups that are alive."""
        return np.flatnonzero(self.alive)

    def join(self, group: int, partner: int) -> None:
        """Make `partner` part of `group`."""
        boxes = self.boxes
        boxes.low[group] = np.minimum(boxes.low[group], boxes.low[partner])
        boxes.high[group] = np.maximum(boxes.high[group], boxes.high[partner])
        for marks in (boxes.whole, *boxes.member, *boxes.present):
            marks[group] |= marks[partner]
        self.close.close_one(boxes, group)
        self.size[group] += self.size[partner]
        for counts in self.counts.values():
            counts[group] += counts[partner]
        self.members[group] = np.concatenate([self.members[group], self.members[partner]])
        self.alive[partner] = False
        moved = [*self._parts.pop(partner, []), partner]
        self.parent[moved] = group
        self._parts.setdefault(group, []).extend(moved)

    def merged(self, group: int | IntArray, partners: IntArray) -> Boxes:
        """Return `group`, or each of several, with each of `partners`, in the cells of their publication."""
        boxes, theirs = self.boxes, self.boxes.take(partners)
        return self.close(
            replace(
                theirs,
                low=np.minimum(theirs.low, boxes.low[group]),
                high=np.maximum(theirs.high, boxes.high[group]),
                member=tuple(marks | boxes.member[i][group] for i, marks in enumerate(theirs.member)),
                whole=theirs.whole | boxes.whole[group],
                present=tuple(p | boxes.present[i][group] for i, p in enumerate(theirs.present)),
            )
        )

    def join_equal(self) -> int:
        """Join groups with equal cells, which are one class when they are published; return how many."""
        bits = [np.packbits(member, axis=1) for member in self.boxes.member]
        columns = [*self.boxes.low.T, *self.boxes.high.T, *(column for each in bits for column in each.T)]
        living = self.living
        first, place = distinct_rows([column[living] for column in columns])
        for group, kept in zip(living.tolist(), living[first[place]].tolist(), strict=True):
            if group != kept:
                self.join(kept, group)
        return len(living) - len(first)


def groups_of(labels: IntArray, classes: EquivalenceClasses, space: Space, close: Closing) -> Groups:
    """Return the groups of `labels` (n,), of which `classes` are the cells, in a space that holds them."""
    return Groups(
        boxes_of(classes, space),
        classes.size.copy(),
        counts_of(classes, space),
        np.ones(classes.n_classes, dtype=bool),
        np.arange(classes.n_classes),
        _members(labels, classes.n_classes),
        close,
    )


def _members(labels: IntArray, n_groups: int) -> list[IntArray]:
    """Return the records of each group."""
    kept = np.flatnonzero(labels >= 0)
    order = kept[stable_order(labels[kept])]
    ends = np.cumsum(np.bincount(labels[kept], minlength=n_groups)).tolist()
    return [order[first:end] for first, end in zip([0, *ends], ends, strict=False)]
