"""Untidy cells: each step that a policy declares reads them right, and changes nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from expectations.numbers import as_numbers
from policy.errors import InputError
from policy.load import policy_document
from policy.loosening import loosened
from policy.model import ReleasePolicy, Source
from tasks.intake.cells import FEW_MARKS, known, number_text, text_cell
from tasks.intake.read import read_table

DATABASE = duckdb.connect(config={"threads": 1})
STEPS = {
    "strip": True,
    "case": {"sex": "lower"},
    "values": {"band": {"10-20": ["20-Oct"]}},
    "dates": {"seen": ["%d.%m.%Y"]},
    "decimal": ",",
    "thousands": ".",
}


def policy(**source: Any) -> ReleasePolicy:
    return ReleasePolicy.model_validate(
        {
            "series": "s",
            "source": source,
            "roles": {
                "key": "id",
                "identifiers": ["seen"],
                "quasi_identifiers": {
                    "weight": {"type": "numeric", "bounds": [0, 10_000]},
                    "sex": {"type": "categorical"},
                    "band": {"type": "categorical"},
                },
                "sensitive": {"illness": {"stability": "stable"}},
            },
        }
    )


def read(file: Path, **source: Any) -> pd.DataFrame:
    """Return all columns that are read, the identifier too, as lists of cells."""
    table = read_table(policy(**source), input_path=file, period="1", base=file.parent)
    assert table.identifiers is not None
    return pd.concat([table.frame, table.identifiers], axis=1)


def cells(frame: pd.DataFrame, name: str) -> list[Any]:
    return [None if pd.isna(cell) else cell for cell in frame[name].tolist()]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text(
        "id; weight ;sex;band;illness;seen\n"
        "p1;12,5;Male;0-10;flu;1.2.2020\n"
        "p2;1.234,5; male;20-Oct;flu;31.12.1999\n"
        "p3;9999;\u00a0MALE ;20-30;n/a ;43891\n"
        "p4; - ;FEMALE;0-10;flu;30.2.2020\n",
        encoding="utf-8",
    )
    return path


def test_the_steps_together_read_an_untidy_table_right(table: Path) -> None:
    frame = read(
        table,
        delimiter=";",
        missing=["", "n/a", "-"],
        **STEPS | {"values": {"band": {"10-20": ["20-Oct"]}, "weight": {"": ["9999"]}}},
    )
    assert cells(frame, "weight") == [12.5, 1234.5, None, None]
    assert cells(frame, "sex") == ["male", "male", "male", "female"]
    assert cells(frame, "band") == ["0-10", "10-20", "20-30", "0-10"]
    assert cells(frame, "illness") == ["flu", "flu", None, "flu"]
    # Neither a number of a day, as `serial` is not named, nor a day that does not exist is a date.
    assert cells(frame, "seen") == ["2020-02-01", "1999-12-31", "43891", "30.2.2020"]


def test_without_them_cells_are_as_they_are_written(table: Path) -> None:
    table.write_text(table.read_text(encoding="utf-8").replace(" weight ", "weight"), encoding="utf-8")
    frame = read(table, delimiter=";")
    assert cells(frame, "weight") == ["12,5", "1.234,5", "9999", " - "]
    assert cells(frame, "sex") == ["Male", " male", "\u00a0MALE ", "FEMALE"]
    assert cells(frame, "band")[1] == "20-Oct"
    assert cells(frame, "illness")[2] == "n/a "


def test_a_name_with_blanks_around_it_is_found_where_they_are_stripped(table: Path) -> None:
    with pytest.raises(InputError, match="the column 'weight' of the policy's roles is missing"):
        read(table, delimiter=";")
    assert "weight" in read(table, delimiter=";", strip=True)


def test_names_that_are_equal_without_their_blanks_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("id,weight,sex,sex ,band,illness,seen\np,1,m,m,b,flu,x\n")
    with pytest.raises(InputError, match="columns 3 and 4 have the same name, 'sex'"):
        read(file, strip=True)


def test_serial_numbers_of_days_are_read_where_they_are_declared(table: Path) -> None:
    frame = read(table, delimiter=";", strip=True, dates={"seen": ["%d.%m.%Y", "serial"]})
    assert cells(frame, "seen")[2] == "2020-03-01"


@pytest.mark.parametrize(
    ("formats", "written", "day"),
    [
        (["%d/%m/%Y"], "3/4/2020", "2020-04-03"),
        (["%m/%d/%Y"], "3/4/2020", "2020-03-04"),
        (["%m/%d/%Y", "%d/%m/%Y"], "13/4/2020", "2020-04-13"),
        (["%d-%b-%Y"], "1-Mar-2020", "2020-03-01"),
        (["%Y%m%d"], "20200301", "2020-03-01"),
        (["%d.%m.%Y"], "01.03.20", "01.03.20"),  # of which century is not known
        (["serial"], "1-Mar", "1-Mar"),
        (["serial"], "60", "60"),  # 1900-02-29, which some spreadsheets believe in
        (["serial"], "99999999999", "99999999999"),
    ],
)
def test_dates_are_read_by_the_first_format_that_fits(
    tmp_path: Path, formats: list[str], written: str, day: str
) -> None:
    file = tmp_path / "t.csv"
    file.write_text(f"id,weight,sex,band,illness,seen\np,1,m,b,flu,{written}\n")
    assert cells(read(file, dates={"seen": formats}), "seen") == [day]


@pytest.mark.parametrize(
    ("decimal", "thousands", "written", "number"),
    [
        (",", None, "12,5", 12.5),
        (",", None, "12", 12),
        (",", None, "-1,5e2", -150),
        (",", None, "12.5", None),
        (",", None, "1.234", None),
        (",", ".", "1.234", 1234),
        (",", ".", "1.234.567,25", 1_234_567.25),
        (",", ".", "12.5", None),
        (".", ",", "1,234.5", 1234.5),
        (".", ",", "1,23", None),
        (".", ",", "1234", 1234),
        (".", "'", "1'234", 1234),
        (".", " ", "1\u00a0234\u202f567.5", 1_234_567.5),
        (".", " ", "1 23", None),
        (".", None, "1,234", None),
    ],
)
@pytest.mark.by_day(5)
def test_numbers_are_those_of_the_declared_marks_alone(
    tmp_path: Path, decimal: str, thousands: str | None, written: str, number: float | None
) -> None:
    file = tmp_path / "t.csv"
    file.write_text(f'id,weight,sex,band,illness,seen\np,"{written}",m,b,flu,x\n', encoding="utf-8")
    frame = read(file, decimal=decimal, thousands=thousands)
    found = as_numbers(frame["weight"])[0]
    assert (None if pd.isna(found) else found) == number


def test_marks_of_numbers_change_no_category(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text('id,weight,sex,band,illness,seen\np,"1,5",m,"1.234,5","a,b",x\n')
    frame = read(file, decimal=",", thousands=".")
    assert (cells(frame, "band"), cells(frame, "illness")) == (["1.234,5"], ["a,b"])


def test_a_query_sees_stripped_cells_and_its_result_is_read_by_the_other_steps(table: Path) -> None:
    frame = read(
        table,
        delimiter=";",
        query="SELECT id, weight, sex || '' AS sex, band, illness, seen FROM input WHERE band = '20-Oct'",
        **STEPS,
    )
    assert cells(frame, "weight") == [1234.5]
    assert (cells(frame, "sex"), cells(frame, "band")) == (["male"], ["10-20"])


def test_parquet_is_read_by_the_same_steps(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    duckdb.sql(
        "SELECT ' p1' AS id, 9999.0 AS weight, ' MALE' AS \" sex\", '20-Oct' AS band, 'n/a ' AS illness, "
        "DATE '2020-01-02' AS seen UNION ALL SELECT 'p2', 12.5, 'male', '0-10', 'flu', DATE '2020-01-03'"
    ).write_parquet(str(file))
    frame = read(
        file,
        missing=["", "n/a"],
        **STEPS | {"values": {"band": {"10-20": ["20-Oct"]}, "weight": {"": ["9999"]}}},
    ).sort_values("id")
    assert cells(frame, "id") == ["p1", "p2"]
    assert cells(frame, "weight") == [None, 12.5]
    assert (cells(frame, "sex"), cells(frame, "band")) == (["male", "male"], ["10-20", "0-10"])
    assert cells(frame, "illness") == [None, "flu"]
    assert cells(frame, "seen") == ["2020-01-02", "2020-01-03"]


def test_a_step_that_is_not_used_is_not_in_the_document() -> None:
    document = policy_document(policy())["source"]
    assert not set(STEPS) & set(document)
    assert set(STEPS) <= set(policy_document(policy(**STEPS))["source"])


@pytest.mark.parametrize("step", STEPS)
def test_another_reading_counts_as_looser(step: str) -> None:
    with_step = policy(**{step: STEPS[step]} | ({"decimal": ","} if step == "thousands" else {}))
    without = policy(**({"decimal": ","} if step == "thousands" else {}))
    assert loosened(without, with_step) == [f"source.{step} changed"]
    assert loosened(with_step, without) == [f"source.{step} changed"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"case": {"sexx": "lower"}}, "source.case names 'sexx', which is not a column of roles"),
        ({"dates": {"weight": ["%d.%m.%Y"]}}, "source.dates names 'weight', whose cells are numbers"),
        ({"dates": {"seen": ["%d.%m.%y"]}}, "'%d.%m.%y' is no format of a date"),
        ({"dates": {"seen": ["%d.%m.%Y', 'x"]}}, "is no format of a date"),
        ({"dates": {"seen": []}}, "at least 1 item"),
        ({"decimal": ",", "thousands": ","}, "decimal and thousands are both ','"),
        ({"values": {"sex": {"m": ["x"], "f": ["x"]}}}, "sex: the spelling 'x' stands twice"),
        ({"values": {"sex": {"m": ["f"], "f": ["x"]}}}, "sex: the spelling 'f' stands twice"),
    ],
)
def test_a_step_that_cannot_be_taken_is_refused(source: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        policy(**source)


NUMBERS = st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=1, max_size=5)


def evaluated(sql: str, texts: list[str]) -> list[Any]:
    """Return the values of an SQL expression of the column `t`, a value for each of the texts."""
    query = f"SELECT {sql} FROM (SELECT unnest(?::VARCHAR[]) AS t)"
    return [row[0] for row in DATABASE.execute(query, [texts]).fetchall()]


@given(NUMBERS, st.sampled_from([".", ","]), st.sampled_from([None, ".", ",", " ", "'"]), st.booleans())
def test_every_number_that_is_written_with_the_marks_is_read_as_it_is(
    numbers: list[Any], decimal: str, thousands: str | None, grouped: bool
) -> None:
    if thousands == decimal:
        thousands = None
    swap = str.maketrans({",": thousands or "", ".": decimal})
    texts = [(f"{number:,}" if grouped else f"{number}").translate(swap) for number in numbers]
    read_again = as_numbers(pd.Series(evaluated(number_text("t", decimal, thousands), texts), dtype="str"))
    assert read_again.tolist() == [float(number) for number in numbers]


@given(st.lists(st.text(alphabet=" \tabAB'\u00a0\u00c4", max_size=6), min_size=1, max_size=9))
def test_strip_and_case_do_what_python_does(texts: list[str]) -> None:
    steps = Source(strip=True, case={"sex": "lower"})
    found = evaluated(text_cell("sex", "t", steps, [""]), texts)
    assert found == [text.strip(" \t\u00a0").lower() or None for text in texts]


@pytest.mark.parametrize("many", [1, 2, FEW_MARKS, FEW_MARKS + 1])
@pytest.mark.parametrize("stored", [True, False])
def test_a_cell_is_missing_where_it_is_a_whole_mark_however_many_there_are(many: int, stored: bool) -> None:
    marks = ["", "n/a", "it's", *(f"mark {n}" for n in range(many))][:many]
    texts = [*marks, "n", "/a", "it", "mark", f"{marks[-1]} ", "N/A", None]
    query = f"SELECT {known('cell', marks, stored=stored)} FROM (SELECT unnest(?::VARCHAR[]) AS cell)"
    found = [cell for (cell,) in DATABASE.execute(query, [texts]).fetchall()]
    assert found == [None if text in marks else text for text in texts]
