"""Hierarchies that a draft proposes: by hand, and read back as they are written."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from policy.hierarchy import from_tree
from services.drafting.hierarchies import (
    FEWEST_ROWS,
    MOST_LABELS,
    MOST_VALUES,
    Tree,
    drafted_hierarchy,
    leaves_of,
    lines_of,
)
from services.drafting.hierarchies import _halved as halved
from services.drafting.hierarchies import _nodes as nodes_of


def tree_of(rows: list[tuple[str | None, str]]) -> Tree | None:
    """Return the drafted tree of the first of two columns."""
    with duckdb.connect() as con:
        con.execute("CREATE TABLE cells (job VARCHAR, pay VARCHAR)")
        con.executemany("INSERT INTO cells VALUES (?, ?)", rows)
        found = drafted_hierarchy(con, "job", ["pay"])
    return None if found is None else found.tree


def test_values_whose_rows_are_alike_stand_together() -> None:
    rows: list[tuple[str | None, str]] = []
    for job, pay in (("nurse", "low"), ("lawyer", "high"), ("cook", "low"), ("judge", "high")):
        rows += [(job, pay)] * 10
    tree = tree_of(rows)
    assert tree is not None
    assert {frozenset(leaves_of(node)) for node in nodes_of(tree)} == {
        frozenset({"nurse", "cook"}),
        frozenset({"lawyer", "judge"}),
    }


def test_parts_have_about_as_many_rows() -> None:
    rows = np.array([50.0, 10.0, 10.0, 30.0])
    assert halved(["a", "b", "c", "d"], rows) == ("a", (("b", "c"), "d"))
    assert halved(["a"], rows[:1]) == ("a",)


def test_rare_values_of_many_are_not_named() -> None:
    rows: list[tuple[str | None, str]] = []
    for i in range(30):
        rows += [(f"job {i}", "x")] * (FEWEST_ROWS + i)
    rows += [("a rare one", "x")] * (FEWEST_ROWS - 1) + [(None, "x")] * 50
    tree = tree_of(rows)
    assert tree is not None
    assert set(leaves_of(tree)) == {f"job {i}" for i in range(10, 30)}
    assert len(leaves_of(tree)) == MOST_VALUES
    assert len([*nodes_of(tree)]) <= MOST_LABELS - MOST_VALUES


@pytest.mark.parametrize("values", [["a", "b"], ["a"]])
def test_fewer_than_three_values_have_no_hierarchy(values: list[str]) -> None:
    assert tree_of([(value, "x") for value in values for _ in range(10)]) is None


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), min_size=1, max_size=12)


@given(st.lists(TEXTS, min_size=3, max_size=12, unique=True), st.data())
def test_what_is_written_is_read_back_as_the_same_tree(values: list[str], data: st.DataObject) -> None:
    rows = np.array([float(data.draw(st.integers(1, 50))) for _ in values])
    tree = halved(values, rows)
    text = "hierarchy:\n" + "\n".join(lines_of(tree, "  ")) + "\n"
    found = from_tree(yaml.safe_load(text)["hierarchy"])
    assert set(found.leaves) == set(values)
    groups = {frozenset(leaves_of(node)) for node in nodes_of(tree)}
    under: dict[tuple[str, ...], set[str]] = {}
    for path in found.paths:
        for depth in range(1, len(path) - 1):
            under.setdefault(path[depth:], set()).add(path[0])
    assert {frozenset(leaves) for leaves in under.values()} == groups
