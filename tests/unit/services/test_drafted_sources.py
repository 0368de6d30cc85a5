"""Drafts from workbooks, databases and addresses: what a run reads, with the source named in the policy."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest

from policy.errors import InputError, UsageError
from policy.load import parse_policy
from policy.location import location_of
from services.checking.check import check
from services.drafting.draft import draft as draft_policy
from services.drafting.series import source_of
from services.drafting.tables import InputOptions
from services.table_assessment import TableColumns, assess_table

draft = partial(draft_policy, trial=False)
ROWS = 120


def people(seed: int = 1) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "patient_id": draw.permutation(ROWS) + 1000,
            "surname": [f"CANARY{n}" for n in range(ROWS)],
            "age": draw.integers(18, 80, ROWS),
            "sex": draw.choice(["f", "m"], ROWS),
            "seen": "05.03.2026",
            "diagnosis": draw.choice(["flu", "gout", "none", ""], ROWS),
        }
    )


def write(path: Path, **parts: pd.DataFrame) -> Path:
    """Write a workbook or a database with a sheet or table for each of `parts`."""
    if path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, frame in parts.items():
            sheet = book.create_sheet(name)
            sheet.append([*frame.columns])
            for row in frame.itertuples(index=False):
                sheet.append([cell.item() if isinstance(cell, np.generic) else cell or None for cell in row])
        book.save(path)
        return path
    with closing(sqlite3.connect(path)) as connection:
        for name, frame in parts.items():
            frame.to_sql(name, connection, index=False)
    return path


def named(option: str, part: str) -> InputOptions:
    return InputOptions(sheet=part) if option == "sheet" else InputOptions(table=part)


def roles_of_draft(text: str) -> str:
    return text[text.index("roles:") : text.index("# Next")]


@pytest.mark.parametrize("ending", ["xlsx", "sqlite", "db"])
@pytest.mark.by_day(1)
def test_a_sheet_or_a_table_is_drafted_as_the_file_with_its_cells_and_its_policy_is_right(
    tmp_path: Path, ending: str
) -> None:
    plain = tmp_path / "visits-2026Q1.csv"
    people().to_csv(plain, index=False)
    file = write(tmp_path / f"visits-2026Q1.{ending}", visits=people())
    text = draft(file)
    assert roles_of_draft(text) == roles_of_draft(draft(plain))
    assert "CANARY" not in text
    policy = parse_policy(text, tmp_path / "visits.yaml")
    assert (policy.series, policy.source.path) == ("visits", f"visits-{{period}}.{ending}")
    (tmp_path / "visits.yaml").write_text(text)
    found = check(tmp_path / "visits.yaml", store=tmp_path / "store", period="2026Q1")
    assert (found.exit_code, found.rows, found.columns) == (0, ROWS, 6)


@pytest.mark.parametrize(("ending", "option"), [("xlsx", "sheet"), ("sqlite", "table")])
def test_one_of_several_sheets_or_tables_is_named_by_an_option_and_in_the_policy(
    tmp_path: Path, ending: str, option: str
) -> None:
    file = write(tmp_path / f"clinic.{ending}", visits=people(), notes=pd.DataFrame({"note": ["x"]}))
    with pytest.raises(InputError) as refused:
        draft(file)
    assert str(refused.value).splitlines() == [
        f"{file}: has 2 {option}s: 'visits', 'notes'",
        f"  Name one of them as --{option}.",
    ]
    text = draft(file, options=named(option, "visits"))
    policy = parse_policy(text, tmp_path / "clinic.yaml")
    assert getattr(policy.source, option) == "visits"
    (tmp_path / "clinic.yaml").write_text(text)
    assert check(tmp_path / "clinic.yaml", store=tmp_path / "store", period="2026Q1").rows == ROWS
    with pytest.raises(InputError, match=rf"has no {option} 'visit'(.|\n)*Correct --{option}\."):
        draft(file, options=named(option, "visit"))


def test_an_option_for_a_sheet_of_a_file_without_sheets_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    people().to_csv(file, index=False)
    with pytest.raises(UsageError, match=r"--sheet: names a sheet, but t\.csv is read as csv"):
        draft(file, options=InputOptions(sheet="visits"))


def test_periods_in_workbooks_and_databases_are_read_together(tmp_path: Path) -> None:
    for ending in ("xlsx", "sqlite"):
        files = [
            write(tmp_path / f"visits-2026Q{n}.{ending}", visits=people(n).assign(age=20 + n)) for n in (1, 2)
        ]
        text = draft(*files)
        assert text.startswith("# A policy drafted from 2 tables of 240 rows and 6 columns.")
        assert parse_policy(text, tmp_path / "visits.yaml").source.path == f"visits-{{period}}.{ending}"


def test_a_first_row_that_is_a_persons_is_not_told(tmp_path: Path) -> None:
    frame = people().rename(columns={"age": "41", "surname": "CANARY"})
    for ending in ("xlsx", "sqlite"):
        with pytest.raises(InputError, match="it seems to be a row") as refused:
            draft(write(tmp_path / f"t.{ending}", visits=frame))
        assert "CANARY" not in str(refused.value)


def test_what_is_refused_of_a_workbook_or_a_database_in_a_run_is_refused_in_a_draft(tmp_path: Path) -> None:
    file = write(tmp_path / "t.sqlite", visits=people())
    (tmp_path / "t.sqlite-wal").write_bytes(b"x")
    with pytest.raises(InputError, match="has changes beside it that are not in the file yet"):
        draft(file)
    book = openpyxl.load_workbook(write(tmp_path / "t.xlsx", visits=people()))
    book.active.merge_cells("A2:A3")
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(InputError, match="the cells A2:A3 are merged"):
        draft(tmp_path / "t.xlsx")


def test_a_table_is_assessed_from_plain_files_alone(tmp_path: Path) -> None:
    file = write(tmp_path / "t.sqlite", visits=people())
    with pytest.raises(UsageError, match=r"the file type '\.sqlite' is not supported(.|\n)*\.parquet"):
        assess_table(file, TableColumns(("age",)))


@pytest.mark.parametrize(
    ("tables", "series", "path"),
    [
        (["a/visits-2026Q1.xlsx"], "visits", "visits-{period}.xlsx"),
        (
            ["postgresql://reader@db.example.org/clinic?table=register.visits_2026Q1"],
            "visits",
            "postgresql://reader@db.example.org/clinic?table=register.visits_{period}",
        ),
        (
            ["postgresql://localhost/clinic?table=v_2026Q1", "postgresql://localhost/clinic?table=v_2026Q2"],
            "v",
            "postgresql://localhost/clinic?table=public.v_{period}",
        ),
        (["postgresql://localhost/a?table=v1", "postgresql://localhost/b?table=v2"], "v", None),
        (["s3://tables/clinic/2026Q1.csv"], "series", "s3://tables/clinic/{period}.csv"),
        (["s3://tables/a/v-2026Q1.csv", "s3://tables/a/v-2026Q2.csv"], "v", "s3://tables/a/v-{period}.csv"),
        (["s3://tables/a/v-2026Q1.csv", "s3://tables/b/v-2026Q2.csv"], "v", None),
    ],
)
def test_a_policy_names_the_table_with_the_period_in_its_name(
    tables: list[str], series: str, path: str | None
) -> None:
    found = source_of([location_of(table, "TABLE") for table in tables])
    assert found == (series, path)
    if path is not None and "://" in path:
        location_of(path.replace("{period}", "2026Q1"), "source.path")


@pytest.mark.parametrize(
    ("file", "policy"), [("people-2026Q1.csv", "people-policy.yaml"), ("visits.csv", "visits.yaml")]
)
def test_the_policy_is_not_saved_over_a_file_beside_the_store(tmp_path: Path, file: str, policy: str) -> None:
    people().to_csv(tmp_path / file, index=False)
    assert f"#   releasegate check {policy} --input " in draft(tmp_path / file)
