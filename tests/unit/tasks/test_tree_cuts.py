"""Cuts along a hierarchy, and what closed cells cost: by hand, and beside plain counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.hierarchy import checked
from tasks.partitioning.attributes import ClosedSets
from tasks.partitioning.cuts import positions_of_cuts
from tasks.partitioning.mondrian import SplitRule, Tree, partition
from tasks.recoding.levels import category_levels
from tests.support.small import limits_of

PATHS = [("a", "ab", "*"), ("b", "ab", "*"), ("c", "cde", "*"), ("d", "cde", "*"), ("e", "cde", "*")]
VALUES = ("a", "b", "c", "d", "e", "missing")
LEVELS = category_levels(VALUES, checked(PATHS))
MISSING = 5


def cuts_of(codes: list[int], *, k: int = 1, quantiles: tuple[float, ...] = (0.5,)) -> list[int]:
    """Return where one node of sorted codes may be cut."""
    records = np.arange(len(codes))
    tree = Tree(np.array(codes), LEVELS, MISSING)
    starts = np.array([0, len(codes)])
    values = np.array(codes, dtype=float)
    found = positions_of_cuts(values, starts, np.array([0]), k, quantiles, None, tree.apart(records))
    return found[0].tolist()


@pytest.mark.parametrize(
    ("codes", "cut"),
    [
        ([0, 1, 2, 3, 4, 4, 4, 4], 2),  # between ab and cde, though the median is elsewhere
        ([2, 2, 3, 4], 2),  # inside cde, any of its children
        ([0, 0, 0, 1], 3),
        ([0, 0, 0, 0], 4),  # one value: the node's end, which is no cut
        ([0, 1, 1, 1, 5, 5], 4),  # beside a missing value as well as between a and b
        ([5, 5, 5], 3),
    ],
)
def test_a_node_is_cut_between_the_children_of_its_lowest_node(codes: list[int], cut: int) -> None:
    assert cuts_of(codes) == [cut]


def test_a_side_of_fewer_than_k_is_no_cut() -> None:
    assert cuts_of([0, 2, 3, 4, 4], k=2) == [5]


def test_other_nodes_of_a_level_do_not_matter() -> None:
    codes = np.array([0, 1, 2, 2, 3, 3])
    tree = Tree(codes, LEVELS, MISSING)
    starts, nodes = np.array([0, 2, 6]), np.array([0, 1])
    found = positions_of_cuts(codes.astype(float), starts, nodes, 1, (0.5,), None, tree.apart(np.arange(6)))
    assert found.tolist() == [[1], [4]]


SETS = st.sets(st.sampled_from(range(6)), min_size=1)


@given(SETS)
def test_a_closed_set_has_the_values_of_its_node_or_range(chosen: set[int]) -> None:
    known = sorted(chosen - {MISSING})
    missing = float(MISSING in chosen)
    low, high = (float(known[0]), float(known[-1])) if known else (np.inf, -np.inf)
    nodes = [{0}, {1}, {2}, {3}, {4}, {0, 1}, {2, 3, 4}, {0, 1, 2, 3, 4}]
    node = min((len(node) for node in nodes if set(known) <= node), default=0) if known else 0
    if node == 5:  # the root has the missing value too, which stands beside no node
        node = 6 if not missing else 5
    ends = np.array([[low]]), np.array([[high]]), np.array([[missing]])
    n_range = len(range(known[0], known[-1] + 1)) if known else 0
    assert ClosedSets(None, MISSING).sizes(*ends) == n_range + missing
    assert ClosedSets(LEVELS, MISSING).sizes(*ends) == node + missing


def test_leaves_are_nodes_where_trees_are_given() -> None:
    """The median is between c and d; along the hierarchy, a and b are cut from c, d and e first."""
    codes = np.repeat(np.arange(5), [4, 4, 3, 3, 10])
    points = codes[:, None] / 4.0
    limits = limits_of([0] * len(codes), k=4)
    rule = SplitRule(stop_size=8, score="widest", quantiles=(0.5,))
    found = partition(points, limits, rule, trees={0: Tree(codes, LEVELS, MISSING)})
    leaves = {frozenset(codes[found == leaf].tolist()) for leaf in np.unique(found)}
    assert leaves == {frozenset({0, 1}), frozenset({2, 3}), frozenset({4})}
    plain = partition(points, limits, rule)
    assert {frozenset(codes[plain == leaf].tolist()) for leaf in np.unique(plain)} != leaves
