"""Classes that stay with their people: nobody is left short, and what hides whom, by hand and by chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small import prepared, small_policy
from test_persons import AGE, ILLNESS

from tasks.history.cohorts import ABSENT
from tasks.history.extent import Extent
from tasks.history.slots import substitutes
from tasks.history.sticky import Past, sticky
from tasks.history.worlds import Attribute, possible_values
from tasks.types import IntArray, PreparedTable, no_progress

POLICY = small_policy(AGE, ILLNESS, roles={"key": "person"})
NAMES = "abcdef"


def table_of(ages: list[float], value: IntArray) -> PreparedTable:
    rows = [(f"p{i}", age, NAMES[one]) for i, (age, one) in enumerate(zip(ages, value.tolist(), strict=True))]
    return prepared(POLICY, rows)


def one_class(rows: IntArray) -> IntArray:
    """Cut newcomers as a method would that makes one class of all."""
    return np.zeros(len(rows), dtype=np.int64)


def as_they_are(labels: IntArray) -> IntArray:
    return labels


def made(
    classes: IntArray, value: IntArray, here: list[int], ages: list[float] | None = None
) -> tuple[dict[int, int], dict[str, int]]:
    """Return the group of each subject who is in the table, -1 for who waits, and the notes."""
    subject = np.array(here, dtype=np.int64)
    past = Past(classes, value, subject, (Attribute(np.arange(int(value.max()) + 1)),))
    table = table_of(ages or [float(i) for i in here], value[subject])
    labels, notes = sticky(past, table, 2, 1, one_class, as_they_are, no_progress)
    return dict(zip(here, labels.tolist(), strict=True)), notes


def test_who_stays_stays_beside_the_same_people() -> None:
    classes = np.array([[0], [0], [1], [1]])
    groups, notes = made(classes, np.array([0, 1, 0, 1]), [3, 0, 2, 1])
    assert groups[0] == groups[1] != groups[2] == groups[3]
    assert (notes["stay"], notes["left_out"], notes["wait"]) == (4, 0, 0)


def test_a_newcomer_of_the_same_value_takes_the_place_of_who_left_alone() -> None:
    # Subject 2 (value c) left class 0; 6 and 7 are new, and 7 has c too.
    classes = np.array([[0], [0], [0], [1], [1], [1], [ABSENT], [ABSENT], [ABSENT]])
    value = np.array([0, 1, 2, 0, 1, 2, 0, 2, 1])
    groups, notes = made(classes, value, [0, 1, 3, 4, 5, 6, 7, 8])
    assert groups[7] == groups[0] == groups[1]
    assert groups[6] == groups[8] not in (groups[0], groups[3])  # cut among themselves
    assert (notes["left_alone"], notes["followed"], notes["left_out"]) == (1, 1, 0)


def test_of_two_newcomers_the_nearer_takes_the_place() -> None:
    classes = np.array([[0], [0], [0], [ABSENT], [ABSENT], [ABSENT]])
    value = np.array([0, 1, 2, 2, 2, 1])
    groups, _ = made(classes, value, [0, 1, 3, 4, 5], ages=[30, 31, 80, 33, 81])
    assert groups[4] == groups[0]
    assert groups[3] == groups[5] != groups[0]


def test_where_nobody_follows_another_is_left_out_and_hides_them() -> None:
    classes = np.array([[0], [0], [0], [0]])
    value = np.array([0, 1, 2, 2])
    groups, notes = made(classes, value, [0, 1, 2])  # subject 3 left; 2 has the same value, and hides nobody
    assert sorted(groups.values()).count(-1) == 1
    assert groups[2] >= 0
    assert (notes["left_alone"], notes["followed"], notes["left_out"]) == (1, 0, 1)


def test_two_who_leave_with_different_values_need_nobody() -> None:
    classes = np.array([[0], [0], [0], [0]])
    groups, notes = made(classes, np.array([0, 1, 0, 1]), [0, 1])
    assert groups[0] == groups[1] >= 0
    assert (notes["left_alone"], notes["left_out"]) == (0, 0)


def test_a_newcomer_alone_waits() -> None:
    classes = np.array([[0], [0], [ABSENT]])
    groups, notes = made(classes, np.array([0, 1, 2]), [0, 1, 2])
    assert groups[2] == -1
    assert (notes["wait"], notes["stay"]) == (1, 2)


def test_who_comes_back_together_is_led_to_whom_they_were_with() -> None:
    classes = np.array([[0, 0], [0, 0], [0, ABSENT], [0, ABSENT], [1, 1], [1, 1]])
    value = np.array([0, 1, 0, 1, 2, 3])
    groups, notes = made(classes, value, [0, 1, 2, 3, 4, 5])
    assert groups[2] == groups[3] == groups[0]
    assert groups[4] == groups[5] != groups[0]
    assert notes["wait"] == 0


def test_the_sum_of_what_places_cost_is_least() -> None:
    value = np.array([0, 0, 0, 0])
    table = table_of([10, 50, 12, 49], value)
    labels = np.array([0, 1, -1, -1])
    rows, slot = substitutes(
        Extent(table, labels, 2), np.array([1, 0]), np.array([0, 0]), np.array([2, 3]), np.array([0, 0])
    )
    assert dict(zip(rows.tolist(), slot.tolist(), strict=True)) == {2: 1, 3: 0}


@st.composite
def turnovers(draw: st.DrawFn) -> tuple[int, int, list[tuple[list[int], int]]]:
    """Draw a first table, and for each period who leaves and how many come."""
    n, seed = draw(st.integers(12, 40)), draw(st.integers(0, 1_000))
    periods = draw(
        st.lists(st.tuples(st.lists(st.integers(0, 39), max_size=6), st.integers(0, 6)), max_size=4)
    )
    return n, seed, periods


@given(turnovers())
def test_whoever_comes_and_goes_nobody_is_left_short(
    drawn: tuple[int, int, list[tuple[list[int], int]]],
) -> None:
    n, seed, periods = drawn
    rng = np.random.default_rng(seed)
    value = rng.integers(0, 4, n)
    value[: n // 2 * 2] = np.tile([0, 1], n // 2)  # each first class has two values at least
    classes = (np.arange(n) // 4)[:, None]
    classes[n // 4 * 4 :] = max(n // 4 - 1, 0)
    here = list(range(n))
    attribute = (Attribute(np.arange(4)),)
    for gone, n_new in periods:
        here = (
            [one for one in here if one not in {here[place % len(here)] for place in gone}] if here else here
        )
        value = np.concatenate([value, rng.integers(0, 4, n_new)])
        classes = np.concatenate([classes, np.full((n_new, classes.shape[1]), ABSENT)])
        here += range(len(value) - n_new, len(value))
        if not here:
            return
        past = Past(classes, value, np.array(here), attribute)
        table = table_of([float(one) for one in here], value[here])
        labels, notes = sticky(past, table, 2, 1, one_class, as_they_are, no_progress)
        now = np.full(len(value), ABSENT)
        now[here] = labels
        stayed = [one for one in here if classes[one, -1] != ABSENT and now[one] != ABSENT]
        for one in stayed:  # whoever was together is together
            mates = [other for other in stayed if classes[other, -1] == classes[one, -1]]
            assert {int(now[other]) for other in mates} == {int(now[one])}
        classes = np.column_stack([classes, now])
        known = (classes != ABSENT).any(axis=1)
        if notes["short"] == 0:
            found = possible_values(classes[known], value[known], attribute, 2)
            assert not found.pinned(2).any()
            assert not found.undecided(2).any()


@pytest.mark.parametrize("seed", range(3))
def test_a_register_of_one_percent_a_month_stays_whole(seed: int) -> None:
    """Half a year of 1,200 people, of whom 2% leave and as many come: at most 1% are out at any time."""
    rng = np.random.default_rng(seed)
    n, share = 1_200, 24
    value = rng.choice(6, n, p=[0.3, 0.25, 0.2, 0.15, 0.07, 0.03])
    value[: n // 2 * 2] = value[rng.permutation(n)]
    classes = (np.arange(n) // 10)[:, None]
    here = np.arange(n)
    attribute = (Attribute(np.arange(6)),)
    for _ in range(6):
        here = np.sort(rng.permutation(here)[share:])
        value = np.concatenate([value, rng.choice(6, share, p=[0.3, 0.25, 0.2, 0.15, 0.07, 0.03])])
        classes = np.concatenate([classes, np.full((share, classes.shape[1]), ABSENT)])
        here = np.concatenate([here, np.arange(len(value) - share, len(value))])
        past = Past(classes, value, here, attribute)
        table = table_of(rng.uniform(0, 99, len(here)).tolist(), value[here])
        labels, notes = sticky(past, table, 2, 1, one_class, as_they_are, no_progress)
        now = np.full(len(value), ABSENT)
        now[here] = labels
        classes = np.column_stack([classes, now])
        assert notes["short"] == 0
        assert (labels < 0).mean() <= 0.02
