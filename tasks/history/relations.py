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
from tasks.history.grouping import is_grouping
from tasks.history.questions import Question, followed_attributes
from tasks.history.spells import OTHERS
from tasks.history.subjects import Rows, Unfit
from tasks.types import BoolArray, IntArray

MOST_COMPARED = 2_000  # people of two releases, about, for time: a relation of most shows among these
MOST_IN_CELLS = 500  # the same for cells, each of which is compared with everybody's value
LEAST_STRATA = 50  # that are compared of many
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
    about MOST_COMPARED people, and O(releases x columns^2 x rows log rows) for functions of categories.
    """
    for at in range(len(releases) - 1):
        for before, after in _Pair(policy, releases, classes, at, stable, asked).relations():
            columns = "it" if before == after else "one of these columns"
            raise Unfit(
                f"{after} tells what {before} was in an earlier release, for most people or for those with "
                f"rare values, which links rows of the two releases: leave {columns} out, or, if it is a "
                "kept one, accept the link by `gates.worlds.kept: accept`"
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
        self._found: dict[tuple[str | None, ...], list[tuple[IntArray, IntArray]]] = {}

    def relations(self) -> Iterator[tuple[str, str]]:
        """Yield each column of the earlier release, or two, and what tells it in the last one."""
        before, after = (self._columns(release) for release in (0, 1))
        for one, other in product(before, after):
            for some, strata in self._alike(one, other):
                a, b = self._column(0, one, some), self._column(1, other, some)
                if is_equal(a, b, strata) or is_function(a, b, strata):
                    yield one, other
            if self._is_grouping(one, other):
                yield one, other
        for total, release in [*((name, 0) for name in before), *((name, 1) for name in after)]:
            for some, strata in self._alike(*((None, total) if release else (total, None))):
                column = self._column(release, total, some)
                if not column.are_numbers:
                    continue
                others = {name: self._column(1 - release, name, some) for name in (after, before)[release]}
                numbers = [name for name, each in others.items() if each.are_numbers]
                for parts in combinations(numbers, 2):
                    if is_sum(column, (others[parts[0]], others[parts[1]]), strata):
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

    def _is_grouping(self, before: str, after: str) -> bool:
        """Tell whether people who share a value of one column share one of the other, of all in both."""
        here = self._unlinked(before, after)
        first, second = self._codes(0, before)[here], self._codes(1, after)[here]
        differ = False
        if before == after:  # those who kept a value may be linked by it: the others have another one
            texts = [rows.texts[before] for rows in self._rows]
            number = pd.factorize(np.array([*texts[0], *texts[1]], dtype=object))[0]
            first, second = number[first], number[len(texts[0]) + second]
            differ = bool((first != second).all())
        return is_grouping(
            first, second, lambda: [strata for _, strata in self._strata(before, after)], differ=differ
        )

    def _codes(self, release: int, name: str) -> IntArray:
        return self._rows[release].of(name)[self._places[release]]

    def _alike(self, before: str | None, after: str | None) -> list[tuple[IntArray, IntArray]]:
        """Return what `_chosen` makes of `_strata`, which is the same for all columns that link no rows."""
        key = tuple(name if name in self._linking else None for name in (before, after))
        if key not in self._found:
            self._found[key] = [self._chosen(*each) for each in self._strata(*key)]
        return self._found[key]

    def _strata(self, before: str | None, after: str | None) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield people, and strata in which what is known tells nothing of how two columns go together.

        People of a stratum have equal values of the columns that link rows, in either release, apart from the
        two columns themselves; and once more, those whose rows a column does not link are alike in it.
        """
        here = self._unlinked(before, after)
        known = [name for name in self._linking if self._is_linked(name)[here].any()]
        for loose in (False, True):
            if loose and not any((~self._is_linked(name)[here]).any() for name in known):
                return
            strata = np.zeros(len(here), dtype=np.int64)
            for release, own in enumerate((before, after)):
                rows, place = self._rows[release], self._places[release][here]
                for name in known:
                    if name != own and name in rows.texts:
                        code = rows.of(name)[place]
                        code = np.where(self._is_linked(name)[here], code, -1) if loose else code
                        strata = pd.factorize(strata * (len(rows.texts[name]) + 1) + code, sort=True)[0]
            yield here, strata

    def _unlinked(self, before: str | None, after: str | None) -> IntArray:
        """Return all people, or those whose rows a column does not link, of a column beside itself."""
        here = np.arange(len(self._places[0]))
        return here[~self._is_linked(before)] if before == after and before is not None else here

    def _chosen(self, here: IntArray, strata: IntArray) -> tuple[IntArray, IntArray]:
        """Return about `MOST_COMPARED` of people at most, of strata of several, in an order of their values.

        Neither who they are nor their order follows from the key under which people are hashed.
        """
        some = np.bincount(strata, minlength=1)[strata] > 1
        here, strata = here[some], strata[some]
        if len(here) > MOST_COMPARED:
            place = self._rows[1].place[self._places[1][here]]
            first = pd.Series(place).groupby(strata).transform("min").to_numpy()
            step = -(-len(here) // MOST_COMPARED)
            few = max(1, min(step, len(np.unique(first)) // LEAST_STRATA))
            chosen = first % few == 0
            step = -(-int(chosen.sum()) // MOST_COMPARED)
            chosen &= place // few % step == 0
            here, strata = here[chosen], strata[chosen]
        told = [
            np.column_stack([rows.place[own[here]], rows.codes[own[here]]])
            for rows, own in zip(self._rows, self._places, strict=True)
        ]
        order = np.lexsort(np.column_stack(told).T)
        return here[order], pd.factorize(strata[order])[0]

    @cached_property
    def _linking(self) -> list[str]:
        """The columns that link rows: stable ones, and those about which a question is asked."""
        asked = [(*one.names, *one.same) for one in self._asked]
        return list(dict.fromkeys([*self._stable, *(names[0] for names in asked if len(names) == 1)]))

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
        """Yield the columns of either release that lie in the cells of a quasi-identifier of the other."""
        for release, names in ((0, before), (1, after)):
            classes = self._classes[1 - release]
            for name, cells in product(names, [*classes.intervals, *classes.sets]):
                if self._is_within(release, name, cells):
                    yield (cells, name) if release else (name, cells)

    def _is_within(self, release: int, name: str, cells: str) -> bool:
        """Tell whether most values of a column lie in people's cells of the other release, beyond chance.

        Chance is what the others of their class in the column's own release reach.
        """
        own = self._rows[release].place[self._places[release]]
        some = np.flatnonzero(own % -(-len(own) // MOST_IN_CELLS) == 0) if len(own) else own
        place = self._rows[1 - release].place[self._places[1 - release][some]]
        inside = _inside(self._classes[1 - release], cells, place, self._column(release, name, some))
        alike = own[some][:, None] == own[some]
        within, by_chance = (
            int(inside.trace()),
            float(((inside & alike).sum(axis=1) / alike.sum(axis=1)).sum()),
        )
        return within - by_chance >= LEAST_WITHIN and is_most(within, by_chance, len(some))


def _inside(classes: EquivalenceClasses, name: str, place: IntArray, column: Column) -> BoolArray:
    """Tell which cells, of the classes at `place` (n,), hold which values of a column, (n, n)."""
    if name in classes.intervals:
        low, high = classes.intervals[name][place].T
        return np.asarray((low[:, None] <= column.numbers) & (column.numbers <= high[:, None]))
    cells = classes.sets[name]
    number = pd.Index(list(cells.values)).get_indexer(pd.Index(list(column.texts)))
    member = np.column_stack([cells.member[place], np.zeros(len(place), dtype=bool)])
    return np.asarray(member[:, number] | cells.whole[place][:, None])
