"""The search over grids, with made-up scores of which the least is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.evaluation.search.strategy import Axis, Budget, Grid, Point, Score, search

ScoreOf = Callable[[Point], Score]


def grid(*sizes: int, start: tuple[int, ...] | None = None, ordered: bool = True) -> Grid:
    axes = tuple(Axis(f"a{i}", tuple(range(size)), ordered) for i, size in enumerate(sizes))
    return Grid(axes, start or (0,) * len(sizes))


class Meter:
    """Scores by a function, and charges so many seconds a trial."""

    def __init__(self, score_of: ScoreOf, budget: Budget, seconds: float = 1.0) -> None:
        self.score_of, self.budget, self.seconds = score_of, budget, seconds
        self.asked: list[Point] = []

    def __call__(self, points: Sequence[Point]) -> list[Score]:
        scores: list[Score] = []
        for point in points:
            if self.budget.left == 0:
                break
            self.asked.append(point)
            scores.append(self.score_of(point))
            self.budget.charge(self.seconds)
        return scores


def found(
    grids: Sequence[Grid], score_of: ScoreOf, budget: Budget, seed: int = 1, seconds: float = 1.0
) -> tuple[dict[Point, Score], list[Point]]:
    meter = Meter(score_of, budget, seconds)
    return search(grids, meter, budget, seed), meter.asked


def bowl(*least: int) -> ScoreOf:
    return lambda point: (sum(abs(a - b) for a, b in zip(point.places, least, strict=True)),)


def best(tried: dict[Point, Score]) -> Point:
    return min(tried, key=lambda point: tried[point])


def test_the_start_is_measured_first_and_the_least_of_a_bowl_is_found() -> None:
    tried, _ = found([grid(9, 9, 9)], bowl(5, 0, 7), Budget(45))
    assert next(iter(tried)) == Point(0, (0, 0, 0))
    assert best(tried) == Point(0, (5, 0, 7))


def test_an_axis_is_followed_as_long_as_that_helps() -> None:
    tried, _ = found([grid(9, 2)], bowl(3, 1), Budget(6))
    assert [point.places for point in tried] == [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (3, 1)]


def test_the_values_of_an_axis_without_order_are_all_neighbours() -> None:
    tried, _ = found([grid(4, ordered=False, start=(2,))], bowl(0), Budget(4))
    assert [point.places for point in tried] == [(2,), (0,), (1,), (3,)]


def test_where_a_limit_cuts_the_way_the_best_that_keeps_it_is_found() -> None:
    """The objective falls with both axes, the risk rises with both: the best lies on the limit."""

    def score(point: Point) -> Score:
        a, b = point.places
        risk, loss = a + 2 * b, 20 - a - 3 * b
        return (1, risk - 8, loss) if risk > 8 else (0, 0, loss)

    tried, _ = found([grid(10, 10, start=(9, 9))], score, Budget(100))
    assert tried[best(tried)] == (0, 0, 8)  # a = 0, b = 4
    assert best(tried) == Point(0, (0, 4))


@given(
    st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=3), min_size=1, max_size=3),
    st.randoms(use_true_random=False),
    st.integers(0, 9),
)
@settings(max_examples=20, deadline=None)
def test_with_a_trial_for_each_point_the_least_of_any_scores_is_found(
    sizes: list[list[int]], random, seed: int
) -> None:
    grids = [grid(*each) for each in sizes]
    every = [Point(number, places) for number, each in enumerate(grids) for places in each.points()]
    scores = {point: (float(random.randrange(50)),) for point in every}
    tried, asked = found(grids, scores.__getitem__, Budget(len(every) + 5), seed)
    assert len(asked) == len(set(asked)) == len(every)
    assert tried == scores


@given(st.integers(1, 30), st.integers(0, 9), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_no_more_trials_are_made_than_the_budget_has_and_none_twice(
    trials: int, seed: int, n_grids: int
) -> None:
    grids = [grid(5, 3, 4) for _ in range(n_grids)]

    def score(point: Point) -> Score:
        return (hash((point.grid, *point.places)) % 17,)

    tried, asked = found(grids, score, Budget(trials), seed)
    assert len(asked) == len(set(asked)) == len(tried) == trials
    assert found(grids, score, Budget(trials), seed)[1] == asked
    assert asked == found(grids, score, Budget(trials + 3), seed)[1][:trials] or n_grids > 1


def test_a_budget_of_seconds_begins_no_trial_after_them() -> None:
    tried, _ = found([grid(9, 9)], bowl(8, 8), Budget(None, 10.0), seconds=3.0)
    assert len(tried) == 4  # the fourth begins at 9 s
    tried, _ = found([grid(9, 9)], bowl(8, 8), Budget(2, 10.0), seconds=3.0)
    assert len(tried) == 2


def test_a_search_without_a_number_of_trials_ends_with_the_last_point() -> None:
    tried, _ = found([grid(3, 3)], bowl(1, 1), Budget(None, 1e9))
    assert len(tried) == 9


def test_of_several_grids_the_better_get_more_of_the_budget() -> None:
    grids = [grid(9, 9, 9) for _ in range(4)]

    def score(point: Point) -> Score:
        return (100 * point.grid - sum(point.places),)  # each step helps, and none overtakes another grid

    _, asked = found(grids, score, Budget(24))
    counts = [sum(point.grid == number for point in asked) for number in range(4)]
    assert [point.grid for point in asked[:4]] == [0, 1, 2, 3]
    assert counts == [2 + 4 + 8, 2 + 4, 2, 2]  # a third of the budget each for four, two and one of them


def test_a_later_grid_wins_where_it_is_better() -> None:
    grids = [grid(5, 5), grid(5, 5, start=(4, 4)), grid(5, 5)]

    def score(point: Point) -> Score:
        return ([9, 3, 6][point.grid] + abs(point.places[0] - 2) / 10 + abs(point.places[1] - 2) / 10,)

    tried, _ = found(grids, score, Budget(30))
    assert best(tried) == Point(1, (2, 2))


def test_an_axis_that_does_not_count_is_not_searched() -> None:
    axes = (Axis("on", (False, True), ordered=False), Axis("by", (1, 2, 3), needs=("on", (True,))))
    both = Grid(axes, (0, 1))
    assert both.canonical((0, 2)) == (0, 1)
    assert both.canonical((1, 2)) == (1, 2)
    assert set(both.points()) == {(0, 1), (1, 0), (1, 1), (1, 2)}
    tried, _ = found([both], lambda point: (-point.places[1] - point.places[0],), Budget(99))
    assert len(tried) == 4
    assert best(tried) == Point(0, (1, 2))


def test_an_interruption_is_not_swallowed() -> None:
    def interrupted(_point: Point) -> Score:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found([grid(3)], interrupted, Budget(3))
