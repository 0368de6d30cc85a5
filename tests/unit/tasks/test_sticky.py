"""Signatures that people keep: who waits for whom, what classes look like, and that nobody is left short."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from test_persons import AGE, ILLNESS

from tasks.history.attribute import Attribute
from tasks.history.cohorts import ABSENT
from tasks.history.placing import placed
from tasks.history.revision import join_nearest, revision
from tasks.history.seating import Joins, seated
from tasks.history.signatures import balanced, interchanged
from tasks.history.sticky import Past, Sticky, sticky
from tasks.history.worlds import possible_values
from tasks.representation.features import z_scored
from tasks.types import IntArray, PreparedTable, no_progress
from tests.support.small import prepared, small_policy

POLICY = small_policy(AGE, ILLNESS, roles={"key": "person"})
NAMES = "abcdef"
NOBODY = [-1, -1]


def table_of(ages: list[float], value: IntArray) -> PreparedTable:
    rows = [(f"p{i}", age, NAMES[one]) for i, (age, one) in enumerate(zip(ages, value.tolist(), strict=True))]
    return prepared(POLICY, rows)


def in_tens(rows: IntArray, each: int) -> IntArray:
    """Cut people as a method would that makes groups of ten, each of whom stands for `each`."""
    return np.arange(len(rows)) // max(1, round(10 / each))


def as_they_are(labels: IntArray) -> IntArray:
    return labels


class Register:
    """A series as it grows: who is who, their values, classes and seats."""

    def __init__(self, value: list[int], enough: int = 2) -> None:
        self.value = np.array(value, dtype=np.int64)
        self.classes = np.empty((len(value), 0), dtype=np.int64)
        self.seat = np.full((len(value), 2), -1, dtype=np.int64)
        self.bucket = np.full(len(value), -1, dtype=np.int64)
        self.attributes = (Attribute(np.arange(6)),)
        self.enough = enough

    def join(self, value: list[int]) -> list[int]:
        """Add people, and return their numbers."""
        first = len(self.value)
        self.value = np.concatenate([self.value, value]).astype(np.int64)
        absent = np.full((len(value), self.classes.shape[1]), ABSENT, dtype=np.int64)
        self.classes = np.concatenate([self.classes, absent])
        self.seat = np.concatenate([self.seat, np.full((len(value), 2), -1, dtype=np.int64)])
        self.bucket = np.concatenate([self.bucket, np.full(len(value), -1, dtype=np.int64)])
        return list(range(first, len(self.value)))

    def release(self, here: list[int], *, seats: bool = True, revised: int | None = None) -> Sticky:
        """Publish the people who are there; without `seats` they are forgotten."""
        rows = np.array(here, dtype=np.int64)
        past = Past(self.classes, self.value, self.seat, self.bucket, rows, self.attributes)
        table = table_of([float(7 * one % 90) for one in here], self.value[rows])
        points = z_scored(table)
        made = sticky(past, table, points, self.enough, 10, in_tens, as_they_are, no_progress, revised)
        now = np.full(len(self.value), ABSENT, dtype=np.int64)
        now[rows] = made.labels
        self.classes = np.column_stack([self.classes, now])
        if seats:
            kept = made.seats[:, 0] >= 0
            self.seat = past.seated(made.seats)
            self.bucket[rows[kept]] = made.seats[kept, 0]
        return made

    def n_short(self) -> int:
        """Count whom exact reasoning pins, or leaves undecided without a call of the solver."""
        known = (self.classes != ABSENT).any(axis=1)
        found = possible_values(
            self.classes[known], self.value[known], self.attributes, self.enough, seat=self.seat[known]
        )
        return int((found.pinned(self.enough) | found.undecided(self.enough)).sum())


def test_positions_of_one_signature_are_held_alike_in_every_class() -> None:
    classes = np.array([[0, 0], [0, 1], [0, 1], [0, 0], [1, ABSENT], [1, ABSENT]])
    seat = np.array([[7, 0], [7, 0], [7, 1], [7, 1], [7, 0], [7, 1]])
    value = np.array([3, 3, 5, 5, 3, 5])
    assert balanced(classes, value, seat).all()
    subject, other = interchanged(value, seat, np.ones(6, dtype=bool))
    assert sorted(zip(subject.tolist(), other.tolist(), strict=True)) == [
        (i, v) for i in range(6) for v in (3, 5)
    ]


@pytest.mark.parametrize(
    "fault", ["one too many", "a position that nobody holds", "another value", "no seat"]
)
def test_what_is_out_of_balance_is_no_certificate(fault: str) -> None:
    classes = np.array([[0], [0], [1], [1]])
    seat = np.array([[0, 0], [0, 1], [0, 0], [0, 1]])
    value = np.array([1, 2, 1, 2])
    if fault == "one too many":
        classes[3] = 0
    elif fault == "a position that nobody holds":
        classes[3] = ABSENT
    elif fault == "another value":
        value[3] = 3
    else:
        seat[3] = NOBODY
    assert not balanced(classes, value, seat).any()


def test_another_signature_is_a_certificate_all_the_same() -> None:
    classes = np.array([[0], [0], [0], [0], [0]])
    seat = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]])
    assert balanced(classes, np.array([1, 2, 1, 3, 3]), seat).tolist() == [True, True, False, False, False]


def test_newcomers_make_buckets_of_values_that_differ() -> None:
    value = np.array([0, 0, 1, 1])
    seat = seated(value, np.full((4, 2), -1), {}, (Attribute(np.arange(2)),), 2, np.zeros((4, 1)), Joins())
    assert sorted(map(tuple, seat.tolist())) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert seat[:, 1].tolist() == value.tolist()


def test_each_attribute_of_a_tuple_has_enough_values_in_a_bucket() -> None:
    # Tuples (0,0), (0,1), (1,0): no two differ in both, all three have two values of each.
    attributes = (Attribute(np.array([0, 0, 1])), Attribute(np.array([0, 1, 0])))
    seat = seated(np.array([0, 1, 2]), np.full((3, 2), -1), {}, attributes, 2, np.zeros((3, 1)), Joins())
    assert sorted(map(tuple, seat.tolist())) == [(0, 0), (0, 1), (0, 2)]


def test_who_is_left_of_a_frequent_value_joins_a_bucket() -> None:
    value = np.array([0, 0, 0, 1])
    seat = seated(value, np.full((4, 2), -1), {}, (Attribute(np.arange(2)),), 2, np.zeros((4, 1)), Joins())
    assert (seat[:, 0] >= 0).all()
    assert balanced(np.zeros((4, 1), dtype=np.int64), value, seat).all()


def test_three_values_are_asked_for_three() -> None:
    value = np.array([0, 1, 2, 0, 1, 2])
    seat = seated(value, np.full((6, 2), -1), {}, (Attribute(np.arange(3)),), 3, np.zeros((6, 1)), Joins())
    assert sorted(seat[:, 1].tolist()) == [0, 0, 1, 1, 2, 2]


def test_a_part_of_the_table_with_one_value_finds_counterparts_elsewhere() -> None:
    value = np.array([0] * 1_500 + [0, 1] * 750)
    points = np.arange(3_000.0)[:, None]  # the first half has one value only
    seat = seated(value, np.full((3_000, 2), -1), {}, (Attribute(np.arange(2)),), 2, points, Joins())
    assert (seat[:, 0] >= 0).all()
    assert balanced(np.zeros((3_000, 1), dtype=np.int64), value, seat).all()


def test_nobody_is_seated_without_a_counterpart() -> None:
    value = np.array([0, 0, 0])
    seat = seated(value, np.full((3, 2), -1), {}, (Attribute(np.arange(2)),), 2, np.zeros((3, 1)), Joins())
    assert seat.tolist() == [NOBODY] * 3


def test_a_newcomer_of_the_same_value_takes_the_place_of_who_left() -> None:
    seat = np.array([[4, 0], [4, 0], [4, 1], NOBODY, NOBODY])
    value = np.array([2, 2, 5, 5, 2])
    found = seated(value, seat, {4: (2, 5)}, (Attribute(np.arange(6)),), 2, np.zeros((5, 1)), Joins())
    assert found.tolist() == [[4, 0], [4, 0], [4, 1], [4, 1], NOBODY]  # the last finds no counterpart


def test_a_counterpart_waits_where_nobody_takes_the_place() -> None:
    seat = np.array([[4, 0], [4, 0], [4, 1]])
    found = seated(
        np.array([2, 2, 5]), seat, {4: (2, 5)}, (Attribute(np.arange(6)),), 2, np.zeros((3, 1)), Joins()
    )
    assert found.tolist() == [[4, 0], NOBODY, [4, 1]]


def test_every_group_holds_positions_alike_and_near_people_are_together() -> None:
    ages = [10.0, 80.0, 11.0, 81.0, 12.0, 82.0, 13.0, 83.0]
    value = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    table = table_of(ages, value)
    seat = np.column_stack([np.array([0, 4, 0, 4, 1, 5, 1, 5]), value])

    def young_and_old(rows: IntArray, each: int) -> IntArray:
        assert each == 4
        return (table.numeric[rows, 0] > 50).astype(np.int64)

    labels, seats = placed(table, seat, value, np.full(8, -1), z_scored(table), 9, young_and_old, no_progress)
    assert balanced(labels[:, None], value, seats).all()
    assert len(set(labels[[0, 2, 4, 6]].tolist())) == len(set(labels[[1, 3, 5, 7]].tolist())) == 1


def test_who_was_left_out_by_the_cut_takes_its_buckets_along() -> None:
    value = np.array([0, 1, 0, 1])
    table = table_of([1, 2, 3, 4], value)
    seat = np.column_stack([np.array([0, 0, 4, 4]), value])
    labels, seats = placed(
        table,
        seat,
        value,
        np.full(4, -1),
        z_scored(table),
        9,
        lambda rows, _: np.where(rows == rows[0], -1, 0),
        no_progress,
    )
    assert sorted((labels >= 0).tolist()) == [False, False, True, True]
    assert balanced(np.where(labels < 0, ABSENT, labels)[:, None], value, seats)[labels >= 0].all()


def test_a_first_release_seats_everybody() -> None:
    register = Register([0, 1] * 20)
    made = register.release(list(range(40)))
    assert made.notes["wait"] == made.notes["short"] == 0
    assert register.n_short() == 0


def test_whoever_leaves_is_hidden_though_nobody_follows() -> None:
    register = Register([0, 1] * 20)
    register.release(list(range(40)))
    made = register.release(list(range(1, 40)))  # person 0 left
    assert made.notes["left_out"] == 1
    assert register.n_short() == 0


def test_a_newcomer_alone_waits_and_is_let_in_with_another() -> None:
    register = Register([0, 1] * 20)
    here = list(range(40))
    register.release(here)
    (first,) = register.join([2])
    made = register.release([*here, first])
    assert (made.notes["wait"], made.labels[-1]) == (1, -1)
    (second,) = register.join([1])
    made = register.release([*here, first, second])
    assert made.notes["wait"] == 0
    assert register.n_short() == 0


def test_who_comes_back_has_the_seat_of_before() -> None:
    register = Register([0, 1] * 20)
    register.release(list(range(40)))
    register.release(list(range(2, 40)))
    made = register.release(list(range(40)))
    assert made.notes["left_out"] == 0
    assert register.n_short() == 0


def test_people_of_a_first_release_without_seats_get_them_where_classes_allow() -> None:
    register = Register([0, 1] * 20)
    register.release(list(range(40)), seats=False)
    made = register.release(list(range(40)))
    assert made.notes["short"] == 0
    assert register.n_short() == 0


def test_who_left_a_series_without_seats_is_hidden_by_who_is_left_out() -> None:
    register = Register([0, 1] * 20)
    register.release(list(range(40)), seats=False)
    made = register.release(list(range(1, 40)))
    assert made.notes["short"] == 0
    assert 1 <= made.notes["left_out"] <= 4
    assert register.n_short() == 0


@example(12, 51, 3, [([0], 0)])  # nobody has a seat in the second release
@given(
    st.integers(12, 40),
    st.integers(0, 1_000),
    st.integers(2, 3),
    st.lists(st.tuples(st.lists(st.integers(0, 39), max_size=8), st.integers(0, 8)), max_size=4),
)
def test_whoever_comes_and_goes_nobody_is_left_short(
    n: int, seed: int, enough: int, periods: list[tuple[list[int], int]]
) -> None:
    rng = np.random.default_rng(seed)
    register = Register(rng.integers(0, 5, n).tolist(), enough)
    here = list(range(n))
    register.release(here)
    assert register.n_short() == 0
    for gone, n_new in periods:
        leave = {here[place % len(here)] for place in gone} if here else set()
        here = [one for one in here if one not in leave]
        here += register.join(rng.integers(0, 5, n_new).tolist())
        if not here:
            return
        register.release(here)
        assert register.n_short() == 0


@pytest.mark.parametrize("seed", range(3))
def test_nobody_is_left_short_of_an_attribute_that_has_to_keep_more_kinds_of_values(seed: int) -> None:
    """Of two attributes one keeps two values, and one three of its four kinds, to which six values belong."""
    rng = np.random.default_rng(seed)
    register = Register(rng.integers(0, 6, 60).tolist())
    kinds = Attribute(np.array([0, 0, 1, 2, 2, 3]), more=1)
    register.attributes = (kinds, Attribute(np.array([0, 1, 0, 1, 0, 1])))
    here = list(range(60))
    for _ in range(3):
        made = register.release(here)
        assert (made.labels >= 0).sum() > 30
        assert register.n_short() == 0
        for signature in np.unique(register.seat[register.seat[:, 0] >= 0, 0]).tolist():
            held = register.value[register.seat[:, 0] == signature]
            assert len(set(kinds.value[held].tolist())) >= 3
        here = [one for one in here if rng.random() > 0.05] + register.join(rng.integers(0, 6, 4).tolist())


@pytest.mark.parametrize("seed", range(2))
def test_a_register_of_two_percent_a_month_keeps_nearly_everybody(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = [0.3, 0.25, 0.2, 0.15, 0.07, 0.03]
    register = Register(rng.choice(6, 1_200, p=shares).tolist())
    here = list(range(1_200))
    for _ in range(6):
        made = register.release(here)
        assert (made.labels < 0).mean() <= 0.015
        here = sorted(rng.permutation(here)[24:].tolist())
        here += register.join(rng.choice(6, 24, p=shares).tolist())
    assert register.n_short() == 0


def test_who_is_gone_from_a_revision_takes_a_counterpart_along() -> None:
    # Two classes of two buckets, of positions 0 and 1; of the first class one of position 0 is gone.
    classes = np.array([0, 0, 0, 1, 1, 1, 1, -1])
    seat = np.array([[0, 0], [0, 1], [0, 1], [0, 0], [0, 0], [0, 1], [0, 1], [0, 0]])
    assert revision(classes, seat, np.array([2])).tolist() == [0, 0, -1, 1, 1, 1, 1, -1]
    # A signature of which one position is gone leaves nobody, and neither does who has no seat.
    assert revision(np.zeros(2, dtype=np.int64), np.array([[0, 1], NOBODY]), np.array([2])).tolist() == [
        -1,
        -1,
    ]


def test_newcomers_of_a_revision_join_the_nearest_class_as_whole_buckets() -> None:
    labels = np.array([0, 0, 7, 7, -1, -1, -1, -1])
    seat = np.array([[0, 0], [0, 1], [0, 0], [0, 1], [1, 0], [1, 1], [1, 0], NOBODY])
    points = np.array([0.0, 0.0, 9.0, 9.0, 8.0, 7.0, 0.0, 0.0])[:, None]
    join_nearest(labels, seat, points)
    assert labels.tolist() == [0, 0, 7, 7, 7, 7, -1, -1]


@given(st.none() | st.integers(0, 199), st.integers(0, 2), st.integers(2, 3))
def test_a_revision_keeps_classes_and_pins_nobody(gone: int | None, n_new: int, enough: int) -> None:
    register = Register(np.random.default_rng(1).integers(0, 5, 200).tolist(), enough)
    here = [one for one in range(200) if one != gone]
    register.release(list(range(200)))
    new = register.join(np.random.default_rng(2).integers(0, 5, n_new).tolist())
    before, made = register.classes[:, 0], register.release([*here, *new], revised=0)
    for group in set(made.labels[: len(here)].tolist()) - {-1}:
        assert len(set(before[np.array(here)[made.labels[: len(here)] == group]].tolist())) == 1
    assert register.n_short() == 0
    assert made.notes["left_out"] <= 4


def test_a_revision_without_many_is_cut_anew() -> None:
    register = Register([0, 1] * 100)
    register.release(list(range(200)))
    made = register.release(list(range(0, 200, 2)) + list(range(1, 150, 2)), revised=0)
    assert register.n_short() == 0
    before = register.classes[:, 0]
    assert any(
        len(set(before[np.flatnonzero(register.classes[:, 1] == group)].tolist())) > 1
        for group in set(made.labels.tolist()) - {-1}
    )


def test_signatures_that_lost_a_position_or_have_too_few_values_are_none() -> None:
    register = Register([0, 1] * 20)
    register.release(list(range(40)))
    register.seat[1::2] = -1  # nobody is known of the second position
    made = register.release(list(range(40)))
    assert made.notes["short"] == 0
    assert register.n_short() == 0
