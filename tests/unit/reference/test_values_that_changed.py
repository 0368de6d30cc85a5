"""What a certificate means where values changed, held against worlds in which as many may have changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
import pytest

from tasks.history.cohorts import ABSENT
from tasks.history.signatures import NONE
from tasks.history.subjects import Rows, subjects_of
from tasks.history.worlds import possible_values
from tasks.types import IntArray

LEAST = 2


@dataclass(frozen=True)
class Series:
    """Up to five people, their classes in up to three releases, and the value of each in each, (n, r)."""

    classes: IntArray
    value: IntArray

    @property
    def n_changed(self) -> int:
        """How many people had several values."""
        return sum(len(set(row[here].tolist())) > 1 for row, here in self._present())

    def _present(self) -> Sequence[tuple[IntArray, IntArray]]:
        return list(zip(self.value, self.classes != ABSENT, strict=True))

    def rows(self) -> list[Rows]:
        """Return the rows of each release, as they are read from a store."""
        found = []
        for column, values in zip(self.classes.T, self.value.T, strict=True):
            here = np.flatnonzero(column != ABSENT)
            people, codes = [str(one) for one in here], values[here, None]
            seat = np.full((len(here), 2), NONE)
            found.append(Rows(people, column[here], {"illness": ("a", "b", "c")}, codes, seat))
        return found


def drawn(seed: int) -> Series:
    """Draw a series in which people come and go, and some of them have another value later."""
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(2, 6)), int(rng.integers(2, 4))
    classes = rng.integers(ABSENT if rng.random() < 0.6 else 0, 2, size=(n, r))
    value = np.tile(rng.integers(0, 3, (n, 1)), (1, r))
    for person in np.flatnonzero(rng.random(n) < 0.3):
        since = int(rng.integers(1, r))
        value[person, since:] = rng.integers(0, 3)
    return Series(classes, value)


def by_every_assignment(series: Series) -> list[list[set[int]]]:
    """Return what each person may have had in each release, if no more people changed than really did."""
    n, r = series.classes.shape
    releases: list[list[IntArray]] = []
    for column, values in zip(series.classes.T, series.value.T, strict=True):
        groups = [np.flatnonzero(column == one) for one in sorted(set(column.tolist()) - {ABSENT})]
        given = [sorted(set(permutations(values[group].tolist()))) for group in groups]
        ways = []
        for chosen in product(*given):
            world = np.full(n, -1)
            for group, one in zip(groups, chosen, strict=True):
                world[group] = one
            ways.append(world)
        releases.append(ways)
    found: list[list[set[int]]] = [[set() for _ in range(r)] for _ in range(n)]
    for worlds in product(*releases):
        world = np.column_stack(worlds)
        if Series(series.classes, world).n_changed <= series.n_changed:
            for person, release in np.argwhere(series.classes != ABSENT).tolist():
                found[person][release].add(int(world[person, release]))
    return found


def held_against_every_assignment(seeds: range) -> tuple[int, int, int]:
    """Return of how many rows the certificate held, how many are pinned, and how many really are."""
    n_held = n_pinned = n_true = 0
    for seed in seeds:
        series = drawn(seed)
        if (series.classes == ABSENT).all(axis=0).any():
            continue
        subjects = subjects_of(series.rows(), ["illness"])
        assert subjects.changed == series.n_changed, seed
        found = possible_values(subjects.classes, subjects.value, subjects.attributes, LEAST)
        assert not found.undecided(LEAST).any(), seed
        truth = by_every_assignment(series)
        pinned = found.pinned(LEAST)
        for release, rows in enumerate(subjects.rows):
            people = np.flatnonzero(series.classes[:, release] != ABSENT)
            for person, subject in zip(people.tolist(), rows.tolist(), strict=True):
                possible = len(truth[person][release])
                assert found.least[found.cohorts.number[subject], 0] <= possible, seed
                # Whom the gate passes has as many values for who allows for as many changes, too.
                assert pinned[subject] or possible >= LEAST, seed
                # Where nobody changed, the other way round too.
                assert series.n_changed or pinned[subject] == (possible < LEAST), seed
                n_held += not pinned[subject]
                n_pinned += bool(pinned[subject])
                n_true += possible < LEAST
    return n_held, n_pinned, n_true


@pytest.mark.enemy("reader", "learns a value")
@pytest.mark.parametrize("first", range(0, 300, 50))
def test_who_passes_is_pinned_in_no_world_of_three_hundred_small_series(
    first: int,
) -> None:
    n_held, n_pinned, n_true = held_against_every_assignment(range(first, first + 50))
    # Who changed is somebody else from then on, so that more seem pinned than are.
    assert n_held > 0
    assert n_pinned > n_true > 0


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1_000, 11_000, 1_000))
def test_who_passes_is_pinned_in_no_world_of_ten_thousand_small_series(
    first: int,
) -> None:
    held_against_every_assignment(range(first, first + 1_000))
