"""What rows tell of values that may change, held against every way to give the rows to people."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from tasks.history.attribute import Attribute
from tasks.history.cohorts import ABSENT
from tasks.history.transient import NOT_ASKED, Transient
from tasks.history.worlds import possible_values
from tasks.types import IntArray

Row = tuple[int, int]  # a stable value, and one that may change


def by_every_assignment(classes: IntArray, value: IntArray, told: IntArray) -> list[list[set[int]]]:
    """Return what each person may have had of the value that may change, by release.

    Gives the rows of every class to its people in every way, and keeps those in which everybody has one
    stable value in all releases.
    """
    n, r = classes.shape
    ways: list[list[dict[int, Row]]] = []
    for release in range(r):
        groups = [
            np.flatnonzero(classes[:, release] == one).tolist() for one in set(classes[:, release].tolist())
        ]
        groups = [group for group in groups if classes[group[0], release] != ABSENT]
        each = [
            [
                dict(zip(group, rows, strict=True))
                for rows in set(permutations((int(value[i]), int(told[i, release])) for i in group))
            ]
            for group in groups
        ]
        ways.append([{who: row for part in chosen for who, row in part.items()} for chosen in product(*each)])
    found: list[list[set[int]]] = [[set() for _ in range(r)] for _ in range(n)]

    def go_on(release: int, stable: dict[int, int], chosen: list[dict[int, Row]]) -> None:
        if release == r:
            for at, rows in enumerate(chosen):
                for who, row in rows.items():
                    found[who][at].add(row[1])
            return
        for rows in ways[release]:
            if all(stable.get(who, row[0]) == row[0] for who, row in rows.items()):
                go_on(release + 1, stable | {who: row[0] for who, row in rows.items()}, [*chosen, rows])

    go_on(0, {}, [])
    return found


def drawn(seed: int) -> tuple[IntArray, IntArray, IntArray]:
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    classes = rng.integers(ABSENT if rng.random() < 0.6 else 0, 2, size=(n, r))
    classes[(classes == ABSENT).all(axis=1), 0] = 0
    told = rng.integers(0, 3, size=(n, r))
    told[:, rng.random(r) < 0.2] = -1  # a release that does not publish it
    told[classes == ABSENT] = -1
    return classes, rng.integers(0, 3, n), told


def held_against_every_assignment(seeds: range) -> tuple[int, int]:
    """Hold bounds and verdicts against the truth; return the number of questions, and of who is pinned."""
    asked = n_pinned = 0
    for seed in seeds:
        classes, value, told = drawn(seed)
        truth = by_every_assignment(classes, value, told)
        transient = Transient(told, Attribute(np.arange(3)))
        found = possible_values(classes, value, (Attribute(np.arange(3)),), 2, transient=(transient,))
        releases = [at for at in range(classes.shape[1]) if (told[:, at] >= 0).any()]
        assert found.least.shape[1] == 1 + len(releases)
        pinned = found.most[found.cohorts.number, 0] < 2
        for column, at in enumerate(releases, start=1):
            for who in range(len(value)):
                least, most = (
                    int(each[found.cohorts.number[who], column]) for each in (found.least, found.most)
                )
                if told[who, at] < 0:
                    assert least == most == NOT_ASKED, seed
                    continue
                n_true = len(truth[who][at])
                assert least <= n_true, seed
                assert min(n_true, 2) <= most, seed  # more are not counted
                assert least >= min(n_true, 2) or pinned[who] or n_true < 2, seed
                pinned[who] |= n_true < 2
                asked, n_pinned = asked + 1, n_pinned + (n_true < 2)
        assert found.pinned(2).tolist() == pinned.tolist(), seed
        assert not found.undecided(2).any(), seed
    return asked, n_pinned


@pytest.mark.enemy("reader", "learns a value")
@pytest.mark.parametrize("first", range(0, 300, 50))
def test_bounds_and_verdicts_are_true_of_three_hundred_small_series(first: int) -> None:
    asked, n_pinned = held_against_every_assignment(range(first, first + 50))
    assert 0 < n_pinned < asked


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1_000, 11_000, 1_000))
def test_bounds_and_verdicts_are_true_of_ten_thousand_small_series(first: int) -> None:
    asked, n_pinned = held_against_every_assignment(range(first, first + 1_000))
    assert 0 < n_pinned < asked


def test_an_illness_that_is_one_of_two_tells_the_cost_that_both_have() -> None:
    # Release 1: flu low, hiv low, cough high, gout low. The second leaves the first two flu or hiv.
    classes = np.array([[0, 0], [0, 0], [0, ABSENT], [0, ABSENT], [ABSENT, 0], [ABSENT, 0]])
    value = np.arange(6)
    cost = np.array([[0, -1], [0, -1], [1, -1], [0, -1], [-1, -1], [-1, -1]])
    found = possible_values(
        classes, value, (Attribute(value),), 2, transient=(Transient(cost, Attribute(np.arange(2))),)
    )
    assert (found.least[:, 0] == 2).all()
    assert found.pinned(2).tolist() == [True, True, False, False, False, False]
