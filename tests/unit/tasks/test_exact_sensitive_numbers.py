"""Sensitive numbers that doubles do not hold come out of a release as they went in, in every format."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from policy.model import ReleasePolicy
from release_store.records import CandidateState, Verdict
from release_store.store import ReleaseStore
from services.release import release
from tasks.intake.read import read_table
from tasks.intake.table_object import TableObject
from tests.support.small import small_policy

N = 24
BIG = [str(9_007_199_254_740_993 + 2 * (i % 4)) for i in range(N)]
CENTS = [f"{10**17 + i % 4}.10" for i in range(N)]
SMALL = [f"{1000 * (1 + i % 4)}.0" for i in range(N)]
COLUMN = {"pay": {"type": "numeric", "stability": "transient"}}
AGE = {"age": {"type": "integer", "bounds": [0, 100]}}


def policy_of(**sections: object) -> ReleasePolicy:
    return small_policy(AGE, COLUMN, privacy={"k": 2, "spread": 0.0}, **sections)


def written(folder: Path, cells: list[str], kind: str) -> Path:
    """Write a table of ages and pays as CSV, or as Parquet with a column of DuckDB's type `kind`."""
    rows = pd.DataFrame({"age": [str(20 + i // 4) for i in range(N)], "pay": cells})
    if kind == "csv":
        path = folder / "t.csv"
        rows.to_csv(path, index=False)
        return path
    path = folder / "t.parquet"
    with duckdb.connect() as con:
        con.register("rows", rows)
        con.execute(f"COPY (SELECT age::INTEGER AS age, pay::{kind} AS pay FROM rows) TO '{path}'")
    return path


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (BIG, "csv"),
        (BIG, "BIGINT"),
        (BIG, "UBIGINT"),
        (BIG, "DECIMAL(38,0)"),
        (CENTS, "csv"),
        (CENTS, "DECIMAL(20,2)"),
        (SMALL, "csv"),
        (SMALL, "DOUBLE"),
        (SMALL, "BIGINT"),
    ],
)
def test_all_digits_come_through_intake(tmp_path: Path, cells: list[str], kind: str) -> None:
    frame = read_table(
        policy_of(), input_path=written(tmp_path, cells, kind), period="2026", base=tmp_path
    ).frame
    assert [Decimal(str(one)) for one in frame["pay"]] == [Decimal(one) for one in cells]
    assert pd.api.types.is_numeric_dtype(frame["pay"]) == (cells is SMALL)


def test_a_frames_whole_numbers_do_too(tmp_path: Path) -> None:
    given = pd.DataFrame({"age": range(20, 20 + N), "pay": [*map(int, BIG)]})
    frame = read_table(policy_of(), input_path=TableObject(given), period="2026", base=tmp_path).frame
    assert frame["pay"].tolist() == BIG


def test_one_number_has_one_text_however_it_is_written(tmp_path: Path) -> None:
    cells = ["9007199254740993", "9007199254740993.0", "09007199254740993", "5", "5.0", "5e0"] * 4
    frame = read_table(
        policy_of(), input_path=written(tmp_path, cells, "csv"), period="2026", base=tmp_path
    ).frame
    assert set(frame["pay"]) == {"9007199254740993", "5"}


def test_a_second_file_may_have_larger_ones(tmp_path: Path) -> None:
    for name, cells in (("a", SMALL), ("b", BIG)):
        (tmp_path / name).mkdir()
        written(tmp_path / name, cells, "BIGINT")
    policy = policy_of(source={"path": ["a/t.parquet", "b/t.parquet"]})
    frame = read_table(policy, input_path=None, period="2026", base=tmp_path).frame
    assert frame["pay"].tolist() == [str(int(float(one))) for one in SMALL] + BIG


@pytest.mark.integration
@pytest.mark.parametrize("cells", [BIG, CENTS, SMALL], ids=["big", "cents", "small"])
def test_a_release_has_the_sources_numbers(tmp_path: Path, cells: list[str]) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "series: t\nroles:\n  quasi_identifiers:\n    age: {type: integer, bounds: [0, 100]}\n"
        "  sensitive: {pay: {type: numeric, stability: transient}}\n"
        "privacy: {k: 2, e: 1, p_max: 0.99, spread: 0}\nmethod: {name: mondrian}\n"
        "gates: {suppression: {max: 0.9}, unique: {max: 1}, ncp: {max: 1}}\n"
    )
    cells = [*cells[:-1], f"-{cells[-1]}"]
    source = written(tmp_path, cells, "csv")
    store = ReleaseStore.create(tmp_path / "store")
    outcome = release(policy, store=store.root, input_path=source, period="2026")
    assert outcome.state == CandidateState.PUBLISHED
    assert {one.gate: one.verdict for one in store.gates(outcome.candidate_id)}["truth"] is Verdict.PASS
    with (store.root / "releases/t/t-2026-r1/data.csv").open(newline="") as file:
        published = sorted(row["pay"] for row in csv.DictReader(file))
    assert [*map(Decimal, published)] == [*map(Decimal, sorted(cells_without_zeros(cells)))]
    assert published == sorted(cells_without_zeros(cells))


def cells_without_zeros(cells: list[str]) -> list[str]:
    return [one.rstrip("0").rstrip(".") if "." in one else one for one in cells]


def test_numbers_of_32_bits_are_what_was_written(tmp_path: Path) -> None:
    """The double of a float of 0.1 is 0.10000000149011612; in a cell of Python's objects too."""
    cells = ["0.1", "1234.56", "-3.3e-5", "16777217"]
    policy = small_policy(AGE, {**COLUMN, "note": {"stability": "stable"}})
    rows = pd.DataFrame({"age": 1, "pay": cells, "note": cells}).astype({"pay": "float32", "note": "float32"})
    with duckdb.connect() as con:
        con.execute(f"COPY (FROM rows) TO '{tmp_path}/t.parquet'")
    objects = rows.assign(pay=pd.Series([*rows["pay"].to_numpy()], dtype=object))
    for given in (tmp_path / "t.parquet", TableObject(rows), TableObject(objects)):
        frame = read_table(policy, input_path=given, period="2026", base=tmp_path).frame
        assert frame["pay"].tolist() == [0.1, 1234.56, -3.3e-5, 16777216]
        assert frame["note"].tolist()[:2] == ["0.1", "1234.56"]
