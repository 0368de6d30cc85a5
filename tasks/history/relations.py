"""Columns of a release that tell what other columns told in an earlier one, and so link the rows of both.

Questions compare a column with itself. A column of last period's values, a running total, a number that
became a band, a column under another name: whoever sees what they are links the rows of the two releases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations, product

import numpy as np
import pandas as pd

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.history.changes import PATH
from tasks.history.dependence import Column, is_equal, is_function, is_most, is_sum
from tasks.history.questions import Question, followed_attributes
from tasks.history.spells import OTHERS
from tasks.history.subjects import Rows, Unfit
from tasks.types import BoolArray, IntArray

MOST_COMPARED = 2_000  # people of two releases, about, for time: a relation of most shows among these
MOST_IN_CELLS = 500  # the same for cells, each of which is compared with everybody's value
LEAST_WITHIN = 3  # people, beyond chance, whose value lies in their cell


def check_relations(
    policy: ReleasePolicy,
    releases: Sequence[Rows],
    classes: Sequence[EquivalenceClasses],
    stable: Sequence[str],
    asked: Sequence[Question],
) -> None:
    """Raise Unfit where a column of the last release tells what another one of an earlier release told.

    What `stable` attributes and the `asked` questions link does not count, nor do columns of which the policy
    accepts that they link rows. `classes` are those of each release. O(releases x columns^3) comparisons of
    about MOST_COMPARED people, and O(rows).
    """
    for at in range(len(releases) - 1):
        for before, after in _Pair(policy, releases, classes, at, stable, asked).relations():
            raise Unfit(
                f"{after} tells what {before} was in an earlier release, for most people or for those with "
                "rare values, which links rows of the two releases: leave out one of these columns, or, if "
                "it is a kept one, accept the link by `gates.worlds.kept: accept`"
            )


class _Pair:
    """An earlier release and the last one: the n people in both."""

    def __init__(
        self,
        policy: ReleasePolicy,
        releases: Sequence[Rows],
        classes: Sequence[EquivalenceClasses],
        at: int,
        stable: Sequence[str],
        asked: Sequence[Question],
    ) -> None:
        self._policy, self._stable, self._asked, self._at = policy, stable, asked, at
        self._rows, self._classes = (releases[at], releases[-1]), (classes[at], classes[-1])
        before = pd.Index(np.array(self._rows[0].person, dtype=object))
        known = np.flatnonzero(pd.notna(np.array(self._rows[1].person, dtype=object)))
        there = before.get_indexer(np.array(self._rows[1].person, dtype=object)[known])
        self._places: tuple[IntArray, IntArray] = there[there >= 0], known[there >= 0]
        self._linked: dict[str, BoolArray] = {}

    def relations(self) -> Iterator[tuple[str, str]]:
        """Yield each column of the earlier release, or two, and what tells it in the last one."""
        before, after = (self._columns(release) for release in (0, 1))
        for one, other in product(before, after):
            some = self._unlinked(one, other)
            if len(some) < LEAST_WITHIN:
                continue
            a, b = self._column(0, one, some), self._column(1, other, some)
            if is_equal(a, b) or is_function(a, b):
                yield one, other
        for total, release in [*((name, 0) for name in before), *((name, 1) for name in after)]:
            some = self._unlinked(total)
            column = self._column(release, total, some)
            if len(some) < LEAST_WITHIN or not column.are_numbers:
                continue
            others = {name: self._column(1 - release, name, some) for name in (after, before)[release]}
            numbers = [name for name, each in others.items() if each.are_numbers]
            for parts in combinations(numbers, 2):
                if is_sum(column, (others[parts[0]], others[parts[1]])):
                    both = " with ".join(parts)
                    yield (both, total) if release else (total, both)
        yield from self._of_cells(before, after)

    def _columns(self, release: int) -> list[str]:
        """Return the columns that a release published of which the policy does not accept that they link."""
        rows, policy = self._rows[release], self._policy
        accepted = set(rows.kept or ()) if policy.gates.worlds.kept == "accept" else set()
        if policy.gates.transient == "ignore":
            accepted |= set(policy.roles.sensitive) - set(followed_attributes(policy)[0])
        return [name for name in rows.texts if name not in rows.filled and name not in accepted]

    def _column(self, release: int, name: str, some: IntArray) -> Column:
        rows, place = self._rows[release], self._places[release][some]
        codes = rows.of(name)[place]
        return Column([rows.texts[name][code] for code in codes.tolist()])

    def _unlinked(self, *names: str, most: int = MOST_COMPARED) -> IntArray:
        """Return people whose rows none of the columns links, as it is compared with itself already.

        Of more than `most`, those of every so many classes: neither who they are nor their order follows from
        the key under which people are hashed.
        """
        some = np.flatnonzero(~np.logical_or.reduce([self._is_linked(name) for name in names]))
        place = self._rows[1].place[self._places[1][some]]
        some = some[place % -(-len(some) // most) == 0] if len(some) > most else some
        told = [
            np.column_stack([rows.place[own[some]], rows.codes[own[some]]])
            for rows, own in zip(self._rows, self._places, strict=True)
        ]
        return some[np.lexsort(np.column_stack(told).T)]

    def _is_linked(self, name: str) -> BoolArray:
        """Tell of whom a stable attribute, or a question about the column alone, links the rows, (n,)."""
        if name not in self._linked:
            found = np.zeros(len(self._places[0]), dtype=bool)
            if name in self._stable:
                found |= self._is_same(self._rows, name)
            for one in self._asked:
                if (*one.names, *one.same) != (name,):
                    continue
                rows = one.releases[self._at], one.releases[-1]
                for own in (*one.stable, *one.beside, *(number + PATH for number in one.changed)):
                    if not any(own in each.filled for each in rows):
                        found |= self._is_same(rows, own)
            self._linked[name] = found
        return self._linked[name]

    def _is_same(self, rows: tuple[Rows, Rows], name: str) -> BoolArray:
        before, after = rows
        if name not in before.texts or name not in after.texts:
            return np.zeros(len(self._places[0]), dtype=bool)
        texts = [each.texts[name] for each in rows]
        number = pd.factorize(np.array([*texts[0], *texts[1]], dtype=object))[0]
        codes = before.of(name)[self._places[0]], len(texts[0]) + after.of(name)[self._places[1]]
        told = np.array([text != OTHERS for text in texts[0]], dtype=bool)
        return np.asarray((number[codes[0]] == number[codes[1]]) & told[codes[0]])

    def _of_cells(self, before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield the columns of either release that lie in the cells of a quasi-identifier of the other.

        That they lie in the cells of their own release does not link the rows of two.
        """
        for release, names in ((0, before), (1, after)):
            for name, cells in product(names, self._cells[1 - release]):
                some = self._unlinked(name, most=MOST_IN_CELLS)
                if self._is_within(release, name, 1 - release, cells, some) and not any(
                    self._is_within(own, name, own, cells, some) for own in (0, 1)
                ):
                    yield (cells, name) if release else (name, cells)

    @cached_property
    def _cells(self) -> tuple[list[str], list[str]]:
        first, last = ([*each.intervals, *each.sets] for each in self._classes)
        return first, last

    def _is_within(self, release: int, name: str, other: int, cells: str, some: IntArray) -> bool:
        """Tell whether most values of a column of some people lie in their cells, beyond chance."""
        if len(some) < LEAST_WITHIN or cells not in self._cells[other] or name not in self._columns(release):
            return False
        place = self._rows[other].place[self._places[other][some]]
        inside = _inside(self._classes[other], cells, place, self._column(release, name, some))
        n, within, by_chance = len(some), int(inside.trace()), float(inside.mean()) * len(some)
        return within - by_chance >= LEAST_WITHIN and is_most(within, by_chance, n)


def _inside(classes: EquivalenceClasses, name: str, place: IntArray, column: Column) -> BoolArray:
    """Tell which cells, of the classes at `place` (n,), hold which values of a column, (n, n)."""
    if name in classes.intervals:
        low, high = classes.intervals[name][place].T
        return np.asarray((low[:, None] <= column.numbers) & (column.numbers <= high[:, None]))
    cells = classes.sets[name]
    number = pd.Index(list(cells.values)).get_indexer(pd.Index(list(column.texts)))
    member = np.column_stack([cells.member[place], np.zeros(len(place), dtype=bool)])
    return np.asarray(member[:, number] | cells.whole[place][:, None])
