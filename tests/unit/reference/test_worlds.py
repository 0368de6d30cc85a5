"""The gates of the comparison, held against what a reader can conclude by brute force."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from release_store.records import Verdict
from tests.reference import worlds
from tests.reference.worlds import Group, Release, group

ROOT = Path(__file__).resolve().parents[3]


@st.composite
def histories(
    draw: st.DrawFn, *, exact: bool = False, cumulative: bool = False
) -> tuple[list[str], list[Release]]:
    """Up to seven people, their values, and two to four releases of some of them; exact or wider cells."""
    truth = draw(st.lists(st.sampled_from("abcd"), min_size=3, max_size=worlds.MOST_PEOPLE))
    everybody = range(len(truth))
    releases: list[Release] = []
    least = 2
    for _ in range(draw(st.integers(2, worlds.MOST_RELEASES))):
        if cumulative:
            least = draw(st.integers(least, len(truth)))
            present = set(range(least))
        else:
            present = draw(st.sets(st.sampled_from(everybody), min_size=2))
        labels = {person: draw(st.integers(0, len(present) // 2)) for person in sorted(present)}
        found: list[Group] = []
        for label in sorted(set(labels.values())):
            people = [person for person in labels if labels[person] == label]
            wider = () if exact else draw(st.sets(st.sampled_from(everybody), max_size=2))
            found.append(group(people, tuple(wider)))
        # Rows of equal cells are one class to whoever reads the file.
        if len({each.cells for each in found}) < len(found):
            found = [group(sorted(present))]
        releases.append(tuple(found))
    return truth, releases


@given(histories(), st.integers(2, 3))
def test_nobody_whom_intersections_pin_down_passes(
    history: tuple[list[str], list[Release]], l_least: int
) -> None:
    truth, releases = history
    policy = worlds.policy_for("overlapping", 2, l_least)
    found = worlds.judged(releases, truth, policy)
    narrowed = worlds.narrowed_by_intersection(releases, truth, l_least)
    assert (found["whole_history"].verdict is Verdict.FAIL) == bool(narrowed)
    if narrowed:
        assert not worlds.passes(releases, truth, policy)


@given(histories(exact=True, cumulative=True), st.integers(2, 3), st.integers(2, 4))
def test_nobody_whom_taking_away_sets_apart_passes(
    history: tuple[list[str], list[Release]], l_least: int, k_least: int
) -> None:
    truth, releases = history
    found = worlds.judged(releases, truth, worlds.policy_for("cumulative", k_least, l_least))
    apart = worlds.set_apart(releases)
    few_values = any(len({truth[p] for p in people}) < l_least for people in apart)
    few_people = any(len(people) < k_least for people in apart)
    assert (found["difference"].verdict is Verdict.FAIL) == few_values
    assert (found["size"].verdict is Verdict.FAIL) == few_people


@pytest.mark.parametrize("population", ["overlapping", "cumulative"])
def test_the_properties_are_about_something(population: str) -> None:
    outcome = worlds.experiment(population, 12, seed=3)
    assert outcome.releases >= 24
    assert 0 < outcome.pinned < outcome.people


def test_five_people_are_all_pinned_by_worlds_and_no_check_sees_it() -> None:
    # What the checks see locally leaves both values to everybody; one assignment alone fits all six classes.
    releases: list[Release] = [
        (group([2, 4]), group([0, 1, 3])),
        (group([1, 4]), group([0, 2, 3])),
        (group([3, 4]), group([0, 1, 2])),
    ]
    truth = ["c", "a", "a", "a", "c"]
    for number, release in enumerate(releases):
        assert [sorted(truth[p] for p in each.people) for each in release] == [["a", "c"], ["a", "a", "c"]]
        for population in ("overlapping", "cumulative"):
            policy = worlds.policy_for(population, 2, 2)
            assert worlds.passes(releases[: number + 1], truth, policy), population
    assert worlds.narrowed_by_intersection(releases, truth, 2) == set()
    assert worlds.possible_values(releases, truth) == [{value} for value in truth]


def test_two_releases_that_fit_several_worlds_leave_several_values() -> None:
    releases: list[Release] = [(group([0, 1]), group([2, 3])), (group([0, 2]), group([1, 3]))]
    assert worlds.possible_values(releases, ["a", "b", "b", "a"]) == [{"a", "b"}] * 4
    assert worlds.possible_values(releases, ["a", "a", "b", "b"])[0] == {"a"}


@pytest.mark.nightly
def test_the_documented_count_of_people_that_no_check_covers_is_measured() -> None:
    page = (ROOT / "docs" / "gates.md").read_text(encoding="utf-8")
    told = re.findall(r"^(?:overlapping|cumulative), .* releases\)$", page, re.MULTILINE)
    assert "\n".join(told) == worlds.main([])
