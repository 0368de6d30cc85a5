"""Numbers that follow rules in some releases and are drawn anew in others, held against every assignment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
import pytest

from tasks.history.changes import NumberSpells, undo_changes
from tasks.history.cohorts import ABSENT
from tasks.history.questions import questions, subjects_by
from tasks.history.signatures import NONE
from tasks.history.subjects import Rows
from tasks.history.worlds import possible_values
from tasks.types import IntArray
from tests.support.small import small_policy

LEAST = 2
POLICY = small_policy(
    sensitive={"illness": {"stability": "stable"}, "wage": {"stability": "transient", "type": "numeric"}},
    roles={"key": "person"},
)
PATTERNS = ("AAA", "AA-", "A-A", "-AA", "AABB", "ABAB", "ABBA", "A-A-", "A--A", "AA--", "AAA-", "A-AA")
Row = tuple[tuple[str, int], ...]  # what a row says: a name and a value


@dataclass(frozen=True)
class Series:
    """Up to five people in three or four releases: classes (n, r), illnesses (n,) and wages (n, r).

    `spell` (r,) tells in which spell a release is, -1 where its wages are drawn anew; `start` (n, spells)
    are the wages of which rules make those of each spell.
    """

    classes: IntArray
    illness: IntArray
    wage: IntArray
    spell: IntArray
    start: IntArray

    def rows(self) -> list[Rows]:
        """Return the rows of each release, as they are read from a store."""
        found = []
        for column, wages in zip(self.classes.T, self.wage.T, strict=True):
            here = np.flatnonzero(column != ABSENT)
            texts, codes = np.unique(wages[here].astype(str), return_inverse=True)
            told = {"illness": ("a", "b", "c"), "wage": texts.tolist()}
            both = np.column_stack([self.illness[here], codes])
            seat = np.full((len(here), 2), NONE)
            found.append(Rows([str(one) for one in here], column[here], told, both, seat))
        return found

    def says(self, person: int, release: int, *, filled: bool) -> Row:
        """Return what the row of a person says to who undoes the rules; or what it is filled in with."""
        spell = int(self.spell[release])
        row = [("illness", int(self.illness[person]))]
        if spell < 0:
            row.append((f"wage of {release}", int(self.wage[person, release])))
        for other in range(self.start.shape[1]):
            if other == spell or filled:
                known = self.is_in(person, other)
                row.append((f"spell {other}", int(self.start[person, other]) if known else -1))
        return tuple(row)

    def is_in(self, person: int, spell: int) -> bool:
        """Whether a person is in a release of a spell."""
        return bool((self.classes[person, self.spell == spell] != ABSENT).any())


def drawn(seed: int) -> Series:
    """Draw a series by which releases are of one spell; few wages at first, so that some are alike."""
    rng = np.random.default_rng(seed)
    spell = np.array(["-AB".index(one) - 1 for one in rng.choice(PATTERNS)])
    n, r = int(rng.integers(3, 6)), len(spell)
    classes = rng.integers(ABSENT if rng.random() < 0.4 else 0, 2, size=(n, r))
    start = rng.choice([110, 270, 530], size=(n, 2))
    factor, added = np.ones(r, dtype=np.int64), np.zeros(r, dtype=np.int64)
    if rng.random() < 0.5:
        factor = rng.choice([1, 2], size=r)
    else:
        added = rng.choice([0, 86], size=r)
    wage = rng.integers(100, 900, size=(n, r))
    for release in np.flatnonzero(spell >= 0):
        wage[:, release] = start[:, spell[release]] * factor[release] + added[release]
    return Series(classes, rng.integers(0, 3, n), wage, spell, start)


def by_every_assignment(series: Series, *, filled: bool) -> list[dict[str, set[int]]]:
    """Return what each person may have had: the rows of each class are given to its people in every way."""
    n, r = series.classes.shape
    ways: list[list[dict[int, Row]]] = []
    for release in range(r):
        column = series.classes[:, release]
        groups = [np.flatnonzero(column == one).tolist() for one in sorted(set(column.tolist()) - {ABSENT})]
        given = [
            [
                dict(zip(group, rows, strict=True))
                for rows in set(permutations(series.says(who, release, filled=filled) for who in group))
            ]
            for group in groups
        ]
        ways.append([{who: row for part in each for who, row in part.items()} for each in product(*given)])
    found: list[dict[str, set[int]]] = [defaultdict(set) for _ in range(n)]

    def go_on(release: int, known: list[dict[str, int]]) -> None:
        if release == r:
            for who, each in enumerate(known):
                for name, value in each.items():
                    found[who][name].add(value)
            return
        for rows in ways[release]:
            if all(known[who].get(name, value) == value for who, row in rows.items() for name, value in row):
                after = [{**each, **dict(rows.get(who, ()))} for who, each in enumerate(known)]
                go_on(release + 1, after)

    go_on(0, [{} for _ in range(n)])
    return found


def pinned_of(series: Series, found: Sequence[dict[str, set[int]]]) -> set[int]:
    """Return who has under two values of anything that a release of theirs says."""
    return {
        who
        for who, each in enumerate(found)
        for name, values in each.items()
        if len(values) < LEAST and (name[:5] != "spell" or series.is_in(who, int(name[6:])))
    }


def judged(series: Series) -> set[int]:
    """Return who is pinned or undecided by what the gate asks about the wages."""
    found: set[int] = set()
    for one in questions(series.rows(), ["wage"]):
        subjects = subjects_by(
            POLICY, one.releases, ["illness", *one.stable], one.changed, one.transient(["wage"]), one.beside
        )
        possible = possible_values(
            subjects.classes, subjects.value, subjects.attributes, LEAST, transient=subjects.transient
        )
        few = possible.pinned(LEAST) | possible.undecided(LEAST)
        for rows, subject in zip(series.rows(), subjects.rows, strict=True):
            found |= {
                int(who or 0) for who, one in zip(rows.person, subject.tolist(), strict=True) if few[one]
            }
    return found


def is_as_drawn(series: Series, found: NumberSpells | None) -> bool:
    """Whether the rules that were found join the releases that were drawn as one spell, and no others."""
    wanted = {tuple(np.flatnonzero(series.spell == one).tolist()) for one in set(series.spell) - {-1}}
    return found is not None and found.change.followed == found.change.people and {*found.spells} == wanted


def held_against_every_assignment(seeds: range) -> tuple[int, int, int]:
    """Return how many series had wages drawn anew, how many people are pinned, and how many really are."""
    n_anew = n_pinned = n_true = 0
    for seed in seeds:
        series = drawn(seed)
        if (series.classes == ABSENT).all(axis=0).any() or (series.classes == ABSENT).all(axis=1).any():
            continue
        if not is_as_drawn(series, undo_changes(series.rows(), "wage")):
            continue
        truth, filled = (
            pinned_of(series, by_every_assignment(series, filled=each)) for each in (False, True)
        )
        pinned = judged(series)
        # What is filled in is known to nobody, so that more seem pinned than are. A number that nobody
        # brings from one release to another is another one there, so that a few more do.
        assert truth <= filled <= pinned, seed
        assert filled == pinned or (series.classes == ABSENT).any(), seed
        if not (series.spell < 0).any() and (series.spell == series.spell[0]).all():
            assert truth == filled, seed
        else:
            n_anew, n_pinned, n_true = n_anew + 1, n_pinned + len(pinned), n_true + len(truth)
    return n_anew, n_pinned, n_true


@pytest.mark.enemy("reader", "learns a value")
@pytest.mark.parametrize("first", range(0, 300, 50))
@pytest.mark.by_day(2)
def test_nobody_is_missed_beside_numbers_drawn_anew_in_three_hundred_small_series(first: int) -> None:
    n_anew, n_pinned, n_true = held_against_every_assignment(range(first, first + 50))
    assert n_anew > 0
    assert n_pinned >= n_true > 0


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1_000, 11_000, 1_000))
def test_nobody_is_missed_beside_numbers_drawn_anew_in_ten_thousand_small_series(first: int) -> None:
    held_against_every_assignment(range(first, first + 1_000))
