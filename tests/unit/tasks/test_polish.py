"""Swaps between groups: by hand, and on random tables against cells worked out from the members."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_split_scores import attributes, slow_ncp
from threadpoolctl import threadpool_limits

from policy.model import Privacy
from tasks.aggregation.boxes import GroupCells
from tasks.aggregation.ke_mdav import LocalRule, aggregate, room_for_groups
from tasks.aggregation.polish import PolishRule, polish
from tasks.partitioning.attributes import Attributes, attributes_of
from tasks.partitioning.constraints import Constraints, SensitiveColumn, constraints_of
from tasks.partitioning.mondrian import SplitRule, partition
from tasks.representation.features import unit_ranges
from tasks.types import IntArray
from tests.support.small import (
    MIXED,
    TWO_SENSITIVE,
    groups_of,
    limits_of,
    mixed_rows,
    prepared,
    privacies,
    small_policy,
)

CALM = {"noise": 0.0, "sweeps": 1}


def total(made: Attributes, labels: IntArray) -> float:
    """The NCP of all records in groups, worked out group by group."""
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels[labels >= 0])]
    return sum(len(group) * slow_ncp(made, group) for group in groups)


def slowly_contained(made: Attributes, groups: list[IntArray]) -> np.ndarray:
    """Which records (columns) lie in the cells of which groups (rows)."""
    inside = np.ones((len(groups), len(made.numeric)), dtype=bool)
    for row, group in enumerate(groups):
        for values in made.numeric.T:
            known = values[group][~np.isnan(values[group])]
            for record, x in enumerate(values):
                if not np.isnan(x) and len(known) and not known.min() <= x <= known.max():
                    inside[row, record] = False
        for codes in made.codes.T:
            inside[row] &= np.isin(codes, codes[group])
    return inside


def test_two_records_on_the_wrong_side_change_places() -> None:
    # Ages 0 1 2 | 7 8 9, but 2 and 7 stand in each other's group.
    made = attributes([[0.0, 1, 7, 2, 8, 9]], [])
    labels = np.array([0, 0, 0, 1, 1, 1])
    found = polish(labels, made, limits_of([0] * 6, k=3), PolishRule(**CALM))
    assert found.tolist() == [0, 0, 1, 0, 1, 1]


def test_a_swap_that_would_break_the_model_is_not_made() -> None:
    # The same, but with the swap all of one illness would stand in one group.
    made = attributes([[0.0, 1, 7, 2, 8, 9]], [])
    labels = np.array([0, 0, 0, 1, 1, 1])
    assert polish(labels, made, limits_of([0, 0, 1, 0, 1, 1], k=3, e=2), PolishRule(**CALM)).tolist() == [
        *labels
    ]


def test_a_group_that_breaks_the_model_takes_part_in_no_swap() -> None:
    made = attributes([[0.0, 1, 7, 2, 8, 9]], [])
    labels = np.array([0, 0, 0, 1, 1, 1])
    limits = limits_of([0, 0, 0, 1, 2, 1], k=3, e=2)
    assert polish(labels, made, limits, PolishRule(**CALM)).tolist() == [*labels]


def test_people_in_one_class_only_are_worth_a_wider_class() -> None:
    # Ages 0 1 2 3 | 4 5 6 7 do not overlap: all eight are in one class only. With 2 and 5 swapped the classes
    # are 0 to 5 and 2 to 7: four people are in both. That costs 2 of 7 more for all eight records, 16/7.
    made = attributes([[float(x) for x in range(8)]], [])
    labels = np.array([0] * 4 + [1] * 4)
    limits = limits_of([0] * 8, k=4)
    assert polish(labels, made, limits, PolishRule(**CALM)).tolist() == [*labels]
    found = polish(labels, made, limits, PolishRule(overlap_weight=1.0, **CALM))
    groups = [np.flatnonzero(found == group) for group in (0, 1)]
    inside = slowly_contained(made, groups)
    assert (inside.sum(axis=0) == 1).sum() == 4
    assert total(made, found) == pytest.approx(total(made, labels) + 16 / 7)
    # Four people at half of that each are not worth it.
    assert polish(labels, made, limits, PolishRule(overlap_weight=0.5, **CALM)).tolist() == [*labels]


def test_groups_are_not_given_the_cells_of_another() -> None:
    # Swapping 1 and 2 would make two groups of one value each cheaper; of ages 0 0 | 0 0 both would be one
    # published class of four.
    made = attributes([[0.0, 0, 0, 0, 9, 9]], [[0, 1, 0, 1, 0, 0]])
    labels = np.array([0, 0, 1, 1, 2, 2])
    found = polish(labels, made, limits_of([0] * 6, k=2), PolishRule())
    groups = [np.flatnonzero(found == group) for group in range(3)]
    cells = {(made.numeric[g].min(), made.numeric[g].max(), *sorted(set(made.codes[g, 0]))) for g in groups}
    assert len(cells) == 3


def test_groups_of_one_record_have_nobody_to_swap() -> None:
    made = attributes([[0.0, 1, 7, 2]], [[0, 1, 0, 1]])
    labels = np.arange(4)
    assert sorted(polish(labels, made, limits_of([0] * 4, k=1), PolishRule())) == [0, 1, 2, 3]


def test_without_rounds_or_a_second_group_nothing_changes() -> None:
    made = attributes([[0.0, 1, 7, 2, 8, 9]], [])
    labels = np.array([0, 0, 0, 1, 1, 1])
    limits = limits_of([0] * 6, k=3)
    assert polish(labels, made, limits, PolishRule(rounds=0)).tolist() == [*labels]
    assert polish(np.zeros(6, dtype=np.int64), made, limits, PolishRule()).tolist() == [0] * 6
    assert polish(np.full(6, -1), made, limits, PolishRule()).tolist() == [-1] * 6


@st.composite
def grouped(draw: st.DrawFn) -> tuple[Attributes, IntArray, Constraints]:
    n_groups = draw(st.integers(2, 6))
    size = draw(st.integers(2, 5))
    n = n_groups * size + draw(st.integers(0, 1))

    def column(values: st.SearchStrategy[object]) -> list[object]:
        return draw(st.lists(values, min_size=n, max_size=n))

    numbers = column(st.one_of(st.integers(0, 9).map(float), st.just(float("nan"))))
    made = attributes(
        [[0.0, *numbers[1:]], column(st.integers(0, 3).map(float))],  # type: ignore[list-item]
        [column(st.integers(0, 1)), column(st.integers(0, 4))],  # type: ignore[list-item]
    )
    labels = np.minimum(np.arange(n) // size, n_groups - 1)
    illness = SensitiveColumn(np.array(column(st.integers(0, 2))), 3)
    limits = Constraints(2, draw(st.sampled_from([0.6, 1.0])), 0.0, draw(st.sampled_from([1, 2])), (illness,))
    return made, labels[np.array(draw(st.permutations(range(n))))], limits


@given(grouped(), st.sampled_from([(0.0, 0), (0.3, 0), (0.3, 2)]))
def test_sizes_and_the_model_are_kept_and_the_ncp_falls(
    case: tuple[Attributes, IntArray, Constraints], weights: tuple[float, int]
) -> None:
    made, labels, limits = case
    weight, widened = weights
    rule = PolishRule(overlap_weight=weight, widened_classes=widened, block_size=12)
    found = polish(labels, made, limits, rule)
    assert np.bincount(found).tolist() == np.bincount(labels).tolist()
    for group in range(int(labels.max()) + 1):
        before, after = np.flatnonzero(labels == group), np.flatnonzero(found == group)
        assert limits.group_holds(after) or before.tolist() == after.tolist()
    if not weight:
        assert total(made, found) <= total(made, labels) + 1e-9


@given(grouped(), st.data())
def test_costs_and_containment_after_a_swap_are_those_of_the_members(
    case: tuple[Attributes, IntArray, Constraints], data: st.DataObject
) -> None:
    made, labels, _ = case
    cells = GroupCells(made, labels)
    members = [np.flatnonzero(labels == group) for group in range(len(cells))]
    assert cells.cost == pytest.approx([slow_ncp(made, group) for group in members])
    assert (cells.now_contained() == slowly_contained(made, members)).all()
    n = len(labels)
    for record in range(n):
        own = members[labels[record]]
        rest = own[own != record]
        assert cells.saved()[record] == pytest.approx(slow_ncp(made, own) - slow_ncp(made, rest))
        for group in range(len(cells)):
            more = slow_ncp(made, np.append(members[group], record)) - slow_ncp(made, members[group])
            assert cells.added[record, group] == pytest.approx(more)
    out = np.array([data.draw(st.integers(0, n - 1)) for _ in range(6)])
    into = np.array([data.draw(st.integers(0, n - 1)) for _ in range(6)])
    out, into = out[labels[out] != labels[into]], into[labels[out] != labels[into]]
    changed = [
        np.append(members[labels[o]][members[labels[o]] != o], i) for o, i in zip(out, into, strict=True)
    ]
    after = cells.after(labels[out], out, into)
    assert cells.costs(after) == pytest.approx([slow_ncp(made, group) for group in changed])
    if len(out):
        inside = cells.contained(labels[out], out, into, after)
        assert (inside == slowly_contained(made, changed)).all()
        one, other = int(out[0]), int(into[0])
        cells.swap(one, other)
        cells.refresh(np.array([labels[one], labels[other]]))
        cells.settle(np.array([labels[one], labels[other]]))
        again = GroupCells(made, cells.group_of)
        assert (cells.cost == again.cost).all()
        assert (cells.added == again.added).all()
        assert (cells.now_contained() == again.now_contained()).all()


@given(grouped(), st.integers(1, 4), st.data())
def test_cells_may_contain_records_of_no_group(
    case: tuple[Attributes, IntArray, Constraints], n_groups: int, data: st.DataObject
) -> None:
    made, labels, _ = case
    order = np.argsort(labels, kind="stable")
    made, labels = made.take(order), labels[order]
    grouped_records = np.flatnonzero(labels < n_groups)
    labels, m = labels[grouped_records], len(grouped_records)
    cells, alone = GroupCells(made, labels), GroupCells(made.take(grouped_records), labels)
    members = [np.flatnonzero(labels == group) for group in range(len(cells))]
    assert (cells.now_contained() == slowly_contained(made, members)).all()
    assert (cells.added == alone.added).all()
    assert (cells.saved() == alone.saved()).all()
    out, into = (np.array([data.draw(st.integers(0, m - 1)) for _ in range(5)]) for _ in range(2))
    out, into = out[labels[out] != labels[into]], into[labels[out] != labels[into]]
    record = np.array([data.draw(st.integers(0, len(order) - 1)) for _ in out], dtype=np.int64)
    after = cells.after(labels[out], out, into)
    inside = cells.contained(labels[out], out, into, after)
    expected = inside[np.arange(len(out)), record]
    assert (cells.contain(labels[out], out, into, after, record) == expected).all()


@given(mixed_rows(4, 40), privacies(), st.integers(0, 3), st.sampled_from([0.0, 0.3]))
def test_cuts_groups_and_polish_together_keep_the_model_where_the_table_does(
    rows: list[tuple[object, ...]], privacy: Privacy, more: int, weight: float
) -> None:
    policy = small_policy(
        MIXED, TWO_SENSITIVE, privacy=privacy.model_dump(include={"k", "e", "p_max", "h_min"})
    )
    table = prepared(policy, rows)
    limits, made = constraints_of(table, policy), attributes_of(table)
    size = limits.k + more
    room = room_for_groups(limits, size, 2 * size)
    leaves = partition(unit_ranges(table), room, SplitRule(3 * size, "blend"), attributes=made)
    labels = aggregate(made.points(), leaves, limits, LocalRule(2 * size, group_size=size))
    polished = polish(labels, made, limits, PolishRule(overlap_weight=weight, block_size=15))
    groups = groups_of(polished)
    assert len(groups) == 1 or all(limits.group_holds(np.array(group)) for group in groups)
    for label in np.unique(polished):
        assert (polished == label).sum() == (labels == label).sum()


def test_the_same_seed_gives_the_same_groups_whatever_the_threads() -> None:
    draw = np.random.default_rng(5)
    made = attributes(
        [draw.integers(0, 50, 600).astype(float).tolist(), draw.normal(size=600).tolist()],
        [draw.integers(0, 4, 600).tolist()],
    )
    labels = draw.permutation(np.arange(600) // 6)
    limits = limits_of(draw.integers(0, 5, 600).tolist(), k=5, e=2)
    found = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            found.append(polish(labels, made, limits, PolishRule(overlap_weight=0.1, block_size=100)))
    assert (found[0] == found[1]).all()
    other = polish(labels, made, limits, PolishRule(overlap_weight=0.1, block_size=100, seed=43))
    assert (found[0] != other).any()
    assert total(made, found[0]) < 0.8 * total(made, labels)
