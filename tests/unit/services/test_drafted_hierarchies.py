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
    Branch,
    Drafted,
    Sets,
    Tree,
    drafted_hierarchy,
    leaves_of,
    lines_of,
)
from services.drafting.hierarchies import _improved as improved
from services.drafting.hierarchies import _joined as joined
from services.drafting.hierarchies import _pruned as pruned
from services.drafting.small_classes import K, small_classes


def nodes_of(tree: Tree) -> list[Tree]:
    """Return the nodes under the root."""
    found: list[Tree] = []
    for child in tree:
        if not isinstance(child, str):
            found += [child, *nodes_of(child)]
    return found


def drafted(rows: list[tuple[str | None, str]]) -> Drafted | None:
    """Return what is drafted for the first of two columns; the second has an order."""
    with duckdb.connect() as con:
        con.execute("CREATE TABLE cells (job VARCHAR, pay VARCHAR)")
        con.executemany("INSERT INTO cells VALUES (?, ?)", rows)
        return drafted_hierarchy(con, "job", small_classes(con, {"job": None, "pay": "CAST(pay AS DOUBLE)"}))


def tree_of(rows: list[tuple[str | None, str]]) -> Tree | None:
    """Return the drafted tree of the first of two columns."""
    found = drafted(rows)
    return None if found is None else found.tree


def sets_of(rows: dict[str, int], values: str, n_values: int | None = None) -> Sets:
    """Return sets of one-letter values with their rows."""
    bits = [sum(1 << values.index(one) for one in each) for each in rows]
    counts = np.array([*rows.values()], dtype=np.int64)
    return Sets(np.array(bits), np.zeros(len(bits), dtype=bool), counts, n_values or len(values))


def groups_of(branch: Branch, values: str) -> set[str]:
    """Return the values under each node that is no value and not the root, in their order."""
    found: set[str] = set()

    def under(one: Branch) -> str:
        if isinstance(one, int):
            return values[one]
        name = "".join(sorted("".join(under(child) for child in one)))
        found.add(name)
        return name

    root = under(branch)
    return found - {root}


def test_values_that_classes_mix_stand_together() -> None:
    rows: list[tuple[str | None, str]] = []
    for job, pay in (("nurse", 1), ("lawyer", 90), ("cook", 1), ("judge", 90)):
        rows += [(job, str(pay + i)) for i in range(8)]
    tree = tree_of(rows)
    assert tree is not None
    assert {frozenset(leaves_of(node)) for node in nodes_of(tree)} == {
        frozenset({"nurse", "cook"}),
        frozenset({"lawyer", "judge"}),
    }


def test_a_set_costs_the_values_of_its_lowest_node() -> None:
    sets = sets_of({"ab": 10, "ac": 3, "cd": 1}, "abcd", n_values=5)
    assert sets.cost(((0, 1), (2, 3))) == 10 * 2 + 3 * 5 + 1 * 2
    assert sets.cost((((0, 1), 2), 3)) == 10 * 2 + 3 * 3 + 1 * 5


def test_branches_move_while_the_sets_cost_less() -> None:
    # `a` is mixed with every other value: a node that grows around it costs least.
    sets = sets_of({"ab": 10, "ac": 6, "ad": 1}, "abcd")
    best = improved((0, (1, (2, 3))), sets)
    assert groups_of(best, "abcd") == {"ab", "abc"}
    assert groups_of(joined(4, sets), "abcd") == {"ab", "abc"}


def test_the_node_goes_first_without_which_cells_cost_least() -> None:
    values = "".join(chr(97 + i) for i in range(MOST_LABELS - 1))
    sets = sets_of({"ab": 100, "cd": 1}, values)
    tree = ((0, 1), (2, 3), *range(4, len(values)))
    assert groups_of(pruned(tree, sets, len(values)), values) == {"ab"}


def test_a_value_with_and_without_the_missing_one_are_two_cells() -> None:
    bits, missing = np.array([1, 1, 3, 3]), np.array([False, True, False, True])
    sets = Sets(bits, missing, np.array([0, 0, 5, 5]), 4)
    # `a|missing`, the node of a and b, and that beside the missing value; `a` by itself is a value.
    assert sets.n_cells(((0, 1), 2)) == 3


@given(st.integers(3, 6), st.data())
def test_no_move_makes_cells_cost_more(n_values: int, data: st.DataObject) -> None:
    bits = data.draw(st.lists(st.integers(1, 2**n_values - 1), min_size=1, max_size=8, unique=True))
    rows = np.array([data.draw(st.integers(1, 50)) for _ in bits])
    sets = Sets(np.array(bits), np.zeros(len(bits), dtype=bool), rows, n_values)
    before = joined(n_values, sets)
    after = improved(before, sets)
    assert sets.cost(after) <= sets.cost(before)
    values = "abcdef"[:n_values]
    assert sorted(_leaves(after)) == [*range(n_values)]
    assert groups_of(improved(after, sets), values) == groups_of(after, values)


def _leaves(branch: Branch) -> list[int]:
    return [branch] if isinstance(branch, int) else [leaf for child in branch for leaf in _leaves(child)]


def test_the_order_of_rows_does_not_matter() -> None:
    draw = np.random.default_rng(0)
    rows: list[tuple[str | None, str]] = [
        ("abcdef"[min(int(one), 5)], str(pay))
        for one, pay in zip(draw.geometric(0.4, 300) - 1, draw.integers(0, 9, 300), strict=True)
    ]
    tree = tree_of(rows)
    assert tree == tree_of(rows[::-1]) == tree_of([rows[i] for i in draw.permutation(len(rows))])


def test_classes_are_small_and_no_smaller() -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE cells AS SELECT CAST(range AS VARCHAR) AS age FROM range(200)")
        found = small_classes(con, {"age": "CAST(age AS DOUBLE)"})
    sizes = np.bincount(found.label)
    assert sizes.sum() == 200
    assert sizes.min() >= K
    assert sizes.max() < 2 * K


def test_rare_values_of_many_are_not_named() -> None:
    rows: list[tuple[str | None, str]] = []
    for i in range(30):
        rows += [(f"job {i}", "1")] * (FEWEST_ROWS + i)
    rows += [("a rare one", "1")] * (FEWEST_ROWS - 1) + [(None, "1")] * 50
    found = drafted(rows)
    assert found is not None
    assert found.others == "other"
    assert set(found.values) == {f"job {i}" for i in range(10, 30)}
    assert len(found.values) == MOST_VALUES
    assert "other" in leaves_of(found.tree)  # they are mixed with others as any value
    assert len([*nodes_of(found.tree)]) <= MOST_LABELS - MOST_VALUES


@pytest.mark.parametrize("values", [["a", "b"], ["a"]])
def test_fewer_than_three_values_have_no_hierarchy(values: list[str]) -> None:
    assert tree_of([(value, "1") for value in values for _ in range(10)]) is None


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), min_size=1, max_size=12)


TREES = st.recursive(
    st.just(0), lambda child: st.lists(child, min_size=2, max_size=4).map(tuple), max_leaves=12
)


@given(TREES.filter(lambda tree: tree != 0), st.data())
def test_what_is_written_is_read_back_as_the_same_tree(shape: Branch, data: st.DataObject) -> None:
    n_values = len(_leaves(shape))
    texts = data.draw(st.lists(TEXTS, min_size=n_values, max_size=n_values, unique=True))
    values = iter(texts)

    def filled(branch: Branch) -> str | Tree:
        return next(values) if isinstance(branch, int) else tuple(filled(child) for child in branch)

    tree = filled(shape)
    assert not isinstance(tree, str)
    text = "hierarchy:\n" + "\n".join(lines_of(tree, "  ")) + "\n"
    found = from_tree(yaml.safe_load(text)["hierarchy"])
    assert set(found.leaves) == set(leaves_of(tree))
    groups = {frozenset(leaves_of(node)) for node in nodes_of(tree)}
    under: dict[tuple[str, ...], set[str]] = {}
    for path in found.paths:
        for depth in range(1, len(path) - 1):
            under.setdefault(path[depth:], set()).add(path[0])
    assert {frozenset(leaves) for leaves in under.values()} == groups


@pytest.mark.parametrize(
    ("values", "name"),
    [("ab", "a, b"), (["a, x", "b"], "a, x; b"), (["a, x", "b; y"], "a, x / b; y")],
)
def test_what_joins_values_in_a_name_is_in_none_of_them(values: list[str], name: str) -> None:
    tree: Tree = (tuple(values), "c")
    assert f'"{name}":' in "\n".join(lines_of(tree, ""))
