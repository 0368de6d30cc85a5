"""`releasegate assess`: what it tells of a table, what it never tells, and how it refuses."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import duckdb
import pytest

from cli.__main__ import main

Capture = pytest.CaptureFixture[str]

TABLE = """age_min,age_max,sex,region,diagnosis,cost,person,home,weight
20,29,f,north,flu,1,p1,h1,2
20,29,f,north,asthma,2,p2,h1,2
20,29,f,north,flu,3,p3,h2,2
30,39,m,,flu,1,p4,h3,2
30,39,m,NA,asthma,3,p5,h4,2
"""
CANARY = "canary7731"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


def _json(capsys: Capture, *words: str) -> dict[str, object]:
    assert main(["assess", *words, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_intervals_stand_in_two_columns_and_missing_cells_are_equal(table: Path, capsys: Capture) -> None:
    found = _json(capsys, str(table), "--qi", "age, sex,region", "--sensitive", "diagnosis,cost")
    assert found["quasi_identifiers"] == {"age": ["age_min", "age_max"], "sex": ["sex"], "region": ["region"]}
    assert found["identity"]["k"] == 2  # type: ignore[index]
    sensitive = found["sensitive"]
    assert isinstance(sensitive, dict)
    assert [(name, one["numeric"], one["distinct_l"]) for name, one in sensitive.items()] == [
        ("diagnosis", False, 2),
        ("cost", True, 2),
    ]
    assert sensitive["diagnosis"]["p_max"] == pytest.approx(2 / 3)
    assert found["population"] is None
    assert found["page"] is None


def test_a_name_with_a_comma_stands_in_quotes(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TABLE.replace("region", '"region, ""north"""'), encoding="utf-8")
    assert main(["assess", str(path), "--qi", 'sex,region, "north"']) == 2
    assert "put a name with a comma in double quotes, and double" in capsys.readouterr().err
    found = _json(capsys, str(path), "--qi", 'sex,"region, ""north"""')
    assert found["quasi_identifiers"] == {"sex": ["sex"], 'region, "north"': ['region, "north"']}


def test_a_parquet_and_a_packed_file_give_the_same(table: Path, capsys: Capture) -> None:
    packed, parquet = table.with_name("t.csv.gz"), table.with_name("t.parquet")
    packed.write_bytes(gzip.compress(table.read_bytes()))
    duckdb.sql(f"COPY (FROM read_csv('{table}', nullstr = ['', 'NA'])) TO '{parquet}'")
    options = ["--qi", "age,sex,region", "--sensitive", "diagnosis,cost"]
    wanted = _json(capsys, str(table), *options)
    for other in (packed, parquet):
        assert _json(capsys, str(other), *options) | {"table": "table.csv"} == wanted


def test_households_people_and_weights_are_read(table: Path, capsys: Capture) -> None:
    options = ["--household", "home", "--person", "person", "--weight", "weight"]
    found = _json(capsys, str(table), "--qi", "sex", "--sensitive", "cost", *options)
    identity, population = found["identity"], found["population"]
    assert (identity["households"], identity["people"], identity["k"]) == (4, 5, 2)  # type: ignore[index]
    assert (population["population"], population["k_map"]) == (10, 4)  # type: ignore[index]


def test_without_a_sensitive_attribute_identity_alone_is_told(table: Path, capsys: Capture) -> None:
    assert main(["assess", str(table), "--qi", "age"]) == 0
    told = capsys.readouterr().out
    assert "k-anonymity" in told
    assert "l-diversity" not in told


def test_a_page_is_written_once_and_over_no_other_file(table: Path, capsys: Capture) -> None:
    page = table.with_name("page.html")
    words = ["assess", str(table), "--qi", "age,sex", "--sensitive", "diagnosis", "--output", str(page)]
    assert main(words) == 0
    first = page.read_bytes()
    assert main(words) == 0
    assert page.read_bytes() == first
    text = first.decode()
    assert "Sensitive attribute" in text
    markup = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"(?:src|href)=\"(?!#|data:)", markup)
    assert "default-src &#39;none&#39;" in markup
    capsys.readouterr()
    assert main([*words[:-1], str(table)]) == 2
    assert "exists already, and is no report" in capsys.readouterr().err
    assert table.read_text(encoding="utf-8") == TABLE


def test_no_cell_is_told_anywhere(tmp_path: Path, capsys: Capture) -> None:
    head = "age,city,diagnosis,cost,person,home,weight,note\n"
    common = [f"40,Leedsville77,measles77,{100 + i % 2},p{i},h{i},2,x\n" for i in range(30)]
    number = "773193177"
    rare = f"{number}1,{CANARY}c,{CANARY}d,{number}3,{CANARY}p,{CANARY}h,{number}5,{CANARY}n\n"
    path, page = tmp_path / "t.csv", tmp_path / "p.html"
    path.write_text(head + "".join(common) + rare, encoding="utf-8")
    words = ["assess", str(path), "--qi", "age,city", "--sensitive", "diagnosis,cost"]
    words += ["--person", "person", "--household", "home"]
    assert main([*words, "--output", str(page)]) == 0
    told = capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    told += capsys.readouterr().out + page.read_text(encoding="utf-8")
    assert "alone in the class" in told
    for cell in (CANARY, number, "Leedsville77", "measles77"):
        assert cell not in told


@pytest.mark.parametrize(
    ("words", "code", "finding"),
    [
        (["--qi", "sexx,age"], 2, "there is no column 'sexx' (did you mean 'sex'?)"),
        (["--qi", "sex", "--sensitive", "diagnose"], 2, "(did you mean 'diagnosis'?)"),
        (["--qi", "colour"], 2, "none of its 9 columns is one that the options name"),
        (["--qi", "sex,sex"], 2, "the column 'sex' is twice in --qi"),
        (["--qi", "sex", "--sensitive", "sex"], 2, "the column 'sex' is in --qi and in --sensitive"),
        (["--qi", "age,age_min"], 2, "the column 'age_min' is twice in --qi"),
        (["--qi", "age", "--sensitive", "cost", "--weight", "cost"], 2, "in --sensitive and in --weight"),
        (["--qi", "sex,,age"], 2, "--qi: has an empty entry"),
        (["--qi", ""], 2, "--qi: has an empty entry"),
        ([], 2, "Missing option '--qi'"),
        (["--qi", "sex", "--weight", "region"], 3, "the weight 'region' is missing or no finite number"),
        (["--qi", "sex", "--output", "no/such/folder.html"], 2, "cannot be written"),
    ],
)
def test_what_cannot_be_assessed_is_one_line_and_a_hint(
    words: list[str], code: int, finding: str, table: Path, capsys: Capture
) -> None:
    assert main(["assess", str(table), *words]) == code
    told = capsys.readouterr().err.splitlines()
    assert finding in told[0]
    assert len(told) == 2


@pytest.mark.parametrize(
    ("name", "content", "code", "finding"),
    [
        ("none.csv", None, 2, "no such file"),
        ("t.docx", "a,b\n1,2\n", 2, "the file type '.docx' is not supported"),
        ("t.parquet", "a,b\n1,2\n", 3, "is not a Parquet file"),
        ("t.csv", "", 3, "the file is empty"),
        ("t.csv", "sex\n", 3, "has column names but no rows"),
        ("t.csv", f"sex,b\nf,{CANARY}\nm\n", 3, "line 3 has 1 cell where line 1 has 2"),
    ],
)
def test_a_file_that_is_no_table_is_told_without_a_cell(
    name: str, content: str | None, code: int, finding: str, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content, encoding="utf-8")
    assert main(["assess", str(path), "--qi", "sex"]) == code
    told = capsys.readouterr().err
    assert finding in told.splitlines()[0]
    assert CANARY not in told


def test_names_of_a_file_without_a_head_are_not_told(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{CANARY},f,flu\nAnn,f,flu\n", encoding="utf-8")
    assert main(["assess", str(path), "--qi", "canary773"]) == 2
    assert CANARY not in capsys.readouterr().err


def test_a_text_that_looks_like_a_number_and_begins_with_0_is_a_category(
    tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("sex,code,sum,same\nf,01,1,1\nf,02,2.5,1.0\n", encoding="utf-8")
    found = _json(capsys, str(path), "--qi", "sex", "--sensitive", "code,sum,same")
    sensitive = found["sensitive"]
    assert isinstance(sensitive, dict)
    assert {name: (one["numeric"], one["values"]) for name, one in sensitive.items()} == {
        "code": (False, 2),
        "sum": (True, 2),
        "same": (True, 1),
    }
