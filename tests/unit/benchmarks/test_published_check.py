"""The check of published tables beside the gates: it finds each thing that can be wrong, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.published_check import Published, check_release, pinned_by_subtraction

POLICY: dict[str, Any] = {
    "source": {},
    "roles": {
        "quasi_identifiers": {
            "age": {"type": "integer", "bounds": [0, 99]},
            "town": {"type": "categorical", "hierarchy": {"North": ["Oslo", "Umea"]}, "others": "other"},
            "code": {"type": "code", "length": 2},
        },
        "sensitive": {"disease": {"stability": "stable"}},
    },
    "privacy": {"k": 4, "e": 2, "p_max": 0.75, "l": 2},
    "gates": {"suppression": {"max": 0.1}},
}
PACKAGE = {
    "resources": [
        {
            "schema": {
                "fields": [
                    {"name": "town", "nodes": {"North": ["Oslo", "Umea"]}},
                    {"name": "code", "recoding": "a prefix"},
                ]
            }
        }
    ]
}
N = 16


def source() -> pd.DataFrame:
    """Two groups of eight: the young in the north, the old elsewhere or nobody knows where."""
    columns = {
        "age": [str(20 + i) if i < 8 else str(60 + i) for i in range(N)],
        "town": ["Oslo" if i % 2 else "Umea" for i in range(8)] + ["Rome"] * 7 + [None],
        "code": [f"1{i % 3}9" for i in range(8)] + ["207"] * 8,
        "disease": ["flu", "gout"] * 8,
    }
    return pd.DataFrame(columns, dtype=object)


def published() -> pd.DataFrame:
    cells = {
        "age_min": ["20"] * 8 + ["68"] * 8,
        "age_max": ["27"] * 8 + ["75"] * 8,
        "town": ["North"] * 8 + ["missing|other"] * 8,
        "code": ["1*"] * 8 + ["20"] * 8,
        "disease": ["flu", "gout"] * 8,
    }
    return pd.DataFrame(cells, dtype=object)


def checked(folder: Path, data: pd.DataFrame, rows: pd.DataFrame, period: str = "1") -> Published:
    folder.mkdir(exist_ok=True)
    data.to_csv(folder / "data.csv", index=False)
    (folder / "datapackage.json").write_text(json.dumps(PACKAGE), encoding="utf-8")
    return check_release(folder, POLICY, rows, np.array(rows.index, dtype=np.int64), period)


def test_a_right_release_has_no_problem(tmp_path: Path) -> None:
    found = checked(tmp_path, published(), source())
    assert (found.problems, found.rows, found.left_out, found.k, found.ambiguous) == ((), N, 0, 8, 0)
    assert found.people == [frozenset(range(8)), frozenset(range(8, N))]


def lost_rows(data: pd.DataFrame) -> pd.DataFrame:
    return data.drop(index=[0, 1])


def cells(column: str, rows: slice, *values: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return what writes other values into some rows of a column."""

    def spoil(data: pd.DataFrame) -> pd.DataFrame:
        data.loc[rows, column] = list(values) * (len(data.loc[rows]) // len(values))
        return data

    return spoil


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (cells("age_max", slice(0, 2), "26"), "k is 3"),
        (lost_rows, "2 rows are left out, more than the policy allows"),
        (cells("age_min", slice(8, N), "69"), "1 rows that no row of the source can be"),
        (cells("town", slice(8, N), "North"), "8 rows that no row of the source can be"),
        (cells("code", slice(8, N), "1*"), "8 rows that no row of the source can be"),
        (cells("disease", slice(0, 0), "none"), "1 sensitive values that the source has not"),
        (
            cells("disease", slice(0, N), *["flu"] * 8, *["gout"] * 8),
            "disease: 2 classes with too few values, 2 with one too often",
        ),
    ],
)
def test_each_wrong_thing_is_found(
    tmp_path: Path, spoil: Callable[[pd.DataFrame], pd.DataFrame], told: str
) -> None:
    assert told in checked(tmp_path, spoil(published()), source()).problems


def test_a_newcomer_who_is_told_by_subtraction_is_found(tmp_path: Path) -> None:
    first = checked(tmp_path / "1", published(), source())
    newcomer = pd.DataFrame([["21", "Oslo", "11", "none"]], columns=source().columns, index=[N])
    row = ["20", "27", "North", "1*", "none"]
    later = pd.concat([published(), pd.DataFrame([row], columns=published().columns)])
    second = checked(tmp_path / "2", later, pd.concat([source(), newcomer]), "2")
    assert (first.problems, second.problems) == ((), ())
    assert pinned_by_subtraction(POLICY, [first, second]) == 1
    assert pinned_by_subtraction(POLICY, [first, first]) == 0


def test_newcomers_of_two_values_are_not_told(tmp_path: Path) -> None:
    first = checked(tmp_path / "1", published(), source())
    two = [["21", "Oslo", "11", "flu"], ["22", "Oslo", "11", "gout"]]
    newcomers = pd.DataFrame(two, columns=source().columns, index=[N, N + 1])
    rows = [["20", "27", "North", "1*", disease] for disease in ("flu", "gout")]
    later = pd.concat([published(), pd.DataFrame(rows, columns=published().columns)])
    second = checked(tmp_path / "2", later, pd.concat([source(), newcomers]), "2")
    assert pinned_by_subtraction(POLICY, [first, second]) == 0
