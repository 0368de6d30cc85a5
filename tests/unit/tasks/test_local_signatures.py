"""Signatures of few buckets each: one known person unlocks hardly anybody, whoever comes and goes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from test_sticky import Register

from tasks.history.attribute import Attribute
from tasks.history.known import Unlocked, unlocked_by_one
from tasks.history.seating import Joins, seated
from tasks.history.signatures import TOGETHER, unit_of


def unlocked(register: Register) -> Unlocked:
    known = (register.classes >= 0).any(axis=1)
    return unlocked_by_one(
        register.classes[known],
        register.value[known],
        register.attributes,
        register.enough,
        np.arange(int(known.sum())),
        register.seat[known],
        unit_of(register.bucket)[known],
    )


def series(n_values: int, turnover: int = 6, periods: int = 6) -> tuple[Register, list[int]]:
    """Release a register of 240 people, of whom some leave and as many join each period; count who is out."""
    draw = np.random.default_rng(3)
    register = Register(draw.integers(0, n_values, 240).tolist())
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
    register, out = series(n_values)
    assert register.n_short() == 0
    assert max(out) < 0.2 * 240
    found = unlocked(register)
    assert not found.open.any()
    assert found.people.max() <= 6
    assert found.people.mean() < 1


def test_a_series_in_which_many_share_a_signature_goes_on_with_it() -> None:
    """So earlier versions made them: the buckets are divided, and are one signature still."""
    register = Register([0, 1] * 120)
    register.release(list(range(240)))
    register.seat[:, 0] = register.bucket[:] = 0
    (new,) = register.join([1])
    made = register.release([*range(1, 240), new])
    assert register.n_short() == 0
    assert made.notes["left_out"] == 1  # of the position of who left; the newcomer waits
    assert np.bincount(made.labels[made.labels >= 0]).max() < 40
    assert len(np.unique(register.seat[:240, 0])) == 1


def test_who_comes_back_finds_another_in_the_seat() -> None:
    register, _ = series(3, periods=4)
    made = register.release(list(range(len(register.value))))
    assert register.n_short() == 0
    assert not unlocked(register).open.any()
    assert np.bincount(made.labels[made.labels >= 0]).max() < 40


@pytest.mark.parametrize("n_values", [2, 3, 6])
def test_buckets_that_are_together_have_two_values_without_any_one_of_their_people(n_values: int) -> None:
    draw = np.random.default_rng(5)
    value = draw.integers(0, n_values, 200)
    nobody = np.full((200, 2), -1)
    points = draw.random((200, 2))
    seat = seated(value, nobody, {}, (Attribute(np.arange(6)),), 2, points, Joins())
    held = seat[:, 0] >= 0
    assert held.mean() > 0.95
    assert len(np.unique(seat[held], axis=0)) == held.sum()  # nobody shares a seat
    near = []
    for unit in np.unique(seat[held, 0] // TOGETHER):
        rows = np.flatnonzero(seat[:, 0] // TOGETHER == unit)
        assert len(rows) >= 4
        assert all(len(set(value[rows[rows != one]].tolist())) >= 2 for one in rows)
        near.append(points[rows].std(axis=0).max())
    assert np.mean(near) < 0.5 * points.std()


@pytest.mark.parametrize("together", [1, 2, 3, 8])
def test_units_have_so_many_buckets_and_newcomers_units_of_their_own(together: int) -> None:
    draw = np.random.default_rng(6)
    value, points = draw.integers(0, 3, 300), draw.random((300, 2))
    first, attributes = 220, (Attribute(np.arange(3)),)
    seat, signatures = np.full((300, 2), -1), {}
    for here in (first, 300):
        seat[:here] = seated(
            value[:here], seat[:here], signatures, attributes, 2, points[:here], Joins(), together
        )
        rows = np.flatnonzero(seat[:, 0] >= 0)
        rows = rows[np.lexsort((seat[rows, 1], seat[rows, 0]))]
        numbers, starts = np.unique(seat[rows, 0], return_index=True)
        parts = np.split(value[rows], starts[1:])
        signatures = {
            number: tuple(part.tolist()) for number, part in zip(numbers.tolist(), parts, strict=True)
        }
        n_buckets = np.unique(unit_of(numbers), return_counts=True)[1]
        assert together <= n_buckets.min() <= n_buckets.max() < 2 * together
    held = seat[:, 0] >= 0
    old, new = (
        set(unit_of(seat[rows, 0][held[rows]]).tolist()) for rows in (slice(first), slice(first, None))
    )
    assert old.isdisjoint(new)


def test_who_would_wait_takes_the_seat_of_who_left_another_bucket() -> None:
    """Of buckets of values 2 and 5, one lost its 2 and another its 5: they are one signature from then on."""
    seat = np.array([[4, 1], [9, 0], [6, 0]])
    signatures = {4: (2, 5), 9: (2, 5), 6: (2, 3)}
    joins = Joins({4: 4, 9: 9, 6: 6}, Counter({4: 2, 9: 2, 6: 2}))
    value, points = np.array([5, 2, 2]), np.array([[0.0], [9.0], [0.0]])
    found = seated(value, seat, signatures, (Attribute(np.arange(6)),), 2, points, joins)
    assert found[2].tolist() == [-1, -1]  # it is nearer, and of other values
    assert found[0, 0] == found[1, 0]
    assert joins.signature[4] == joins.signature[9] != joins.signature[6]
    many = Joins({4: 4, 9: 9, 6: 6}, Counter({4: 2, 9: 9, 6: 2}))  # too many would be unlocked by one
    assert (seated(value, seat, signatures, (Attribute(np.arange(6)),), 2, points, many) == -1).all()


@pytest.mark.parametrize(("each", "wait"), [(3, False), (4, True)])
def test_three_buckets_are_joined_only_to_a_signature_of_few_people(each: int, wait: bool) -> None:
    seat = np.array([[4, 2], [9, 0], [6, 1]])
    signatures = dict.fromkeys((4, 9, 6), (2, 3, 5))
    joins = Joins({4: 4, 9: 9, 6: 6}, Counter({4: each, 9: each, 6: each}))  # of ten people at most
    value, points = np.array([5, 2, 3]), np.zeros((3, 1))
    found = seated(value, seat, signatures, (Attribute(np.arange(6)),), 2, points, joins)
    assert bool((found == -1).all()) is wait
    assert len({*joins.signature.values()}) == (3 if wait else 1)


@pytest.mark.parametrize(("share", "most"), [(0.3, 10), (0.1, 20), (0.04, 50)])
def test_a_bucket_has_few_people_unless_hardly_anybody_has_another_value(share: float, most: int) -> None:
    """Else one person with the rare value would unlock all others of the bucket."""
    draw = np.random.default_rng(7)
    points = draw.random((1_200, 2))
    # The rare value is ever rarer to one side.
    value = (draw.random(1_200) < 2 * share * points[:, 0]).astype(np.int64)
    nobody = np.full((1_200, 2), -1)
    seat = seated(value, nobody, {}, (Attribute(np.arange(2)),), 2, points, Joins())
    sizes = np.bincount(seat[seat[:, 0] >= 0, 0])
    assert sizes.max() <= most
    assert (seat[:, 0] >= 0).mean() > 0.98
