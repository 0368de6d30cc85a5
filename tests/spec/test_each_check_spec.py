"""The four checks beside each other: for each a case that it alone catches (Riyana, 2025, tables 7 to 11)."""

from __future__ import annotations

import pytest
from test_comparison_spec import (
    ABC,
    ABD,
    ACD,
    ANYBODY,
    NO_MOVES,
    PEOPLE,
    TABLE_7,
    TABLE_9,
    TABLE_10,
    TABLE_11,
    compared,
    pairwise_verdict,
    whole_history_verdict,
)

from tasks.geometry.space import space_of
from tasks.history.differencing import difference, side_of, sizes
from tasks.history.required import Required

CHECKS = ("pairwise", "whole_history", "difference", "size")


def verdicts(candidate: str, earlier: list[str], people: str, l_least: int, k_least: int) -> dict[str, str]:
    now, before = compared(candidate, earlier)
    space = space_of([now, *(c for _, c in before)])
    ours = side_of([("now", now)], space, NO_MOVES, [(0, 0)])
    theirs = side_of(before, space, NO_MOVES)
    (values,) = difference(ours, theirs, space, dict.fromkeys(now.counts, Required(l_least)))
    return {
        "pairwise": pairwise_verdict(candidate, earlier, l_least),
        "whole_history": whole_history_verdict(candidate, earlier, people, l_least),
        "difference": "fail" if values.failed else "pass",
        "size": "fail" if sizes(ours, theirs, k_least).failed else "pass",
    }


def failing(
    candidate: str, earlier: list[str], people: str = ANYBODY, l_least: int = 2, k_least: int = 2
) -> list[str]:
    found = verdicts(candidate, earlier, people, l_least, k_least)
    return [check for check in CHECKS if found[check] == "fail"]


def in_hull(*illnesses: str) -> str:
    return f"city | illness\nHull | {' '.join(illnesses)}"


def around_hull(*releases: str) -> list[str]:
    """Releases with one class each, of Hull and of a town of its own, so that none lies inside another."""
    return [f"city | illness\nHull {town} | {' '.join(r)}" for town, r in enumerate(releases)]


ZIPS = "\n".join(line.split(" | ", 1)[1] for line in PEOPLE.strip().splitlines())

ALONE = {
    # Two classes hold the person of Hull, so that the first alone says nothing certain of anybody.
    "pairwise": (
        "city | illness\nHull York | a b",
        ["city | illness\nHull Leeds | a c\nHull Derby | b d"],
        "city\nHull\nYork",
        2,
    ),
    "whole_history": (around_hull("acd", "abc", "abd")[0], around_hull("acd", "abc", "abd")[1:], ANYBODY, 2),
    "difference": (in_hull("flu", "flu", "hiv", "hiv", "hiv"), [in_hull("flu", "flu", "hiv")], ANYBODY, 2),
    "size": (in_hull("a", "b", "c", "a", "b"), [in_hull("a", "b", "c")], ANYBODY, 3),
}


@pytest.mark.parametrize("check", CHECKS)
def test_each_check_alone_catches_something(check: str) -> None:
    candidate, earlier, people, k_least = ALONE[check]
    assert failing(candidate, earlier, people, 2, k_least) == [check]


@pytest.mark.parametrize(
    ("table", "verdict"),
    [(TABLE_7, "pass"), (TABLE_9, "fail"), (TABLE_10, "pass"), (TABLE_11, "pass")],
    ids=["table 7", "table 9", "table 10", "table 11"],
)
def test_the_papers_tables_against_its_table_7(table: str, verdict: str) -> None:
    assert pairwise_verdict(table, [TABLE_7], 2) == verdict
    # Taking the two programmers out of table 9's men leaves the accountant's salary as well.
    assert failing(table, [TABLE_7], ZIPS) == (
        [] if verdict == "pass" else ["pairwise", "difference", "size"]
    )


def test_three_releases_together_are_caught_by_the_whole_history_only() -> None:
    found = verdicts(ACD, [ABC, ABD], ANYBODY, 2, 2)
    assert (found["pairwise"], found["whole_history"]) == ("pass", "fail")


def test_comparing_with_the_last_release_alone_is_not_enough() -> None:
    first, second, third = in_hull("a", "b"), in_hull("a", "b", "c"), in_hull("a", "c")
    assert pairwise_verdict(second, [first], 2) == "pass"
    assert pairwise_verdict(third, [second], 2) == "pass"
    assert pairwise_verdict(third, [first, second], 2) == "fail"


def test_the_newcomers_value_is_caught_by_multisets_and_not_by_sets() -> None:
    before, after = in_hull("flu", "flu", "hiv"), in_hull("flu", "flu", "hiv", "hiv")
    # One record more is under every k, so that the sizes tell it too; of the checks of values one alone does.
    assert failing(after, [before]) == ["difference", "size"]
    assert failing(before, [after]) == ["difference", "size"]
