"""The comparison with earlier releases, held against plain loops."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from release_store.records import EquivalenceClasses, SetCells
from tasks.geometry import bitsets, box_tree, overlaps
from tasks.geometry.bitsets import packed
from tasks.geometry.space import Boxes, boxes_of, points_of, space_of
from tasks.history import intersection as comparison
from tasks.history.intersection import (
    History,
    allowed_values,
    compared_attributes,
    history_of,
    narrowed,
    pairwise,
    pairwise_fails,
    pairwise_failures,
    whole_history,
)
from tasks.history.required import Required
from tasks.recoding.generalize import generalized
from tasks.repair.judge import Judge
from tasks.types import BoolArray
from tests.support.small import prepared, small_policy

ALL = ~np.uint64(0)


def subsets_narrow(own: int, allowed: list[int], seen: list[bool], l_least: int) -> bool:
    there = [mask for mask, inside in zip(allowed, seen, strict=True) if inside]
    for size in range(1, len(there) + 1):
        for chosen in combinations(there, size):
            common = own
            for mask in chosen:
                common &= mask
            if 0 < common.bit_count() < l_least:
                return True
    return False


masks = st.one_of(st.integers(0, 31), st.just(2**64 - 1))


@given(
    st.integers(1, 5).flatmap(
        lambda m: st.lists(
            st.tuples(
                st.integers(1, 31),
                st.lists(masks, min_size=m, max_size=m),
                st.lists(st.booleans(), min_size=m, max_size=m),
            ),
            min_size=1,
            max_size=12,
        )
    ),
    st.integers(2, 4),
)
def test_narrowed_is_trying_every_choice_of_releases(
    rows: list[tuple[int, list[int], list[bool]]], l_least: int
) -> None:
    own = np.array([[row[0]] for row in rows], dtype=np.uint64)
    allowed = np.array([[[mask] for mask in row[1]] for row in rows], dtype=np.uint64)
    seen = np.array([row[2] for row in rows])
    expected = [subsets_narrow(*row, l_least) for row in rows]
    assert narrowed(own, allowed, seen, l_least).tolist() == expected


def test_values_past_the_64th_count_too() -> None:
    marks = np.zeros((1, 130), dtype=bool)
    marks[0, [3, 70, 129]] = True
    assert packed(marks).shape == (1, 3)
    earlier = np.zeros((1, 130), dtype=bool)
    earlier[0, [129, 128]] = True
    seen = np.ones((1, 1), dtype=bool)
    assert narrowed(packed(marks), packed(earlier)[:, None], seen, 2).tolist() == [True]
    earlier[0, 70] = True
    assert narrowed(packed(marks), packed(earlier)[:, None], seen, 2).tolist() == [False]


def test_nobody_is_no_failure() -> None:
    empty = np.zeros((0, 1), dtype=np.uint64)
    assert narrowed(empty, np.zeros((0, 2, 1), dtype=np.uint64), np.zeros((0, 2), dtype=bool), 2).shape == (
        0,
    )


QIS: dict[str, Any] = {
    "age": {"type": "integer", "bounds": [0, 99], "moves": [0, 1]},
    "city": {"type": "categorical"},
    "home": {"type": "categorical", "may_change": True},
}
SENSITIVE = {"illness": {"stability": "stable"}, "mood": {"stability": "transient"}}
POLICY = small_policy(QIS, SENSITIVE)

rows = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.sampled_from("abc"),
        st.sampled_from("xy"),
        st.sampled_from(["flu", "hiv", "cough", "cold"]),
        st.sampled_from(["good", "bad"]),
    ),
    min_size=2,
    max_size=12,
)


def classes_of(made: list[Any]) -> EquivalenceClasses:
    table = prepared(POLICY, made)
    return generalized(table, np.arange(len(made)) // 3, POLICY)


def cells(classes: EquivalenceClasses, c: int) -> dict[str, Any]:
    found: dict[str, Any] = {name: tuple(bounds[c]) for name, bounds in classes.intervals.items()}
    for name, sets in classes.sets.items():
        covered = {v for v, inside in zip(sets.values, sets.member[c], strict=True) if inside}
        found[name] = None if sets.whole[c] else covered
    return found


def values(classes: EquivalenceClasses, c: int, attribute: str) -> set[str]:
    named = zip(classes.sensitive_values[attribute], classes.counts[attribute][c], strict=True)
    return {value for value, count in named if count}


def compatible_classes(boxes: Boxes, history: History) -> BoolArray:
    words = history.index.overlapping(boxes)
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    assert not bits[:, len(history.boxes) :].any()
    return bits[:, : len(history.boxes)] > 0


def may_hold_the_same_person(now: dict[str, Any], then: dict[str, Any], back: int) -> bool:
    low, high = then["age"]
    ages = now["age"][0] <= high + back and now["age"][1] >= low
    cities = now["city"] is None or then["city"] is None or bool(now["city"] & then["city"])
    return ages and cities


def looped_pairs(
    now: EquivalenceClasses, earlier: list[tuple[str, EquivalenceClasses]], attribute: str, l_least: int
) -> tuple[int, set[tuple[int, int, int]]]:
    """How many pairs are compatible, and which of them (class, release, class) fail."""
    compatible, bad = 0, set()
    for j, (_, then) in enumerate(earlier):
        for c, d in product(range(now.n_classes), range(then.n_classes)):
            if may_hold_the_same_person(cells(now, c), cells(then, d), len(earlier) - j):
                compatible += 1
                if 0 < len(values(now, c, attribute) & values(then, d, attribute)) < l_least:
                    bad.add((c, j, d))
    return compatible, bad


def contains(inside: dict[str, Any], age: int, city: str, home: str) -> bool:
    low, high = inside["age"]
    return low <= age <= high and all(
        inside[name] is None or value in inside[name] for name, value in (("city", city), ("home", home))
    )


def allowed_by(
    person: tuple[int, str, str], earlier: list[tuple[str, EquivalenceClasses]], attribute: str
) -> list[set[str]]:
    """The values that each release in which the person may be leaves open."""
    age, city, home = person
    box = {"age": (age, age), "city": {city}, "home": {home}}
    found = []
    for back, (_, then) in zip(range(len(earlier), 0, -1), earlier, strict=True):
        fits = [d for d in range(then.n_classes) if may_hold_the_same_person(box, cells(then, d), back)]
        if fits:
            found.append(set().union(*(values(then, d, attribute) for d in fits)))
    return found


def any_choice_narrows(own: set[str], allowed: list[set[str]], l_least: int) -> bool:
    return any(
        0 < len(own.intersection(*chosen)) < l_least
        for size in range(1, len(allowed) + 1)
        for chosen in combinations(allowed, size)
    )


@given(rows, st.lists(rows, min_size=1, max_size=3), st.integers(2, 3))
def test_pairs_and_people_are_those_of_plain_loops(
    source: list[Any], before: list[list[Any]], l_least: int
) -> None:
    table, now = prepared(POLICY, source), classes_of(source)
    earlier = [(str(i), classes_of(each)) for i, each in enumerate(before)]
    space = space_of([now, *(c for _, c in earlier)], table)
    history, boxes, points = history_of(earlier, space, POLICY), boxes_of(now, space), points_of(table, space)
    assert history is not None
    columns = [list(space.sensitive).index(a) for a in SENSITIVE]
    some_bad: set[int] = set()
    for found in pairwise(boxes, history, space, dict.fromkeys(SENSITIVE, Required(l_least))):
        compatible, bad = looped_pairs(now, earlier, found.attribute, l_least)
        assert int(compatible_classes(boxes, history).sum()) == found.compared == compatible
        assert found.failed == len(bad)
        assert set(np.flatnonzero(found.failing)) == {c for c, _, _ in bad}
        some_bad |= {c for c, _, _ in bad}
        if bad:
            named = found.witness["candidate_class"], int(found.witness["earlier_release"])
            assert (*named, found.witness["earlier_class"]) in bad
    assert (
        set(np.flatnonzero(pairwise_fails(boxes, history, dict.fromkeys(columns, Required(l_least)))))
        == some_bad
    )
    allowed_masks = allowed_values(points, history, columns)
    for found in whole_history(
        boxes, points, allowed_masks, space, dict.fromkeys(SENSITIVE, Required(l_least))
    ):
        narrow = {
            (int(points.place[i]), c)
            for i, person in enumerate(row[:3] for row in source)
            for c in range(now.n_classes)
            if contains(cells(now, c), *person)
            and any_choice_narrows(
                values(now, c, found.attribute), allowed_by(person, earlier, found.attribute), l_least
            )
        }
        assert found.failed == len(narrow)
        assert set(np.flatnonzero(found.failing)) == {c for _, c in narrow}


def test_many_classes_are_compared_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    made = [
        (int(a), "abc"[c], "x", ["flu", "hiv", "cold"][s], "good")
        for a, c, s in random.integers(0, 3, (60, 3))
    ]
    now, then = classes_of(made[:30]), classes_of(made[30:])
    space = space_of([now, then])
    history = history_of([("r1", then)], space, POLICY)
    assert history is not None
    whole = pairwise(boxes_of(now, space), history, space, {"illness": Required(2)})[0]
    monkeypatch.setattr(comparison, "ROWS", 3)
    parts = pairwise(boxes_of(now, space), history, space, {"illness": Required(2)})[0]
    assert whole.failed == parts.failed > 0
    assert np.array_equal(whole.failing, parts.failing)
    assert whole.witness == parts.witness


@given(rows, st.lists(rows, min_size=1, max_size=3), st.integers(2, 3))
def test_pairs_by_a_tree_are_those_by_bits(source: list[Any], before: list[list[Any]], l_least: int) -> None:
    now, earlier = classes_of(source), [(str(i), classes_of(each)) for i, each in enumerate(before)]
    space = space_of([now, *(c for _, c in earlier)])
    boxes, found = boxes_of(now, space), []
    for by_tree in (True, False):
        history = history_of(earlier, space, POLICY)
        assert history is not None
        with patch.object(overlaps.Overlaps, "meets_few", return_value=by_tree):
            found.append(pairwise(boxes, history, space, dict.fromkeys(SENSITIVE, Required(l_least))))
    for tree, bits in zip(*found, strict=True):
        assert np.array_equal(tree.failing, bits.failing)
        assert replace(tree, failing=bits.failing) == bits


@given(rows, st.lists(rows, min_size=1, max_size=3), st.integers(2, 3), st.sampled_from([2, 8]))
def test_a_tree_leaves_out_no_pair_that_fails(
    source: list[Any], before: list[list[Any]], l_least: int, fan: int
) -> None:
    now, earlier = classes_of(source), [(str(i), classes_of(each)) for i, each in enumerate(before)]
    space = space_of([now, *(c for _, c in earlier)])
    boxes, columns, found = boxes_of(now, space), [*range(len(space.sensitive))], []
    for by_tree in (True, False):
        history = history_of(earlier, space, POLICY)
        assert history is not None
        with (
            patch.object(overlaps.Overlaps, "meets_few", return_value=by_tree),
            patch.object(box_tree, "FAN", fan),
        ):
            pairs = pairwise_failures(boxes, history, {c: Required(l_least) for c in columns})
        found.append(sorted(pairs.T.tolist()))
    assert found[0] == found[1]


def test_people_are_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(6)
    made = [
        (int(a), "abc"[c], "x", ["flu", "hiv", "cold"][s], "good")
        for a, c, s in random.integers(0, 3, (90, 3))
    ]
    now, earlier = classes_of(made[:30]), [("r1", classes_of(made[30:60])), ("r2", classes_of(made[60:]))]
    table = prepared(POLICY, made[:30])
    space = space_of([now, *(c for _, c in earlier)], table)
    history, points = history_of(earlier, space, POLICY), points_of(table, space)
    assert history is not None
    whole = allowed_values(points, history, [0, 1])
    monkeypatch.setattr(overlaps, "ROWS", 2)
    parts = allowed_values(points, history, [0, 1])
    for c in (0, 1):
        assert whole.seen[c].any()
        assert np.array_equal(whole.masks[c], parts.masks[c])
        assert np.array_equal(whole.seen[c], parts.seen[c])


def test_ages_move_by_the_policys_years_for_each_release_back() -> None:
    now = classes_of([(30, "a", "x", "flu", "good"), (30, "a", "x", "hiv", "bad")])
    then = classes_of([(28, "a", "y", "flu", "good"), (28, "a", "y", "cold", "bad")])
    space = space_of([now, then])
    one_back = history_of([("r1", then)], space, POLICY)
    two_back = history_of([("r1", then), ("r2", then)], space, POLICY)
    assert one_back is not None
    assert two_back is not None
    assert compatible_classes(boxes_of(now, space), one_back).tolist() == [[False]]
    assert compatible_classes(boxes_of(now, space), two_back).tolist() == [[True, False]]


def test_an_l_beyond_all_values_fails_every_pair_with_something_in_common() -> None:
    now = classes_of([(30, "a", "x", "flu", "good"), (30, "a", "x", "hiv", "bad")])
    space = space_of([now])
    history = history_of([("r1", now)], space, POLICY)
    assert history is not None
    (found,) = pairwise(boxes_of(now, space), history, space, {"illness": Required(2**40)})
    assert found.failing.tolist() == [True]


@pytest.mark.parametrize(
    ("apart", "meets"),
    [
        ((1, 1), False),  # the other is a year before: 29 then is 29 or 30 now
        ((-1, -1), True),  # a year after: 29 then is 28 or 29 now
        ((0, 0), False),  # of the same year, such as the release that a revision replaces
        ((-1, 1), True),  # nobody knows which way
        ((-9, -9), True),
    ],
)
def test_ages_move_by_the_periods_between(apart: tuple[int, int], meets: bool) -> None:
    now = classes_of([(28, "a", "x", "flu", "good"), (28, "a", "x", "hiv", "bad")])
    then = classes_of([(29, "a", "y", "flu", "good"), (29, "a", "y", "cold", "bad")])
    space = space_of([now, then])
    history = history_of([("r1", then)], space, POLICY, [apart])
    assert history is not None
    assert compatible_classes(boxes_of(now, space), history).tolist() == [[meets]]


def test_an_attribute_that_one_release_does_not_publish_is_not_compared() -> None:
    now = classes_of([(30, "a", "x", "flu", "good")])
    then = classes_of([(30, "a", "x", "flu", "good")])
    without = EquivalenceClasses(
        then.size,
        then.intervals,
        then.sets,
        {"mood": then.sensitive_values["mood"]},
        {"mood": then.counts["mood"]},
    )
    space = space_of([now, without])
    history = history_of([("r1", without)], space, POLICY)
    assert history is not None
    illness, mood = pairwise(
        boxes_of(now, space), history, space, {"illness": Required(2), "mood": Required(2)}
    )
    assert (illness.compared, illness.failed) == (0, 0)
    assert (mood.compared, mood.failed) == (1, 1)


def test_there_is_no_history_before_the_first_release() -> None:
    assert history_of([], space_of([]), POLICY) is None


@pytest.mark.parametrize(("transient", "names"), [("compare", ["illness", "mood"]), ("ignore", ["illness"])])
def test_transient_attributes_are_compared_unless_the_policy_ignores_them(
    transient: str, names: list[str]
) -> None:
    assert compared_attributes(small_policy(QIS, SENSITIVE, gates={"transient": transient})) == names


def test_the_least_and_the_greatest_move_are_each_taken_for_each_release_back() -> None:
    policy = small_policy({**QIS, "age": {"type": "integer", "bounds": [0, 99], "moves": [2, 3]}}, SENSITIVE)
    then = classes_of([(20, "a", "x", "flu", "good")])
    for age, expected in ((23, [False, True]), (24, [True, False]), (26, [True, False]), (22, [False, True])):
        now = classes_of([(age, "a", "x", "flu", "good")])
        space = space_of([now, then])
        history = history_of([("r1", then), ("r2", then)], space, policy)
        assert history is not None
        # Two back an age of 20 is 24 to 26 by now; one back it is 22 or 23.
        assert compatible_classes(boxes_of(now, space), history).tolist() == [expected]


def test_a_former_attribute_that_was_published_as_stars_alone_hides_nobody() -> None:
    # The job was `*` in every class, so that no value of it is known, and is not published any more.
    now = classes_of([(30, "a", "x", "flu", "good"), (30, "a", "x", "hiv", "good")])
    then = classes_of([(30, "a", "x", "flu", "good"), (30, "a", "x", "cold", "good")])
    job = SetCells((), np.zeros((1, 0), dtype=bool), np.array([True]))
    with_job = EquivalenceClasses(
        then.size, then.intervals, {**then.sets, "job": job}, then.sensitive_values, then.counts
    )
    table = prepared(POLICY, [(30, "a", "x", "flu", "good"), (30, "a", "x", "hiv", "good")])
    space = space_of([now, with_job], table)
    history, boxes = history_of([("r1", with_job)], space, POLICY), boxes_of(now, space)
    points = points_of(table, space)
    assert history is not None
    (found,) = pairwise(boxes, history, space, {"illness": Required(2)})
    assert found.failed == 1
    allowed = allowed_values(points, history, [list(space.sensitive).index("illness")])
    (found,) = whole_history(boxes, points, allowed, space, {"illness": Required(2)})
    assert found.failed == 1


@given(rows, rows)
def test_large_indexes_without_a_table_find_the_same_classes(source: list[Any], before: list[Any]) -> None:
    now, then = classes_of(source), classes_of(before)
    space = space_of([now, then])
    boxes, history = boxes_of(now, space), history_of([("r1", then)], space, POLICY)
    assert history is not None
    found = history.index.overlapping(boxes)
    words, bitsets.TABLE_WORDS = bitsets.TABLE_WORDS, 0
    try:
        assert np.array_equal(bitsets.ClassIndex(history.boxes).overlapping(boxes), found)
    finally:
        bitsets.TABLE_WORDS = words


@settings(max_examples=20)
@given(rows, st.lists(rows, min_size=1, max_size=3), st.integers(2, 3))
def test_people_by_a_tree_narrow_the_same_groups(
    source: list[Any], before: list[list[Any]], l_least: int
) -> None:
    table, earlier = prepared(POLICY, source), [(str(i), classes_of(each)) for i, each in enumerate(before)]
    now = classes_of(source)
    space = space_of([now, *(c for _, c in earlier)], table)
    boxes, columns, found = boxes_of(now, space), [*range(len(space.sensitive))], []
    members = [np.empty(0, dtype=np.int64)] * len(boxes)
    for by_tree in (True, False):
        history = history_of(earlier, space, POLICY)
        assert history is not None
        with (
            patch.object(overlaps.Overlaps, "meets_few", return_value=by_tree),
            patch.object(box_tree, "FAN", 2),
        ):
            required = {c: Required(l_least) for c in columns}
            found.append(Judge(history, points_of(table, space), required).fails(boxes, members))
    assert found[0].tolist() == found[1].tolist()


def test_a_tree_leaves_out_nobody_whom_two_releases_narrow() -> None:
    def of_one_age(illnesses: list[str]) -> list[Any]:
        return [
            (1, "a", "x", illness, mood)
            for illness, mood in zip(illnesses, ["good", "bad"] * 2, strict=False)
        ]

    now = classes_of(of_one_age(["flu", "hiv", "cold"]))
    earlier = [
        ("r1", classes_of(of_one_age(["flu", "hiv"]))),
        ("r2", classes_of(of_one_age(["hiv", "cold"]))),
    ]
    space = space_of([now, *(c for _, c in earlier)])
    history = history_of(earlier, space, POLICY)
    assert history is not None
    points = points_of(prepared(POLICY, of_one_age(["flu"])), space)
    boxes, nobody = boxes_of(now, space), [np.empty(0, dtype=np.int64)]
    with patch.object(overlaps.Overlaps, "meets_few", return_value=True):
        assert Judge(history, points, {0: Required(2)}).fails(boxes, nobody).tolist() == [True]
        assert not pairwise_fails(boxes, history, {0: Required(2)}).any()
    one_told = history_of(earlier[:1], space, POLICY)
    assert one_told is not None
    with patch.object(overlaps.Overlaps, "meets_few", return_value=True):
        assert Judge(one_told, points, {0: Required(2)}).fails(boxes, nobody).tolist() == [False]
        one_value = classes_of(of_one_age(["flu", "cold"]))
        assert pairwise_fails(boxes_of(one_value, space), history, {0: Required(2)}).all()
