"""Chains of exchanges: every one that is told leaves all classes their values."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.history.attribute import Attribute
from tasks.history.chains import Chain, Chains
from tasks.history.cohorts import ABSENT
from tasks.history.search import Limits
from tasks.history.worlds import FAILURES, possible_values
from tasks.types import IntArray

NOBODY = np.zeros(9, dtype=bool)


def counts(classes: IntArray, value: IntArray) -> list[list[list[int]]]:
    """Return how often each class of each release has each value."""
    return [
        [
            np.bincount(value[column == one], minlength=4).tolist()
            for one in range(int(column.max(initial=-1)) + 1)
        ]
        for column in classes.T
    ]


def test_three_releases_need_a_tree() -> None:
    # Person 0 is in three releases; each has somebody else with the other value, who is in no other one.
    classes = np.array([[0, 0, 0], [0, ABSENT, ABSENT], [ABSENT, 0, ABSENT], [ABSENT, ABSENT, 0]])
    value = np.array([0, 1, 1, 1])
    found = Chains(classes, value, NOBODY[:4]).find(0, 1)
    assert found is not None
    assert sorted(found.changed) == [(0, 1), (1, 0), (2, 0), (3, 0)]
    # So the gate needs no solver for it.
    possible = possible_values(classes, value, (Attribute(np.arange(2)),), 2, Limits(calls=0))
    assert not possible.undecided(2).any()
    assert not possible.pinned(2).any()


def test_the_search_ends_where_it_finds_no_chain_for_many(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    classes = np.stack([rng.permutation(300) // 10 for _ in range(4)], axis=1)
    n_asked: list[int] = []

    def none(chains: Chains, subject: int, *args: int, **more: bool) -> None:
        n_asked.append(subject)

    monkeypatch.setattr(Chains, "find", none)
    possible_values(classes, rng.integers(0, 5, 300), (Attribute(np.arange(5)),), 2, Limits(calls=0, pairs=0))
    assert len(n_asked) == 2 * FAILURES


def test_a_chain_goes_on_where_somebody_is_bound_elsewhere() -> None:
    # Person 1, who could take the value of 0, is in a class with 2 in the second release.
    classes = np.array([[0, ABSENT], [0, 0], [ABSENT, 0]])
    assert Chains(classes, np.array([0, 1, 0]), NOBODY[:3]).find(0, 1) == Chain(((0, 1), (1, 0), (2, 1)))


def test_who_shares_two_classes_makes_both_good() -> None:
    # Persons 0 and 1 are together in two releases; in the third each is with somebody of the other value.
    classes = np.array([[0, 0, 0], [0, 0, 1], [ABSENT, ABSENT, 0], [ABSENT, ABSENT, 1]])
    found = Chains(classes, np.array([0, 1, 1, 0]), NOBODY[:4]).find(0, 1)
    assert found is not None
    assert sorted(found.changed) == [(0, 1), (1, 0), (2, 0), (3, 1)]


def test_who_leaves_the_last_release_may_change() -> None:
    # Persons 0 and 1 were together; now each is with people of their own value.
    classes = np.array([[0, 0], [0, 1], [ABSENT, 0], [ABSENT, 1]])
    value = np.array([0, 1, 0, 1])
    assert Chains(classes, value, NOBODY[:4]).find(0, 1) is None
    chains = Chains(classes, value, np.ones(4, dtype=bool))
    found = chains.find(0, 1)
    assert found is not None
    assert sorted(found.out) == [0, 1]
    chains.leave(found)
    again = chains.find(1, 0)
    assert again is not None
    assert again.out == ()


@st.composite
def histories(draw: st.DrawFn) -> tuple[IntArray, IntArray]:
    n, r = draw(st.integers(3, 9)), draw(st.integers(1, 4))
    classes = draw(st.lists(st.lists(st.integers(-1, 2), min_size=r, max_size=r), min_size=n, max_size=n))
    value = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return np.array(classes), np.array(value)


def test_three_values_go_round_where_two_do_not() -> None:
    # Person 1 may take c alone, since their other class has no a; person 2 has c and is free.
    classes = np.array([[0, ABSENT], [0, 0], [0, ABSENT], [ABSENT, 0]])
    value = np.array([0, 1, 2, 2])
    chains = Chains(classes, value, NOBODY[:4])
    assert chains.find(0, 1) is None
    assert chains.find(0, 1, third=True) == Chain(((0, 1), (1, 2), (2, 0), (3, 1)))


@given(histories(), st.booleans(), st.booleans())
def test_whatever_is_told_leaves_every_class_its_values(
    drawn: tuple[IntArray, IntArray], leave: bool, third: bool
) -> None:
    classes, value = drawn
    may = np.full(len(value), leave)
    chains = Chains(classes, value, may)
    for subject in range(len(value)):
        for other in chains.values_beside(subject).tolist():
            found = chains.find(subject, other, third=third)
            if found is None:
                continue
            assert leave or not found.out
            without = classes.copy()
            without[list(found.out), -1] = ABSENT
            changed = value.copy()
            for one, taken in found.changed:
                changed[one] = taken
            assert len(dict(found.changed)) == len(set(found.changed))
            assert changed[subject] == other
            assert counts(without, changed) == counts(without, value)


def possible(classes: IntArray, value: IntArray) -> set[tuple[int, int]]:
    """Return who can have which value: every assignment is tried."""
    worlds = np.array(list(product(range(int(value.max()) + 1), repeat=len(value))))
    fits = np.ones(len(worlds), dtype=bool)
    for column in classes.T:
        for one in range(int(column.max(initial=-1)) + 1):
            fits &= (np.sort(worlds[:, column == one]) == np.sort(value[column == one])).all(axis=1)
    return {(subject, taken) for subject in range(len(value)) for taken in worlds[fits, subject].tolist()}


@pytest.mark.parametrize(("third", "n_values"), [(False, 2), (True, 2), (True, 3)])
def test_chains_find_most_of_what_all_assignments_find(third: bool, n_values: int) -> None:
    n_found = n_possible = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        classes = rng.integers(0, 2, (8, 3))
        classes[rng.random(classes.shape) < 0.3] = ABSENT
        value = rng.integers(0, n_values, 8)
        chains, truth = Chains(classes, value, NOBODY[:8]), possible(classes, value)
        for subject in np.flatnonzero((classes != ABSENT).any(axis=1)).tolist():
            for other in chains.values_beside(subject).tolist():
                found = chains.find(subject, other, third=third) is not None
                assert not found or (subject, other) in truth
                n_found, n_possible = n_found + found, n_possible + ((subject, other) in truth)
    assert n_possible > 100
    assert n_found > 0.98 * n_possible, (n_found, n_possible)


def test_as_few_leave_as_will_do() -> None:
    # Person 0 needs nobody to leave for value 1, and two to leave for value 2, who are with their like.
    classes = np.array([[0, 0], [0, 0], [0, 1], [ABSENT, 1]])
    value = np.array([0, 1, 2, 2])
    chains = Chains(classes, value, np.ones(4, dtype=bool))
    assert chains.find(0, 1) == Chain(((0, 1), (1, 0)))
    found = chains.find(0, 2)
    assert found is not None
    assert sorted(found.out) == [0, 2]
