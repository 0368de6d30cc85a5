"""Each expectation passes and fails, with right counts, and no result holds a value."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from expectations.suite import LastRelease
from policy.errors import ValidationFailed
from policy.hierarchy import from_tree
from policy.model import ReleasePolicy
from tasks.types import IntArray, SourceTable
from tasks.validation import check
from tasks.validation.check import ExpectationResult, as_records, raise_if_failed, validate

CANARY = "canary7731"


def policy(age: str = "integer", **expectations: Any) -> ReleasePolicy:
    return ReleasePolicy.model_validate(
        {
            "series": "register",
            "expectations": {"missing": 0.5, **expectations},
            "roles": {
                "key": "id",
                "quasi_identifiers": {
                    "age": {"type": age, "bounds": [0, 120]},
                    "city": {"type": "categorical", "hierarchy": None, "values": ["Leeds", "York"]},
                },
                "sensitive": {
                    "disease": {"stability": "stable", "values": ["flu", "cold"]},
                    "income": {"stability": "transient", "type": "numeric", "values": ["1", "2"]},
                },
                "kept": ["note"],
            },
        }
    )


def table(**columns: list[Any]) -> SourceTable:
    """Ten good rows, with the given columns in place of the good ones."""
    good: dict[str, list[Any]] = {
        "id": [f"p{i}" for i in range(10)],
        "age": [30.0] * 10,
        "city": ["Leeds", "York"] * 5,
        "disease": ["flu", "cold"] * 5,
        "income": [1.0, 2.0] * 5,
        "note": ["x"] * 10,
    }
    frame = pd.DataFrame({name: as_column(cells) for name, cells in {**good, **columns}.items()})
    return SourceTable(frame, "0" * 64, "t.csv")


def as_column(cells: list[Any]) -> pd.Series:
    numeric = not any(isinstance(cell, str) for cell in cells) and any(cell is not None for cell in cells)
    return pd.Series(cells, dtype="float64" if numeric else "str")


def failures(
    source: SourceTable, last: LastRelease | None = None, **expectations: Any
) -> list[tuple[str, str | None, int | None]]:
    results = validate(source, policy(**expectations), last)
    assert CANARY not in json.dumps(as_records(results))
    return [
        (r.expectation.removeprefix("expect_"), r.column, r.unexpected_rows) for r in results if not r.passed
    ]


def test_a_good_table_passes_every_expectation() -> None:
    last = LastRelease(10, {"disease": {"flu": 5, "cold": 5}, "income": {"1": 5, "2": 5}})
    wanted = policy(rows={"min": 10, "max": 10, "drift": 0.01}, sensitive_drift=0)
    results = validate(table(), wanted, last)
    assert len(results) == 23
    assert all(result.passed and result.detail == "" and result.rows == 10 for result in results)
    raise_if_failed(results, "t.csv")


FAULTS: dict[str, tuple[dict[str, list[Any]], list[tuple[str, str | None, int | None]]]] = {
    "text in a numeric column": (
        {"age": ["30"] * 7 + [CANARY, "", "inf"]},
        [("column_values_to_be_finite_numbers", "age", 3)],
    ),
    "text, a fraction and a number out of bounds in one column": (
        {"age": ["30"] * 6 + [CANARY, "1.5", "200", "-1"]},
        [
            ("column_values_to_be_finite_numbers", "age", 1),
            ("column_numbers_to_be_whole", "age", 1),
            ("column_numbers_to_be_within", "age", 2),
        ],
    ),
    "infinity": ({"age": [np.inf] + [30.0] * 9}, [("column_values_to_be_finite_numbers", "age", 1)]),
    "fraction": ({"age": [0.5, 1.5] + [30.0] * 8}, [("column_numbers_to_be_whole", "age", 2)]),
    "out of bounds": (
        {"age": [-1.0, 0.0, 120.0, 121.0, np.nan] + [30.0] * 5},
        [("column_numbers_to_be_within", "age", 2)],
    ),
    "unknown category": (
        {"city": [CANARY, "leeds", None] + ["York"] * 7},
        [("column_values_to_be_in_set", "city", 2)],
    ),
    "unknown sensitive value": (
        {"disease": [CANARY] + ["flu"] * 9},
        [("column_values_to_be_in_set", "disease", 1)],
    ),
    "unknown sensitive number": (
        {"income": [3.0, np.nan] + [1.0] * 8},
        [("column_values_to_be_in_set", "income", 1)],
    ),
    "sensitive number that stayed text": (
        {"income": ["1", "2"] * 4 + ["1", CANARY]},
        [
            ("column_values_to_be_finite_numbers", "income", 1),
            ("column_values_to_be_in_set", "income", 1),
        ],
    ),
    "missing": (
        {"note": [None] * 6 + ["x"] * 4},
        [("column_values_to_not_be_null", "note", 6)],
    ),
    "repeated key": (
        {"id": [CANARY] * 2 + ["q"] * 3 + [f"p{i}" for i in range(5)]},
        [("column_values_to_be_unique", "id", 5)],
    ),
    "missing key": (
        {"id": [None] * 2 + [f"p{i}" for i in range(8)]},
        [("column_values_to_not_be_null", "id", 2)],
    ),
    "not text": (
        {"note": [1.0] * 10},
        [("column_values_to_be_text", "note", 10)],
    ),
    "another column": (
        {CANARY: ["x"] * 10},
        [("table_columns_to_match_ordered_list", None, None)],
    ),
}


def test_the_leaves_of_a_sensitive_attributes_hierarchy_are_the_allowed_values() -> None:
    document = policy().model_dump()
    document["roles"]["sensitive"]["disease"] |= {
        "values": None,
        "hierarchy": from_tree({"x": ["flu", "cold"]}),
    }
    wanted = ReleasePolicy.model_validate(document)
    for cells, unexpected in (["flu", "cold"] * 5, None), ([CANARY, "x"] + ["flu"] * 8, 2):
        results = validate(table(disease=cells), wanted, None)
        assert CANARY not in json.dumps(as_records(results))
        failed = [(r.column, r.unexpected_rows) for r in results if not r.passed]
        assert failed == ([("disease", unexpected)] if unexpected else [])


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_counted(fault: str) -> None:
    columns, expected = FAULTS[fault]
    assert failures(table(**columns)) == expected


def test_a_share_of_missing_values_may_be_met_exactly() -> None:
    source = table(note=[None] * 3 + ["x"] * 7)
    assert failures(source, missing_in={"note": 0.3}) == []
    assert failures(source, missing_in={"note": 0.29}) == [("column_values_to_not_be_null", "note", 3)]
    many = SourceTable(pd.concat([table(note=[None] * 10).frame] * 29 + [table().frame] * 21), "", "t.csv")
    assert failures(many, missing_in={"note": 0.58}, unique_key=False) == []


def test_a_key_may_repeat_where_the_policy_lets_it() -> None:
    assert failures(table(id=["p"] * 9 + [None]), unique_key=False) == []


def test_numeric_need_not_be_whole() -> None:
    assert failures(table(age=[0.5] * 10), age="numeric") == []


@pytest.mark.parametrize("rows", [{"min": 11}, {"max": 9}])
def test_too_few_and_too_many_rows_are_told(rows: dict[str, int]) -> None:
    assert failures(table(), rows=rows) == [("table_row_count_to_be_between", None, None)]


@pytest.mark.parametrize(("before", "passes"), [(8, False), (9, True), (11, True), (12, False)])
def test_the_number_of_rows_may_drift_by_a_share_of_the_last_one(before: int, passes: bool) -> None:
    found = failures(table(), LastRelease(before, {}), rows={"drift": 0.15})
    assert found == ([] if passes else [("table_row_count_to_be_between", None, None)])


def test_a_sensitive_distribution_may_drift_by_a_total_variation_distance() -> None:
    last = LastRelease(10, {"disease": {"flu": 8, "cold": 2}, "income": {"1": 5, "2": 5}})  # distance 0.3
    assert failures(table(), last, sensitive_drift=0.3) == []
    assert failures(table(), last, sensitive_drift=0.29) == [
        ("column_total_variation_to_be_at_most", "disease", None)
    ]


def test_an_expectation_that_cannot_be_judged_has_not_passed() -> None:
    results = validate(table(), policy(sensitive_drift=1), LastRelease(10, {"disease": {}}))
    failed = [result for result in results if not result.passed]
    assert [(r.column, r.unexpected_rows, r.detail) for r in failed] == [
        (
            "disease",
            None,
            "the column 'disease' could not be evaluated (expect_column_total_variation_to_be_at_most)",
        )
    ]


def test_memory_that_ends_says_nothing_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: object) -> float:
        raise MemoryError

    assert failures(table()) == []  # which imports the library without its warnings
    monkeypatch.setattr("expectations.custom.total_variation", no_memory)
    with pytest.raises(MemoryError):
        validate(table(), policy(sensitive_drift=1), LastRelease(10, {"disease": {"flu": 10}}))


@pytest.mark.parametrize("rows", [None, np.ones(10, dtype=np.int64)])
def test_a_column_that_is_not_there_fails_all_its_expectations(rows: IntArray | None) -> None:
    frame = table().frame.drop(columns="age")
    found = failures(SourceTable(frame, "", "t.csv", rows=rows))
    assert found == [
        ("table_columns_to_match_ordered_list", None, None),
        ("column_values_to_be_finite_numbers", "age", None),
        ("column_numbers_to_be_whole", "age", None),
        ("column_numbers_to_be_within", "age", None),
        ("column_values_to_not_be_null", "age", None),
    ]


def test_a_suite_that_cannot_be_run_fails_the_validation_without_its_cause() -> None:
    broken = SourceTable(CANARY, "", "t.csv")  # type: ignore[arg-type]
    with pytest.raises(ValidationFailed, match="the expectations could not be evaluated") as caught:
        validate(broken, policy(), None)
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None


def test_the_error_tells_three_findings_and_how_many_more() -> None:
    source = table(
        age=["x"] * 2 + ["30"] * 8, city=[CANARY] * 3 + ["York"] * 7, note=[None] * 10, id=["p"] * 10
    )
    results = validate(source, policy(), None)
    with pytest.raises(ValidationFailed) as caught:
        raise_if_failed(results, "t.csv")
    assert str(caught.value) == (
        "t.csv: 10 of 10 rows in 'id' share their key with another row; "
        "2 of 10 rows in 'age' hold no finite number; "
        "3 of 10 rows in 'city' hold a value that the policy does not allow; and 1 more\n"
        "  Give one row per person, or set rows: several to count people."
    )
    assert caught.value.exit_code == 3


def test_records_are_plain_names_and_counts() -> None:
    result = ExpectationResult(
        "expect_x", "age", False, 2, 10, "2 of 10 rows in 'age' hold no number", "Mend."
    )
    assert as_records([result]) == [
        {
            "expectation": "expect_x",
            "column": "age",
            "passed": False,
            "unexpected_rows": 2,
            "rows": 10,
            "detail": "2 of 10 rows in 'age' hold no number",
            "mend": "Mend.",
        }
    ]


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    validate(table(age=[CANARY] * 10), policy(), LastRelease(10, {}))
    assert capfd.readouterr() == ("", "")


def test_the_library_is_imported_only_when_a_table_is_validated() -> None:
    code = (
        "import sys, tasks.validation.check, tasks.intake.read, expectations.suite; "
        "sys.exit('great_expectations' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


ages = st.sampled_from(["1", "2.5", "500", "-3", "x", "1e999", None])
cities = st.sampled_from(["Leeds", "York", "Hull", None])
keys = st.sampled_from(["a", "b", "c", "d", None])


@pytest.mark.integration
@given(rows=st.lists(st.tuples(keys, ages, cities), min_size=1, max_size=12))
def test_counts_are_those_of_plain_counting(rows: list[tuple[str | None, str | None, str | None]]) -> None:
    n = len(rows)
    id_, age, city = (list(column) for column in zip(*rows, strict=True))
    source = table(id=id_, age=[*age], city=city, disease=["flu"] * n, income=[1.0] * n, note=["x"] * n)
    source.frame["age"] = source.frame["age"].astype("str")
    results = validate(source, policy(), None)
    counted = {(r.expectation, r.column): r.unexpected_rows for r in results}
    assert counted["expect_column_values_to_be_finite_numbers", "age"] == sum(
        a in ("x", "1e999") for a in age
    )
    assert counted["expect_column_numbers_to_be_whole", "age"] == age.count("2.5")
    assert counted["expect_column_numbers_to_be_within", "age"] == age.count("500") + age.count("-3")
    assert counted["expect_column_values_to_be_in_set", "city"] == city.count("Hull")
    assert counted["expect_column_values_to_be_unique", "id"] == sum(
        key is not None and id_.count(key) > 1 for key in id_
    )
    missing = [r for r in results if r.expectation == "expect_column_values_to_not_be_null"]
    assert [r.unexpected_rows for r in missing if r.column == "city"] == [city.count(None)]
    assert [r.passed for r in missing if r.column == "city"] == [city.count(None) <= n / 2]
    assert [r.passed for r in missing if r.column == "id"] == [None not in id_]


def test_a_large_table_is_validated_an_expectation_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    source = table(age=[200, 30] * 5, city=["York", "Nowhere"] * 5)
    wanted, last = policy(sensitive_drift=1), LastRelease(10, {"disease": {}})
    at_once = validate(source, wanted, last)
    assert {one.passed for one in at_once} == {True, False}
    monkeypatch.setattr(check, "CELLS_AT_ONCE", 4)
    assert validate(source, wanted, last) == at_once


def test_the_library_keeps_no_table() -> None:
    source = SourceTable(pd.concat([table().frame] * 37), "", "t.csv")
    n = len(source.frame)
    validate(source, policy(), None)
    del source
    found = [one for one in gc.get_objects() if type(one) in (pd.DataFrame, pd.Series) and len(one) == n]
    assert not any(one.size for one in found)
