"""No gate on a model passes by accident: nothing, one record, all missing, no numbers, no column."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from policy.errors import VerificationFailed
from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, Verdict
from tasks.risk.gates.models.checks import at_least, at_most
from tasks.risk.published import read_classes
from tasks.risk.registry import GATES, assess
from tests.support.made_classes import asked, classes_of, evidence_of, policy_with
from tests.support.small import prepared, published, small_policy

PASS, FAIL, UNKNOWN = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN
MODELS: dict[str, Any] = {
    "distinct_l": {"min": 2},
    "entropy_l": {"min": 1.1},
    "recursive_cl": {"c": 100, "l": 2},
    "t_closeness": {"max": 0.4},
    "alpha_k": {"alpha": 0.9, "k": 2},
    "beta_likeness": {"max": 3},
    "delta_disclosure": {"max": 9},
    "km": {"k": 2, "m": 2},
    "lkc": {"l": 2, "k": 2, "c": 0.9},
}
PRIVACY = {"k": 2, "p_max": 0.9, "h_min": 0.1, "e": 1.5}
EVERY = ("k", "p_max", "h_min", "e", *MODELS)
OF_SENSITIVE = [gate for gate in EVERY if gate not in ("k", "km")]

# Two classes of 20 to 29 in Hull and 30 to 39 in York, each with flu and hiv, 1 and 3.
HULL, YORK = ((20.0, 29.0), frozenset({"Hull"})), ((30.0, 39.0), frozenset({"York"}))
GOOD = [(cells, values) for cells in (HULL, YORK) for values in (("flu", "1"), ("hiv", "3"))]


def policy() -> ReleasePolicy:
    return policy_with(MODELS, "illness", "wage", names=["age", "city"], privacy=PRIVACY)


def verdicts(classes: EquivalenceClasses) -> dict[str, Verdict]:
    found = {gate: asked(gate, classes, policy()) for gate in EVERY}
    for result in found.values():
        if result.value is not None:
            assert np.isfinite(result.value), result.gate
    return {gate: result.verdict for gate, result in found.items()}


def of(rows: list[Any]) -> EquivalenceClasses:
    return classes_of(rows, policy())


def test_every_model_has_a_gate_and_passes_what_is_good() -> None:
    assert {gate: verdict for gate, verdict in verdicts(of(GOOD)).items() if verdict is not PASS} == {}
    assert set(EVERY) == {*MODELS, "k", "p_max", "h_min", "e"}
    assert set(type(policy().gates.models).model_fields) == {*MODELS, "attributes", "added"}


@pytest.mark.parametrize("gate", EVERY)
def test_an_empty_release_fails(gate: str) -> None:
    assert asked(gate, of([]), policy()).verdict is FAIL


@pytest.mark.parametrize("gate", EVERY)
def test_a_class_of_one_fails(gate: str) -> None:
    """Its one illness is half of all away from the others' distribution too: flu 2 of 5, hiv 2, cough 1."""
    alone = [*GOOD, (((40.0, 49.0), frozenset({"Bath"})), ("cough", "9"))]
    result = asked(gate, of(alone), policy())
    assert result.verdict is FAIL
    # Since it has a value that the others lack, they are far from the release's shares too.
    assert result.witness["first"] == ([0, 1, 2] if gate == "delta_disclosure" else [2])


def test_a_sensitive_column_all_missing_is_one_value_to_every_model() -> None:
    rows = [(cells, ("missing", "missing")) for cells, _ in GOOD]
    found = verdicts(of(rows))
    # k and k^m look at no sensitive value, and nothing is further from all than all.
    compared = {"t_closeness", "beta_likeness", "delta_disclosure"}
    assert {gate for gate, verdict in found.items() if verdict is PASS} == {"k", "km", *compared}
    assert set(found.values()) == {PASS, FAIL}
    assert asked("t_closeness", of(rows), policy()).value == 0


def test_missing_values_count_once_beside_others() -> None:
    rows = [(HULL, (one, "1")) for one in ("missing", "missing", "missing", "flu")]
    classes = classes_of(
        [(cells, values[:1]) for cells, values in rows], policy_with({}, names=["age", "city"])
    )
    for gate, model, verdict in (
        ("distinct_l", {"min": 2}, PASS),
        ("distinct_l", {"min": 3}, FAIL),
        ("recursive_cl", {"c": 3.1, "l": 2}, PASS),
        ("recursive_cl", {"c": 3, "l": 2}, FAIL),
        ("alpha_k", {"alpha": 0.75, "k": 2}, PASS),
        ("alpha_k", {"alpha": 0.74, "k": 2}, FAIL),
    ):
        found = asked(gate, classes, policy_with({gate: model}, names=["age", "city"]))
        assert found.verdict is verdict, (gate, model)


@pytest.mark.parametrize("text", ["nan", "NaN", "inf", "-inf", "Infinity", "1e999", "many", ""])
@pytest.mark.parametrize("gate", EVERY)
def test_a_numeric_attribute_with_what_is_no_finite_number_is_unknown(gate: str, text: str) -> None:
    rows = [*GOOD[:-1], (YORK, ("hiv", text))]
    result = asked(gate, of(rows), policy())
    if gate in OF_SENSITIVE:
        assert result.verdict is UNKNOWN
        assert result.detail == "the numeric attribute 'wage' has a value that is not a finite number"
    else:
        assert result.verdict is PASS


@pytest.mark.parametrize("gate", EVERY)
def test_a_sensitive_attribute_that_is_not_published_is_unknown(gate: str) -> None:
    classes = of(GOOD)
    for gone in (["illness"], ["illness", "wage"]):
        left = {name: counts for name, counts in classes.counts.items() if name not in gone}
        result = asked(gate, replace(classes, counts=left), policy())
        if gate in OF_SENSITIVE:
            assert result.verdict is UNKNOWN
            assert result.detail == "the sensitive attribute 'illness' is not in the published rows"
        else:
            assert result.verdict is PASS


@pytest.mark.parametrize("gate", OF_SENSITIVE)
def test_rows_without_a_sensitive_value_are_unknown(gate: str) -> None:
    classes = of(GOOD)
    counts = {**classes.counts, "illness": np.array([[1, 1], [1, 0]])}
    result = asked(gate, replace(classes, counts=counts), policy())
    assert result.verdict is UNKNOWN
    assert result.detail == "the sensitive attribute 'illness' lacks a value in some published rows"


@pytest.mark.parametrize("gate", ["km", "lkc"])
@pytest.mark.parametrize(
    ("cell", "finding"),
    [
        ((np.nan, 29.0), "not an interval"),
        ((20.0, np.nan), "not an interval"),
        ((-np.inf, 29.0), "not an interval"),
        ((20.0, np.inf), "not an interval"),
        ((29.0, 20.0), "contains no value"),
        ((20.5, 20.6), "contains no value"),
    ],
)
def test_a_cell_that_covers_nothing_is_unknown(gate: str, cell: tuple[float, float], finding: str) -> None:
    classes = of(GOOD)
    ages = np.array([cell, YORK[0]])
    result = asked(gate, replace(classes, intervals={"age": ages}), policy())
    assert (result.verdict, finding in result.detail) == (UNKNOWN, True)


@pytest.mark.parametrize("gate", ["km", "lkc"])
def test_a_quasi_identifier_that_is_not_published_or_names_nothing_is_unknown(gate: str) -> None:
    classes = of(GOOD)
    result = asked(gate, replace(classes, intervals={}), policy())
    assert (result.verdict, "'age' is not in the published rows" in result.detail) == (UNKNOWN, True)
    nothing = replace(classes.sets["city"], member=np.array([[False, False], [False, True]]))
    result = asked(gate, replace(classes, sets={"city": nothing}), policy())
    assert (result.verdict, "has a cell that contains no value" in result.detail) == (UNKNOWN, True)


# The file


def staged(tmp_path: Path, sql: str) -> tuple[Path, ReleasePolicy]:
    """A staged file of ages, illnesses and wages, altered."""
    columns = {"age": {"type": "numeric", "bounds": [0, 100]}}
    sensitive = {"illness": {"stability": "stable"}, "wage": {"stability": "stable", "type": "numeric"}}
    given = small_policy(
        columns,
        sensitive,
        privacy=PRIVACY,
        gates={"models": {**MODELS, "km": {"k": 2, "m": 1}, "lkc": {"l": 1, "k": 2, "c": 0.9}}},
    )
    rows = [(20.5, "flu", 1.5), (29.5, "hiv", 3.5), (30.5, "flu", 1.5), (39.5, "hiv", 3.5)]
    made = published(given, prepared(given, rows), [0, 0, 1, 1], tmp_path / "c")
    target = tmp_path / "altered.parquet"
    with duckdb.connect() as con:
        source = made.candidate.folder / "data.parquet"
        con.execute(f"COPY (SELECT {sql} FROM read_parquet('{source}')) TO '{target}'")
    return target, given


@pytest.mark.parametrize(
    ("sql", "finding"),
    [
        ("* REPLACE (CAST('inf' AS DOUBLE) AS wage)", "'wage' has a value that is not a finite number"),
        ("* REPLACE (CAST('-inf' AS FLOAT) AS wage)", "'wage' has a value that is not a finite number"),
        ("* REPLACE (CAST('inf' AS DOUBLE) AS illness)", "'illness' has a value that is not a finite number"),
        ("* REPLACE (CAST('nan' AS DOUBLE) AS age_min)", "'age' has a cell that is not an interval"),
        ("* REPLACE (CAST('inf' AS DOUBLE) AS age_max)", "'age' has a cell that is not an interval"),
        ("* EXCLUDE (illness)", "its columns are not the published columns of the policy"),
        ("* EXCLUDE (wage)", "its columns are not the published columns of the policy"),
    ],
)
def test_a_file_with_infinities_or_without_a_column_is_refused(
    tmp_path: Path, sql: str, finding: str
) -> None:
    file, given = staged(tmp_path, sql)
    with pytest.raises(VerificationFailed, match=finding):
        read_classes(file, given)


def test_nan_in_a_file_is_the_missing_value(tmp_path: Path) -> None:
    sql = "* REPLACE (CASE WHEN wage > 2 THEN CAST('nan' AS DOUBLE) ELSE wage END AS wage)"
    file, given = staged(tmp_path, sql)
    classes = read_classes(file, given)
    assert classes.sensitive_values["wage"] == ("1.5", "missing")
    results = assess(evidence_of(classes, given), {gate: GATES[gate] for gate in EVERY}).results
    # The range of 1.5 and nothing is 0; the other models see two values.
    assert [result.gate for result in results if result.verdict is not PASS] == ["e"]
    assert results[3].verdict is FAIL


@pytest.mark.parametrize("side", [at_least, at_most])
def test_a_measure_that_is_no_number_fails(side: Any) -> None:
    result = side("k", {"illness": np.array([0.5, np.nan])}, 0.5, "")
    assert (result.verdict, result.witness["first"]) == (FAIL, [1])
