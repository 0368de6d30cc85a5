"""Worlds of one release in which people have several rows: worked examples, and all assignments."""

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

from release_store.records import GateResult, PersonHashes, Verdict
from reports.protection import measurement_sentence, not_protected
from tasks.history import several_rows
from tasks.history.attribute import Attribute
from tasks.history.search import Limits
from tasks.history.several_rows import QUESTIONS, people_of_rows, possible_by_rows
from tasks.history.subjects import Unfit
from tasks.risk.evidence import Evidence
from tasks.risk.registry import GATES, assess
from tests.support.small import prepared, published, small_policy

READER, LEARNS = "reader", "learns a value"
AGE = {"age": {"type": "integer", "bounds": [0, 1000]}}
STABLE: dict[str, Any] = {"illness": {"stability": "stable"}}
PRIVACY = {"k": 2, "l": 2, "e": 1, "p_max": 1.0}
Row = tuple[str, int, str]  # person, class, illness


def evidence(
    folder: Path, rows: list[Row], sensitive: dict[str, Any] | None = None, **sections: Any
) -> Evidence:
    """Return a release in which the rows of one class have one age."""
    sections = {"privacy": PRIVACY, **sections}
    roles = {"key": "person", **sections.pop("roles", {})}
    policy = small_policy(AGE, sensitive or STABLE, roles=roles, rows="several", **sections)
    table = prepared(policy, [(one[0], 10 * one[1], *one[2:]) for one in rows])
    made = published(policy, table, [one[1] for one in rows], folder / "c")
    assert table.person is not None
    return replace(made.evidence(), row_people=table.person[made.rows.records])


def worlds(of: Evidence) -> GateResult:
    (result,) = assess(of, {"worlds": GATES["worlds"]}).results
    return result


def possible_of_all(rows: list[Row]) -> dict[str, set[str]]:
    """Return the values that some assignment of one value a person gives each, by trying all of them."""
    people, values = sorted({row[0] for row in rows}), sorted({row[2] for row in rows})
    told = Counter((place, value) for _, place, value in rows)
    found: dict[str, set[str]] = {person: set() for person in people}
    for world in product(values, repeat=len(people)):
        own = dict(zip(people, world, strict=True))
        if Counter((place, own[person]) for person, place, _ in rows) == told:
            for person, value in own.items():
                found[person].add(value)
    return found


# Worked examples -----------------------------------------------------------------------------------------

ILLNESSES = ("flu", "hiv", "asthma", "cancer", "copd", "gout", "lupus", "ulcer")
FOUR_ROWS: list[Row] = [
    (f"p{place}{i}", place, ILLNESSES[(i + place) % 8])
    for place in range(2)
    for i in range(8)
    for _ in range(4 if i == 0 else 1)
]
IN_CLASSES = [(2, 4), (0, 1, 3), (1, 4), (0, 2, 3), (3, 4), (0, 1, 2)]
FIVE_PEOPLE: list[Row] = [
    (f"p{who}", place, "caaac"[who]) for place, members in enumerate(IN_CLASSES) for who in members
]


@pytest.mark.enemy(READER, LEARNS)
def test_the_only_value_with_four_rows_is_that_of_who_has_four_rows(tmp_path: Path) -> None:
    """In each class of eight people and eleven rows, one has four, and one value occurs four times."""
    found = worlds(evidence(tmp_path, FOUR_ROWS))
    assert (found.verdict, found.value) == (Verdict.FAIL, 2)
    assert "of 16 people, 0 with fewer than l = 2 values in their class, 2 by all rows" in found.detail
    assert "publish one row a person" in found.detail
    assert found.witness["solver_calls"] == 0


@pytest.mark.enemy(READER, LEARNS)
def test_one_assignment_alone_fits_six_classes_of_five_people(tmp_path: Path) -> None:
    """Each class has both values, and so have all classes of everybody; but c is that of p0 and p4 alone."""
    assert possible_of_all(FIVE_PEOPLE) == {f"p{i}": {value} for i, value in enumerate("caaac")}
    found = worlds(evidence(tmp_path, FIVE_PEOPLE))
    assert (found.verdict, found.value) == (Verdict.FAIL, 5)
    assert "of 5 people, 0 with fewer than l = 2 values in their class, 5 by all rows" in found.detail
    assert found.witness["by_sets"] == {"1": 0, "2": 5, "more": 0}
    assert (found.witness["people"], found.witness["releases"], found.witness["pinned"]) == (5, 1, 5)


def test_without_calls_of_the_solver_it_is_unknown_and_says_what_to_do(tmp_path: Path) -> None:
    found = worlds(evidence(tmp_path, FIVE_PEOPLE, gates={"worlds": {"calls": 0}}))
    assert (found.verdict, found.value) == (Verdict.UNKNOWN, 0)
    assert "5 undecided after 0 calls of the solver (`gates.worlds.calls` is 0)" in found.detail
    assert "publish one row a person, make the classes larger (`privacy.k`)" in found.detail


def test_people_with_equal_rows_exchange_all_of_them(tmp_path: Path) -> None:
    """Ann and Bob have two rows in one class and one in another, Cyd and Dan one in each."""
    rows: list[Row] = [
        (who, place, value) for who, value in (("ann", "flu"), ("bob", "hiv")) for place in (0, 0, 1)
    ]
    rows += [(who, place, value) for who, value in (("cyd", "flu"), ("dan", "hiv")) for place in (0, 1)]
    found = worlds(evidence(tmp_path, rows))
    assert (found.verdict, found.witness["solver_calls"]) == (Verdict.PASS, 0)
    assert found.witness["cohorts"] == 2


def test_two_people_with_a_row_each_take_the_place_of_one_with_two(tmp_path: Path) -> None:
    """Ann has two rows with flu, Bob and Cyd one each with hiv: all can change, though in no cohort."""
    rows: list[Row] = [("ann", 0, "flu"), ("ann", 0, "flu"), ("bob", 0, "hiv"), ("cyd", 0, "hiv")]
    assert all(len(values) == 2 for values in possible_of_all(rows).values())
    assert worlds(evidence(tmp_path / "1", rows)).verdict is Verdict.PASS
    rows = [("ann", 0, "flu"), ("ann", 1, "flu"), ("bob", 0, "hiv"), ("cyd", 1, "hiv")]
    found = worlds(evidence(tmp_path / "2", rows))
    assert (found.verdict, found.witness["solver_calls"]) == (Verdict.PASS, 0)


def test_a_kept_column_that_stays_for_each_tells_rows_apart(tmp_path: Path) -> None:
    """Ann's two rows have one ward, and of Bob's and Cyd's each has its own: she has none of theirs."""
    rows = [("ann", 0, "flu", "a")] * 2 + [("bob", 0, "hiv", "b"), ("cyd", 0, "hiv", "c")]

    def asked(folder: str, rows: list[Any], kept: str) -> GateResult:
        roles, gates = {"kept": ["ward"]}, {"worlds": {"kept": kept}}
        return worlds(evidence(tmp_path / folder, rows, roles=roles, gates=gates))

    assert asked("1", rows, "ask").value == 3
    assert asked("2", rows, "accept").verdict is Verdict.PASS
    other = [("ann", 0, "flu", "b"), *rows[1:]]  # hers differ: the column does not stay
    assert asked("3", other, "ask").verdict is Verdict.PASS


def test_several_values_of_a_stable_attribute_are_unknown_unless_the_policy_allows_for_them(
    tmp_path: Path,
) -> None:
    rows: list[Row] = [("ann", 0, "flu"), ("ann", 0, "hiv"), ("bob", 0, "flu"), ("cyd", 0, "hiv")]
    found = worlds(evidence(tmp_path / "1", rows))
    assert found.verdict is Verdict.UNKNOWN
    assert "of 1 person with several rows 1 have several values of an attribute" in found.detail
    allowed = {"worlds": {"changes": 1.0}}
    assert worlds(evidence(tmp_path / "2", rows, gates=allowed)).verdict is Verdict.PASS
    may_change: dict[str, Any] = {"illness": {"stability": "transient"}}
    assert worlds(evidence(tmp_path / "3", rows, may_change)).verdict is Verdict.PASS


@pytest.mark.enemy("operator", "publishes a person")
def test_without_whose_rows_they_are_nothing_passes_but_one_row_a_person(tmp_path: Path) -> None:
    """The store has people by class: what all their classes have in common, and no numbers of rows."""

    def stored(folder: str, rows: list[Row]) -> GateResult:
        whole = evidence(tmp_path / folder, rows)
        pairs = sorted({(person, place) for person, place, _ in rows})
        hashes, classes = zip(*pairs, strict=True)
        people = PersonHashes("f" * 64, tuple(hashes), tuple(classes))
        return worlds(replace(whole, row_people=None, people=people))

    found = stored("1", FOUR_ROWS)
    assert (found.verdict, found.value) == (Verdict.NOT_RUN, None)
    assert "run the period again" in found.detail
    crossed: list[Row] = [("ann", 0, "flu"), ("bob", 0, "hiv"), ("ann", 1, "flu"), ("cyd", 1, "gout")]
    assert (stored("2", crossed).verdict, stored("2b", crossed).value) == (Verdict.FAIL, 1)
    alone: list[Row] = [("ann", 0, "flu"), ("bob", 0, "hiv")]
    assert stored("3", alone).verdict is Verdict.PASS


def test_near_numbers_count_as_one_value() -> None:
    """Ann's only other value is 11, which is within 1 of her 10."""
    person, place = np.array([0, 0, 1, 1, 2]), np.array([0, 0, 0, 0, 0])
    value = np.array([0, 0, 1, 1, 2])
    people = people_of_rows(person, place, value)
    exact = (Attribute(np.arange(3)),)
    near = (Attribute(np.arange(3), np.array([10.0, 11.0, 99.0]), 1.0),)
    assert possible_by_rows(people, exact, 2, Limits()).pinned(2).tolist() == [False, False, True]
    assert possible_by_rows(people, near, 2, Limits()).pinned(2).all()


def test_very_many_classes_of_a_person_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(several_rows, "MOST_CELLS", 3)
    with pytest.raises(Unfit, match="2 people have rows in up to 2 classes each"):
        people_of_rows(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([0, 0, 1]))


# Against all assignments ---------------------------------------------------------------------------------


@st.composite
def tables(draw: st.DrawFn) -> list[Row]:
    n_classes, n_values = draw(st.integers(2, 3)), draw(st.integers(2, 3))
    rows: list[Row] = []
    for who in range(draw(st.integers(3, 6))):
        value = "abc"[draw(st.integers(0, n_values - 1))]
        places = draw(st.lists(st.integers(0, n_classes - 1), min_size=1, max_size=3))
        rows += [(f"p{who}", place, value) for place in places]
    return rows


@given(tables(), st.sampled_from([2, 3]), st.sampled_from([0, 1, 1_000]))
def test_who_keeps_enough_values_is_exact_and_never_said_of_who_does_not(
    rows: list[Row], least: int, calls: int
) -> None:
    truth = possible_of_all(rows)
    short = {person for person, values in truth.items() if len(values) < least}
    names, person = np.unique([row[0] for row in rows], return_inverse=True)
    value = np.unique([row[2] for row in rows], return_inverse=True)[1].astype(np.int64)
    place = np.array([row[1] for row in rows], dtype=np.int64)
    people = people_of_rows(person.astype(np.int64), place, value)
    attributes = (Attribute(np.arange(value.max() + 1)),)
    found = possible_by_rows(people, attributes, least, Limits(calls=calls, questions=QUESTIONS))

    def named(chosen: Any) -> set[str]:
        return {str(names[one]) for one in people.of_subjects(chosen)}

    pinned, undecided = named(found.pinned(least)), named(found.undecided(least))
    assert pinned <= short <= pinned | undecided
    if calls == 1_000:
        assert pinned == short
        assert not undecided
    for code in found.found.tolist():
        cohort, taken = divmod(code, int(value.max()) + 1)
        text = sorted({row[2] for row in rows})[taken]
        members = people.person[found.cohorts.number == cohort]
        assert all(text in truth[str(names[one])] for one in members)


# What a report says --------------------------------------------------------------------------------------


def test_a_report_says_that_all_classes_were_solved_only_where_they_were() -> None:
    policy = {
        "rows": "several",
        "privacy": {"l": 2},
        "roles": {"key": "person", "sensitive": [{"name": "illness", "stability": "stable"}]},
    }
    gate: dict[str, Any] = {
        "gate": "worlds", "verdict": Verdict.PASS, "value": 0.0, "relation": "<=", "attacker": "",
        "witness": {"people": 5, "releases": 1},
    }  # fmt: skip
    local = "The comparison consists of local checks"
    assert not any(line.startswith(local) for line in not_protected([gate], policy))
    assert measurement_sentence(gate, policy) == (
        "An attacker who solves all classes of this release jointly still finds at least 2 possible "
        "values for each of 5 people."
    )
    before = {**gate, "witness": {}}
    assert any(line.startswith(local) for line in not_protected([before], policy))
    assert not any(line.startswith(local) for line in not_protected([before], {**policy, "rows": ""}))
