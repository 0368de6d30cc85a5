"""What is better for a goal, worked by hand, and the front beside a slow reference."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from release_store.records import GateResult, Verdict
from services.evaluation.run import Value
from services.evaluation.search.goal import Goal, GoalLimit
from services.evaluation.search.ranking import Ranked, Standing, TableRun, front, ranked

UMR = GoalLimit("umr", "<=", 0.2)
LARGE = GoalLimit("classes", ">=", 10)
GOAL = Goal((UMR, LARGE), "ncp", lowest=True)


def run(umr: Value, ncp: Value, classes: Value = 20, *gates: GateResult) -> TableRun:
    return TableRun("2026Q1", 1, "", {"umr": umr, "ncp": ncp, "classes": classes}, gates)


def failed(value: float | None, threshold: float | None, verdict: Verdict = Verdict.FAIL) -> GateResult:
    return GateResult("ncp", verdict, value, threshold, "<=", "", 0.0, "")


def test_the_objective_is_the_mean_and_each_limit_is_kept_in_every_table() -> None:
    one = ranked(GOAL, [run(0.1, 0.3), run(0.2, 0.5, 10)])
    assert (one.standing, one.objective) == (Standing.MET, 0.4)
    assert one.worst == {UMR: 0.2, LARGE: 10}
    assert one.beyond == {}
    assert one.score == (0, 0, 0.4)
    over = ranked(GOAL, [run(0.1, 0.3), run(0.3, 0.1, 5)])
    assert over.standing is Standing.OVER_LIMITS
    assert {limit: round(by, 9) for limit, by in over.beyond.items()} == {UMR: 0.1, LARGE: 5}
    assert round(over.score[1], 9) == 1.0  # 0.1 of 0.2, and 5 of 10


def test_a_gate_that_does_not_pass_bars_a_trial_however_good_it_is() -> None:
    passed = GateResult("k", Verdict.PASS, 8, 8, ">=", "", 0.0, "")
    assert ranked(GOAL, [run(0.1, 0.3, 20, passed)]).standing is Standing.MET
    for gate in (failed(0.6, 0.5), failed(None, None, Verdict.UNKNOWN), failed(None, 0.5, Verdict.ERROR)):
        barred = ranked(GOAL, [run(0.1, 0.3), run(0.0, 0.0, 20, passed, gate)])
        assert barred.standing is Standing.BLOCKED
        assert barred.failing == ("ncp",)
        assert barred.score > ranked(GOAL, [run(0.9, 0.9, 1)]).score


def test_the_order_is_met_over_the_limits_blocked_without_a_figure_failed() -> None:
    trials = [
        [run(0.2, 0.3)],
        [run(0.2, 0.4)],
        [run(0.21, 0.1)],
        [run(0.4, 0.0)],
        [run(0.2, 0.1, 20, failed(0.55, 0.5))],
        [run(0.2, 0.0, 20, failed(0.9, 0.5))],
        [run(0.2, 0.0, 20, failed(None, None))],
        [run(None, 0.1)],
        [TableRun("2026Q1", 1, "broke")],
    ]
    scores = [ranked(GOAL, runs).score for runs in trials]
    assert scores == sorted(scores)
    assert len(set(scores)) == len(scores)
    standings = [ranked(GOAL, runs).standing for runs in trials]
    assert standings == [0, 0, 1, 1, 2, 2, 2, 3, 4]


def test_a_highest_objective_and_a_limit_of_zero() -> None:
    none = GoalLimit("umr", "<=", 0.0)
    goal = Goal((none,), "classes", lowest=False)
    more, fewer = (ranked(goal, [run(0.0, 0.1, classes)]) for classes in (30, 20))
    assert more.score < fewer.score
    assert ranked(goal, [run(0.25, 0.1, 30)]).score[:2] == (Standing.OVER_LIMITS, 0.25)


def test_a_trial_with_a_run_that_failed_has_failed() -> None:
    assert ranked(GOAL, [run(0.1, 0.1), TableRun("2026Q2", 1, "broke")]).standing is Standing.FAILED


def slow_front(goal: Goal, trials: list[Ranked]) -> set[tuple[float, ...]]:
    """Return the figures of the trials that no other one is at least as good as, and better in one."""

    def figures(one: Ranked) -> tuple[float, ...]:
        assert one.objective is not None
        return (one.objective, one.worst[UMR], -one.worst[LARGE])

    known = [figures(one) for one in trials if one.standing in (Standing.MET, Standing.OVER_LIMITS)]
    found = set()
    for mine in known:
        better = [other for other in known if other != mine and all(map(float.__le__, other, mine))]
        if not better:
            found.add(mine)
    return found


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(8, 11), st.booleans()), max_size=12)
)
@settings(max_examples=60, deadline=None)
def test_the_front_is_what_no_other_trial_beats(drawn: list[tuple[int, int, int, bool]]) -> None:
    trials = [
        ranked(GOAL, [run(umr / 10, ncp / 10, float(classes), *([failed(0.6, 0.5)] if barred else []))])
        for umr, ncp, classes, barred in drawn
    ]
    places = front(GOAL, trials)
    shown = [(trials[i].objective, trials[i].worst[UMR], -trials[i].worst[LARGE]) for i in places]
    assert len(set(shown)) == len(shown)
    assert set(shown) == slow_front(GOAL, trials)
    assert [one[0] for one in shown] == sorted(one[0] for one in shown)
