"""How many classes of two releases have the same cells: by hand, and beside a slow and plain reference."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import given

from release_store.records import EquivalenceClasses, SetCells
from tasks.geometry.space import equal_cells
from tests.support.small import (
    MIXED,
    TWO_SENSITIVE,
    anonymized,
    mixed_rows,
    prepared,
    published,
    small_policy,
)


def classes(*cells: tuple[int, int, str]) -> EquivalenceClasses:
    """Classes of an interval and a set each, written as `a|b` or `*`."""
    values = tuple(sorted({value for _, _, text in cells for value in text.split("|") if value != "*"}))
    whole = np.array([text == "*" for _, _, text in cells])
    member = np.array([[v in text.split("|") or text == "*" for v in values] for _, _, text in cells])
    bounds = np.array([[low, high] for low, high, _ in cells], dtype=float)
    size = np.full(len(cells), 2)
    return EquivalenceClasses(size, {"age": bounds}, {"city": SetCells(values, member, whole)}, {}, {})


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ([(1, 2, "x"), (3, 4, "x|y")], [(3, 4, "x|y"), (1, 2, "x"), (5, 6, "z")], 2),
        ([(1, 2, "x")], [(1, 3, "x")], 0),
        ([(1, 2, "x")], [(1, 2, "x|y")], 0),
        # `*` is every value, also those that neither release names.
        ([(1, 2, "x|y")], [(1, 2, "*"), (3, 4, "x|y")], 0),
        ([(1, 2, "*"), (3, 4, "a")], [(1, 2, "*"), (3, 4, "b")], 1),
    ],
)
def test_equal_cells_are_counted(one: list, other: list, equal: int) -> None:
    assert equal_cells(classes(*one), classes(*other)) == equal
    assert equal_cells(classes(*other), classes(*one)) == equal


def test_other_quasi_identifiers_cannot_be_equal() -> None:
    one = classes((1, 2, "x"))
    assert equal_cells(one, replace(one, sets={})) is None
    assert equal_cells(one, replace(one, intervals={"wage": one.intervals["age"]})) is None


@pytest.mark.integration
@given(mixed_rows(n_min=4), mixed_rows(n_min=4))
def test_equal_cells_are_those_of_the_published_texts(one: list, other: list) -> None:
    policy = small_policy(MIXED, TWO_SENSITIVE)
    texts, found = [], []
    keys = "age_min, age_max, income_min, income_max, city, job"
    with tempfile.TemporaryDirectory() as folder:
        for number, rows in enumerate((one, other)):
            table = prepared(policy, rows)
            made = published(policy, table, anonymized(table, policy), Path(folder) / str(number))
            file = str(made.candidate.folder / "data.parquet")
            texts.append(set(duckdb.sql(f"SELECT DISTINCT {keys} FROM read_parquet('{file}')").fetchall()))
            found.append(made.classes)
    assert equal_cells(*found) == len(texts[0] & texts[1])
    assert equal_cells(found[0], found[0]) == len(texts[0])
