"""Totals that are subtracted: by hand, against a program that counts, and as a gate and a repair."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, GateResult, Verdict
from tasks.geometry.components import components
from tasks.geometry.overlaps import Overlaps
from tasks.geometry.space import boxes_of, space_of
from tasks.history import totals as history_totals
from tasks.history.required import Required
from tasks.history.totals import exposed, several, surpluses
from tasks.repair.totals import Kinds, beside_each, leave_out_totals
from tasks.risk.registry import GATES, assess, gates_to_ask
from tests.support.small import Published, prepared, published, small_policy

AGE = {"age": {"type": "integer", "bounds": [0, 100]}}
ANNA, BEN = (30, "flu"), (31, "hiv")
OTHERS = [(32, "flu"), (33, "hiv"), (34, "flu"), (35, "cough")]

# What the earlier table has more of each value; whether who left, and who came, is exposed. l = 2, k = 3.
CASES = {
    "the same table": ([0, 0, 0], False, False),
    "one left": ([1, 0, 0], True, False),
    "one came": ([0, -1, 0], False, True),
    "two left, with two values": ([1, 1, 0], False, False),
    "three left, with one value": ([3, 0, 0], True, False),
    "one left and one came": ([1, -1, 0], True, True),
    "three of one value left, one came": ([3, -1, 0], False, True),
    "three left and three came": ([3, -3, 0], False, False),
    "one left, two with two values came": ([1, -1, -1], True, False),
}


@pytest.mark.parametrize(("surplus", "left", "came"), CASES.values(), ids=CASES)
def test_who_is_exposed(surplus: list[int], left: bool, came: bool) -> None:
    assert exposed(np.array([surplus]), 2, 3).tolist() == [[left, came]]


@given(
    st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")), st.integers(1, 3), st.integers(1, 4)
)
def test_exposed_is_what_counting_says(earlier: list[str], later: list[str], l_least: int, k: int) -> None:
    left, came = Counter(earlier) - Counter(later), Counter(later) - Counter(earlier)
    expected = [
        0 < len(side) < l_least and not (side.total() >= k and other)
        for side, other in ((left, came), (came, left))
    ]
    surplus = [earlier.count(value) - later.count(value) for value in "abc"]
    assert exposed(np.array([surplus]), l_least, k).tolist() == [expected]


Intervals = list[tuple[int, int]]
intervals = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), min_size=1, max_size=8).map(
    lambda found: [(low, low + width) for low, width in found]
)


def of_ages(cells: Intervals) -> EquivalenceClasses:
    one = np.ones((len(cells), 1), dtype=np.int64)
    return EquivalenceClasses(
        one[:, 0], {"age": np.array(cells, float)}, {}, {"illness": ("flu",)}, {"illness": one}
    )


@given(intervals, intervals)
def test_components_are_those_of_walking(one: Intervals, other: Intervals) -> None:
    sides = [of_ages(one), of_ages(other)]
    space = space_of(sides)
    here, there, n = components(boxes_of(sides[0], space), Overlaps(boxes_of(sides[1], space)))
    label = [*here.tolist(), *there.tolist()]
    both = [*((0, cell) for cell in one), *((1, cell) for cell in other)]
    reached = {0}
    for _ in both:
        reached |= {
            i
            for i, (side, (low, high)) in enumerate(both)
            for met in reached
            if both[met][0] != side and both[met][1][0] <= high and low <= both[met][1][1]
        }
    assert {i for i, name in enumerate(label) if name == label[0]} == reached
    assert set(label) == set(range(n))


def test_a_component_of_one_release_alone_is_not_subtracted() -> None:
    own, theirs = np.array([[1, 0], [2, 3]]), np.array([[0, 1]])
    surplus, row = surpluses(own, np.array([0, 1]), theirs, np.array([1]), 2)
    assert (surplus.tolist(), row.tolist()) == ([[-2, -2], [-3, -2]], [-1, 0])


def release(folder: Path, rows: list[tuple[int, str]], labels: list[int] | None = None) -> Published:
    policy = small_policy(AGE, privacy={"l": 2})
    return published(policy, prepared(policy, rows), labels or [0] * len(rows), folder)


def asked(candidate: Published, *earlier: Published) -> GateResult:
    (result,) = assess(candidate.evidence(*earlier), {"totals": GATES["totals"]}).results
    return result


def test_who_leaves_alone_is_found_and_not_named(tmp_path: Path) -> None:
    first = release(tmp_path / "1", [ANNA, BEN, *OTHERS])
    result = asked(release(tmp_path / "2", [BEN, *OTHERS]), first)
    assert (result.verdict, result.value) == (Verdict.FAIL, 1.0)
    assert result.witness["illness"] == {
        "earlier_release": "release-1",
        "side": "left",
        "records": 1,
        "values": 1,
        "of": "all classes",
    }
    assert "flu" not in repr(result)


def test_who_joins_alone_is_found_and_several_are_not(tmp_path: Path) -> None:
    first = release(tmp_path / "1", OTHERS)
    came = asked(release(tmp_path / "2", [ANNA, *OTHERS]), first)
    assert (came.verdict, came.witness["illness"]["side"]) == (Verdict.FAIL, "joined")
    assert asked(release(tmp_path / "3", [ANNA, BEN, *OTHERS]), first).verdict is Verdict.PASS
    assert asked(release(tmp_path / "4", OTHERS), first).verdict is Verdict.PASS


def test_classes_that_overlap_no_others_are_subtracted_by_themselves(tmp_path: Path) -> None:
    young, old = [ANNA, BEN, (32, "cough")], [(80, "flu"), (81, "hiv"), (82, "cough")]
    first = release(tmp_path / "1", [*young, *old], [0, 0, 0, 1, 1, 1])
    # As a whole flu and hiv are fewer by one each: the young lost the one, the old the other.
    result = asked(release(tmp_path / "2", [*young[1:], old[0], old[2]], [0, 0, 1, 1]), first)
    assert (result.verdict, result.value) == (Verdict.FAIL, 2.0)


def test_who_is_followed_is_asked_about_by_worlds() -> None:
    key = {"roles": {"key": "id"}}
    assert "totals" in gates_to_ask(small_policy())
    assert "totals" not in gates_to_ask(small_policy(**key))
    assert "totals" in gates_to_ask(small_policy(**key, gates={"person": {"without": ["small-2025-r1"]}}))


def by_repair(policy: ReleasePolicy, rows: list[tuple[int, str]], first: Published) -> list[int]:
    labels = np.zeros(len(rows), dtype=np.int64)
    earlier = [("release-1", first.classes)]
    return sorted(leave_out_totals(prepared(policy, rows), labels, policy, earlier, [(0, 0)], 7).tolist())


def test_the_repair_leaves_somebody_with_another_value_out_beside_who_left(tmp_path: Path) -> None:
    first = release(tmp_path / "1", [ANNA, BEN, *OTHERS])
    policy = small_policy(AGE, gates={"suppression": {"max": 0.5}})
    rows = [BEN, *OTHERS]
    (out,) = by_repair(policy, rows, first)
    assert rows[out][1] != ANNA[1]
    stay = [0] * len(rows)
    stay[out] = -1
    assert (
        asked(published(policy, prepared(policy, rows), stay, tmp_path / "2"), first).verdict is Verdict.PASS
    )


def test_the_repair_leaves_out_who_joined_alone_or_somebody_like_them(tmp_path: Path) -> None:
    first = release(tmp_path / "1", OTHERS)
    policy = small_policy(AGE, gates={"suppression": {"max": 0.5}})
    (out,) = by_repair(policy, [ANNA, *OTHERS], first)
    assert [ANNA, *OTHERS][out][1] == ANNA[1]
    assert by_repair(policy, [ANNA, BEN, *OTHERS], first) == []


def test_the_repair_leaves_out_no_more_than_the_policy_lets_it(tmp_path: Path) -> None:
    first = release(tmp_path / "1", [ANNA, BEN, *OTHERS])
    policy = small_policy(AGE, gates={"suppression": {"max": 0.1}})
    assert by_repair(policy, [BEN, *OTHERS], first) == []


# Who is missing from both later tables has a value of which the first has more than each of these.
MORE, LESS, LAST = 0, 1, 2
SEVERAL = {
    "flu is missing from both": ([[3] * 5, [2, 2, 2, 3, 3], [2, 3, 3, 2, 2]], [(MORE, 0, 0)]),
    "three are, then two more": ([[3] * 5, [2, 2, 2, 3, 3], [2] * 5], []),
    "the same left twice": ([[3, 3], [2, 2], [2, 2]], []),
    "flu is in the candidate alone": ([[2, 2, 2, 3, 3], [2, 3, 3, 2, 2], [3] * 5], [(MORE, LAST, 0)]),
    "who came is there since": ([[2, 2, 2], [3, 3, 2], [3, 3, 2]], []),
    "flu is in all but the candidate": ([[3, 3, 3, 2, 2], [3, 2, 2, 3, 3], [2] * 5], [(LESS, LAST, 0)]),
    "flu is missing from the first alone": ([[2] * 5, [3, 3, 3, 2, 2], [3, 2, 2, 3, 3]], [(LESS, 0, 0)]),
}


@pytest.mark.parametrize(("totals", "failing"), SEVERAL.values(), ids=SEVERAL)
def test_what_three_tables_tell(totals: list[list[int]], failing: list[tuple[int, int, int]]) -> None:
    assert [tuple(one) for one in np.argwhere(several(np.array(totals), 2, 9).failing)] == failing


tables = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 4), min_size=n, max_size=n), min_size=2, max_size=5)
)


@pytest.mark.parametrize("small", [0, 10**6])
@given(totals=tables, l_least=st.integers(1, 3), k=st.integers(1, 6))
def test_several_tables_are_every_choice_of_them(
    small: int, totals: list[list[int]], l_least: int, k: int
) -> None:
    with patch.object(history_totals, "SMALL", small):
        found = several(np.array(totals), l_least, k).failing.any(axis=2)
    last = len(totals) - 1
    for side in (MORE, LESS):
        for one in range(len(totals)):
            others = [other for other in range(len(totals)) if other != one]
            chosen = [
                each
                for n in range(2, len(totals))
                for each in combinations(others, n)
                if last in (one, *each)
            ]
            left = [
                set.intersection(*(told(totals, one, other, side, k) for other in each)) for each in chosen
            ]
            assert found[side, one] == any(0 < len(values) < l_least for values in left)


def told(totals: list[list[int]], one: int, other: int, side: int, k: int) -> set[int]:
    """Return the values that a difference of two tables tells of who is in one of them."""
    more, less = (totals[one], totals[other]) if side == MORE else (totals[other], totals[one])
    only, back = Counter(dict(enumerate(more))), Counter(dict(enumerate(less)))
    there, gone = only - back, back - only
    return set() if there.total() >= k and gone else set(there)


def of_illnesses(counts: list[int], first: int) -> list[tuple[int, str]]:
    names = [f"illness {letter}" for letter in "abcde"]
    return [
        (first + i, name)
        for i, name in enumerate(n for n, each in zip(names, counts, strict=True) for _ in range(each))
    ]


@given(tables, st.lists(st.integers(0, 2), min_size=4, max_size=4), st.integers(1, 3), st.integers(1, 6))
def test_several_tables_are_compared_alike_by_bits_and_by_sets(
    totals: list[list[int]], kinds: list[int], l_least: int, k: int
) -> None:
    groups = np.array(kinds[: len(totals[0])])
    by_bits = several(np.array(totals), l_least, k, groups)
    with patch.object(history_totals, "SMALL", 0):
        by_sets = several(np.array(totals), l_least, k, groups)
    assert np.array_equal(by_bits.failing, by_sets.failing)


@given(
    data=st.data(),
    sizes=st.lists(st.integers(0, 3), min_size=1, max_size=4),
    l_least=st.integers(1, 3),
    k=st.integers(1, 4),
)
def test_who_is_wanted_is_what_looking_anew_says(
    data: st.DataObject, sizes: list[int], l_least: int, k: int
) -> None:
    values, n_kinds = 3, 6
    value = np.array(data.draw(st.lists(st.integers(0, values - 1), min_size=n_kinds, max_size=n_kinds)))
    count = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n_kinds, max_size=n_kinds)))
    row = st.lists(st.integers(-3, 3), min_size=values, max_size=values)
    rows = []
    for number, size in enumerate(sizes):
        surplus = data.draw(st.lists(row, min_size=size + 1, max_size=size + 1))
        part = data.draw(st.lists(st.integers(-1, size - 1), min_size=n_kinds, max_size=n_kinds))
        rows.append((number, np.array(surplus), np.array(part)))
    required = Required(l_least)
    kept = beside_each(rows, np.arange(n_kinds), Kinds(value, count, values), required)
    for kind in data.draw(st.lists(st.integers(0, n_kinds - 1), max_size=8)):
        if not count[kind]:
            continue
        kept.wanted(k)
        kept.leave(kind)
        count[kind] -= 1
        for _, surplus, part in rows:
            for one in {len(surplus) - 1, int(part[kind])} - {-1}:
                surplus[one, value[kind]] += 1
    anew = beside_each(rows, np.arange(n_kinds), Kinds(value, count, values), required).wanted(k)
    found = kept.wanted(k)
    assert [(number, kinds.tolist()) for number, kinds in found] == [
        (number, kinds.tolist()) for number, kinds in anew
    ]
    exposing = [number for number, surplus, _ in rows if exposed(surplus, l_least, k).any()]
    assert [number for number, _ in found] == exposing


THREE = [[3] * 5, [2, 2, 2, 3, 3], [2, 3, 3, 2, 2]]


def test_who_is_missing_from_two_releases_is_found(tmp_path: Path) -> None:
    made = [release(tmp_path / str(i), of_illnesses(counts, 20)) for i, counts in enumerate(THREE)]
    result = asked(made[2], *made[:2])
    assert (result.verdict, result.value) == (Verdict.FAIL, 1.0)
    assert result.witness["illness"] == {
        "release": "release-1",
        "side": "only there",
        "beside": "release-2, the candidate",
        "of": "all classes",
    }
    assert "illness a" not in repr(result)


rows_of_three = st.lists(st.lists(st.integers(1, 4), min_size=5, max_size=5), min_size=3, max_size=3)


@pytest.mark.integration  # each example makes three releases
@given(rows_of_three.filter(lambda found: not exposed(np.diff(found[:2], axis=0), 2, 9).any()))
def test_the_repair_hides_who_is_missing_from_several(totals: list[list[int]]) -> None:
    policy = small_policy(AGE, privacy={"k": 9, "l": 2}, gates={"suppression": {"max": 1.0}})
    with TemporaryDirectory() as folder:
        *earlier, last = [
            release(Path(folder) / str(i), of_illnesses(counts, 20)) for i, counts in enumerate(totals)
        ]
        named = [(f"release-{i}", each.classes) for i, each in enumerate(earlier)]
        out = leave_out_totals(
            last.table, np.zeros(sum(totals[2]), dtype=np.int64), policy, named, [(0, 0)] * 2, 7
        )
    kept = np.bincount(np.delete(np.repeat(np.arange(5), totals[2]), out), minlength=5)
    every = np.array([*totals[:2], kept])
    assert not several(every, 2, 9).failing.any()
    assert not exposed(every[:2] - every[2], 2, 9).any()
