"""Sensitive values that look alike are one where values are counted, and are published as they stand."""

from __future__ import annotations

import csv
import unicodedata
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.text import INVISIBLE, one_spelling
from release_store.records import Verdict
from reports.table_wording import table_document
from services.table_assessment import TableColumns, assess_table
from tasks.intake.read import read_table
from tasks.intake.table_object import TableObject
from tasks.partitioning.constraints import constraints_of
from tasks.preprocessing.prepare import prepare
from tests.support.made_classes import asked, classes_of
from tests.support.small import published, small_policy
from tests.unit.tasks.test_persons import AFTER, AGE, BEFORE, told

NFC, NFD, HIDDEN = "gripp\u00e9", "grippe\u0301", "gripp\u00e9\u200b"
ILLNESS = {"illness": {"stability": "stable"}}
GATES = ("p_max", "h_min", "e", "distinct_l", "worlds")


@given(st.text())
def test_a_text_has_one_spelling_however_it_is_written(text: str) -> None:
    form = one_spelling(text)
    assert one_spelling(form) == form
    seen = "".join(one for one in text if one not in INVISIBLE)
    assert {one_spelling(unicodedata.normalize(kind, seen)) for kind in ("NFC", "NFD")} == {form}
    assert not text.isascii() or form == text


def table_in(folder: Path, kind: str, rows: list[tuple[int, str]]) -> Any:
    frame = pd.DataFrame(rows, columns=["age", "illness"])
    path = folder / f"t.{kind}"
    if kind == "frame":
        return TableObject(frame)
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        with duckdb.connect() as con:
            con.execute(f"COPY (FROM frame) TO '{path}'")
    else:
        book = openpyxl.Workbook()
        for row in [("age", "illness"), *rows]:
            book.active.append(row)
        book.save(path)
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx", "frame"])
def test_one_disease_in_several_spellings_is_no_diversity(tmp_path: Path, kind: str) -> None:
    policy = small_policy(
        AGE,
        ILLNESS,
        privacy={"k": 2, "e": 2, "p_max": 0.8, "h_min": 0.1, "l": 2},
        gates={"models": {"distinct_l": {"min": 2}}},
    )
    rows = [(30, NFC), (31, NFD), (32, HIDDEN)]
    given_ = table_in(tmp_path, kind, rows)
    table = prepare(read_table(policy, input_path=given_, period="1", base=tmp_path), policy)
    assert set(table.sensitive_values["illness"]) == {NFC, NFD, HIDDEN}
    assert constraints_of(table, policy).group_holds(range(3)) is False  # type: ignore[arg-type]
    made = published(policy, table, [0, 0, 0], tmp_path / "out")
    for gate in GATES:
        assert asked(gate, made.classes, policy).verdict is Verdict.FAIL, gate
    with made.csv.open(encoding="utf-8", newline="") as file:
        assert {row["illness"] for row in csv.DictReader(file)} == {NFC, NFD, HIDDEN}


@given(
    st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from([NFC, NFD, HIDDEN, "hiv", "cold"])), min_size=2)
)
def test_gates_say_what_they_say_of_one_spelling(rows: list[tuple[str, str]]) -> None:
    policy = small_policy(
        {"city": {"type": "categorical"}},
        ILLNESS,
        privacy={"e": 2, "p_max": 0.6, "h_min": 0.5},
        gates={"models": {"distinct_l": {"min": 2}}},
    )
    spelled, plain = (
        classes_of([((frozenset({city}),), (form(ill),)) for city, ill in rows], policy)
        for form in (str, one_spelling)
    )
    for gate in GATES:
        one, other = asked(gate, spelled, policy), asked(gate, plain, policy)
        assert (one.verdict, one.value) == (other.verdict, other.value), gate


@pytest.mark.parametrize("gate", ["person", "person_difference", "worlds", "pairwise", "whole_history"])
def test_a_release_that_spells_values_otherwise_is_compared_as_one_that_does_not(
    tmp_path: Path, gate: str
) -> None:
    """Ann is in {grippé, hiv}, and later in {grippé, cough}: she has grippé, whatever its spelling."""
    found = []
    for before, after in ((NFC, NFC), (NFD, NFC), (HIDDEN, NFD)):
        first = told(tmp_path, BEFORE.replace("flu", before))
        second = told(tmp_path, AFTER.replace("flu", after))
        found.append(second.asked(gate, first))
    assert {(one.verdict, one.value, one.detail) for one in found} == {
        (found[0].verdict, found[0].value, found[0].detail)
    }
    if gate == "person":
        assert found[0].verdict is Verdict.FAIL


def test_assess_counts_them_as_one_too(tmp_path: Path) -> None:
    found = []
    for second in (NFC, NFD, HIDDEN):
        path = table_in(tmp_path, "csv", [(30, NFC), (30, second), (31, "hiv"), (31, "hiv")])
        found.append(table_document(assess_table(path, TableColumns(("age",), ("illness",)))))
    assert found[0] == found[1] == found[2]
