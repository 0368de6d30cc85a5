"""Merged cells as they will be published: a set that has all of the table's values is `*`; with
`recoding: hierarchy`, cells are closed up to it; with `ends: rounded`, intervals end on a grid. With
`recoding: full-domain`, a cell is closed up to its own level: the recoding raises all others to the highest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from policy.model import ReleasePolicy
from tasks.geometry.space import Boxes, Space
from tasks.recoding.closure import Covers, Ranges, closure_of, covers_of
from tasks.recoding.intervals import close_intervals, covering_intervals, interval_levels, with_levels
from tasks.types import BoolArray, IntArray, PreparedTable


@dataclass(frozen=True)
class Closing:
    """What turns the joined cells of groups into those that they are published with.

    It only `widens` them where that may cost: a set that has all of the table's values costs as much as `*`.
    `present` are the values of each set that the table has.
    """

    close: Callable[[Boxes], Boxes]
    widens: bool
    present: Sequence[IntArray]

    def __call__(self, boxes: Boxes) -> Boxes:
        """Return the boxes, closed."""
        return self.close(boxes)

    def close_one(self, boxes: Boxes, place: int) -> None:
        """Close the box at `place`, where it stands."""
        if self.widens:
            closed = self.close(boxes.take(np.array([place])))
            for marks, own in zip(columns_of(boxes), columns_of(closed), strict=True):
                marks[place] = own[0]
            return
        for column, (member, present) in enumerate(zip(boxes.member, self.present, strict=True)):
            own = member[place]
            if len(present) > 1 and (own if len(present) == len(own) else own[present]).all():
                boxes.whole[place, column] = True
            if boxes.whole[place, column]:
                own[:] = True


def closing_of(policy: ReleasePolicy, table: PreparedTable, space: Space) -> Closing:
    """Return what turns the joined cells of groups into those that they are published with."""
    present = [
        np.flatnonzero(np.isin(values, table.domains.get(name, ()))) for name, values in space.domains.items()
    ]
    one_level = policy.method.recoding == "full-domain"
    numeric = {
        column: name
        for column, name in enumerate(space.numeric)
        if name in policy.roles.numeric and not policy.attained(name)
    }
    covers, closures, space_names = dict[int, Covers](), dict[int, Covers | Ranges](), [*space.domains]
    for column, (name, domain) in enumerate(space.domains.items()):
        qi = policy.roles.categorical.get(name)
        if qi is None:
            continue
        if one_level:
            covers[column] = covers_of(qi.tree, domain)
        elif (closure := closure_of(policy, name, domain)) is not None:
            closures[column] = closure

    def close(boxes: Boxes) -> Boxes:
        low, high = (boxes.low.copy(), boxes.high.copy()) if numeric else (boxes.low, boxes.high)
        for column, name in numeric.items():
            both = np.column_stack([low[:, column], high[:, column]])
            if one_level:
                qi = with_levels(policy.roles.numeric[name])
                last = both[:, 1] if qi.type == "integer" else np.nextafter(both[:, 1], both[:, 0])
                inside = np.column_stack([both[:, 0], last])
                level = np.maximum(interval_levels(inside, qi), policy.method.levels.get(name, 0))
                both = covering_intervals(inside, qi, level)
            both = close_intervals(both, name, policy)
            low[:, column], high[:, column] = both.T
        whole, member = boxes.whole.copy(), list[BoolArray]()
        for column, joined in enumerate(boxes.member):
            marks = joined
            if column in closures:
                found, root = closures[column].closed(closures[column].among_all(joined))
                marks = found[:, : joined.shape[1]]
                whole[:, column] |= root
            elif column in covers:
                least = policy.method.levels.get(space_names[column], 0)
                found, root = covers[column].closed(covers[column].among_all(joined), least=least)
                marks = found[:, : joined.shape[1]]
                whole[:, column] |= root
            elif len(present[column]) > 1:
                some = joined if len(present[column]) == joined.shape[1] else joined[:, present[column]]
                whole[:, column] |= some.all(axis=1)
            member.append(marks | whole[:, column, None])
        return replace(boxes, low=low, high=high, member=tuple(member), whole=whole)

    return Closing(close, bool(numeric or covers or closures), present)


def columns_of(boxes: Boxes) -> tuple[NDArray[np.generic], ...]:
    """Return the arrays of the boxes in which a merge changes a row."""
    return boxes.low, boxes.high, boxes.whole, *boxes.member, *boxes.present
