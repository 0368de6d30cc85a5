"""Who leaves a table so that somebody has another possible value again, by the solver.

Whoever had another value by the earlier releases alone had it in some world of these. If everybody to whom
such a world gives another value is left out of the table, it is a world of the table's classes too: whoever
stays has the same value in both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from tasks.history.cohorts import ABSENT, Cohorts, cohorts_of, published_of, values_shared, world_of
from tasks.history.neighbourhood import another_world, near, widen
from tasks.history.search import Limits
from tasks.types import BoolArray, IntArray


@dataclass
class Leaving:
    """Looks for worlds of the earlier releases that give few people of the table another value.

    `classes` (n, r): the class of n subjects in each release, or `ABSENT`, those of the table last; `value`
    (n,): the tuple of each; `may` (n,): who may be left out. `calls` counts calls of the solver.
    """

    classes: IntArray
    value: IntArray
    may: BoolArray
    limits: Limits
    calls: int = 0

    def find(self, subject: int, wanted: BoolArray, gone: BoolArray) -> IntArray:
        """Return who has to leave, beside those who are `gone` (n,), so that a subject has a `wanted` value.

        `wanted` (m,) marks tuples. Nobody where no such world was found. Whoever is in the table alone leaves
        it: nothing else tells of them. O(n r log n), and a call of the solver for each of a few growing
        neighbourhoods.
        """
        if (self.classes[subject, :-1] == ABSENT).all():
            return np.array([subject] if self.may[subject] else [], dtype=np.int64)
        if self.calls >= self.limits.calls:
            return np.empty(0, dtype=np.int64)
        classes = self.classes.copy()
        classes[gone, -1] = ABSENT
        cohorts = cohorts_of(classes)
        world = world_of(cohorts, self.value, len(wanted))
        group = np.full(len(cohorts.size), ABSENT, dtype=np.int64)
        group[cohorts.number] = classes[:, -1]
        place = cohorts.place.copy()
        place[:, -1] = ABSENT
        before = replace(cohorts, place=place)
        stays = np.zeros(len(cohorts.size), dtype=bool)
        stays[cohorts.number[~self.may & (classes[:, -1] != ABSENT)]] = True
        other = self._world(before, world, int(cohorts.number[subject]), wanted, group != ABSENT, stays)
        out = _leavers(cohorts, group, self.value, (other - world).tocsr())
        return out if self.may[out].all() else out[:0]

    def _world(
        self,
        before: Cohorts,
        world: csr_array,
        cohort: int,
        wanted: BoolArray,
        here: BoolArray,
        stays: BoolArray,
    ) -> csr_array:
        """Return a world of the earlier releases in which the cohort has a wanted value, or the known one.

        Near the cohort, and of these one that gives few of the cohorts that are `here` another value.
        """
        published = published_of(before, world)
        shared = values_shared(before, published)
        chosen = np.array([cohort], dtype=np.int64)
        while self.calls < self.limits.calls:
            wider = widen(before, np.zeros_like(chosen), chosen)[1]
            wider = wider[~stays[wider] | (wider == cohort)]
            if len(wider) == len(chosen) or int(shared[wider].nnz) > self.limits.variables:
                break
            chosen = wider
            problem = near(before, world, published, shared, np.zeros_like(chosen), chosen)
            wished = ((problem.cohort == cohort) & wanted[problem.value]).astype(float)
            own = np.asarray(world[problem.cohort, problem.value]).reshape(-1)
            self.calls += 1
            answer = another_world(
                problem,
                wished,
                nodes=self.limits.nodes,
                cost=(here[problem.cohort] & (own == 0)).astype(float),
            )
            if answer.world is not None:
                moved = csr_array((answer.world - own, (problem.cohort, problem.value)), world.shape)
                return (world + moved).tocsr()
        return world


def _leavers(cohorts: Cohorts, group: IntArray, value: IntArray, change: csr_array) -> IntArray:
    """Return who of the table gives up a value, where their group would not keep its values otherwise.

    `change` (c, m) is how many more of each cohort have each tuple, `group` (c,) where a cohort is in the
    table.
    """
    change.eliminate_zeros()
    entries = change.tocoo()
    uneven = set()
    for one in np.unique(group[entries.row]).tolist():
        if one != ABSENT and change[np.flatnonzero(group == one)].sum(axis=0).any():
            uneven.add(one)
    found: list[int] = []
    for cohort, given, more in zip(
        entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True
    ):
        if more < 0 and int(group[cohort]) in uneven:
            found += np.flatnonzero((cohorts.number == cohort) & (value == given))[:-more].tolist()
    return np.array(sorted(found), dtype=np.int64)
