"""Cuts, worked by hand and on random points."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.partitioning import mondrian
from tasks.partitioning.constraints import Constraints, SensitiveColumn
from tasks.partitioning.mondrian import SplitRule, partition
from tasks.types import FloatArray
from tests.support.small import groups_of, limits_of

MEDIAN = {"score": "widest", "quantiles": (0.5,)}


def line(*places: float) -> FloatArray:
    return np.array(places, dtype=np.float64)[:, None]


def cut(points: FloatArray, limits: Constraints, **rule: Any) -> list[list[int]]:
    return groups_of(partition(points, limits, SplitRule(**{"stop_size": 2 * limits.k - 1, **rule})))


TWELVE = line(*range(12))
ALL_DIFFERENT = list(range(12))


def test_twelve_points_are_halved_at_the_median_until_under_2k() -> None:
    # 12 -> 6, 6 -> 3, 3, 3, 3: a half of 6 records can be cut for k = 3, a half of 3 cannot.
    found = cut(TWELVE, limits_of(ALL_DIFFERENT, k=3), **MEDIAN)
    assert found == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]


def test_with_k_4_the_halves_of_6_stay_whole() -> None:
    assert cut(TWELVE, limits_of(ALL_DIFFERENT, k=4), **MEDIAN) == [[*range(6)], [*range(6, 12)]]


def test_the_wider_dimension_is_cut_first_and_spans_are_relative_to_the_table() -> None:
    # A grid of 4 by 3. Relative spans are 1 and 1: the first dimension wins; its halves are 2 by 3, with
    # relative spans 1/3 and 1, so that the second is cut there, 2 or 4 records to a side (k = 2).
    points = np.array([(x, 100.0 * y) for x in range(4) for y in range(3)])
    found = cut(points, limits_of(ALL_DIFFERENT, k=4), **MEDIAN)
    assert found == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
    finer = cut(points, limits_of(ALL_DIFFERENT, k=2), stop_size=5, **MEDIAN)
    assert finer == [[0, 3], [1, 2, 4, 5], [6, 9], [7, 8, 10, 11]]


def test_a_dimension_that_cannot_be_cut_gives_way_to_the_next() -> None:
    # The first is the widest, but all but one record lie at one place.
    points = np.column_stack([[0, 0, 0, 0, 0, 9], [0, 1, 2, 3, 4, 5]]).astype(float)
    assert cut(points, limits_of([0] * 6, k=3), **MEDIAN) == [[0, 1, 2], [3, 4, 5]]


def test_records_at_one_place_are_never_cut_apart() -> None:
    points = line(0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 2)
    # The six at 0 are half of all and cannot be cut; the others are cut between 1 and 2.
    assert cut(points, limits_of(ALL_DIFFERENT, k=2), **MEDIAN) == [
        [0, 1, 2, 3, 4, 5],
        [6, 7],
        [8, 9, 10, 11],
    ]
    assert cut(line(*[3] * 12), limits_of(ALL_DIFFERENT), **MEDIAN) == [[*range(12)]]


def test_a_cut_that_breaks_the_model_is_passed_over() -> None:
    # Left of the median all have one illness: no cut in this dimension, for e = 2 ...
    illness = [0] * 6 + [1] * 6
    assert cut(TWELVE, limits_of(illness, k=2, e=2), **MEDIAN) == [[*range(12)]]
    assert cut(TWELVE, limits_of(illness, k=2, p_max=0.9), **MEDIAN) == [[*range(12)]]
    assert cut(TWELVE, limits_of(illness, k=2, h_min=0.1), **MEDIAN) == [[*range(12)]]
    # ... but another dimension, where the illnesses alternate, can be cut.
    other = np.column_stack([TWELVE[:, 0], [0, 1] * 6])
    assert cut(other, limits_of(illness, k=6, e=2), **MEDIAN) == [[*range(0, 12, 2)], [*range(1, 12, 2)]]


def test_a_numeric_attribute_needs_its_range_on_both_sides() -> None:
    numbers = np.array([0.0, 5, 0, 5, 0, 5, 0, 4, 0, 4, 0, 4])
    for e, expected in ((4, 2), (4.5, 1)):
        column = SensitiveColumn((numbers > 0).astype(np.int64), 2, numbers)
        assert len(cut(TWELVE, Constraints(6, 1.0, 0.0, e, (column,)), **MEDIAN)) == expected


def test_the_score_of_equation_7_worked_by_hand() -> None:
    # Places 0 to 3 and 6 to 9, cut in the middle: span 1 becomes 1/3 on both sides, a gain of 2/3.
    # Illnesses 0 0 0 1 | 0 1 1 1: H = log 2 before, h after; the change is divided by log 2.
    points, illness = line(0, 1, 2, 3, 6, 7, 8, 9), [0, 0, 0, 1, 0, 1, 1, 1]
    h = -(0.75 * log(0.75) + 0.25 * log(0.25))
    score = 0.7 * 2 / 3 + 0.3 * (h - log(2)) / log(2)
    limits = limits_of(illness, k=4)
    assert len(cut(points, limits, alpha=0.7, min_score=score - 1e-9)) == 2
    assert len(cut(points, limits, alpha=0.7, min_score=score + 1e-9)) == 1


def test_equation_7_weighs_sides_by_their_records_and_averages_dimensions() -> None:
    # Cut after 2 of 8: spans (first, second dimension) of the sides are 1/9, 0 and 4/9, 1.
    points = np.column_stack([line(0, 1, 5, 6, 7, 8, 9, 9)[:, 0], [0, 0, 0, 0, 0, 0, 0, 1]])
    gain = 1 - (0.25 * (1 / 9 + 0) / 2 + 0.75 * (4 / 9 + 1) / 2)
    limits = limits_of([0] * 8, k=2)
    rule = {"alpha": 1.0, "quantiles": (0.25,), "stop_size": 7}
    assert len(cut(points, limits, min_score=gain - 1e-9, **rule)) == 2
    assert len(cut(points, limits, min_score=gain + 1e-9, **rule)) == 1


def test_the_best_quantile_is_taken() -> None:
    # Four near each other, eight far away: the cut between them scores best, not the median.
    points = line(0, 1, 2, 3, *range(50, 58))
    assert [0, 1, 2, 3] in cut(points, limits_of([0, 1] * 6, k=4), stop_size=8, quantiles=(0.3, 0.5))


def test_entropy_keeps_unlike_illnesses_together() -> None:
    # Either dimension halves the span alike; only the second leaves both illnesses on both sides.
    points = np.array([(x, y) for x in (0, 1) for y in (0, 1) for _ in range(3)], dtype=float)
    illness = [int(x) for x in points[:, 0]]
    found = cut(points, limits_of(illness, k=4), stop_size=11, alpha=0.5)
    assert all({illness[i] for i in group} == {0, 1} for group in found)
    assert len(found) == 2


def test_a_node_of_little_variance_is_a_leaf_unless_it_is_large() -> None:
    limits = limits_of(ALL_DIFFERENT, k=2)
    assert len(cut(TWELVE / 100, limits, variance_threshold=0.05)) == 1
    assert len(cut(TWELVE / 100, limits, variance_threshold=0.05, variance_cap=11)) > 1
    assert len(cut(TWELVE, limits, variance_threshold=0.05)) > 1


@pytest.mark.parametrize(("n", "leaves"), [(2, 1), (3, 1), (5, 1), (6, 2), (7, 2), (12, 4), (13, 4)])
def test_just_under_and_over_k_and_2k(n: int, leaves: int) -> None:
    assert len(cut(line(*range(n)), limits_of(list(range(n)), k=3), **MEDIAN)) == leaves


def test_a_table_that_breaks_the_model_stays_whole() -> None:
    assert cut(TWELVE, limits_of([0] * 12, e=2), **MEDIAN) == [[*range(12)]]


places = st.integers(0, 6).map(float)


@st.composite
def cases(draw: st.DrawFn) -> tuple[FloatArray, Constraints, SplitRule]:
    n = draw(st.integers(1, 40))
    dimensions = draw(st.integers(1, 3))
    rows = st.lists(places, min_size=n, max_size=n)
    points = np.column_stack([draw(rows) for _ in range(dimensions)])
    codes = [np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))) for _ in range(2)]
    numbers = np.where(codes[1] == 3, np.nan, codes[1] * 2.0)
    limits = Constraints(
        draw(st.integers(2, 4)),
        draw(st.sampled_from([0.4, 0.5, 0.7, 1.0])),
        draw(st.sampled_from([0.0, 0.3, 0.7])),
        draw(st.sampled_from([1, 2, 3])),
        (
            SensitiveColumn(codes[0], 4),
            SensitiveColumn(codes[1], 4, numbers if draw(st.booleans()) else None),
        ),
    )
    rule = SplitRule(
        draw(st.integers(2, 8)),
        draw(st.sampled_from(["paper", "widest"])),
        draw(st.sampled_from([(0.5,), (0.25, 0.5, 0.75)])),
        alpha=draw(st.sampled_from([0.0, 0.7, 1.0])),
    )
    return points, limits, rule


@given(cases())
def test_every_leaf_satisfies_the_model_if_the_table_does(
    case: tuple[FloatArray, Constraints, SplitRule],
) -> None:
    points, limits, rule = case
    labels = partition(points, limits, rule)
    groups = groups_of(labels)
    assert sorted(np.unique(labels)) == list(range(len(groups)))
    assert len(groups) == 1 or all(limits.group_holds(np.array(group)) for group in groups)
    place_of = {tuple(point): label for point, label in zip(points.tolist(), labels, strict=True)}
    assert all(place_of[tuple(p)] == label for p, label in zip(points.tolist(), labels, strict=True))


@given(cases(), st.randoms())
def test_leaves_do_not_depend_on_the_order_of_the_records(
    case: tuple[FloatArray, Constraints, SplitRule], random: Any
) -> None:
    points, limits, rule = case
    order = list(range(len(points)))
    random.shuffle(order)
    columns = tuple(
        SensitiveColumn(c.codes[order], c.n_values, None if c.numbers is None else c.numbers[order])
        for c in limits.columns
    )
    shuffled = Constraints(limits.k, limits.p_max, limits.h_min, limits.e, columns)
    labels = partition(points, limits, rule)
    again = partition(points[order], shuffled, rule)
    assert groups_of(labels) == sorted(sorted(order[i] for i in group) for group in groups_of(again))


@given(cases())
def test_leaves_that_can_be_cut_no_more_are_leaves_for_a_reason(
    case: tuple[FloatArray, Constraints, SplitRule],
) -> None:
    points, limits, _ = case
    rule = SplitRule(limits.k, "widest", (0.5,))
    for group in groups_of(partition(points, limits, rule)):
        records = np.array(group)
        for values in points[records].T:
            # The cut nearest to the median that leaves k to both sides, the lower one of two equally near.
            middle = round(len(records) / 2)
            in_order = np.sort(values)
            possible = [
                c for c in range(limits.k, len(records) - limits.k + 1) if in_order[c - 1] < in_order[c]
            ]
            if possible:
                edge = in_order[min(possible, key=lambda c: (abs(c - middle), c))]
                sides = records[values < edge], records[values >= edge]
                assert not all(limits.group_holds(side) for side in sides)


def test_many_nodes_are_scored_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(3).normal(size=(400, 2))
    limits = limits_of([i % 5 for i in range(400)], k=4, e=2)
    whole = partition(points, limits, SplitRule(7))
    monkeypatch.setattr(mondrian, "CHUNK_CELLS", 100)
    assert np.array_equal(partition(points, limits, SplitRule(7)), whole)
    assert whole.max() > 40


def test_equation_7_weighs_the_entropies_of_unequal_sides() -> None:
    # Two of eight to the left: entropies log 2 and, of one to five, h. All in all two to six.
    illness = [0, 1, 0, 1, 1, 1, 1, 1]

    def h(*shares: float) -> float:
        return -sum(p * log(p) for p in shares)

    change = 0.25 * log(2) + 0.75 * h(1 / 6, 5 / 6) - h(1 / 4, 3 / 4)
    rule: dict[str, Any] = {"alpha": 0.0, "quantiles": (0.25,), "stop_size": 7}
    limits = limits_of(illness, k=2)
    assert len(cut(line(*range(8)), limits, min_score=change / log(2) - 1e-9, **rule)) == 2
    assert len(cut(line(*range(8)), limits, min_score=change / log(2) + 1e-9, **rule)) == 1
