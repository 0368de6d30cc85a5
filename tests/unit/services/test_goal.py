"""A goal in words: what can be written, and what is refused in one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.errors import UsageError
from services.evaluation.search.goal import Goal, GoalLimit, parse_goal

KNOWN = ("ncp", "umr", "umr_0.05", "sadr", "ncp:home town", "classes", "forest", "dm", "dm_mean")


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("ncp lowest", Goal((), "ncp", lowest=True)),
        ("classes highest", Goal((), "classes", lowest=False)),
        ("umr <= 0.05, ncp lowest", Goal((GoalLimit("umr", "<=", 0.05),), "ncp", lowest=True)),
        ("ncp lowest,umr<=5e-2", Goal((GoalLimit("umr", "<=", 0.05),), "ncp", lowest=True)),
        (
            " umr_0.05 <= .1 , forest >= 0.6 ,  ncp:home town   lowest ",
            Goal((GoalLimit("umr_0.05", "<=", 0.1), GoalLimit("forest", ">=", 0.6)), "ncp:home town", True),
        ),
        (
            "classes >= 10, classes <= 90, ncp <= 0.3, ncp lowest",
            Goal(
                (
                    GoalLimit("classes", ">=", 10),
                    GoalLimit("classes", "<=", 90),
                    GoalLimit("ncp", "<=", 0.3),
                ),
                "ncp",
                lowest=True,
            ),
        ),
    ],
)
def test_a_goal_is_limits_and_one_objective(text: str, goal: Goal) -> None:
    assert parse_goal(text, KNOWN) == goal


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("umrr <= 0.05, ncp lowest", "unknown measure 'umrr' (did you mean 'umr'?)"),
        ("umr <= 0.05, nccp lowest", "unknown measure 'nccp' (did you mean 'ncp'?)"),
        ("zzzz lowest", "unknown measure 'zzzz'"),
        ("umr <= 0.05", "has no objective"),
        ("ncp lowest, sadr lowest", "has 2 objectives"),
        ("ncp lowest, ncp lowest", "has 2 objectives"),
        ("umr <= low, ncp lowest", "'low' in 'umr <= low' is no number"),
        ("umr <= nan, ncp lowest", "'nan' in 'umr <= nan' is no number"),
        ("umr <= inf, ncp lowest", "'inf' in 'umr <= inf' is no number"),
        ("umr <= 0.05%, ncp lowest", "'0.05%' in 'umr <= 0.05%' is no number"),
        ("umr < 0.05, ncp lowest", "cannot read 'umr < 0.05'"),
        ("umr = 0.05, ncp lowest", "cannot read 'umr = 0.05'"),
        ("umr <=, ncp lowest", "cannot read 'umr <='"),
        ("ncp", "cannot read 'ncp'"),
        ("ncp lowest umr", "cannot read 'ncp lowest umr'"),
        ("lowest", "cannot read 'lowest'"),
        ("ncp Lowest", "cannot read 'ncp Lowest'"),
        ("", "has an empty part"),
        ("ncp lowest,", "has an empty part"),
        ("umr <= 0.1,, ncp lowest", "has an empty part"),
        ("umr <= 0.1, umr <= 0.2, ncp lowest", "limits umr by <= twice"),
        ("cpu_seconds <= 9, ncp lowest", "'cpu_seconds' cannot be in a goal: times differ from run to run"),
        ("k_holds >= 1, ncp lowest", "'k_holds' cannot be in a goal: the best always keeps the model"),
    ],
)
def test_anything_else_is_refused_in_one_line(text: str, finding: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_goal(text, KNOWN)
    assert (caught.value.where, caught.value.message) == ("--goal", finding)
    assert caught.value.exit_code == 2
    assert caught.value.hint
    assert "\n" not in caught.value.message + caught.value.hint


def test_an_unknown_measure_is_told_with_those_that_are_known() -> None:
    with pytest.raises(UsageError) as caught:
        parse_goal("zzzz lowest", KNOWN)
    assert caught.value.hint == f"Known measures: {', '.join(KNOWN)}."


_limits = st.builds(
    GoalLimit, st.sampled_from(KNOWN), st.sampled_from(("<=", ">=")), st.integers(-100, 100).map(float)
)


@given(
    st.lists(_limits, max_size=4, unique_by=lambda one: (one.measure, one.relation)),
    st.sampled_from(KNOWN),
    st.booleans(),
)
def test_what_is_written_of_a_goal_reads_as_the_same_goal(
    limits: list[GoalLimit], measure: str, lowest: bool
) -> None:
    goal = Goal(tuple(limits), measure, lowest)
    assert parse_goal(str(goal), KNOWN) == goal


def test_a_goal_names_the_measures_of_utility_that_have_to_be_taken() -> None:
    goal = parse_goal("forest >= 0.6, dm_mean <= 9, umr <= 0.1, ncp lowest", KNOWN)
    assert goal.figures == ("ncp", "forest", "dm_mean", "umr")
    assert goal.measures == ("dm", "forest")
    assert parse_goal("ncp lowest", KNOWN).measures == ()


def test_how_far_a_value_is_beyond_a_limit() -> None:
    most, least = GoalLimit("umr", "<=", 0.25), GoalLimit("classes", ">=", 10)
    assert [most.excess(value) for value in (0.0, 0.25, 0.5)] == [0, 0, 0.25]
    assert [least.excess(value) for value in (12, 10, 7)] == [0, 0, 3]
    assert (most.worst([0.1, 0.3]), least.worst([12, 7])) == (0.3, 7)
