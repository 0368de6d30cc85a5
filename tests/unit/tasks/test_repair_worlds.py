"""The repair asks exact reasoning: groups by which all releases together pin somebody are merged."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from test_persons import AGE, ILLNESS

from release_store.summary import Repair
from tasks.history.attribute import Attribute
from tasks.history.cohorts import ABSENT
from tasks.history.search import Limits
from tasks.history.sticky import Past
from tasks.history.worlds import possible_values
from tasks.recoding.generalize import generalized
from tasks.repair.merge import repair
from tasks.repair.rounds import in_rounds
from tasks.repair.worlds import Questions, Worlds
from tasks.types import IntArray, Partition
from tests.support.small import counts_of, prepared, small_policy

POLICY = small_policy(AGE, ILLNESS, roles={"key": "person"})
# The five people of docs/gates.md: persons 0 and 4 have c, the others a, and one world fits three releases.
FIVE = np.array([[1, 1], [1, 0], [0, 1], [1, 1], [0, 0]])
FIVE_VALUES = np.array([1, 0, 0, 0, 1])
FIVE_LABELS = np.array([1, 1, 1, 0, 0])


def past_of(classes: IntArray, value: IntArray, subject: IntArray | None = None) -> Past:
    everybody = np.arange(len(value))
    seat = np.full((len(value), 2), -1)
    here = everybody if subject is None else subject
    return Past(classes, value, seat, seat[:, 0], here, (Attribute(np.arange(int(value.max()) + 1)),))


def failing(past: Past, labels: IntArray) -> list[int]:
    return Worlds(past, 2, Limits(), None).failing(labels).tolist()


def test_both_groups_that_pin_the_five_people_are_named() -> None:
    assert failing(past_of(FIVE, FIVE_VALUES), FIVE_LABELS) == [0, 1]
    assert failing(past_of(FIVE, FIVE_VALUES), np.zeros(5, dtype=np.int64)) == []
    assert failing(past_of(FIVE, FIVE_VALUES), np.full(5, -1)) == []


def test_whoever_is_pinned_is_best_merged_with_whom_two_who_are_gone_let_change() -> None:
    # Persons 0 and 2 are here, alone each; 1 and 3, who were with them, are gone, and have the other's value.
    past = past_of(
        np.array([[0], [0], [1], [1], [2], [2]]), np.array([0, 1, 1, 0, 2, 2]), np.array([0, 2, 4])
    )
    worlds, labels = Worlds(past, 2, Limits(), None), np.array([0, 1, 2])
    assert worlds.failing(labels).tolist() == [0, 1, 2]
    partners = {group: others.tolist() for group, others in worlds.partners(labels).items()}
    assert partners == {0: [1], 1: [0], 2: []}  # nobody who is gone has another value than person 4
    merged = np.array([0, 0, 2])
    assert worlds.failing(merged).tolist() == [2]


def test_who_was_with_somebody_pinned_who_is_gone_is_merged_with_their_value() -> None:
    # Person 0 is gone. Person 1 could take their value, if 2 took that of 1, and 3, who is gone, that of 2.
    classes = np.array([[0], [0], [1], [1]])
    past = past_of(classes, np.array([0, 1, 0, 1]), np.array([1, 2]))
    worlds, labels = Worlds(past, 2, Limits(), None), np.array([0, 1])
    assert worlds.failing(labels).tolist() == [0, 1]
    assert worlds.partners(labels)[0].tolist() == [1]
    assert worlds.failing(np.array([0, 0])).tolist() == []


def test_who_left_alone_names_the_groups_of_those_who_stay() -> None:
    # Person 0 is gone; the classes of the three who were beside them say what they had.
    past = past_of(np.array([[0], [0], [0], [1], [1]]), np.array([0, 1, 1, 0, 1]), np.arange(1, 5))
    assert failing(past, np.array([0, 0, 1, 1])) == [0]
    assert failing(past, np.array([-1, -1, 1, 1])) == []


def test_the_repair_merges_whom_all_releases_pin() -> None:
    names = "ac"
    rows = [(f"p{i}", 10.0 * i, names[one]) for i, one in enumerate(FIVE_VALUES.tolist())]
    table = prepared(POLICY, rows)
    groups = Partition(FIVE_LABELS)
    earlier = [
        (f"r{i}", generalized(table, column, POLICY)) for i, column in enumerate(FIVE.T.astype(np.int64))
    ]
    # Nothing else fails: without worlds the groups stay as they are.
    past = past_of(FIVE, FIVE_VALUES)
    after = repair(table, groups, POLICY, earlier, max_group_size=6, worlds=Worlds(past, 2, Limits(), None))
    assert failing(past, FIVE_LABELS) != []
    assert failing(past, after.labels) == []


@st.composite
def series(draw: st.DrawFn) -> tuple[IntArray, IntArray, IntArray]:
    n, r = draw(st.integers(4, 9)), draw(st.integers(1, 3))
    classes = draw(st.lists(st.lists(st.integers(-1, 2), min_size=r, max_size=r), min_size=n, max_size=n))
    value = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    labels = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return np.array(classes), np.array(value), np.array(labels)


@given(series(), st.integers(0, 100))
def test_merges_never_pin_and_what_was_found_before_them_holds(
    drawn: tuple[IntArray, IntArray, IntArray], seed: int
) -> None:
    classes, value, labels = drawn
    past, rng = past_of(classes, value), np.random.default_rng(seed)
    worlds = Worlds(past, 2, Limits(), None)
    before = len(value) + 1
    for _ in range(len(value)):
        failing = worlds.failing(labels)
        assert worlds.n_short <= before
        before = worlds.n_short
        assert worlds.n_short == n_short(past, labels)
        assert set(failing.tolist()) <= set(labels[labels >= 0].tolist())
        living = np.unique(labels[labels >= 0])
        if len(living) < 2:
            return
        one, other = rng.choice(living, 2, replace=False)
        labels = np.where(labels == one, other, labels)


@given(series())
def test_the_rounds_end_and_say_how_many_were_left_out(drawn: tuple[IntArray, IntArray, IntArray]) -> None:
    classes, value, labels = drawn
    past = past_of(classes, value)
    worlds = Worlds(past, 2, Limits(), None)

    def merge(groups: Partition) -> Partition:
        worlds.failing(groups.labels)
        return Partition(groups.labels, repair=Repair(0, 0, 0, 0, 0))

    made = in_rounds(Partition(labels), merge, lambda labels: labels, [worlds.left_out])
    out = np.flatnonzero(made.labels < 0)
    assert counts_of(made).left_out_records == len(out)
    assert worlds.n_short == n_short(past, made.labels)
    assert (made.labels == np.where(made.labels < 0, -1, labels)).all()


@example(4, 2)  # no chain frees these, and the solver does
@example(14, 2)
@example(238, 3)  # of values that are not found yet, some are possible though nobody leaves
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 2, 2, 3]))
def test_who_leaves_frees_everybody_whom_the_earlier_releases_left_free(seed: int, least: int) -> None:
    rng = np.random.default_rng(seed)
    while True:  # what earlier releases tell cannot be taken back
        n, r = int(rng.integers(6, 9)), int(rng.integers(1, 3))
        classes, value, labels = rng.integers(-1, 2, (n, r)), rng.integers(0, 3, n), rng.integers(-1, 4, n)
        columns = [(column, one) for column in classes.T for one in set(column.tolist()) - {ABSENT}]
        varied = all(len(set(value[column == one].tolist())) >= least for column, one in columns)
        past = past_of(classes, value)
        if varied and not n_short(past, np.full(n, ABSENT), least):
            break
    worlds = Worlds(past, least, Limits(), None)
    for _ in range(len(labels) + 1):
        worlds.failing(labels)
        if not worlds.n_short:
            break
        out = worlds.left_out(labels)
        assert (labels[out] >= 0).any()
        labels[out] = -1
    assert n_short(past, labels, least) == 0


def n_short(past: Past, labels: IntArray, least: int = 2) -> int:
    """Count afresh who is pinned or undecided."""
    now = np.column_stack([past.classes, labels])
    found = possible_values(now, past.value, past.attributes, least)
    there = (now != ABSENT).any(axis=1)
    return int((there & (found.pinned(least) | found.undecided(least))).sum())


def test_records_are_left_out_where_no_merge_helps() -> None:
    # All six stay, and are cut anew so that each class has one value; who leaves can exchange theirs.
    classes = np.array([[0], [0], [0], [1], [1], [1]])
    value = np.array([0, 0, 1, 0, 1, 1])
    labels = np.array([0, 0, 1, 0, 1, 1])
    past = past_of(classes, value)
    worlds = Worlds(past, 2, Limits(), None)
    assert worlds.failing(labels).tolist() == [0, 1]
    out = worlds.left_out(labels)
    assert len(out)
    after = labels.copy()
    after[out] = -1
    assert n_short(past, after) < n_short(past, labels)


def test_whoever_has_a_signature_is_not_left_out() -> None:
    classes = np.array([[0], [0], [0], [1], [1], [1]])
    value = np.array([0, 0, 1, 0, 1, 1])
    labels = np.array([0, 0, 1, 0, 1, 1])
    seat = np.column_stack([np.zeros(6, dtype=np.int64), value])
    assert Worlds(past_of(classes, value), 2, Limits(), seat).left_out(labels).tolist() == []


def seated_series(seed: int) -> tuple[Past, IntArray, IntArray]:
    """A release and groups with as many of either illness, and a second attribute that signatures ignore."""
    rng = np.random.default_rng(seed)
    illness = np.tile([0, 1], 10)
    ward = rng.integers(0, 2, 20)
    seat = np.column_stack([np.zeros(20, dtype=np.int64), illness])

    def groups() -> IntArray:
        labels = np.empty(20, dtype=np.int64)
        for one in (0, 1):
            labels[illness == one] = rng.permutation(np.arange(10) % 5)
        return labels

    attributes = Attribute(np.array([0, 0, 1, 1])), Attribute(np.array([0, 1, 0, 1]))
    past = Past(groups()[:, None], 2 * illness + ward, seat, seat[:, 0], np.arange(20), attributes)
    return past, groups(), seat


# Of seeds 6 and 14 somebody lacks values of two attributes, and no tuple has both.
@pytest.mark.parametrize(("seed", "least"), [(1, 8), (6, 4), (10, 8), (11, 8), (14, 4)])
def test_where_nobody_else_can_leave_whole_buckets_of_signatures_do(seed: int, least: int) -> None:
    past, labels, seat = seated_series(seed)
    assert n_short(past, labels)
    assert not n_short(past, np.full(20, ABSENT))  # the earlier release alone pins nobody
    worlds = Questions([Worlds(past, 2, Limits(), seat)], seat)
    for _ in range(len(labels)):
        worlds.failing(labels)
        out = worlds.left_out(labels)
        if not len(out):
            break
        labels[out] = -1
    assert n_short(past, labels) == 0
    held = [np.bincount(seat[labels == group, 1], minlength=2) for group in range(5)]
    assert all(one == other for one, other in held)
    assert (labels >= 0).sum() >= least
