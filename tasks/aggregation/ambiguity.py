"""Swaps after which a second class contains a person whom one class alone contains.

Our own step. For a person in class g alone (Hu et al., 2026, eq. 12), another class h is widened until it
contains the person as well: a member of g goes to h, and a member of h comes to g in its place. Which classes
are tried, and who is swapped, is chosen by the NCP that the two classes then cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.aggregation.boxes import GroupCells
from tasks.types import BoolArray, FloatArray, IntArray

PEOPLE = 64
PARTNERS = 4
BEST = 3


@dataclass(frozen=True)
class _Swaps:
    """N swaps of the records `one` and `other`, each for the sake of a `person`."""

    person: IntArray
    one: IntArray
    other: IntArray

    def take(self, index: IntArray | BoolArray) -> _Swaps:
        return _Swaps(self.person[index], self.one[index], self.other[index])


def swaps_around(
    groups: GroupCells, single: IntArray, valid: BoolArray, n_classes: int, most_cost: float
) -> tuple[IntArray, IntArray]:
    """Return swaps (N,), (N,) of members of valid groups, at most `BEST` for each person of `single` (s,).

    `single` are members whom their own group alone contains; looked at are the `PEOPLE` for whom it costs
    least to widen another group. After a swap their own group still contains them, and so does one of the
    `n_classes` groups that it costs least to widen. The swap costs under `most_cost`, in units of one
    record's NCP. O(s G + n_classes m) for G groups of m members.
    """
    single = single[valid[groups.group_of[single]]]
    swaps = _all_swaps(groups, single, valid, min(n_classes, len(groups) - 1))
    here, there = groups.group_of[swaps.one], groups.group_of[swaps.other]
    cells = groups.after(here, swaps.one, swaps.other), groups.after(there, swaps.other, swaps.one)
    cost = groups.size[here] * (groups.costs(cells[0]) - groups.cost[here])
    cost += groups.size[there] * (groups.costs(cells[1]) - groups.cost[there])
    in_both = groups.contain(here, swaps.one, swaps.other, cells[0], swaps.person)
    in_both &= groups.contain(there, swaps.other, swaps.one, cells[1], swaps.person)
    best = swaps.take(_cheapest(swaps.person, cost, in_both & (cost < most_cost)))
    return best.one, best.other


def _all_swaps(groups: GroupCells, single: IntArray, valid: BoolArray, n_classes: int) -> _Swaps:
    """Swap each member of a person's group for the members of near groups that the group takes cheapest."""
    here = groups.group_of[single]
    widening = groups.size * groups.added[single]
    widening[:, ~valid] = np.inf
    widening[np.arange(len(single)), here] = np.inf
    first = np.argsort(widening.min(axis=1, initial=np.inf), kind="stable")[:PEOPLE]
    single, here, widening = single[first], here[first], widening[first]
    near = np.argsort(widening, axis=1, kind="stable")[:, :n_classes]
    others = groups.members[near]
    cost = groups.added[others, here[:, None, None]]
    cost[others < 0] = np.inf
    cheapest = np.argsort(cost, axis=2, kind="stable")[:, :, :PARTNERS]
    one = groups.members[here][:, None, :, None]
    other = np.take_along_axis(others, cheapest, axis=2)[:, :, None, :]
    person, one, other = np.broadcast_arrays(single[:, None, None, None], one, other)
    swaps = _Swaps(person.ravel(), one.ravel(), other.ravel())
    swaps = swaps.take((swaps.one >= 0) & (swaps.other >= 0))
    there = groups.group_of[swaps.other]
    return swaps.take(valid[there] & (groups.group_of[swaps.one] != there))


def _cheapest(person: IntArray, cost: FloatArray, usable: BoolArray) -> IntArray:
    """Return the places of the `BEST` cheapest usable swaps of each person."""
    found = np.flatnonzero(usable)
    found = found[np.lexsort([cost[found], person[found]])]
    rank = np.arange(len(found)) - np.searchsorted(person[found], person[found])
    return found[rank < BEST]
