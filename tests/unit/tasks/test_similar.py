"""Similar sensitive values as one: what holds of them is what holds of a table in which they are one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.errors import PolicyError
from policy.model import ReleasePolicy
from policy.roles import SensitiveAttribute
from release_store.records import Verdict
from tasks.partitioning.constraints import constraints_of
from tasks.privacy.similar import any_of, groups_of, together
from tasks.risk.evidence import Evidence
from tasks.risk.registry import GATES, assess
from tasks.utility.released import released
from tasks.validation.feasible import feasible
from tests.support.made_classes import asked, classes_of
from tests.support.small import (
    anonymized,
    policy_of,
    policy_text,
    prepared,
    published,
    small_policy,
    source_of,
)

ILLS = ("flu", "cold", "ulcer", "hiv")
ONE_OF = {"flu": "flu", "cold": "flu", "ulcer": "ulcer", "hiv": "hiv"}
SIMILAR: dict[str, Any] = {
    "illness": {"stability": "stable", "values": list(ILLS), "similar": [["flu", "cold"]]},
    "wage": {"stability": "stable", "type": "numeric", "ranges": [10, 20.5]},
}
PLAIN: dict[str, Any] = {
    "illness": {"stability": "stable", "values": list(ILLS)},
    "wage": {"stability": "stable", "type": "numeric"},
}


def test_values_of_a_group_have_its_number_and_a_missing_one_its_own() -> None:
    illness = SensitiveAttribute.model_validate(SIMILAR["illness"])
    found = groups_of(illness, ("hiv", "cold", "missing", "flu", "ulcer"), "missing")
    assert found is not None
    assert found.tolist() == [0, 1, 2, 1, 3]
    assert groups_of(SensitiveAttribute.model_validate(PLAIN["illness"]), ("hiv",), "missing") is None


def test_a_range_ends_below_its_number() -> None:
    wage = SensitiveAttribute.model_validate(SIMILAR["wage"])
    found = groups_of(wage, ("9.5", "10", "20", "20.5", "-3", "missing", "1e9"), "missing")
    assert found is not None
    assert found.tolist() == [0, 1, 1, 2, 0, 3, 2]


def test_counts_of_a_group_are_those_of_its_values() -> None:
    groups = np.array([0, 1, 0, 2])
    assert together(np.array([[1, 2, 3, 4], [0, 1, 0, 0]]), groups).tolist() == [[4, 2, 4], [0, 1, 0]]
    assert any_of(np.array([False, False, True, False]), groups).tolist() == [True, False, False]
    assert any_of(np.array([True, False]), None).tolist() == [True, False]
    assert together(np.zeros((2, 0), dtype=np.int64), np.zeros(0, dtype=np.int64)).shape == (2, 0)


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ({"stability": "stable", "similar": [["a", "b"]]}, "similar needs values, which it lists again"),
        (
            {"stability": "stable", "values": ["a", "b"], "similar": [["a", "c"]]},
            "lists 'c', which is not in",
        ),
        (
            {"stability": "stable", "values": ["a", "b"], "similar": [["a", "b"], ["a", "b"]]},
            "lists 'a' twice",
        ),
        ({"stability": "stable", "values": ["a", "b"], "similar": [["a"]]}, "similar"),
        ({"stability": "stable", "ranges": [1, 2]}, "ranges are of numbers: type must be numeric"),
        ({"stability": "stable", "type": "numeric", "ranges": [2, 1]}, "ranges must ascend"),
        ({"stability": "stable", "type": "numeric", "ranges": [1, 1]}, "ranges must ascend"),
    ],
)
def test_what_makes_no_sense_is_refused(attribute: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=r"roles\.sensitive\.x") as refused:
        small_policy(sensitive={"x": attribute})
    assert words in str(refused.value)


MODELS: list[dict[str, Any]] = [
    {"distinct_l": {"min": 2}},
    {"entropy_l": {"min": 1.7}},
    {"recursive_cl": {"c": 2, "l": 2}},
    {"alpha_k": {"alpha": 0.6, "k": 2}},
    {"alpha_k": {"alpha": 0.4, "k": 2, "values": {"illness": ["cold"]}}},
    {"lkc": {"l": 2, "k": 2, "c": 0.6}},
    {"lkc": {"l": 1, "k": 2, "c": 0.4, "values": {"illness": ["cold"]}}},
    {},
]
PRIVACY: list[dict[str, Any]] = [{"e": 2}, {"p_max": 0.6}, {"h_min": 0.5}, {"e": 1}]
ROWS = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.sampled_from("ab"),
        st.sampled_from((*ILLS, None)),
        st.sampled_from((5.0, 9.0, 10.0, 15.0, 25.0, None)),
    ),
    min_size=2,
    max_size=14,
).map(lambda rows: [(0, *rows[0][1:]), *rows[1:]])
COUNTING = ("p_max", "h_min", "distinct_l", "entropy_l", "recursive_cl", "alpha_k")


def with_one(rows: list[Any]) -> list[Any]:
    """Return the rows with one value in place of similar ones; ranges keep their first number alone."""
    range_of = {None: None, 5.0: 5.0, 9.0: 5.0, 10.0: 10.0, 15.0: 10.0, 25.0: 25.0}
    return [(age, city, ONE_OF.get(illness, illness), range_of[wage]) for age, city, illness, wage in rows]


def of(sensitive: dict[str, Any], privacy: dict[str, Any], models: dict[str, Any]) -> ReleasePolicy:
    # The range of the numbers is of the numbers themselves, so it is not asked for.
    privacy = {**privacy, "spread": 0, "attributes": {"wage": {"e": 1, "p_max": 0.7}}}
    if sensitive is PLAIN:  # cold is a flu there
        models = {
            name: {**model, **({"values": {"illness": ["flu"]}} if "values" in model else {})}
            for name, model in models.items()
        }
    return small_policy(sensitive=sensitive, privacy=privacy, gates={"models": models})


@given(ROWS, st.sampled_from(PRIVACY), st.sampled_from(MODELS))
def test_a_group_holds_and_gates_pass_as_where_similar_values_are_one(
    rows: list[Any], privacy: dict[str, Any], models: dict[str, Any]
) -> None:
    similar, plain = of(SIMILAR, privacy, models), of(PLAIN, privacy, models)
    limits = constraints_of(prepared(similar, rows), similar)
    of_one = constraints_of(prepared(plain, with_one(rows)), plain)
    for size in range(2, len(rows) + 1):
        group = np.arange(size)
        wages = [row[3] for row in rows[:size] if row[3] is not None]
        if wages and max(wages) - min(wages) >= 1:  # e of the wage is of the numbers themselves
            expected = of_one.columns[0], of_one.columns[1]
            counts = [np.bincount(one.codes[group], minlength=one.n_values) for one in expected]
            low, high = np.asarray(min(wages)), np.asarray(max(wages))
            holds = bool(of_one.column_holds(expected[0], counts[0], None, None)) and bool(
                of_one.column_holds(expected[1], counts[1], low, high)
            )
            assert limits.group_holds(group) is (holds and size >= limits.k)


@given(ROWS, st.sampled_from(PRIVACY), st.sampled_from(MODELS))
def test_gates_and_the_first_check_count_as_where_similar_values_are_one(
    rows: list[Any], privacy: dict[str, Any], models: dict[str, Any]
) -> None:
    found = []
    for sensitive, made in ((SIMILAR, rows), (PLAIN, with_one(rows))):
        policy = of(sensitive, privacy, models)
        written = [
            (
                (((0.0, 9.0), frozenset({city}))),
                (illness or "missing", "missing" if wage is None else f"{wage:g}"),
            )
            for _, city, illness, wage in made
        ]
        classes = classes_of(written, policy)
        gates = [*COUNTING[:2], *models]
        results = [asked(gate, classes, policy) for gate in gates]
        found.append([(one.verdict, one.value, one.witness) for one in results])
    assert found[0] == found[1]
    told = [
        [
            (one.column, one.passed)
            for one in feasible(source_of(policy, made), policy)
            if one.column == "illness"
        ]
        for policy, made in (
            (of(SIMILAR, privacy, models), rows),
            (of(PLAIN, privacy, models), with_one(rows)),
        )
    ]
    assert told[0] == told[1]


def test_closeness_looks_at_each_value() -> None:
    # Hull has flu, hiv, York cold, hiv: as far apart as where nothing is similar, a quarter.
    policy = small_policy(
        {"city": {"type": "categorical"}},
        {"illness": SIMILAR["illness"]},
        gates={"models": {"t_closeness": {"max": 0.2}, "distinct_l": {"min": 2}}},
    )
    rows = [("Hull", "flu"), ("Hull", "hiv"), ("York", "cold"), ("York", "hiv")]
    limits = constraints_of(prepared(policy, rows), policy)
    assert [[type(one).__name__ for one in column.conditions] for column in limits.columns] == [
        ["Distinct"],
        ["Closeness"],
    ]
    assert not limits.group_holds(np.array([0, 1]))
    assert limits.group_holds(np.arange(4))
    classes = classes_of([((frozenset({city}),), (ill,)) for city, ill in rows], policy)
    assert asked("t_closeness", classes, policy).value == pytest.approx(0.25)
    assert asked("distinct_l", classes, policy).verdict is Verdict.PASS


def test_a_person_with_two_similar_values_counts_once(tmp_path: Path) -> None:
    text = policy_text(
        {"city": {"type": "categorical"}},
        {"illness": SIMILAR["illness"]},
        roles={"key": "who"},
        rows="several",
        privacy={"k": 2, "e": 2},
        gates={"models": {"alpha_k": {"alpha": 0.6, "k": 2}}},
    )
    policy = policy_of(text)
    # Of three people one has flu and cold: two of three have one of them.
    rows = [("a", "Hull", "flu"), ("a", "Hull", "cold"), ("b", "Hull", "cold"), ("c", "Hull", "hiv")]
    table = prepared(policy, rows)
    limits = constraints_of(table, policy)
    assert not limits.group_holds(np.arange(4))
    made = published(policy, table, [0, 0, 0, 0], tmp_path / "staged")
    seen = released(made.rows.frame, made.rows.records, np.zeros(4, dtype=np.int64), table, policy)
    assert seen.units_alike.counts["illness"].tolist() in ([[2, 1]], [[1, 2]])
    whose = np.asarray(table.person)[made.rows.records]
    evidence = Evidence(
        policy, table, made.classes, made.candidate.folder, made.candidate.files, (), row_people=whose
    )
    (result,) = assess(evidence, {"alpha_k": GATES["alpha_k"]}).results
    assert (result.verdict, result.value) == (Verdict.FAIL, pytest.approx(2 / 3))
    # In classes of their own, two people in two rows: it may be half of each.
    assert all(one.passed for one in feasible(source_of(policy, rows), policy))


@pytest.mark.parametrize("method", ["mondrian", "mdav", "ke-mdav", "lhd", "apmca"])
def test_methods_make_classes_that_are_diverse_in_groups_of_values(method: str, tmp_path: Path) -> None:
    policy = small_policy(
        sensitive=SIMILAR,
        privacy={"k": 3, "e": 2, "p_max": 0.7, "attributes": {"wage": {"e": 1, "p_max": 0.9}}},
        method={"name": method},
    )
    draws = np.random.default_rng(3)
    rows = [
        (int(age), city, ill, float(wage))
        for age, city, ill, wage in zip(
            draws.integers(0, 99, 60),
            draws.choice(["a", "b"], 60),
            draws.choice(ILLS, 60, p=[0.3, 0.2, 0.25, 0.25]),
            draws.integers(0, 30, 60),
            strict=True,
        )
    ]
    table = prepared(policy, rows)
    labels = anonymized(table, policy)
    assert labels.n_groups > 2
    made = published(policy, table, labels, tmp_path / "staged")
    gates = {name: GATES[name] for name in ("k", "p_max", "e", "h_min")}
    assert {
        one.gate for one in assess(made.evidence(), gates).results if one.verdict is not Verdict.PASS
    } == set()
