"""What assigning everybody to classes at once makes certain, beside every assignment of a few people."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tasks.risk.attacks.forced as module
from policy.recoding import contains_its_people
from release_store.records import GateResult, Verdict
from tasks.geometry import candidates
from tasks.geometry.cells import Cells, true_cells
from tasks.risk.attacks.forced import NoAssignment, Possible, an_assignment, possible_classes
from tasks.risk.registry import GATES, assess
from tasks.types import IntArray
from tests.support.small import Published, prepared, published, small_policy

AGE: dict[str, Any] = {"age": {"type": "integer", "bounds": [0, 100]}}
NOBODY_IN_COMMON = [(10, "flu"), (11, "hiv"), (20, "flu"), (21, "hiv")]
# 10 to 20 beside 14 to 16: 14 and 16 fit both, and 10 and 20 fill the first.
NESTED = [(10, "flu"), (20, "hiv"), (14, "flu"), (16, "hiv")]
# 10 to 14 beside 12 to 16: 12 and 14 can change places, 10 and 16 cannot.
CYCLE = [(10, "flu"), (14, "hiv"), (12, "flu"), (16, "hiv")]


def cells_of(*intervals: tuple[float, float]) -> Cells:
    low, high = np.array(intervals, dtype=float).T
    return true_cells(low[:, None], high[:, None], ())


def possible(ages: list[float], own: list[int], cells: Cells, values: list[list[int]]) -> Possible:
    numbers = np.array(ages, dtype=float)[:, None]
    no_codes = np.zeros((len(ages), 0), dtype=np.int32)
    return possible_classes(numbers, no_codes, np.array(own), cells, {"illness": np.array(values)})


def test_in_classes_that_do_not_overlap_everybody_is_forced() -> None:
    found = possible([1, 2, 8, 9], [0, 0, 1, 1], cells_of((1, 2), (8, 9)), [[1, 1], [1, 1]])
    assert found.classes.tolist() == found.fitting.tolist() == [1, 1, 1, 1]
    assert found.rows.tolist() == [2, 2, 2, 2]
    assert not found.certain["illness"].any()
    assert found.pairs == 4


def test_who_fits_two_classes_is_forced_into_one_if_only_they_can_fill_it() -> None:
    # Class 0 holds 1 to 6, class 1 holds 5 to 9. The person of 6 fits both, but 8 and 9 fill class 1.
    found = possible([1, 6, 8, 9], [0, 0, 1, 1], cells_of((1, 6), (5, 9)), [[1, 1], [1, 1]])
    assert found.fitting.tolist() == [1, 2, 1, 1]
    assert found.classes.tolist() == [1, 1, 1, 1]


def test_two_who_can_change_places_are_not_forced() -> None:
    found = possible([1, 6, 5, 9], [0, 0, 1, 1], cells_of((1, 6), (5, 9)), [[1, 1], [1, 1]])
    assert found.classes.tolist() == [1, 2, 2, 1]
    assert found.rows.tolist() == [2, 4, 4, 2]


def test_in_a_cycle_of_three_classes_nobody_is_forced() -> None:
    # Each person fits their own class and the next one; only all three together can move.
    low, high = np.array([[0.0]] * 3), np.array([[9.0]] * 3)
    member = np.array([[True, False, True], [True, True, False], [False, True, True]])
    codes = np.array([[0], [1], [2]], dtype=np.int32)
    numbers = np.full((3, 1), 5.0)
    cells = true_cells(low, high, (member,))
    found = possible_classes(numbers, codes, np.array([0, 1, 2]), cells, {})
    assert found.classes.tolist() == [2, 2, 2]


def test_equal_people_in_two_classes_can_change_places() -> None:
    found = possible([5, 5], [0, 1], cells_of((5, 5), (5, 5)), [[1, 0], [0, 1]])
    assert found.classes.tolist() == [2, 2]
    assert found.pairs == 2  # they are one point


def test_a_value_is_certain_if_all_possible_classes_have_it_alone() -> None:
    cells = cells_of((1, 6), (5, 9))
    assert possible([6, 5], [0, 1], cells, [[1, 0], [1, 0]]).certain["illness"].all()
    assert not possible([6, 5], [0, 1], cells, [[1, 0], [0, 1]]).certain["illness"].any()
    forced = possible([1, 9], [0, 1], cells, [[1, 0], [0, 1]])
    assert forced.certain["illness"].all()


def test_an_unknown_number_fits_every_class() -> None:
    found = possible([1, np.nan, 8], [0, 0, 1], cells_of((1, 2), (8, 9)), [[1, 1], [1, 0]])
    assert found.fitting.tolist() == [1, 2, 1]
    assert found.classes.tolist() == [1, 1, 1]


def test_people_outside_their_class_are_counted() -> None:
    with pytest.raises(NoAssignment, match="2 people are not"):
        possible([1, 8, 1], [0, 0, 1], cells_of((1, 2), (8, 9)), [[1, 1], [1, 0]])


@st.composite
def releases(draw: st.DrawFn) -> tuple[list[int], list[int], list[list[int]]]:
    """Ages and classes of two to seven people; their values, and how much wider the cells of classes are."""
    n = draw(st.integers(2, 7))
    ages = draw(st.lists(st.integers(0, 6), min_size=n, max_size=n))
    own = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    number = {label: i for i, label in enumerate(sorted(set(own)))}
    own = [number[label] for label in own]
    wider = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=4, max_size=4))
    values = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    return ages, own, [values, *map(list, wider)]


@given(releases(), st.sampled_from([1, 4_000_000]))  # one person a chunk, and everybody at once
def test_possible_classes_are_those_of_every_assignment(
    release: tuple[list[int], list[int], list[list[int]]], most: int
) -> None:
    ages, own, (values, *wider) = release
    n_classes = max(own) + 1
    ends = _ends(ages, own, wider)
    counts = np.zeros((n_classes, 2), dtype=np.int64)
    np.add.at(counts, (own, values), 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_ARCS", most)
        patch.setattr(candidates, "CHUNK_WORDS", most)
        found = possible([*map(float, ages)], own, cells_of(*ends), counts.tolist())
    size, expected = counts.sum(axis=1), _by_trial(ages, own, ends)
    assert found.classes.tolist() == [len(each) for each in expected]
    assert found.rows.tolist() == [sum(int(size[c]) for c in each) for each in expected]
    certain = [len({v for c in each for v in np.flatnonzero(counts[c])}) == 1 for each in expected]
    assert found.certain["illness"].tolist() == certain


@given(releases())
def test_any_assignment_leaves_the_same_classes_possible(
    release: tuple[list[int], list[int], list[list[int]]],
) -> None:
    ages, own, (_, *wider) = release
    n_classes = max(own) + 1
    ends = _ends(ages, own, wider)
    numbers, no_codes = np.array(ages, dtype=float)[:, None], np.zeros((len(ages), 0), dtype=np.int32)
    size = np.bincount(own)
    other = an_assignment(numbers, no_codes, size, cells_of(*ends))
    assert np.array_equal(np.bincount(other, minlength=n_classes), size)
    found = [possible_classes(numbers, no_codes, np.array(one), cells_of(*ends), {}) for one in (own, other)]
    assert found[0].classes.tolist() == found[1].classes.tolist()
    assert found[0].rows.tolist() == found[1].rows.tolist()


def test_without_room_for_everybody_there_is_no_assignment(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, no_codes = np.array([[1.0], [2.0], [8.0]]), np.zeros((3, 0), dtype=np.int32)
    cells = cells_of((1, 2), (8, 9))
    with pytest.raises(NoAssignment, match="1 person has no room"):
        an_assignment(numbers, no_codes, np.array([1, 2]), cells)
    assert an_assignment(numbers, no_codes, np.array([2, 1]), cells).tolist() == [0, 0, 1]
    monkeypatch.setattr(module, "MOST_PAIRS", 2)
    with pytest.raises(NoAssignment, match="over 2 pairs"):
        an_assignment(numbers, no_codes, np.array([2, 1]), cells)


def _ends(ages: list[int], own: list[int], wider: list[list[int]]) -> list[tuple[int, int]]:
    """Return the interval of each class: that of its people, and so much wider."""
    inside = [
        [age for age, c in zip(ages, own, strict=True) if c == number] for number in range(max(own) + 1)
    ]
    return [(min(a) - w[0], max(a) + w[1]) for a, w in zip(inside, wider, strict=False)]


def _by_trial(ages: list[int], own: list[int], ends: list[tuple[int, int]]) -> list[set[int]]:
    """Return the classes of each person over all assignments, by trying every one."""
    found: list[set[int]] = [set() for _ in ages]
    for assignment in set(permutations(own)):
        if all(ends[c][0] <= age <= ends[c][1] for age, c in zip(ages, assignment, strict=True)):
            for each, c in zip(found, assignment, strict=True):
                each.add(c)
    return found


# The gate


def made(tmp_path: Path, rows: Any, labels: list[int], most: float = 1.0, **sections: Any) -> Published:
    policy = small_policy(AGE, gates={"forced": {"max": most}}, **sections)
    return published(policy, prepared(policy, rows), labels, tmp_path / "c")


def asked(found: Published, **changes: Any) -> GateResult:
    (result,) = assess(replace(found.evidence(), **changes), {"forced": GATES["forced"]}).results
    return result


@pytest.mark.parametrize(
    ("rows", "share", "fewest"),
    [(NOBODY_IN_COMMON, 1.0, 2), (NESTED, 1.0, 2), (CYCLE, 0.5, 2)],
    ids=["disjoint", "nested", "cycle"],
)
def test_the_gate_limits_the_share_of_forced_classes(
    rows: Any, share: float, fewest: int, tmp_path: Path
) -> None:
    at = asked(made(tmp_path / "at", rows, [0, 0, 1, 1], share))
    beyond = asked(made(tmp_path / "beyond", rows, [0, 0, 1, 1], share - 0.01))
    assert (at.verdict, beyond.verdict) == (Verdict.PASS, Verdict.FAIL)
    assert at.value == beyond.value == pytest.approx(share)
    assert at.witness["effective_k"] == fewest


def test_the_gate_holds_certain_values_to_the_limit_too(tmp_path: Path) -> None:
    rows = [(10, "flu"), (14, "flu"), (12, "flu"), (16, "flu")]
    result = asked(made(tmp_path, rows, [0, 0, 1, 1], 0.5))
    assert (result.verdict, result.value) == (Verdict.FAIL, 1.0)
    assert result.witness["forced_classes"] == 0.5
    assert result.witness["certain_values"] == {"illness": 1.0}


def test_records_that_are_left_out_take_nobodys_place(tmp_path: Path) -> None:
    """The person of 15 could stand for one of 14 or 16, if it were not known that they are left out."""
    result = asked(made(tmp_path, [*NESTED, (15, "flu")], [0, 0, 1, 1, -1]))
    assert result.witness["people"] == 4
    assert result.value == 1.0
    assert "100.0% of 4 people fit one class only, 50.0% by their own cells alone" in result.detail
    assert "records known to be left out: 1" in result.detail


def test_the_gate_says_why_it_cannot_tell(tmp_path: Path) -> None:
    assert not contains_its_people("centroid")
    replaced = made(tmp_path / "r", CYCLE, [0, 0, 1, 1], method={"name": "mdav", "recoding": "centroid"})
    assert asked(replaced).verdict is Verdict.UNKNOWN
    assert "age: values were replaced" in asked(replaced).detail
    empty = made(tmp_path / "e", CYCLE, [-1] * 4)
    assert asked(empty).verdict is Verdict.UNKNOWN
    found = made(tmp_path / "c", CYCLE, [0, 0, 1, 1])
    some = made(tmp_path / "s", [*CYCLE, (50, "flu")], [0, 0, 1, 1, -1])
    assert asked(some, row_records=None).verdict is Verdict.NOT_RUN
    assert "which records were left out" in asked(some, row_records=None).detail
    swapped: IntArray = np.array([2, 3, 0, 1])
    assert asked(found, row_records=swapped).verdict is Verdict.ERROR


def test_a_review_of_a_release_that_left_nobody_out_says_what_the_run_said(tmp_path: Path) -> None:
    for number, rows in enumerate((NOBODY_IN_COMMON, NESTED, CYCLE)):
        found = made(tmp_path / str(number), rows, [0, 0, 1, 1])
        of_run, of_review = asked(found), asked(found, row_records=None)
        assert replace(of_run, seconds=0.0) == replace(of_review, seconds=0.0)


def test_the_gate_is_asked_only_where_the_policy_asks(tmp_path: Path) -> None:
    policy = small_policy(AGE)
    found = published(policy, prepared(policy, CYCLE), [0, 0, 1, 1], tmp_path / "c")
    assert "forced" not in [result.gate for result in assess(found.evidence()).results]


def test_the_result_names_nobody(tmp_path: Path) -> None:
    rows = [(41, "CANARY"), (47, "hiv"), (43, "CANARY"), (49, "hiv")]
    result = asked(made(tmp_path, rows, [0, 0, 1, 1], 0.1))
    assert result.verdict is Verdict.FAIL
    assert set(result.witness) == {
        "people",
        "possible_pairs",
        "forced_classes",
        "certain_values",
        "effective_k",
    }
    said = repr(result.witness) + result.detail
    assert not any(secret in said for secret in ("CANARY", "hiv", "41", "43", "47", "49"))
