"""Signatures of one bucket each: one known person unlocks hardly anybody, whoever comes and goes."""

from __future__ import annotations

import numpy as np
import pytest
from test_sticky import Register

from tasks.history.attribute import Attribute
from tasks.history.known import Unlocked, unlocked_by_one
from tasks.history.seating import Joins, seated


def unlocked(register: Register) -> Unlocked:
    known = (register.classes >= 0).any(axis=1)
    return unlocked_by_one(
        register.classes[known],
        register.value[known],
        register.attributes,
        register.enough,
        np.arange(int(known.sum())),
        register.seat[known],
    )


def series(n_values: int, *, local: bool, turnover: int = 6, periods: int = 6) -> tuple[Register, list[int]]:
    """Release a register of 240 people, of whom some leave and as many join each period; count who is out."""
    draw = np.random.default_rng(3)
    register = Register(draw.integers(0, n_values, 240).tolist(), local=local)
    here, out = list(range(240)), []
    for period in range(periods):
        if period:
            gone = set(draw.choice(here, turnover, replace=False).tolist())
            here = [one for one in here if one not in gone]
            here += register.join(draw.integers(0, n_values, turnover).tolist())
        out.append(int((register.release(here).labels < 0).sum()))
    return register, out


@pytest.mark.parametrize("n_values", [2, 3, 6])
@pytest.mark.enemy("reader", "learns a value")
def test_one_known_person_unlocks_few_and_nobody_is_pinned(n_values: int) -> None:
    register, out = series(n_values, local=True)
    assert register.n_short() == 0
    assert max(out) < 0.2 * 240
    found = unlocked(register)
    assert not found.open.any()
    assert found.people.max() <= 6
    assert found.people.mean() < 1


def test_signatures_that_many_share_are_unlocked_by_one() -> None:
    register, _ = series(6, local=False)
    assert register.n_short() == 0
    assert unlocked(register).people.mean() > 10


def test_a_series_that_shares_signatures_goes_on_with_them() -> None:
    register, _ = series(3, local=False, periods=2)
    here = [one for one in range(len(register.value)) if register.classes[one, -1] >= 0]
    register.local = True
    made = register.release(here)
    assert register.n_short() == 0
    assert np.bincount(made.labels[made.labels >= 0]).max() < 40


def test_who_comes_back_finds_another_in_the_seat() -> None:
    register, _ = series(3, local=True, periods=4)
    made = register.release(list(range(len(register.value))))
    assert register.n_short() == 0
    assert not unlocked(register).open.any()
    assert np.bincount(made.labels[made.labels >= 0]).max() < 40


@pytest.mark.parametrize("n_values", [2, 3, 6])
def test_each_bucket_has_two_values_without_any_one_of_its_people(n_values: int) -> None:
    draw = np.random.default_rng(5)
    value = draw.integers(0, n_values, 200)
    nobody = np.full((200, 2), -1)
    points = draw.random((200, 2))
    seat = seated(value, nobody, {}, (Attribute(np.arange(6)),), 2, points, Joins())
    held = seat[:, 0] >= 0
    assert held.mean() > 0.95
    assert len(np.unique(seat[held], axis=0)) == held.sum()  # nobody shares a seat
    near = []
    for signature in np.unique(seat[held, 0]):
        rows = np.flatnonzero(seat[:, 0] == signature)
        assert all(len(set(value[rows[rows != one]].tolist())) >= 2 for one in rows)
        near.append(points[rows].std(axis=0).max())
    assert np.mean(near) < 0.5 * points.std()
