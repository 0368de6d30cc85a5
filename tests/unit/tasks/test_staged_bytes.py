"""What the bytes of the published files tell besides their cells: nothing; and that they run nothing."""

from __future__ import annotations

import csv
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from release_store.records import Verdict
from tasks.recoding.draws import seed_of
from tasks.recoding.generalize import generalized_rows
from tasks.risk.registry import GATES, assess
from tests.support.small import prepared, published, small_policy

AGE = {"age": {"type": "integer", "bounds": [0, 120]}}
READER = "reader"
ROWS = [(20 + i, ["flu", "cold", "gout"][i % 3], f"n{i % 4}") for i in range(12)]
LABELS = np.array([0] * 6 + [1] * 6)


@pytest.mark.enemy(READER, "learns a value")
@given(st.permutations(range(12)))
def test_the_order_of_the_input_does_not_reach_the_published_rows(order: list[int]) -> None:
    policy = small_policy(AGE, roles={"kept": ["note"]})
    plain = generalized_rows(prepared(policy, ROWS), LABELS, policy).frame
    mixed = generalized_rows(prepared(policy, [ROWS[i] for i in order]), LABELS[order], policy).frame
    pd.testing.assert_frame_equal(plain, mixed)


@pytest.mark.enemy(READER, "learns a value")
def test_the_metadata_of_the_parquet_file_are_those_of_its_columns(tmp_path: Path) -> None:
    policy = small_policy(AGE, roles={"kept": ["note"], "identifiers": ["name"]})
    rows = [(f"cnry{i}", age, illness, note) for i, (age, illness, note) in enumerate(ROWS)]
    made = published(policy, prepared(policy, rows), LABELS.tolist(), tmp_path / "c")
    file = str(made.candidate.folder / "data.parquet")
    with duckdb.connect() as con:
        assert con.execute("FROM parquet_kv_metadata(?)", [file]).fetchall() == []
        columns = con.execute("SELECT DISTINCT path_in_schema FROM parquet_metadata(?)", [file]).fetchall()
        ((made_by,),) = con.execute("SELECT created_by FROM parquet_file_metadata(?)", [file]).fetchall()
    assert {name for (name,) in columns} == {"age_min", "age_max", "illness", "note"}
    assert made_by.startswith("DuckDB version")
    content = (made.candidate.folder / "data.parquet").read_bytes()
    assert b"cnry" not in content
    assert str(tmp_path).encode() not in content


@pytest.mark.enemy(READER, "learns a value")
def test_noise_cannot_be_drawn_again_from_the_published_seed() -> None:
    policy = small_policy(AGE)
    table = prepared(policy, [row[:2] for row in ROWS])
    changed = prepared(policy, [*(row[:2] for row in ROWS[:-1]), (31, "flu")])
    assert seed_of(table, 42) == seed_of(table, 42)
    assert len({seed_of(table, 42), seed_of(changed, 42), seed_of(table, 43), 42}) == 4


@pytest.mark.enemy("data supplier", "runs code")
@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t"])
def test_a_formula_is_a_text_where_the_policy_asks_for_it(tmp_path: Path, begin: str) -> None:
    formula = f"{begin}cmd|' /C calc'!A0"
    policy = small_policy(AGE, roles={"kept": ["note"]}, publication={"csv_formulas": "quoted"})
    rows = [
        (age, illness, formula if age == 20 else "-" if age == 21 else note) for age, illness, note in ROWS
    ]
    made = published(policy, prepared(policy, rows), LABELS.tolist(), tmp_path / "c")
    with (made.candidate.folder / "data.csv").open(newline="") as file:
        cells = [cell for row in list(csv.reader(file))[1:] for cell in row]
    assert f"'{formula}" in cells
    assert "'-" in cells
    assert not any(cell[:1] in set("=+-@\t") for cell in cells)
    (result,) = assess(made.evidence(), {"files": GATES["files"]}).results
    assert result.verdict is Verdict.PASS
    with duckdb.connect() as con:
        (parquet,) = con.execute(
            "SELECT count(*) FROM read_parquet(?) WHERE note = ?",
            [str(made.candidate.folder / "data.parquet"), formula],
        ).fetchone() or (0,)
    assert parquet == 1


def test_numbers_below_zero_are_no_formulas(tmp_path: Path) -> None:
    policy = small_policy(
        {"age": {"type": "integer", "bounds": [-20, 120]}}, publication={"csv_formulas": "quoted"}
    )
    table = prepared(policy, [(age - 40, illness) for age, illness, _ in ROWS])
    made = published(policy, table, LABELS.tolist(), tmp_path / "c")
    assert (made.candidate.folder / "data.csv").read_text().splitlines()[1].startswith("-20,-15,")
    (result,) = assess(made.evidence(), {"files": GATES["files"]}).results
    assert result.verdict is Verdict.PASS
