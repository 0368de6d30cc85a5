"""docs/validation.md says what a bad input says."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pytest

from expectations.suite import LastRelease
from policy.errors import InputError, ValidationFailed
from policy.load import parse_policy
from policy.model import ReleasePolicy
from tasks.intake.read import read_table
from tasks.types import SourceTable
from tasks.validation.check import raise_if_failed, validate
from tests.spec import docs_pages

PAGE = docs_pages.ROOT / "docs" / "validation.md"
HEAD = "id,name,age,city,disease\n"
ROW = "p1,Ann,30,Leeds,flu\n"
NEXT = "p2,Bob,40,York,cold\n"

FILES: dict[str, tuple[str, bytes | str | None]] = {
    "no such file": ("gone.csv", None),
    "the path of a folder": ("", None),
    "a name that tells no format": ("t.ods", HEAD + ROW),
    "an empty file": ("t.csv", ""),
    "a head and no rows": ("t.csv", HEAD),
    "no head line": ("t.csv", ROW + NEXT),
    "another delimiter": ("t.csv", (HEAD + ROW).replace(",", ";")),
    "a misspelt column": ("t.csv", HEAD.replace("disease", "diseases") + ROW),
    "a column too many": ("t.csv", "phone," + HEAD + "1," + ROW),
    "two columns of one name": ("t.csv", HEAD.replace("city", "age") + ROW),
    "a short row": ("t.csv", HEAD + ROW + "p2,Bob,40,York\n"),
    "a quote that does not close": ("t.csv", HEAD + ROW + 'p2,Bob,40,"York,cold\n'),
    "Latin-1 where UTF-8 was promised": (
        "t.csv",
        (HEAD + ROW).encode() + "p2,Zoë,40,York,cold\n".encode("latin-1"),
    ),
    "a NUL byte": ("t.csv", HEAD + ROW + "p2,Bob,40,York,co\0ld\n"),
    "mixed line ends": ("t.csv", HEAD + ROW.replace("\n", "\r\n") + NEXT),
    "a line for a spreadsheet program": ("t.csv", "sep=,\n" + HEAD + ROW),
    "UTF-16 where UTF-8 was promised": ("t.csv", (HEAD + ROW).encode("utf-16")),
    "UTF-8 with a damaged line": (
        "t.csv",
        (HEAD + ROW.replace("Ann", "Zoë") * 3).encode() + NEXT.replace("Bob", "Zoë").encode("latin-1"),
    ),
    "a gzip file called .csv": ("t.csv", gzip.compress((HEAD + ROW).encode())),
    "a total in the last row": ("t.csv", HEAD + ROW + NEXT + "Total,,70,,\n"),
    "a text file called .parquet": ("t.parquet", HEAD + ROW),
    "a text file called .gz": ("t.csv.gz", HEAD + ROW),
}
TABLES: dict[str, dict[str, object]] = {
    "an age of 200": {"age": 200.0},
    "an age of 1.5": {"age": 1.5},
    "an age that is a word": {"age": "forty"},
    "a city that is not allowed": {"city": "Hull"},
    "one key twice": {"id": "p1"},
    "two missing diseases": {"disease": None},
}


def _policy() -> ReleasePolicy:
    (block,) = (block for block in docs_pages.blocks(PAGE) if block.language == "yaml")
    return parse_policy(block.text, Path("policy.yaml"))


def _rows(heading: str) -> dict[str, str]:
    return {row[0]: row[1] for row in docs_pages.table(docs_pages.section(PAGE, heading))}


def _later_rows() -> dict[str, str]:
    """Return the second table under Expectations."""
    _, later = docs_pages.section(PAGE, "Expectations").split("| what is wrong |")
    return {row[0]: row[1] for row in docs_pages.table("| what is wrong |" + later)}


def test_every_case_of_the_page_is_made() -> None:
    assert set(_rows("What a bad file says")) == set(FILES)
    assert set(_later_rows()) == set(TABLES)


@pytest.mark.parametrize("case", FILES)
def test_a_bad_file_says_what_the_page_says(tmp_path: Path, case: str) -> None:
    name, content = FILES[case]
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read_table(_policy(), input_path=path, period="2026Q1", base=tmp_path)
    assert caught.value.message == _rows("What a bad file says")[case]
    assert caught.value.where == str(path)
    assert caught.value.exit_code == 3


def test_a_good_file_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(HEAD + ROW + NEXT)
    assert len(read_table(_policy(), input_path=path, period="2026Q1", base=tmp_path).frame) == 2


@pytest.mark.parametrize("case", TABLES)
def test_a_bad_table_says_what_the_page_says(case: str) -> None:
    rows: dict[str, list[object]] = {
        "id": [f"p{i}" for i in range(20)],
        "age": [30.0] * 20,
        "city": ["Leeds", "York"] * 10,
        "disease": ["flu", "cold"] * 10,
    }
    for column, cell in TABLES[case].items():
        rows[column][0] = cell
        if case.startswith("two"):
            rows[column][1] = cell
    text = {"id", "city", "disease"} | ({"age"} if case.endswith("word") else set())
    frame = pd.DataFrame(
        {
            name: pd.Series(
                [None if cell is None else str(cell) for cell in cells] if name in text else cells,
                dtype="str" if name in text else "float64",
            )
            for name, cells in rows.items()
        }
    )
    last: LastRelease | None = None
    with pytest.raises(ValidationFailed) as caught:
        raise_if_failed(validate(SourceTable(frame, "0" * 64, "t.csv"), _policy(), last), "t.csv")
    assert f"; {_later_rows()[case]}; " in f"; {caught.value.message}; "  # a finding, whole
