"""What a cut is worth: worked by hand, and against a slow reading of the scores on random tables."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.partitioning import mondrian
from tasks.partitioning.attributes import WIDE, Attributes
from tasks.partitioning.constraints import Constraints, SensitiveColumn
from tasks.partitioning.cuts import Buckets, positions_of_cuts
from tasks.partitioning.mondrian import SplitRule, partition
from tasks.partitioning.scores import Terms, Weights, scores
from tasks.types import FloatArray, IntArray
from tests.support.small import groups_of, limits_of

# Eight people: their place in a latent space, their age, and their city (a is 0, b is 1).
LATENT = [0, 1, 2, 3, 6, 7, 8, 9]
AGE = [0, 10, 0, 10, 0, 10, 0, 10]
CITY = [0, 1, 0, 1, 0, 1, 0, 1]
POINTS = np.column_stack([LATENT, AGE, CITY]).astype(float)
HALVES, EVENS_AND_ODDS = [[0, 1, 2, 3], [4, 5, 6, 7]], [[0, 2, 4, 6], [1, 3, 5, 7]]


def attributes(
    numeric: list[list[float]], codes: list[list[int]], weight: list[float] | None = None
) -> Attributes:
    """Quasi-identifiers given as columns."""
    n = len([*numeric, *codes][0])
    numbers = np.array(numeric, dtype=float).T if numeric else np.zeros((n, 0))
    values = np.array(codes, dtype=np.int64).T if codes else np.zeros((n, 0), dtype=np.int64)
    weights = np.array(weight or [1.0] * (len(numeric) + len(codes)))
    span = np.nanmax(numbers, axis=0) - np.nanmin(numbers, axis=0) if numeric else np.zeros(0)
    n_values = np.array([max(column) + 1 for column in codes], dtype=np.int64)
    return Attributes(numbers, values, span, n_values, weights / weights.sum())


def cut(limits: Constraints | None = None, **rule: Any) -> list[list[int]]:
    made = SplitRule(**{"stop_size": 7, "quantiles": (0.5,), "span_dimensions": 1, **rule})
    limits = limits or limits_of([0] * 8, k=4)
    return groups_of(partition(POINTS, limits, made, attributes=attributes([AGE], [CITY])))


def test_the_paper_cuts_where_the_latent_span_shrinks() -> None:
    # In the middle the latent span of 1 becomes 3/9 on both sides; a cut by age or city leaves 8/9.
    assert cut(score="paper") == HALVES


def test_the_ncp_cuts_where_the_published_cells_shrink() -> None:
    # Halves hold both ages and both cities: nothing is saved. By age each side has one age and one city.
    assert cut(score="ncp") == EVENS_AND_ODDS


def test_the_widest_takes_the_first_of_equal_spans() -> None:
    assert cut(score="widest") == HALVES


def test_a_blend_turns_where_its_weights_say() -> None:
    # Latent: span 2/3, NCP 0. Age: span 1/9, NCP 1. They are worth the same at weight_ncp = 5/9.
    weights = {"score": "blend", "weight_span": 1.0, "weight_entropy": 0.0}
    assert cut(**weights, weight_ncp=5 / 9 - 0.01) == HALVES
    assert cut(**weights, weight_ncp=5 / 9 + 0.01) == EVENS_AND_ODDS


def test_the_entropy_of_a_blend_keeps_illnesses_together() -> None:
    # Cut by age, each side has one illness only: the entropy falls from log 2 to 0, a term of -1.
    limits = limits_of(CITY, k=4)
    weights = {"score": "blend", "weight_span": 0.0, "weight_ncp": 0.5}
    assert cut(limits, **weights, weight_entropy=0.4) == EVENS_AND_ODDS
    assert cut(limits, **weights, weight_entropy=0.6) == HALVES


def test_a_better_cut_that_breaks_the_model_is_passed_over() -> None:
    assert cut(limits_of(CITY, k=4, e=2), score="ncp") == HALVES


def test_weights_of_quasi_identifiers_count_in_the_ncp() -> None:
    # Four ages in two cities, two by two: either cut frees one attribute and leaves the other whole.
    points = np.array([[0, 0], [1, 0], [0, 1], [1, 1]] * 2, dtype=float)
    columns = [[float(x) for x in points[:, 0]]], [[int(y) for y in points[:, 1]]]
    for weight, expected in (([2.0, 1.0], points[:, 0]), ([1.0, 2.0], points[:, 1])):
        rule = SplitRule(7, "ncp", (0.5,))
        found = partition(points, limits_of([0] * 8, k=4), rule, attributes=attributes(*columns, weight))
        assert groups_of(found) == groups_of(expected.astype(np.int64))


def test_a_score_of_the_ncp_needs_the_attributes() -> None:
    with pytest.raises(ValueError, match="needs the attributes"):
        partition(POINTS, limits_of([0] * 8, k=4), SplitRule(7, "ncp"))


def test_a_set_of_one_value_and_a_constant_cost_nothing_and_missing_numbers_all() -> None:
    made = attributes([[0.0, 8.0], [3.0, 3.0]], [[0, 1]])
    assert made.interval_cost(0, np.array([0.0, 2, np.inf]), np.array([4.0, 2, -np.inf])) == pytest.approx(
        [1 / 6, 0, 1 / 3]
    )
    assert not made.interval_cost(1, np.array([3.0, np.inf]), np.array([3.0, -np.inf])).any()
    assert made.set_cost(0, np.array([0, 1, 2])) == pytest.approx([0, 0, 1 / 3])


def test_points_lie_as_far_apart_as_the_cells_of_two_records_are_wide() -> None:
    made = attributes([[0.0, 4.0, np.nan, 8.0]], [[0, 0, 1, 3]], [1.0, 3.0])
    points = made.points()
    # Ages 4 of 8 apart: (1/2)^2 at weight 1/4. Another city of four values: (2/4)^2 at weight 3/4.
    assert ((points[0] - points[1]) ** 2).sum() == pytest.approx(0.25 / 4)
    # The missing age lies at the median, 4.
    assert ((points[1] - points[2]) ** 2).sum() == pytest.approx(0.75 / 4)


def test_a_category_of_very_many_values_is_one_column() -> None:
    made = attributes([], [list(range(WIDE + 1))])
    assert made.points().shape == (WIDE + 1, 1)
    assert attributes([], [list(range(WIDE))]).points().shape == (WIDE, WIDE)


# The slow reference: one node, one cut, one attribute after another.


def slow_ncp(made: Attributes, records: IntArray) -> float:
    total = 0.0
    p = made.numeric.shape[1]
    for column in range(p):
        known = [x for x in made.numeric[records, column] if not np.isnan(x)]
        if made.span[column] > 0:
            width = (max(known) - min(known)) / made.span[column] if known else 1.0
            total += made.weight[column] * width
    for column in range(made.codes.shape[1]):
        values = set(made.codes[records, column].tolist())
        if len(values) > 1:
            total += made.weight[p + column] * len(values) / made.n_values[column]
    return float(total)


def slow_entropy(codes: IntArray) -> float:
    shares = [np.mean(codes == value) for value in set(codes.tolist())]
    return -float(sum(share * log(share) for share in shares))


def slow_score(
    points: FloatArray,
    root_span: FloatArray,
    made: Attributes,
    limits: Constraints,
    weights: Weights,
    sides: tuple[IntArray, IntArray],
) -> float:
    if not all(limits.group_holds(side) for side in sides):
        return -np.inf
    both = np.concatenate(sides)

    def mean_of(cost: Any) -> float:
        return sum(len(side) / len(both) * cost(side) for side in sides)

    def span(records: IntArray) -> float:
        return float(np.mean(np.ptp(points[records], axis=0) / root_span))

    total = weights.span * (span(both) - mean_of(span)) / (span(both) or 1.0)
    whole = slow_ncp(made, both)
    total += weights.ncp * (whole - mean_of(lambda side: slow_ncp(made, side))) / (whole or 1.0)
    for column in limits.columns:
        codes = column.codes
        change = mean_of(lambda side, codes=codes: slow_entropy(codes[side])) - slow_entropy(codes[both])
        total += weights.entropy * change / log(column.n_values) / len(limits.columns)
    return total


@st.composite
def tables(draw: st.DrawFn) -> tuple[FloatArray, Attributes, Constraints, Weights, int]:
    n = draw(st.integers(6, 30))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=n, max_size=n))

    numbers = [column(st.one_of(st.integers(0, 5).map(float), st.just(float("nan"))))]
    numbers[0][0] = 0.0
    made = attributes(
        [*numbers, column(st.integers(0, 3).map(float))],
        [column(st.integers(0, 1)), column(st.integers(0, 6))],
        draw(st.sampled_from([None, [1.0, 2.0, 0.5, 3.0]])),
    )
    points = np.column_stack([column(st.integers(0, 4).map(float)) for _ in range(2)])
    sensitive = tuple(SensitiveColumn(np.array(column(st.integers(0, 3))), 4) for _ in range(2))
    limits = Constraints(
        draw(st.integers(1, 3)),
        draw(st.sampled_from([0.6, 1.0])),
        0.0,
        draw(st.sampled_from([1, 2])),
        sensitive,
    )
    weights = draw(
        st.sampled_from([Weights(ncp=1.0), Weights(0.5, 0.2, 0.3), Weights(span=0.7, entropy=0.3)])
    )
    return points, made, limits, weights, draw(st.integers(3, n - 3))


@given(tables())
def test_scores_of_all_nodes_at_once_are_those_of_the_slow_reading(
    table: tuple[FloatArray, Attributes, Constraints, Weights, int],
) -> None:
    points, made, limits, weights, border = table
    n = len(points)
    starts = np.array([0, border, n])
    nodes = [np.arange(border), np.arange(border, n)]

    def ordered(values: np.ndarray) -> IntArray:
        return np.concatenate([node[np.argsort(values[node], kind="stable")] for node in nodes])

    root_span = np.ptp(points, axis=0)
    root_span[root_span == 0] = 1.0
    by_code = tuple(ordered(column) for column in made.codes.T)
    terms = Terms(points, root_span, points.shape[1], limits, weights, made, by_code)
    spans = np.array([np.ptp(points[node], axis=0) / root_span for node in nodes])
    for dimension in range(points.shape[1]):
        records = ordered(points[:, dimension])
        cuts = positions_of_cuts(points[records, dimension], starts, np.arange(2), limits.k, (0.25, 0.5))
        buckets = Buckets(records, starts, np.arange(2), cuts)
        found = scores(buckets, terms, spans, dimension, widest=False)
        for node in range(2):
            for place, position in enumerate(cuts[node].tolist()):
                sides = records[starts[node] : position], records[position : starts[node + 1]]
                expected = slow_score(points, root_span, made, limits, weights, sides)
                assert found[node, place] == pytest.approx(expected, abs=1e-9)


@given(tables(), st.sampled_from(["ncp", "blend"]))
def test_every_leaf_satisfies_the_model_and_costs_no_more_than_the_whole(
    table: tuple[FloatArray, Attributes, Constraints, Weights, int], score: Any
) -> None:
    points, made, limits, _, _ = table
    everyone = np.arange(len(points))
    groups = groups_of(partition(points, limits, SplitRule(2 * limits.k - 1, score), attributes=made))
    assert len(groups) == 1 or all(limits.group_holds(np.array(group)) for group in groups)
    cost = sum(len(group) * slow_ncp(made, np.array(group)) for group in groups) / len(points)
    assert cost <= slow_ncp(made, everyone) + 1e-9


@given(
    tables(),
    st.sampled_from(["paper", "ncp", "blend", "widest"]),
    st.sampled_from([0.0, 0.05]),
    st.integers(0, 2**32 - 1),
)
def test_equal_records_are_looked_at_once_and_the_leaves_are_the_same(
    table: tuple[FloatArray, Attributes, Constraints, Weights, int], score: Any, threshold: float, seed: int
) -> None:
    points, made, limits, _, _ = table
    again = np.random.default_rng(seed).integers(0, len(points), 5 * len(points))
    rule = SplitRule(2 * limits.k - 1, score, variance_threshold=threshold)
    found = []
    for few in (0.0, 1.0):  # never, and always
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setattr(mondrian, "FEW", few)
            found.append(partition(points[again], limits.take(again), rule, attributes=made.take(again)))
    assert np.array_equal(*found)
