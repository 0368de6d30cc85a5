"""By what an analyst can group published rows, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.categorical import NominalQuasiIdentifier, OrdinalQuasiIdentifier
from policy.hierarchy import Hierarchy
from release_store.records import EquivalenceClasses, SetCells
from tasks.utility.groupable import (
    Groupable,
    groupable_columns,
    groupable_intervals,
    groupable_sets,
    is_lost,
    weighted_median,
)
from tests.support.small import ILLNESS, small_policy

SIZE = np.array([3, 1, 2, 4])
MISSING = "missing"


def sets(*cells: str) -> SetCells:
    """Return cells written as letters, `*` for all."""
    values = tuple(sorted({letter for cell in cells if cell != "*" for letter in cell}))
    member = np.array([[cell == "*" or value in cell for value in values] for cell in cells])
    return SetCells(values, member, np.array([cell == "*" for cell in cells]))


def nominal(*values: str, paths: tuple[tuple[str, ...], ...] = ()) -> NominalQuasiIdentifier:
    if paths:
        return NominalQuasiIdentifier(type="categorical", hierarchy=Hierarchy(paths))
    return NominalQuasiIdentifier(type="categorical", values=values or None)


def test_an_interval() -> None:
    interval = np.array([[1, 1], [2, 9], [2, 9], [5, 8]], dtype=float)
    # Ten rows of widths 0 0 0 3 3 3 3 7 7 7.
    assert groupable_intervals(interval, SIZE) == Groupable(3, 0.3, 3.0, 1.0, True)


def test_a_set_without_an_order_is_contiguous_only_as_one_value_or_all() -> None:
    # Ten rows of 1 1 1 2 2 2 2 2 2 5 values.
    found = groupable_sets(sets("a", "*", "ac", "bd"), SIZE, nominal(*"abcde"), MISSING)
    assert found == Groupable(4, 0.3, 2.0, 0.4, False)


def test_all_of_a_column_without_a_list_are_the_values_that_cells_name() -> None:
    found = groupable_sets(sets("a", "*", "ac", "bd"), np.array([0, 1, 0, 0]), nominal(), MISSING)
    assert found.median == 4.0


def test_a_range_is_contiguous_where_its_order_has_no_gap() -> None:
    qi = OrdinalQuasiIdentifier(type="ordinal", values=("d", "a", "c", "b"))
    # "ad" are neighbours in the order, "db" are its ends, "ca" are neighbours; "x" is no value of it.
    assert groupable_sets(sets("ad", "db", "ca", "ax"), SIZE, qi, MISSING).contiguous == 0.5
    assert groupable_sets(sets("ad", "db", "ca", "ax"), SIZE, qi, "x").contiguous == 0.9
    assert groupable_sets(sets("a", "b", "c", "d"), SIZE, qi, MISSING).ordered


def test_a_node_of_a_hierarchy_is_contiguous_and_half_of_it_is_not() -> None:
    tree = (("a", "n", "*"), ("b", "n", "*"), ("c", "s", "*"), ("d", "s", "*"), ("e", "s", "*"))
    found = groupable_sets(sets("ab", "cd", "cde", "abcde"), SIZE, nominal(paths=tree), MISSING)
    assert found.contiguous == 0.9


def test_a_column_that_is_lost_though_it_costs_little() -> None:
    """A ZIP code published as eight scattered codes of 500: NCP calls that 1.6%."""
    zips = [f"{number:05d}" for number in range(500)]
    rng = np.random.default_rng(0)
    member = np.zeros((60, 500), dtype=bool)
    for row in member:
        row[rng.choice(500, 8, replace=False)] = True
    cells = SetCells(tuple(zips), member, np.zeros(60, dtype=bool))
    found = groupable_sets(cells, np.full(60, 10), nominal(*zips), MISSING)
    assert found == Groupable(60, 0.0, 8.0, 0.0, False)
    assert is_lost(found)


@pytest.mark.parametrize(
    ("column", "lost"),
    [
        (Groupable(2, 0.33, 2.0, 1.0, False), False),  # sex, a third of it exact: NCP tells the loss
        (Groupable(700, 0.1, 9.0, 1.0, True), False),  # ranges of a number
        (Groupable(500, 1.0, 1.0, 1.0, False), False),  # exact codes
        (Groupable(31, 0.49, 4.0, 1.0, False), True),
        (Groupable(30, 0.49, 4.0, 1.0, False), False),
        (Groupable(5, 0.4, 2.0, 0.49, True), True),
    ],
)
def test_which_column_is_lost(column: Groupable, lost: bool) -> None:
    assert is_lost(column) is lost


def test_columns_of_a_release_without_replaced_and_noised_ones() -> None:
    number = {"type": "integer", "bounds": [0, 9]}
    names = {"age": number, "size": number, "noised": number, "city": {"type": "categorical"}}
    policy = small_policy(names, ILLNESS)
    ends = np.array([[1.0, 1.0], [2.0, 4.0]])
    classes = EquivalenceClasses(
        np.array([2, 2]), {"age": ends, "size": ends}, {"city": sets("a", "ab")}, {}, {}, frozenset({"size"})
    )
    found = groupable_columns(classes, policy)
    assert found == {
        "age": Groupable(2, 0.5, 1.0, 1.0, True),
        "city": Groupable(2, 0.5, 1.5, 0.5, False),
    }
    assert found["age"].document() == {
        "labels": 2,
        "exact": 0.5,
        "median": 1.0,
        "contiguous": 1.0,
        "ordered": True,
    }


def test_no_rows_have_no_groups() -> None:
    none = EquivalenceClasses(np.array([], dtype=np.int64), {"age": np.zeros((0, 2))}, {}, {}, {})
    assert groupable_columns(none, small_policy({"age": {"type": "integer", "bounds": [0, 9]}})) == {}


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=8))
def test_the_median_is_that_of_all_rows(pairs: list[tuple[int, int]]) -> None:
    values, weight = (np.array(each) for each in zip(*pairs, strict=True))
    if weight.sum():
        assert weighted_median(values.astype(float), weight) == np.median(np.repeat(values, weight))
