"""The search of a lattice, held against a look at all its nodes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tasks.partitioning.lattice import Check, Node, cheapest

SHAPE = (3, 2, 4)
NODES = list(product(*(range(levels) for levels in SHAPE)))


@given(st.data())
def test_the_cheapest_feasible_node_is_found(data: Any) -> None:
    steps = st.lists(st.integers(0, 3), min_size=4, max_size=4)
    bounds = [np.cumsum(data.draw(steps))[:levels] / 2 for levels in SHAPE]
    extra = data.draw(st.lists(st.integers(0, 2), min_size=len(NODES), max_size=len(NODES)))
    fails = data.draw(st.sets(st.sampled_from(NODES)))
    barren = data.draw(st.sets(st.sampled_from(NODES), max_size=4))
    cost = {
        node: sum(float(each[level]) for each, level in zip(bounds, node, strict=True)) + more
        for node, more in zip(NODES, extra, strict=True)
    }
    tagged = {
        node for node in NODES if any(all(a <= b for a, b in zip(node, one, strict=True)) for one in barren)
    }
    asked: list[Node] = []

    def check(node: Node) -> Check:
        asked.append(node)
        if node in tagged:
            return Check(None, none_below=True)
        return Check(None if node in fails else cost[node])

    found = cheapest(bounds, check, len(NODES))
    feasible = [node for node in NODES if node not in tagged | fails]
    assert len(asked) == len(set(asked)) == found.n_checked
    assert (found.node is None) == (not feasible)
    if found.node is not None:
        assert cost[found.node] == min(cost[node] for node in feasible)
    assert found.proven or found.n_checked == len(NODES)


def test_a_search_that_ends_early_has_the_best_that_it_saw_and_proves_nothing() -> None:
    found = cheapest([np.arange(9.0)], lambda node: Check(float(node[0])), 2)
    assert (found.node, found.n_checked, found.proven) == ((2,), 2, False)


def test_a_node_that_rules_out_all_below_it_spares_their_checks() -> None:
    asked = []

    def check(node: Node) -> Check:
        asked.append(node[0])
        return Check(float(node[0])) if node[0] >= 700 else Check(None, none_below=True)

    assert cheapest([np.arange(1000.0)], check, 1000).node == (700,)
    assert len(asked) <= 11
