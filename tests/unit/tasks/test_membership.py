"""Who is certainly in a table, beside every table that a population could have made."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.errors import PolicyError
from release_store.records import GateResult, Verdict
from tasks.geometry.cells import Cells, true_cells
from tasks.risk.attacks.membership import Members, members
from tasks.risk.attacks.occupied import Occupied
from tasks.risk.registry import GATES, assess
from tests.support.small import Published, prepared, published, small_policy

AGE: dict[str, Any] = {"age": {"type": "integer", "bounds": [0, 100]}}


def cells_of(*intervals: tuple[float, float]) -> Cells:
    low, high = np.array(intervals, dtype=float).T
    return true_cells(low[:, None], high[:, None], ())


def found(ages: list[int], own: list[int], ends: list[tuple[int, int]], *, tight: bool = True) -> Members:
    """Ask of people of these ages; `own` is the class of each, or -1. Values are numbered by age."""
    classes = np.repeat(np.arange(len(ends)), 2)
    values = np.array(ends, dtype=np.int64).reshape(-1)
    told = [Occupied(classes, values, np.array(ages, dtype=np.int64))] if tight else []
    numbers, no_codes = np.array(ages, dtype=float)[:, None], np.zeros((len(ages), 0), dtype=np.int32)
    return members(numbers, no_codes, np.array(own), cells_of(*ends), told)


def test_a_class_that_nobody_else_fits_tells_of_all_its_people() -> None:
    told = found([10, 12, 50], [0, 0, -1], [(10, 12)])
    assert told.by_place.tolist() == [True, True, False]
    assert told.outside.tolist() == [False, False, True]


def test_who_is_alone_at_an_end_is_in_the_table() -> None:
    # 11 or 12 is the second of two rows between 10 and 14: 10 and 14 are both attained, so they are the two.
    told = found([10, 11, 12, 14], [0, -1, -1, 0], [(10, 14)])
    assert not told.by_place.any()
    assert told.by_value.tolist() == [True, False, False, True]
    # Two people of 10: one of them is in, and nobody knows which.
    assert found([10, 10, 14], [0, -1, 0], [(10, 14)]).by_value.tolist() == [False, False, True]
    # Ends that need not be anybody's tell nothing.
    assert not found([10, 11, 12, 14], [0, -1, -1, 0], [(10, 14)], tight=False).certain.any()


def test_places_elsewhere_are_taken_into_account() -> None:
    # Class 1 holds 8 and 9, who alone fit it: 6 fits both, and must be in class 0 or outside.
    told = found([1, 6, 5, 8, 9], [0, 0, -1, 1, 1], [(1, 6), (6, 9)], tight=False)
    assert told.by_place.tolist() == [False, False, False, False, False]
    told = found([1, 6, 8, 9], [0, 0, 1, 1], [(1, 6), (6, 9)], tight=False)
    assert told.by_place.tolist() == [True, True, True, True]


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Ages of up to six people, the class of each or none, and the classes' intervals, tight."""
    n = draw(st.integers(2, 6))
    ages = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    own = draw(st.lists(st.integers(-1, 1), min_size=n, max_size=n).filter(lambda one: max(one) >= 0))
    number = {label: i for i, label in enumerate(sorted(set(own) - {-1}))}
    own = [number.get(label, -1) for label in own]
    inside = [[age for age, c in zip(ages, own, strict=True) if c == label] for label in number.values()]
    return ages, own, [(min(each), max(each)) for each in inside]


@given(tables())
def test_by_places_is_exact_and_nothing_certain_is_wrong(
    table: tuple[list[int], list[int], list[tuple[int, int]]],
) -> None:
    ages, own, ends = table
    told = found(ages, own, ends)
    loose, tight = _always_inside(ages, own, ends, tight=False), _always_inside(ages, own, ends, tight=True)
    assert told.by_place.tolist() == loose
    assert all(sure for sure, said in zip(tight, told.certain.tolist(), strict=True) if said)
    assert not any(said for own_class, said in zip(own, told.certain.tolist(), strict=True) if own_class < 0)


def _always_inside(
    ages: list[int], own: list[int], ends: list[tuple[int, int]], *, tight: bool
) -> list[bool]:
    """Tell who is in a class in every assignment of the population, by trying all of them."""
    always = [True] * len(ages)
    for assigned in set(permutations(own)):
        inside = [[age for age, c in zip(ages, assigned, strict=True) if c == i] for i in range(len(ends))]
        if not all(
            low <= age <= high for each, (low, high) in zip(inside, ends, strict=True) for age in each
        ):
            continue
        if tight and not all((min(each), max(each)) == end for each, end in zip(inside, ends, strict=True)):
            continue
        always = [known and c >= 0 for known, c in zip(always, assigned, strict=True)]
    return always


def test_the_trials_themselves() -> None:
    assert _always_inside([10, 11, 14], [0, -1, 0], [(10, 14)], tight=True) == [True, False, True]
    assert _always_inside([10, 11, 14], [0, -1, 0], [(10, 14)], tight=False) == [False, False, False]
    assert len(list(combinations(range(3), 2))) == 3


# The gate

PEOPLE = [(10, "flu"), (11, "hiv"), (14, "flu"), (60, "hiv"), (61, "flu"), (64, "cold")]
OTHERS = [(12, "flu"), (13, "hiv"), (60, "flu"), (62, "flu"), (64, "flu")]


def made(tmp_path: Path, most: float = 1.0, labels: Any = (0, 0, 0, 1, 1, 1), **sections: Any) -> Published:
    policy = small_policy(
        AGE, gates={"membership": {"max": most}}, linkage={"control": "others.csv"}, **sections
    )
    return published(policy, prepared(policy, PEOPLE), list(labels), tmp_path / "c")


def asked(made_rows: Published, others: Any = OTHERS, **changes: Any) -> GateResult:
    policy = made_rows.evidence().policy
    control = None if others is None else prepared(policy, others)
    evidence = replace(made_rows.evidence(), **{"control": control, **changes})
    (result,) = assess(evidence, {"membership": GATES["membership"]}).results
    return result


def test_the_gate_limits_the_share_of_people_who_are_in_the_table_for_certain(tmp_path: Path) -> None:
    # 10 and 14 are alone at the ends of 10 to 14; 60 and 64 are not at those of 60 to 64.
    at, beyond = asked(made(tmp_path / "at", 2 / 6)), asked(made(tmp_path / "beyond", 0.3))
    assert (at.verdict, beyond.verdict) == (Verdict.PASS, Verdict.FAIL)
    assert at.value == beyond.value == pytest.approx(2 / 6)
    assert at.witness == {
        "people": 6, "others": 5, "classes": 2, "certain": 2 / 6, "by_place": 0.0, "by_value": 2 / 6,
        "outside": 0,
    }  # fmt: skip


def test_rounded_ends_are_a_defence(tmp_path: Path) -> None:
    rounded = made(tmp_path, method={"name": "mondrian", "ends": "rounded"})
    assert asked(rounded).value == 0.0


def test_whoever_was_left_out_is_among_the_others(tmp_path: Path) -> None:
    result = asked(made(tmp_path, labels=[0, 0, 0, 1, -1, 1]))
    assert (result.witness["people"], result.witness["others"]) == (5, 6)


def test_where_everybody_else_is_far_away_all_are_certain(tmp_path: Path) -> None:
    result = asked(made(tmp_path, 0.5), [(90, "flu"), (91, "hiv")])
    assert (result.verdict, result.value, result.witness["by_place"]) == (Verdict.FAIL, 1.0, 1.0)
    assert "2 are certainly not in it" in result.detail


def test_the_gate_says_why_it_cannot_tell(tmp_path: Path) -> None:
    without = asked(made(tmp_path / "w"), None)
    assert (without.verdict, without.value) == (Verdict.NOT_RUN, None)
    assert "linkage.control" in without.detail
    replaced = made(tmp_path / "r", method={"name": "mdav", "recoding": "centroid"})
    assert asked(replaced).verdict is Verdict.UNKNOWN
    empty = made(tmp_path / "e", labels=[-1] * 6)
    assert asked(empty).verdict is Verdict.UNKNOWN


def test_a_policy_that_asks_for_it_names_the_others() -> None:
    with pytest.raises(
        PolicyError,
        match=(
            r"gates\.membership needs linkage\.control, a file of people "
            r"who are not in the table"
        ),
    ):
        small_policy(AGE, gates={"membership": {"max": 0.1}})
