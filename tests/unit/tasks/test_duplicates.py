"""Rows that repeat the row before them: left out where the policy says so, counted, and kept by default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.load import policy_document
from policy.model import ReleasePolicy
from services.pipeline import make_rows
from tasks.intake.duplicates import without_duplicates
from tasks.intake.read import read_table
from tasks.methods.registry import bound_method
from tasks.types import SourceTable

HEADER = "id,name,age,illness,street"
ROWS = [
    "p1,Ann,30,flu,Elm",
    "p1,Ann,30,flu,Oak",  # another street, which is not read
    "p1,Ann,30,flu,Elm",
    "p2,Ann,30,flu,Elm",  # another key
    "p2,Bea,30,flu,Elm",  # another name
    "p3,Bea,,flu,Elm",
    "p3,Bea,,flu,Elm",  # missing cells are equal
    "p3,Bea,31,flu,Elm",
    "p1,Ann,30,flu,Elm",  # equal to the first, and not beside it
]


def policy(key: bool = True, **source: Any) -> ReleasePolicy:
    roles = {
        "identifiers": ["name"],
        "quasi_identifiers": {"age": {"type": "integer", "bounds": [0, 120]}},
        "sensitive": {"illness": {"stability": "stable"}},
        "dropped": ["street"] if key else ["street", "id"],
    }
    document = {
        "series": "s",
        "source": source,
        "roles": {**roles, "key": "id"} if key else roles,
        "privacy": {"k": 2, "e": 1, "p_max": 1, "l": 2},
        "method": {"name": "mondrian"},
    }
    return ReleasePolicy.model_validate(document)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text("\n".join([HEADER, *ROWS]) + "\n")
    return path


def read(file: Path, chosen: ReleasePolicy) -> SourceTable:
    return read_table(chosen, input_path=file, period="", base=file.parent)


def test_rows_that_repeat_the_row_before_them_are_left_out_and_counted(file: Path) -> None:
    table = read(file, policy(duplicates="removed"))
    assert table.removed_duplicates == 3
    assert table.frame["id"].tolist() == ["p1", "p2", "p2", "p3", "p3", "p1"]
    assert table.identifiers is not None
    assert table.identifiers["name"].tolist() == ["Ann", "Ann", "Bea", "Bea", "Bea", "Ann"]
    assert table.digest == read(file, policy()).digest
    # Without the key, p1 and p2 of the name Ann are one.
    without_key = read(file, policy(key=False, duplicates="removed"))
    assert without_key.removed_duplicates == 4


def test_by_default_every_row_stays_and_the_policys_document_is_what_it_was(file: Path) -> None:
    table = read(file, policy())
    assert (len(table.frame), table.removed_duplicates) == (len(ROWS), None)
    assert "duplicates" not in policy_document(policy())["source"]
    assert policy_document(policy(duplicates="removed"))["source"]["duplicates"] == "removed"


@pytest.mark.parametrize("chosen", ["removed", "kept"])
def test_the_notes_of_a_run_say_how_many_were_removed(file: Path, chosen: str) -> None:
    asked = policy(key=False, duplicates=chosen)
    made = make_rows(read(file, asked), asked, bound_method(asked), [], "2026Q1")
    if chosen == "removed":
        assert made.notes["removed_duplicates"] == 4
        assert len(made.rows.frame) == 5
    else:
        assert "removed_duplicates" not in made.notes
        assert len(made.rows.frame) == 9


CELLS = st.tuples(
    st.sampled_from(["a", "b", None]), st.sampled_from([1.0, 2.0, np.nan]), st.sampled_from(["x", None])
)


@given(st.lists(CELLS, min_size=0, max_size=12), st.booleans())
def test_removal_is_that_of_a_loop_and_a_second_one_finds_nothing(rows: list[Any], beside: bool) -> None:
    columns = pd.DataFrame(rows, columns=["text", "number", "name"])
    frame = columns.drop(columns="name") if beside else columns
    table = SourceTable(
        frame.assign(text=frame["text"].astype("category")), "", "", columns[["name"]] if beside else None
    )
    plain = [tuple(None if pd.isna(cell) else cell for cell in row) for row in rows]
    kept = [row for i, row in enumerate(plain) if i == 0 or row != plain[i - 1]]
    found = without_duplicates(table)
    assert len(found.frame) == len(kept)
    assert found.removed_duplicates == len(rows) - len(kept)
    texts = [None if pd.isna(text) else text for text in found.frame["text"]]
    assert texts == [row[0] for row in kept]
    assert without_duplicates(found).removed_duplicates == 0
