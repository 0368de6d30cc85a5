"""Staged files, and the classes read back from their rows."""

from __future__ import annotations

import csv
import json
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from policy.errors import VerificationFailed
from release_store.canonical import file_digest, tree_digest
from tasks.recoding.cells import read_set
from tasks.recoding.generalize import generalized, generalized_rows
from tasks.risk.published import read_classes
from tasks.staging.stage import stage
from tests.support.small import (
    MIXED,
    TWO_SENSITIVE,
    anonymized,
    mixed_rows,
    prepared,
    published,
    small_policy,
)

POLICY = small_policy()
ROWS = [
    (20, "Hull", "flu"),
    (40, "York", "hiv"),
    (30, "Hull", None),
    (60, "Bath", "flu"),
    (50, "Bath", "flu"),
]


def test_the_folder_holds_both_formats_and_their_description(tmp_path: Path) -> None:
    made = published(POLICY, prepared(POLICY, ROWS), [0, 0, 0, 1, -1], tmp_path / "it's here")
    folder = made.candidate.folder
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "data.parquet", "datapackage.json"]
    assert made.candidate.files == {path.name: file_digest(path) for path in folder.iterdir()}
    assert made.candidate.digest == tree_digest(made.candidate.files)
    assert (made.candidate.n_source, made.candidate.n_published) == (5, 4)
    assert folder.stat().st_mode & 0o777 == 0o700
    with made.csv.open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [
            ["age_min", "age_max", "city", "illness"],
            ["20", "40", "Hull|York", "flu"],
            ["20", "40", "Hull|York", "hiv"],
            ["20", "40", "Hull|York", "missing"],
            ["60", "60", "Bath", "flu"],
        ]
    package = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
    assert package["name"] == "small"
    assert package["version"] == "2026"
    fields = package["resources"][0]["schema"]["fields"]
    assert [(field["name"], field["type"]) for field in fields] == [
        ("age_min", "integer"),
        ("age_max", "integer"),
        ("city", "string"),
        ("illness", "string"),
    ]
    assert [resource["hash"] for resource in package["resources"]] == [
        f"sha256:{made.candidate.files[resource['path']]}" for resource in package["resources"]
    ]


def test_a_folder_is_written_once(tmp_path: Path) -> None:
    published(POLICY, prepared(POLICY, ROWS), [0] * 5, tmp_path / "c")
    with pytest.raises(FileExistsError):
        published(POLICY, prepared(POLICY, ROWS), [0] * 5, tmp_path / "c")


def test_parquet_alone_is_enough(tmp_path: Path) -> None:
    policy = small_policy(publication={"formats": ["parquet"]})
    made = published(policy, prepared(policy, ROWS), [0] * 5, tmp_path / "c")
    assert set(made.candidate.files) == {"data.parquet", "datapackage.json"}


def test_equal_frames_give_equal_bytes(tmp_path: Path) -> None:
    table = prepared(POLICY, ROWS)
    digests = [published(POLICY, table, [0, 0, 0, 1, 1], tmp_path / n).candidate.digest for n in "ab"]
    assert digests[0] == digests[1]
    assert published(POLICY, table, [0, 0, 1, 1, 1], tmp_path / "c").candidate.digest != digests[0]


def test_classes_are_read_in_the_order_of_their_cells(tmp_path: Path) -> None:
    classes = published(POLICY, prepared(POLICY, ROWS), [1, 1, 1, 0, 0], tmp_path / "c").classes
    assert classes.size.tolist() == [3, 2]
    assert classes.intervals["age"].tolist() == [[20, 40], [50, 60]]
    assert classes.sets["city"].values == ("Bath", "Hull", "York")
    assert classes.sensitive_values["illness"] == ("flu", "hiv", "missing")
    assert classes.counts["illness"].tolist() == [[1, 1, 1], [2, 0, 0]]


def test_groups_with_equal_cells_are_one_class(tmp_path: Path) -> None:
    rows = [
        (20, "Hull", "flu"),
        (40, "York", "hiv"),
        (20, "York", "flu"),
        (40, "Hull", "cough"),
        (90, "Bath", "flu"),
    ]
    classes = published(POLICY, prepared(POLICY, rows), [0, 0, 1, 1, 2], tmp_path / "c").classes
    assert classes.size.tolist() == [4, 1]


def test_missing_sensitive_values_are_one_value(tmp_path: Path) -> None:
    policy = small_policy(sensitive=TWO_SENSITIVE)
    rows = [(1, "a", None, None), (2, "a", None, None), (3, "a", "flu", 2.0)]
    classes = published(policy, prepared(policy, rows), [0, 0, 0], tmp_path / "c").classes
    assert classes.sensitive_values == {"illness": ("flu", "missing"), "wage": ("2", "missing")}
    assert {name: counts.tolist() for name, counts in classes.counts.items()} == {
        "illness": [[1, 2]],
        "wage": [[1, 2]],
    }


@given(mixed_rows())
def test_what_is_read_back_is_what_was_meant(rows: list[Any]) -> None:
    policy = small_policy(MIXED, TWO_SENSITIVE)
    table = prepared(policy, rows)
    labels = anonymized(table, policy).labels
    meant = generalized(table, labels, policy)
    with tempfile.TemporaryDirectory() as folder:
        made = published(policy, table, labels.tolist(), Path(folder) / "c")
        with made.csv.open(encoding="utf-8", newline="") as file:
            assert len(list(csv.reader(file))) == len(rows) + 1
    # Mondrian's classes are disjoint where numbers are known; equal cells make one class of several groups.
    assert made.classes.size.sum() == len(rows)
    assert made.classes.n_classes <= meant.n_classes
    for name, counts in made.classes.counts.items():
        total = dict(zip(made.classes.sensitive_values[name], counts.sum(axis=0).tolist(), strict=True))
        wanted = dict(zip(meant.sensitive_values[name], meant.counts[name].sum(axis=0).tolist(), strict=True))
        assert total == wanted
    for name, cells in made.classes.sets.items():
        assert cells.whole.any() == meant.sets[name].whole.any()
        assert set(cells.values) <= set(table.domains[name])


def altered(tmp_path: Path, sql: str) -> Path:
    published(POLICY, prepared(POLICY, ROWS), [0, 0, 0, 1, 1], tmp_path / "c")
    target = tmp_path / "altered.parquet"
    with duckdb.connect() as con:
        con.execute(f"COPY (SELECT {sql} FROM read_parquet('{tmp_path}/c/data.parquet')) TO '{target}'")
    return target


@pytest.mark.parametrize(
    ("sql", "finding"),
    [
        ("age_min, age_max, city", "columns"),
        ("*, 'secret' AS name", "columns"),
        ("age_max, age_min, city, illness", "columns"),
        ("age_max AS age_min, age_min AS age_max, city, illness", "not an interval"),
        ("CAST(NULL AS BIGINT) AS age_min, age_max, city, illness", "not an interval"),
        ("age_min, age_max, CAST(NULL AS VARCHAR) AS city, illness", "not a set"),
        ("age_min, age_max, 'secret|a' AS city, illness", "not a set"),
    ],
)
def test_a_file_that_no_release_can_be_is_refused_without_its_cells(
    sql: str, finding: str, tmp_path: Path
) -> None:
    with pytest.raises(VerificationFailed, match=finding) as caught:
        read_classes(altered(tmp_path, sql), POLICY)
    assert "secret" not in str(caught.value)


def test_an_empty_release_has_no_class(tmp_path: Path) -> None:
    policy = small_policy(MIXED, TWO_SENSITIVE)
    rows = [(1, 1.0, "a", "b", "flu", 2.0)] * 2
    classes = published(policy, prepared(policy, rows), [-1, -1], tmp_path / "c").classes
    assert classes.n_classes == 0
    assert classes.intervals["age"].shape == (0, 2)
    assert classes.counts["illness"].shape == (0, 0)


def test_an_empty_text_is_a_value_where_the_policy_says_so(tmp_path: Path) -> None:
    policy = small_policy(source={"missing": ["NA"]})
    made = published(policy, prepared(policy, [(1, "", ""), (2, "", "a")]), [0, 0], tmp_path / "c")
    assert made.classes.sets["city"].values == ("",)
    assert made.classes.sensitive_values["illness"] == ("", "a")


def test_kept_columns_of_any_kind_are_staged(tmp_path: Path) -> None:
    policy = small_policy(roles={"kept": ["day", "note"]})
    table = prepared(policy, [(*row, pd.Timestamp("2026-01-02"), None) for row in ROWS])
    rows = generalized_rows(table, np.zeros(5, dtype=np.int64), policy)
    made = stage(rows, policy, candidate_id="c", period="1", folder=tmp_path / "c", n_source=5)
    assert read_set(rows.frame["city"].iloc[0]) is None
    assert read_classes(made.folder / "data.parquet", policy).size.tolist() == [5]


def test_many_classes_are_numbered_in_the_order_of_their_cells(tmp_path: Path) -> None:
    ages = np.random.default_rng(2).permutation(60)
    table = prepared(POLICY, [(int(age), "x", "flu") for age in ages])
    made = published(POLICY, table, range(60), tmp_path / "c")
    assert made.classes.intervals["age"][:, 0].tolist() == list(range(60))


@pytest.mark.parametrize(
    "content", [b"no table", b"", b"PAR1", b"PAR1 nothing PAR1", b"PAR1\xff\xff\xff\x7fPAR1"]
)
def test_a_file_that_is_no_parquet_is_told(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "data.parquet"
    file.write_bytes(content)
    with pytest.raises(VerificationFailed, match="cannot be read as Parquet"):
        read_classes(file, POLICY)


@pytest.mark.parametrize(
    "name",
    ["size", "class_number", "cell_0", "value", "n", "times", "releasegate_repeated", "repeated", "rows"],
)
def test_a_column_may_be_called_as_one_of_ours(name: str, tmp_path: Path) -> None:
    ages = {"age": {"type": "integer", "bounds": [0, 120]}}
    rows = [(20 + i % 4 * 10, "ab"[i % 2], "xy"[i // 2 % 2]) for i in range(40)]
    found = []
    for called in (name, "city"):
        policy = small_policy({**ages, called: {"type": "categorical"}})
        table = prepared(policy, rows)
        made = published(policy, table, anonymized(table, policy), tmp_path / called)
        sets = made.classes.sets[called]
        found.append((made.classes.size.tolist(), sets.values, sets.member.tolist()))
    assert found[0] == found[1]
