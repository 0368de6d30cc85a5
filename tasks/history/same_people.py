"""Whether releases hold nearly the same people where the policy does not say so: by the sizes of equal cells.

Who sees that a cell of two releases has 40 and then 41 records, and so on in nearly all of them, takes the
one more for somebody who is new, and reads the value by subtraction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.geometry.space import space_of
from tasks.history.differencing import equal_cells, side_of
from tasks.history.following import follows_people
from tasks.types import IntArray

LEAST_CELLS = 10
LEAST_FEW = (
    8,
    0.1,
)  # cells, and of all: by chance so many hardly change one way; the gate `totals` asks of fewer
OF_CHANCE = 0.2  # of the variance that numbers of other people would have
OTHER_WAY = 0.1  # of the change: so little goes the other way where a table only grows, or only shrinks


@dataclass(frozen=True)
class CloseSizes:
    """How the sizes of `cells` equal cells changed: `few` of them by 1 to k - 1 records."""

    cells: int
    few: int
    growing: bool
    both_ways: bool = False

    def said(self, k: int) -> str:
        """Say it, and what helps."""
        what = "changed" if self.both_ways else "grew" if self.growing else "shrank"
        other = "" if self.both_ways else " and hardly one the other way"
        way = "set `population: cumulative` if it holds everybody of it, or " if what == "grew" else ""
        return (
            f"{self.few:,} of {self.cells:,} equal cells {what} by under {k} records{other}, "
            "as if nearly the same people were in both, against the policy's `population`: "
            f"{way}name the people's column in roles.key"
        )


def close_sizes(before: IntArray, now: IntArray, k: int, *, one_way: bool = True) -> CloseSizes | None:
    """Return how equal cells' sizes, (n,) each, changed if they are as of the same people.

    If they change `one_way` only: samples with a quota in each cell are close both ways, of other people.
    The numbers of other people, Poisson with the same ratio r, differ by a variance of now + r^2 before.
    """
    if len(now) < LEAST_CELLS:
        return None
    ratio = now.sum() / before.sum()
    spread = ((now - ratio * before) ** 2).sum() / (now + ratio**2 * before).sum()
    change = now - before
    rose, fell = int(change[change > 0].sum()), -int(change[change < 0].sum())
    both_ways = min(rose, fell) > OTHER_WAY * max(rose, fell)
    few = int(((change != 0) & (np.abs(change) < k)).sum())
    if (
        few < max(LEAST_FEW[0], LEAST_FEW[1] * len(now))
        or spread > OF_CHANCE
        or (both_ways and (one_way or len(now) < 2 * LEAST_CELLS))
    ):
        return None
    return CloseSizes(len(now), few, rose > fell, both_ways)


def same_people(
    candidate: EquivalenceClasses,
    earlier: Sequence[tuple[str, EquivalenceClasses]],
    policy: ReleasePolicy,
    apart: Sequence[tuple[int, int]],
) -> dict[str, CloseSizes]:
    """Return the earlier releases that hold nearly the same people as the candidate, without saying so.

    Nothing where the policy says so (`cumulative`), or follows people, whom the gates then compare.
    `apart` is as in `history_of`. Cost: candidate classes times earlier classes, in bits.
    """
    if policy.population == "cumulative" or follows_people(policy) or not earlier:
        return {}
    space = space_of([candidate, *(classes for _, classes in earlier)], None)
    ours = side_of([("", candidate)], space, policy, [(0, 0)])
    theirs = side_of(earlier, space, policy, apart)
    mine, place = equal_cells(ours, theirs)
    of_release = theirs.release[place]
    found = {}
    for number, name in enumerate(theirs.names):
        here = of_release == number
        close = close_sizes(theirs.size[place[here]], ours.size[mine[here]], policy.privacy.k)
        if close is not None:
            found[name] = close
    return found
