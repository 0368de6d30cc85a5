"""Worlds that are kept: each is held against the classes as they became, by counting them whole."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from tasks.history.attribute import Attribute
from tasks.history.cohorts import ABSENT, cohorts_of, world_of
from tasks.history.kept import Changes, Kept
from tasks.history.search import Limits
from tasks.history.worlds import possible_values
from tasks.types import IntArray

N_VALUES = 3


def drawn(seed: int) -> tuple[IntArray, IntArray]:
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 15, (60, 3))
    classes[rng.random(classes.shape) < 0.3] = ABSENT
    return classes, rng.integers(0, N_VALUES, 60)


def table(classes: IntArray, value: IntArray) -> list[IntArray]:
    """Return how often each class of each release has each value."""
    return [
        csr_array(
            (np.ones(int((one >= 0).sum())), (one[one >= 0], value[one >= 0])), (99, N_VALUES)
        ).toarray()
        for one in classes.T
    ]


def is_even(classes: IntArray, before: IntArray, after: IntArray) -> bool:
    pairs = zip(table(classes, before), table(classes, after), strict=True)
    return all((one == other).all() for one, other in pairs)


@pytest.mark.parametrize("change", ["none", "merged", "left"])
def test_just_those_worlds_hold_in_which_every_class_keeps_its_values(change: str) -> None:
    n_worlds = n_held = 0
    for seed in range(10):
        classes, value = drawn(seed)
        found = possible_values(classes, value, (Attribute(np.arange(N_VALUES)),), 2, Limits(pairs=0)).kept
        assert found is not None
        rng = np.random.default_rng(seed)
        if change == "merged":
            classes = np.where(classes == ABSENT, ABSENT, classes // 2)
        elif change == "left":
            classes = classes.copy()
            classes[rng.random(60) < 0.2, -1] = ABSENT
        held = found.that_hold(cohorts_of(classes), value)
        kept = []
        for number in range(int(found.world.max(initial=-1)) + 1):
            entries = found.world == number
            after = value.copy()
            after[found.subject[entries]] = found.value[entries]
            assert (after != value).sum() == entries.sum()
            if is_even(classes, value, after):
                kept.append(sorted(zip(found.subject[entries], found.value[entries], strict=True)))
        assert kept == [
            sorted(zip(held.subject[held.world == one], held.value[held.world == one], strict=True))
            for one in range(int(held.world.max(initial=-1)) + 1)
        ]
        n_worlds, n_held = n_worlds + int(found.world.max(initial=-1)) + 1, n_held + len(kept)
    assert n_held > 5
    assert (n_held == n_worlds) == (change != "left")


@pytest.mark.parametrize("change", ["merged", "left"])
def test_with_worlds_of_before_as_much_is_possible_as_without(change: str) -> None:
    for seed in range(10):
        classes, value = drawn(seed)
        attributes = (Attribute(np.arange(N_VALUES)),)
        before = possible_values(classes, value, attributes, 2, Limits(pairs=0))
        after = classes.copy()
        if change == "merged":
            after[:, -1] = np.where(classes[:, -1] == ABSENT, ABSENT, classes[:, -1] // 2)
        else:
            after[np.random.default_rng(seed).random(60) < 0.2, -1] = ABSENT
        afresh = possible_values(after, value, attributes, 2)
        again = possible_values(after, value, attributes, 2, kept=before.kept)
        assert again.pinned(2).tolist() == afresh.pinned(2).tolist()
        assert not again.undecided(2).any()
        assert again.calls <= afresh.calls


def test_members_who_change_are_those_who_have_the_value() -> None:
    # In the one class, 0, 1 and 2 have 0, 1 and 1: two changes go round, of which each gives up their own.
    cohorts = cohorts_of(np.array([[0], [0], [0], [1]]))
    value = np.array([0, 1, 1, 0])
    world = Changes(*(np.array(each) for each in ([0, 0], [0, 0], [0, 1], [-1, 1])))
    assert world_of(cohorts, value, 2).toarray().tolist() == [[1, 2], [1, 0]]
    kept = Kept.of([world], cohorts, value)
    assert (kept.world.tolist(), kept.subject.tolist(), kept.value.tolist()) == ([0], [0], [1])
    assert not len(kept.that_hold(cohorts, value).world)  # nobody takes the 0 that is given up
