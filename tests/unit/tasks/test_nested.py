"""What nested classes show in a series that only grows, held against plain loops and cases worked by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, GateResult, SetCells, Verdict
from tasks.geometry.space import space_of
from tasks.history import differencing as nested
from tasks.history.differencing import difference, side_of, sizes
from tasks.history.intersection import Comparison
from tasks.history.required import Required
from tasks.recoding.generalize import generalized
from tasks.risk.registry import GATES, assess
from tests.support.small import Published, prepared, published, small_policy

QIS: dict[str, Any] = {
    "age": {"type": "integer", "bounds": [0, 99], "moves": [-1, 2]},
    "height": {"type": "numeric", "bounds": [0, 9], "moves": [0.1, 0.1]},
    "city": {"type": "categorical"},
    "home": {"type": "categorical", "may_change": True},
}
ILLNESS = {"illness": {"stability": "stable"}}
POLICY = small_policy(QIS, ILLNESS, population="cumulative")
Apart = list[tuple[int, int]]

rows = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.sampled_from([0.1, 0.2, 0.3, 0.7]),
        st.sampled_from("abc"),
        st.sampled_from("xy"),
        st.sampled_from(["flu", "hiv", "cough"]),
    ),
    min_size=2,
    max_size=14,
)
releases = st.tuples(rows, st.integers(2, 5), st.sets(st.sampled_from(list(QIS))))


def classes_of(made: tuple[list[Any], int, set[str]]) -> EquivalenceClasses:
    """Classes of neighbours; the last names are quasi-identifiers that the release does not publish."""
    people, size, hidden = made
    people = sorted(people)
    found = generalized(prepared(POLICY, people), np.arange(len(people)) // size, POLICY)
    return replace(
        found,
        intervals={name: cells for name, cells in found.intervals.items() if name not in hidden},
        sets={name: cells for name, cells in found.sets.items() if name not in hidden},
    )


def covered(classes: EquivalenceClasses, c: int, name: str, every: set[str]) -> set[str]:
    cells = classes.sets.get(name)
    if cells is None or cells.whole[c]:
        return every
    return {value for value, inside in zip(cells.values, cells.member[c], strict=True) if inside}


def lies_inside(
    small: tuple[EquivalenceClasses, int],
    large: tuple[EquivalenceClasses, int],
    shifts: dict[str, tuple[float, float]],
    every: dict[str, set[str]],
) -> bool:
    (inner, i), (outer, o) = small, large
    for name, (least, greatest) in shifts.items():
        if name not in outer.intervals:
            continue
        if name not in inner.intervals:
            return False
        (low, high), (from_, to) = inner.intervals[name][i], outer.intervals[name][o]
        # Some shift s in [least, greatest] has from_ <= low + s and high + s <= to.
        if max(least, from_ - low) > min(greatest, to - high) + 1e-6:
            return False
    return all(covered(inner, i, name, each) <= covered(outer, o, name, each) for name, each in every.items())


def values(classes: EquivalenceClasses, chosen: list[int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for c in chosen:
        found.update(
            dict(zip(classes.sensitive_values["illness"], classes.counts["illness"][c].tolist(), strict=True))
        )
    return found


def looped(
    now: EquivalenceClasses, earlier: list[EquivalenceClasses], apart: Apart, l_least: int, k_least: int
) -> dict[str, tuple[int, int, int, set[int]]]:
    """Pairs, groups, failures and failing classes, of the values and of the sizes."""
    every: dict[str, set[str]] = {"city": set(), "home": set()}
    for each in (now, *earlier):
        for name, cells in each.sets.items():
            every[name] |= set(cells.values)
    found: dict[str, list[Any]] = {"illness": [0, 0, 0, set()], "size": [0, 0, 0, set()]}

    def judge(then: EquivalenceClasses, ours: list[int], theirs: list[int], place: int) -> None:
        a, b = values(now, ours), values(then, theirs)
        apart = abs(a.total() - b.total())
        fails = {
            "illness": 0 < len(a - b) < l_least or 0 < len(b - a) < l_least,
            "size": 0 < apart < k_least,
        }
        for name, bad in fails.items():
            found[name][place] += 1
            found[name][2] += bad
            found[name][3] |= set(ours) if bad else set()

    for then, periods in zip(earlier, apart, strict=True):
        moved = {
            name: [step * count for step in QIS[name]["moves"] for count in periods]
            for name in ("age", "height")
        }
        on = {name: (min(steps), max(steps)) for name, steps in moved.items()}
        back = {name: (-greatest, -least) for name, (least, greatest) in on.items()}
        in_now: dict[int, list[int]] = {}
        in_then: dict[int, list[int]] = {}
        for a, b in product(range(now.n_classes), range(then.n_classes)):
            ways = (
                lies_inside((then, b), (now, a), on, every),
                lies_inside((now, a), (then, b), back, every),
            )
            if not values(now, [a]) & values(then, [b]):
                continue
            if any(ways):
                judge(then, [a], [b], 0)
            if ways[0]:
                in_now.setdefault(a, []).append(b)
            if ways[1]:
                in_then.setdefault(b, []).append(a)
        for a, several in in_now.items():
            if len(several) > 1:
                judge(then, [a], several, 1)
        for b, several in in_then.items():
            if len(several) > 1:
                judge(then, several, [b], 1)
    return {name: tuple(each) for name, each in found.items()}  # type: ignore[misc]


def compared(
    now: EquivalenceClasses,
    earlier: list[EquivalenceClasses],
    apart: Apart | None = None,
    l_least: int = 2,
    k_least: int = 2,
    policy: ReleasePolicy = POLICY,
) -> tuple[Comparison, Comparison]:
    space = space_of([now, *earlier])
    ours = side_of([("now", now)], space, policy, [(0, 0)])
    theirs = side_of([(f"r{i}", each) for i, each in enumerate(earlier)], space, policy, apart)
    (found,) = difference(ours, theirs, space, {"illness": Required(l_least)})
    return found, sizes(ours, theirs, k_least)


periods = st.integers(-2, 3).map(lambda n: (n, n)) | st.integers(0, 2).map(lambda n: (-n, n))


@given(
    releases,
    st.lists(st.tuples(releases, periods), min_size=1, max_size=3),
    st.integers(2, 3),
    st.integers(2, 4),
    st.booleans(),
)
def test_nested_classes_are_those_of_plain_loops(
    source: Any, before: list[Any], l_least: int, k_least: int, in_parts: bool
) -> None:
    now, earlier = classes_of(source), [classes_of(each) for each, _ in before]
    apart = [each for _, each in before]
    expected = looped(now, earlier, apart, l_least, k_least)
    rows_before, cells_before = nested.ROWS, nested.CELLS
    try:
        if in_parts:
            nested.ROWS, nested.CELLS = 2, 3
        of_values, of_sizes = compared(now, earlier, apart, l_least, k_least)
    finally:
        nested.ROWS, nested.CELLS = rows_before, cells_before
    for found in (of_values, of_sizes):
        failing = set(np.flatnonzero(found.failing).tolist())
        assert (found.compared, found.together, found.failed, failing) == expected[found.attribute]
        assert bool(found.witness) == bool(found.failed)
        if found.witness:
            assert found.witness["candidate_class"] in failing


# By hand


def one(illnesses: str, low: float = 30, high: float = 39) -> EquivalenceClasses:
    """One class of this age, with one illness a letter."""
    return several((illnesses, low, high))


def several(*made: tuple[str, float, float]) -> EquivalenceClasses:
    every = tuple(sorted(set("".join(illnesses for illnesses, _, _ in made))))
    counts = np.array([[illnesses.count(value) for value in every] for illnesses, _, _ in made])
    ages = np.array([[low, high] for _, low, high in made], dtype=float)
    return EquivalenceClasses(counts.sum(axis=1), {"age": ages}, {}, {"illness": every}, {"illness": counts})


def failed(found: tuple[Comparison, Comparison]) -> tuple[int, int]:
    return found[0].failed, found[1].failed


def test_the_newcomers_value_is_what_the_smaller_class_does_not_have() -> None:
    values_left, size_apart = compared(one("ffhh"), [one("ffh")])
    assert (values_left.failed, size_apart.failed) == (1, 1)
    assert values_left.witness == {
        "candidate_class": 0,
        "earlier_release": "r0",
        "earlier_class": 0,
        "outer": "candidate",
        "classes_inside": 1,
        "records_left_outside": 1,
        "records_left_inside": 0,
    }
    assert compared(one("ffh"), [one("ffhh")])[0].witness["records_left_inside"] == 1


@pytest.mark.parametrize(
    ("now", "then", "fails"),
    [
        ("ffhhh", "ffh", (1, 0)),  # two newcomers, both of them with h
        ("ffhhc", "ffh", (0, 0)),
        ("ffh", "ffh", (0, 0)),
        ("ffhc", "ffhh", (1, 0)),  # one came, one went
        ("abcde", "vwxyz", (0, 0)),
    ],
)
def test_what_is_left_has_no_value_or_l(now: str, then: str, fails: tuple[int, int]) -> None:
    assert failed(compared(one(now), [one(then)])) == fails
    assert failed(compared(one(then), [one(now)])) == fails


def test_where_no_value_of_a_stable_attribute_is_shared_nobody_is_in_both() -> None:
    assert compared(one("aa"), [one("b")])[0].compared == 0
    found = compared(
        several(("aabb", 30, 39), ("x", 90, 99)), [several(("ab", 30, 34), ("ab", 35, 38), ("c", 39, 39))]
    )
    assert (found[0].compared, found[0].together, failed(found)) == (2, 1, (0, 0))
    changing = small_policy(QIS, {"illness": {"stability": "transient"}}, population="cumulative")
    assert failed(compared(one("aa"), [one("b")], policy=changing)) == (1, 1)


def test_a_group_under_k_is_told_by_its_size_alone() -> None:
    assert failed(compared(one("abcab"), [one("abc")], k_least=3)) == (0, 1)
    assert failed(compared(one("abcab"), [one("abc")], k_least=2)) == (0, 0)


def test_classes_that_are_not_nested_are_not_compared() -> None:
    policy = small_policy({"age": {"type": "integer", "bounds": [0, 99]}}, ILLNESS)
    found = compared(one("ffhh", 30, 39), [one("ffh", 31, 40)], policy=policy)
    assert (found[0].compared, failed(found)) == (0, (0, 0))


def test_a_class_that_was_split_shows_the_newcomer_only_when_its_parts_are_taken_together() -> None:
    policy = small_policy({"age": {"type": "integer", "bounds": [0, 99]}}, ILLNESS)
    then = one("aabbcc", 30, 39)
    now = several(("aabc", 30, 34), ("bcc", 35, 39))
    for later, earlier in ((now, then), (then, now)):
        of_values, of_sizes = compared(later, [earlier], policy=policy)
        assert (of_values.compared, of_values.together) == (2, 1)
        assert (of_values.failed, of_values.witness["classes_inside"]) == (1, 2)
        assert of_sizes.failed == 1
        assert of_values.failing.all()


@pytest.mark.parametrize(
    ("moves", "apart", "low", "is_nested"),
    [
        ([0, 0], (1, 1), 30, True),
        ([0, 0], (1, 1), 31, False),
        ([0, 1], (1, 1), 31, True),  # everybody is a year older
        ([0, 1], (1, 1), 30, True),  # nobody is yet
        ([0, 1], (1, 1), 32, False),
        ([0, 1], (2, 2), 32, True),
        ([1, 1], (1, 1), 30, False),  # nobody can be as old as then
        ([0, 1], (-1, -1), 29, True),  # the other is of a later period
        ([0, 1], (-1, -1), 31, False),
    ],
)
def test_cells_are_nested_as_if_everybody_had_moved_alike(
    moves: list[int], apart: tuple[int, int], low: int, is_nested: bool
) -> None:
    policy = small_policy({"age": {"type": "integer", "bounds": [0, 99], "moves": moves}}, ILLNESS)
    found, _ = compared(one("ffhh", low, low + 9), [one("ffh", 30, 39)], [apart], policy=policy)
    assert found.compared == is_nested


def with_city(classes: EquivalenceClasses, *cities: str) -> EquivalenceClasses:
    cells = SetCells(cities, np.ones((1, len(cities)), dtype=bool), np.array([not cities]))
    return replace(classes, sets={"city": cells})


def test_a_quasi_identifier_that_only_one_publishes_is_covered_wholly_by_the_other() -> None:
    in_hull, anywhere = with_city(one("ffh"), "Hull"), one("ffhh")
    assert compared(anywhere, [in_hull])[0].failed == 1
    assert compared(in_hull, [anywhere])[0].failed == 1
    # With York named somewhere, Hull is not all there is.
    wider, in_york = with_city(one("ffhh", 10, 50), "Hull"), with_city(one("zz", 90, 91), "York")
    assert compared(wider, [one("ffh")])[0].compared == 1
    assert compared(wider, [one("ffh"), in_york])[0].compared == 0


def test_all_values_that_anybody_names_cover_as_much_as_a_star() -> None:
    star, both = with_city(one("ffh")), with_city(one("ffhh"), "Hull", "York")
    assert compared(both, [star])[0].failed == 1
    assert (
        compared(both, [star, with_city(one("zz", 90, 91), "Leeds")])[0].compared == 1
    )  # now inside the star
    assert compared(with_city(one("ffhh"), "Hull"), [with_city(one("ffh"), "York")])[0].compared == 0


# As gates


def judged(gate: str, tmp_path: Path, *illnesses: str, **sections: Any) -> GateResult:
    policy = small_policy(
        {"age": {"type": "integer", "bounds": [0, 99]}},
        sections.pop("sensitive", ILLNESS),
        **{"population": "cumulative", **sections},
    )
    found: list[Published] = []
    for number, each in enumerate(illnesses):
        people = [(30, illness) for illness in each]
        found.append(published(policy, prepared(policy, people), [0] * len(people), tmp_path / str(number)))
    (result,) = assess(found[-1].evidence(*found[:-1]), {gate: GATES[gate]}).results
    return result


@pytest.mark.parametrize("gate", ["difference", "size"])
def test_a_newcomer_fails_both_gates_of_a_cumulative_series(gate: str, tmp_path: Path) -> None:
    result = judged(gate, tmp_path, "ffh", "ffhh")
    assert (result.verdict, result.value) == (Verdict.FAIL, 1)
    assert "assumes that each release holds all records of the ones before" in result.detail
    coverage = result.witness["coverage"]
    assert (coverage["releases"], coverage["classes"], coverage["earlier_classes"]) == (1, 1, 1)
    assert (coverage["records"], coverage["earlier_records"]) == (4, 3)
    assert set(coverage["pairs"].values()) == {1}


@pytest.mark.parametrize("gate", ["difference", "size"])
def test_fewer_records_than_an_earlier_release_contradict_a_cumulative_population(
    gate: str, tmp_path: Path
) -> None:
    result = judged(gate, tmp_path, "aabbcc", "abc", privacy={"k": 2})
    assert result.verdict is Verdict.UNKNOWN
    assert "the candidate has 3 records, fewer than its 6: not cumulative" in result.detail
    assert judged(gate, tmp_path / "same", "abcabc", "abcabc").verdict is Verdict.PASS


@pytest.mark.parametrize("population", ["overlapping", "independent"])
def test_other_populations_are_not_asked_and_the_coverage_says_so(population: str, tmp_path: Path) -> None:
    policy = small_policy(population=population)
    assert not any(GATES[gate].asked_by(policy) for gate in ("difference", "size"))
    result = judged("pairwise", tmp_path, "abc", "abcd", population=population)
    why = f"the population is {population}, not cumulative"
    said = result.witness["coverage"]["not_run"]
    assert [each["what"] for each in said if each["why"] == why] == ["difference", "size"]


def test_transient_attributes_that_are_ignored_leave_the_sizes(tmp_path: Path) -> None:
    transient = {"illness": {"stability": "transient"}}
    sections: dict[str, Any] = {"sensitive": transient, "gates": {"transient": "ignore"}}
    assert judged("difference", tmp_path / "d", "ffh", "ffhh", **dict(sections)).verdict is Verdict.PASS
    assert judged("size", tmp_path / "s", "ffh", "ffhh", **dict(sections)).verdict is Verdict.FAIL
    said = judged("difference", tmp_path / "c", "ffh", "ffhh", sensitive=transient)
    assert said.verdict is Verdict.FAIL
    assert "assumes that illness did not change" in said.detail
