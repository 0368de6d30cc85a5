"""A table that cannot hold the model, and a hierarchy that lacks its values, are told before any work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from policy.errors import PolicyError, ValidationFailed
from policy.load import parse_policy, policy_document
from policy.model import Privacy
from tasks.partitioning.constraints import constraints_of
from tasks.validation.check import raise_if_failed
from tasks.validation.feasible import feasible
from tasks.validation.hierarchies import lacking
from tests.support.small import MIXED, TWO_SENSITIVE, mixed_rows, prepared, privacies, small_policy, source_of


def told(rows: list[Any], sensitive: dict[str, Any] | None = None, **privacy: Any) -> list[str]:
    policy = small_policy(sensitive=sensitive, privacy=privacy)
    return [result.detail for result in feasible(source_of(policy, rows), policy) if not result.passed]


ROWS = [(1, "a", "flu"), (2, "a", "flu"), (3, "b", "flu"), (4, "b", "hiv")]


@pytest.mark.parametrize(
    ("privacy", "words"),
    [
        ({"k": 5}, ["the table of 4 rows has fewer than privacy.k (5)"]),
        ({"e": 3}, ["'illness' has 2 distinct values, fewer than privacy.e (3)"]),
        ({"p_max": 0.7}, ["the most frequent value of 'illness' is 75.0% of the rows, over privacy.p_max"]),
        ({"p_max": 0.75}, []),
        ({"h_min": 0.6}, ["'illness' has an entropy of 0.562, under privacy.h_min"]),
        ({"k": 4, "e": 2}, []),
    ],
)
def test_what_the_whole_table_lacks_is_named(privacy: dict[str, Any], words: list[str]) -> None:
    assert told(ROWS, **privacy) == words


def test_a_number_must_range_over_e_and_missing_values_are_one_of_their_own() -> None:
    wage = {"wage": {"stability": "stable", "type": "numeric"}}
    rows = [(1, "a", 3.0), (2, "a", 10.0), (3, "b", None)]
    assert told(rows, wage, e=7) == []
    assert told(rows, wage, e=8) == ["'wage' ranges over less than privacy.e (8)"]
    assert told([(1, "a", None), (2, "b", None)], wage, e=1) == ["'wage' ranges over less than privacy.e (1)"]
    assert told([(1, "a", "flu"), (2, "a", None)], e=2) == []


def test_the_field_of_an_attributes_own_limit_is_named() -> None:
    own = {"attributes": {"illness": {"e": 3}}}
    assert told(ROWS, **own) == [
        "'illness' has 2 distinct values, fewer than privacy.attributes.illness.e (3)"
    ]
    assert told(ROWS, e=3, attributes={"illness": {"e": 2, "p_max": 0.7}}) == [
        "the most frequent value of 'illness' is 75.0% of the rows, over privacy.attributes.illness.p_max"
    ]
    assert told(ROWS, e=3, attributes={"illness": {"e": 2}}) == []


@pytest.mark.parametrize(
    ("models", "words"),
    [
        (
            {"attributes": {"illness": {"distinct_l": {"min": 3}}}},
            "'illness' has 2 distinct values, fewer than FIELD.attributes.illness.distinct_l.min (3)",
        ),
        (
            {"distinct_l": {"min": 3}, "attributes": {"illness": {"distinct_l": {"min": 2}}}},
            "",
        ),
        (
            {"distinct_l": {"min": 3}},
            "'illness' has 2 distinct values, fewer than gates.models.distinct_l.min (3)",
        ),
        # 3/4 ln 4/3 + 1/4 ln 4 = 0.562, exp of it 1.755.
        (
            {"entropy_l": {"min": 1.8}},
            "'illness' is as mixed as 1.755 equally frequent values, under FIELD.entropy_l.min (1.8)",
        ),
        (
            {"recursive_cl": {"c": 3, "l": 2}},
            "'illness' has (r_l + ... + r_m) / r_1 of 0.333, not over 1 / FIELD.recursive_cl.c (0.333)",
        ),
        (
            {"alpha_k": {"alpha": 0.7, "k": 2}},
            "'illness' has a most frequent value of 75.0% of the rows, over FIELD.alpha_k.alpha (0.7)",
        ),
        (
            {"alpha_k": {"alpha": 0.2, "k": 2, "values": {"illness": ["hiv"]}}},
            "'illness' has a most frequent listed value of 25.0% of the rows, over FIELD.alpha_k.alpha (0.2)",
        ),
        (
            {"alpha_k": {"alpha": 0.9, "k": 5}},
            "the table of 4 rows has fewer than FIELD.alpha_k.k (5)",
        ),
        ({"km": {"k": 6, "m": 1}}, "the table of 4 rows has fewer than FIELD.km.k (6)"),
        ({"lkc": {"l": 1, "k": 6, "c": 0.9}}, "the table of 4 rows has fewer than FIELD.lkc.k (6)"),
        (
            {"lkc": {"l": 1, "k": 2, "c": 0.7}},
            "'illness' has a most frequent value of 75.0% of the rows, over FIELD.lkc.c (0.7)",
        ),
        ({"lkc": {"l": 1, "k": 2, "c": 0.7, "values": {"illness": ["hiv"]}}}, ""),
        ({"km": {"k": 4, "m": 2}, "lkc": {"l": 2, "k": 4, "c": 0.75}}, ""),
        ({"alpha_k": {"alpha": 0.75, "k": 4}, "distinct_l": {"min": 2}, "entropy_l": {"min": 1.7}}, ""),
        ({"t_closeness": {"max": 0}, "beta_likeness": {"max": 0.01}}, ""),
    ],
)
def test_a_model_that_the_whole_table_misses_is_named_with_how_far(
    models: dict[str, Any], words: str
) -> None:
    illness = {"illness": {"stability": "stable", "values": ["flu", "hiv"]}}
    policy = small_policy(sensitive=illness, gates={"models": models})
    found = [result.detail for result in feasible(source_of(policy, ROWS), policy) if not result.passed]
    assert found == ([words.replace("FIELD", "gates.models")] if words else [])


@given(mixed_rows(1, 12), privacies())
def test_what_is_told_is_whether_all_records_together_hold_the_model(
    rows: list[Any], privacy: Privacy
) -> None:
    models = {"recursive_cl": {"c": 2, "l": 2}, "entropy_l": {"min": 1.2}, "t_closeness": {"max": 0.1}}
    policy = small_policy(MIXED, TWO_SENSITIVE, privacy=privacy.model_dump(), gates={"models": models})
    table = prepared(policy, rows)
    holds = constraints_of(table, policy).group_holds(np.arange(len(rows)))
    assert all(result.passed for result in feasible(source_of(policy, rows), policy)) is holds


def with_cities(tmp_path: Path) -> Any:
    (tmp_path / "cities.csv").write_text("Leeds;North\nYork;North\nBath;South\n")
    text = (
        "series: small\nroles:\n  quasi_identifiers:\n    age: {type: integer, bounds: [0, 99]}\n"
        "    city: {type: categorical, hierarchy: cities.csv}\n"
        "  sensitive: {illness: {stability: stable}}\nprivacy: {k: 2, e: 1, p_max: 1}\n"
    )
    return parse_policy(text, tmp_path / "policy.yaml")


def test_a_value_that_the_hierarchy_lacks_is_named_with_its_file_if_k_rows_have_it(tmp_path: Path) -> None:
    policy = with_cities(tmp_path)
    rows = [(1, "Leeds", "a"), (2, "Leads", "b"), (3, "Leads", "a"), (4, "Hull", "b"), (5, None, "b")]
    assert lacking(source_of(policy, rows), policy) == "the hierarchy cities.csv lacks 'Leads' and 1 more"
    assert lacking(source_of(policy, rows[3:]), policy) == (
        "the hierarchy cities.csv lacks values with under 2 rows each"
    )
    assert lacking(source_of(policy, rows[:1]), policy) == ""
    assert "cities.csv" not in str(policy_document(policy))


def test_of_sensitive_values_that_the_hierarchy_lacks_only_the_number_is_told() -> None:
    illness = {"stability": "stable", "hierarchy": {"infections": ["flu", "hiv"], "others": ["burn"]}}
    policy = small_policy(sensitive={"illness": illness})
    rows = [(age, "a", "plague") for age in range(9)] + [(9, "a", "flu"), (10, "a", None)]
    assert lacking(source_of(policy, rows), policy) == "the hierarchy of 'illness' lacks 1 value"
    assert lacking(source_of(policy, rows[9:]), policy) == ""


def test_t_closeness_by_a_hierarchy_is_held_by_every_whole_table() -> None:
    illness = {"stability": "stable", "hierarchy": {"infections": ["flu", "hiv"], "others": ["burn"]}}
    policy = small_policy(
        sensitive={"illness": illness},
        gates={"models": {"t_closeness": {"max": 0}, "distinct_l": {"min": 3}}},
    )
    found = [result.detail for result in feasible(source_of(policy, ROWS), policy) if not result.passed]
    assert found == ["'illness' has 2 distinct values, fewer than gates.models.distinct_l.min (3)"]
    assert constraints_of(prepared(policy, [*ROWS, (5, "b", "burn")]), policy).group_holds(np.arange(5))


@pytest.mark.enemy("policy author", "learns a value")
def test_no_value_that_a_query_made_is_named(tmp_path: Path) -> None:
    policy = with_cities(tmp_path)
    query = policy.source.model_copy(
        update={"path": None, "query": "SELECT list(name) OVER () AS city FROM input"}
    )
    policy = policy.model_copy(update={"source": query})
    rows = [(1, "Ann", "a"), (2, "Ann", "b"), (3, "Ann", "a")]
    assert lacking(source_of(policy, rows), policy) == ("the hierarchy cities.csv lacks 1 value of the query")


def test_it_stands_in_the_one_line_that_is_told(tmp_path: Path) -> None:
    policy = with_cities(tmp_path)
    source = source_of(policy, [(1, "Leads", "a"), (2, "Leads", "b")])
    results = [r for r in feasible(source, small_policy(privacy={"k": 3})) if not r.passed]
    with pytest.raises(ValidationFailed) as caught:
        raise_if_failed(results, "t.csv", lacking(source, policy))
    assert str(caught.value).splitlines() == [
        "t.csv: the table of 2 rows has fewer than privacy.k (3) (the hierarchy cities.csv lacks 'Leads')",
        "  Give more rows, or lower privacy.k.",
    ]


def test_the_label_of_missing_values_is_no_node_of_a_hierarchy(tmp_path: Path) -> None:
    (tmp_path / "cities.csv").write_text("Leeds;unknown\nYork;unknown\nBath;South\n")
    text = (
        "series: small\nsource: {missing_label: unknown}\nroles:\n  quasi_identifiers:\n"
        "    city: {type: categorical, hierarchy: cities.csv}\n"
        "  sensitive: {illness: {stability: stable}}\n"
    )
    with pytest.raises(PolicyError, match=r"source.missing_label 'unknown' is a node of .*city.hierarchy"):
        parse_policy(text, tmp_path / "policy.yaml")
