"""Arcs on directed cycles, held against which nodes reach which."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tasks.history.exchange import arcs_on_cycles


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=14))
def test_an_arc_is_on_a_cycle_where_its_head_reaches_its_tail(arcs: list[tuple[int, int]]) -> None:
    """Loops, and arcs that come several times, side by side or not."""
    tail, head = np.array([*arcs, *arcs[:3]], dtype=np.int64).reshape(-1, 2).T
    reached = np.eye(7, dtype=bool)
    reached[tail, head] = True
    for node in range(7):
        reached |= reached[:, [node]] & reached[[node]]
    assert arcs_on_cycles(tail, head, 7).tolist() == reached[head, tail].tolist()


def test_no_arcs_are_on_no_cycles() -> None:
    nobody = np.empty(0, dtype=np.int64)
    assert arcs_on_cycles(nobody, nobody, 0).tolist() == []
