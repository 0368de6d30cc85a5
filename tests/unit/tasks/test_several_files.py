"""A table in several files: their rows follow one another, and their columns must agree."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from test_intake import CANARY, HEADER, ROW, parquet, policy, read, written

from policy.errors import InputError, PolicyError, ReleaseGateError, UsageError
from policy.load import parse_policy
from policy.trusted import Trusted
from tasks.intake.read import read_table
from tasks.intake.source import recorded_name_and_digest
from tasks.types import SourceTable

SECOND = "p2,Bob,40,York,cold,,Oak\n"


def both(folder: Path, *parts: str, **source: Any) -> SourceTable:
    return read_table(
        policy(path=parts, **source), input_path=None, period="2024Q1", base=folder, trusted=Trusted()
    )


def refused(folder: Path, *parts: str, **source: Any) -> ReleaseGateError:
    with pytest.raises(ReleaseGateError) as caught:
        both(folder, *parts, **source)
    error = caught.value
    assert CANARY not in str(error) + repr(error)
    assert error.__context__ is None
    return error


def test_rows_of_all_parts_follow_one_another_whatever_the_order_of_their_columns(tmp_path: Path) -> None:
    written(tmp_path, HEADER + ROW, "a_2024Q1.csv")
    moved = "street,note,disease,city,age,name,id\nOak,,cold,York,40,Bob,p2\n"
    written(tmp_path, moved, "b_2024Q1.csv")
    whole = read(written(tmp_path, HEADER + ROW + SECOND))
    found = both(tmp_path, "a_{period}.csv", "b_{period}.csv")
    pd.testing.assert_frame_equal(found.frame, whole.frame)
    assert found.origin == "a_2024Q1.csv and 1 more file"
    queried = both(tmp_path, "a_{period}.csv", "b_{period}.csv", query="SELECT * FROM input ORDER BY id DESC")
    assert queried.frame["id"].tolist() == ["p2", "p1"]
    assert queried.digest == found.digest


def test_one_part_is_the_file_itself(tmp_path: Path) -> None:
    file = written(tmp_path, HEADER + ROW)
    found = both(tmp_path, "t.csv")
    assert (found.digest, found.origin) == (read(file).digest, "t.csv")


def test_the_digest_is_of_the_digests_of_all_parts_in_their_order(tmp_path: Path) -> None:
    files = [written(tmp_path, HEADER + ROW, "a.csv"), written(tmp_path, HEADER + SECOND, "b.csv")]
    own = "\n".join(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)
    expected = hashlib.sha256(own.encode()).hexdigest()
    assert both(tmp_path, "a.csv", "b.csv").digest == expected
    assert both(tmp_path, "b.csv", "a.csv").digest != expected
    named = recorded_name_and_digest(
        policy(path=["a.csv", "b.csv"]), input_path=None, period="p", base=tmp_path
    )
    assert named == ("a.csv and 1 more file", expected)


def test_a_file_that_a_command_names_replaces_all_parts(tmp_path: Path) -> None:
    file = written(tmp_path, HEADER + ROW)
    parts = policy(path=["gone.csv", "gone too.csv"])
    assert len(read_table(parts, input_path=file, period="p", base=tmp_path).frame) == 1


def test_parts_of_parquet_need_the_same_types(tmp_path: Path) -> None:
    row = "'{}' AS id, 'Ann' AS name, {} AS age, 'Leeds' AS city, 'flu' AS disease, '' AS note, 1 AS street"
    parquet(tmp_path, "SELECT " + row.format("p1", 30), "a.parquet")
    parquet(tmp_path, "SELECT " + row.format("p2", 31), "b.parquet")
    parquet(tmp_path, "SELECT " + row.format("p3", "'thirty'"), "c.parquet")
    assert both(tmp_path, "a.parquet", "b.parquet").frame["age"].tolist() == [30, 31]
    for query in ({}, {"query": "SELECT * FROM input"}):
        error = refused(tmp_path, "a.parquet", "c.parquet", **query)
        assert error.where == str(tmp_path / "c.parquet")
        assert error.message == f"the column 'age' is VARCHAR, but INTEGER in {tmp_path / 'a.parquet'}"


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (HEADER.replace("city", "town") + SECOND, "the column 'city' of the policy's roles is missing"),
        ("phone," + HEADER + "1," + SECOND, "the column 'phone' has no role"),
        (HEADER + f"p2,{CANARY},40\n", "line 2 has 3 cells where line 1 has 7"),
        (HEADER + SECOND + f'p3,"{CANARY},1,a,b,c,d\n', "line 3 has a quote that is not closed"),
        (HEADER, "has column names but no rows"),
    ],
)
def test_what_is_wrong_with_a_part_names_it(tmp_path: Path, second: str, message: str) -> None:
    written(tmp_path, HEADER + ROW, "a.csv")
    file = written(tmp_path, second, "b.csv")
    error = refused(tmp_path, "a.csv", "b.csv")
    assert isinstance(error, InputError)
    assert error.where == str(file)
    assert error.message.startswith(message)


def test_a_query_over_parts_needs_the_same_columns_in_each(tmp_path: Path) -> None:
    written(tmp_path, HEADER + ROW, "a.csv")
    query = "SELECT * EXCLUDE (street), 1 AS street FROM input"
    for header, told in (
        ("id,name,age,city,disease,note\n", "lacks the column 'street'"),
        (f"x,{HEADER}", "has"),
    ):
        row = "p2,Bob,40,York,cold,\n" if told.startswith("lacks") else f"1,{SECOND}"
        file = written(tmp_path, header + row, "b.csv")
        error = refused(tmp_path, "a.csv", "b.csv", query=query)
        assert error.where == str(file)
        assert error.message.startswith(told)
        assert error.message.endswith(f"unlike {tmp_path / 'a.csv'}")


def test_a_part_that_is_not_there_leads_elsewhere_or_stands_twice_is_refused(tmp_path: Path) -> None:
    base = tmp_path / "policies"
    base.mkdir()
    written(base, HEADER + ROW, "a.csv")
    outside = written(tmp_path, HEADER + SECOND, "b.csv")
    assert refused(base, "a.csv", "gone.csv").message == "no such file"
    assert isinstance(refused(base, "a.csv", "../b.csv"), PolicyError)
    (base / "link.csv").symlink_to(outside)
    assert isinstance(refused(base, "a.csv", "link.csv"), PolicyError)
    twice = refused(base, "a.csv", "./a.csv")
    assert isinstance(twice, UsageError)
    assert twice.message == "'./a.csv' and 'a.csv' are one file"


@pytest.mark.parametrize("path", ["[]", "3", "[3]", "{a: b}", '[""]'])
def test_a_path_that_is_no_text_and_no_list_of_texts_is_refused(path: str, tmp_path: Path) -> None:
    text = (
        f"series: s\nsource: {{path: {path}}}\nroles:\n  quasi_identifiers: {{a: {{type: categorical}}}}\n"
        "  sensitive: {b: {stability: stable}}\n"
    )
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, Path("p.yaml"))
    assert str(caught.value).startswith("p.yaml: source.path: should be ")
    assert len(str(caught.value).splitlines()) == 2
