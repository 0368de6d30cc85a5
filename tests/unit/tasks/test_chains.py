"""Chains of exchanges: every one that is told leaves all classes their values."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tasks.history.attribute import Attribute
from tasks.history.chains import Chain, Chains
from tasks.history.cohorts import ABSENT
from tasks.history.search import Limits
from tasks.history.worlds import possible_values
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
    found = Chains(classes, value, NOBODY[:4]).find(0, 1, 1)
    assert found is not None
    assert sorted(found.changed) == [(0, 1), (1, 0), (2, 0), (3, 0)]
    # So the gate needs no solver for it.
    possible = possible_values(classes, value, (Attribute(np.arange(2)),), 2, Limits(calls=0))
    assert not possible.undecided(2).any()
    assert not possible.pinned(2).any()


def test_a_step_more_reaches_who_is_bound_elsewhere() -> None:
    # Person 1, who could take the value of 0, is in a class with 2 in the second release.
    classes = np.array([[0, ABSENT], [0, 0], [ABSENT, 0]])
    chains = Chains(classes, np.array([0, 1, 0]), NOBODY[:3])
    assert chains.find(0, 1, 0) is None
    assert chains.find(0, 1, 1) == Chain(((0, 1), (1, 0), (2, 1)))


def test_who_leaves_the_last_release_may_change() -> None:
    # Persons 0 and 1 were together; now each is with people of their own value.
    classes = np.array([[0, 0], [0, 1], [ABSENT, 0], [ABSENT, 1]])
    value = np.array([0, 1, 0, 1])
    assert Chains(classes, value, NOBODY[:4]).find(0, 1, 3) is None
    chains = Chains(classes, value, np.ones(4, dtype=bool))
    found = chains.find(0, 1, 3)
    assert found is not None
    assert sorted(found.out) == [0, 1]
    chains.leave(found)
    again = chains.find(1, 0, 3)
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
    assert chains.find(0, 1, 3) is None
    assert chains.find(0, 1, 3, third=True) == Chain(((0, 1), (1, 2), (3, 1), (2, 0)))


@given(histories(), st.booleans(), st.integers(1, 3), st.booleans())
def test_whatever_is_told_leaves_every_class_its_values(
    drawn: tuple[IntArray, IntArray], leave: bool, steps: int, third: bool
) -> None:
    classes, value = drawn
    may = np.full(len(value), leave)
    chains = Chains(classes, value, may)
    for subject in range(len(value)):
        for other in chains.values_beside(subject).tolist():
            found = chains.find(subject, other, steps, third=third)
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


class Plain(Chains):
    """The same search as it reads in the docstrings: everybody in a class is looked at, nothing is kept."""

    def _places(self, subject: int) -> list[int]:
        places = [place for place in self._place[subject].tolist() if place != ABSENT]
        return [place for place in places if place < self._last] if self.gone[subject] else places

    def _all(self, subject: int, other: int, places: list[int], steps: int) -> Chain | None:
        found, own = Chain(((subject, other),)), self._value[subject]
        for place in places:
            best = self._taken(place, other, own, subject, steps)
            if best is None and self._third and steps:
                best = self._by_third(place, other, own, subject, steps)
            if best is None:
                return None
            found += best
        return found

    def _members_with(self, place: int, value: int) -> list[int]:
        return [mate for mate in self._members[place] if self._value[mate] == value]


def test_chains_are_those_of_a_plain_search_with_as_many_visits() -> None:
    n_found = n_out = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        classes = rng.integers(0, 6, (24, 3))
        classes[rng.random(classes.shape) < 0.3] = ABSENT
        value, may = rng.integers(0, 4, 24), rng.random(24) < seed % 3 / 2
        chains, plain = Chains(classes, value, may), Plain(classes, value, may)
        for subject in range(24):
            for other in chains.values_beside(subject).tolist():
                steps, third = (2, subject % 2 == 0) if subject % 4 else (3, False)
                found = chains.find(subject, other, steps, third=third)
                assert found == plain.find(subject, other, steps, third=third)
                assert chains.visits == plain.visits
                if found is not None:
                    n_found, n_out = n_found + 1, n_out + bool(found.out)
                    chains.leave(found)
                    plain.leave(found)
    assert n_found > 300
    assert n_out > 100
