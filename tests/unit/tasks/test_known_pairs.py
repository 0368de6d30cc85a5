"""Pairs that are kept from call to call are those that are found anew, and only new cells are looked for."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_overlaps import all_pairs, boxes_of, listed

from tasks.geometry.overlaps import Overlaps
from tasks.geometry.space import concatenated
from tasks.repair import known_pairs
from tasks.repair.known_pairs import KnownPairs, cell_keys


@pytest.mark.parametrize("block", [1, 20, 10**6])
@given(
    seed=st.integers(0, 10**6),
    calls=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), min_size=1, max_size=4),
    m=st.integers(0, 40),
)
def test_pairs_are_found_whichever_boxes_were_there_before(
    block: int, seed: int, calls: list[tuple[int, int]], m: int
) -> None:
    random = np.random.default_rng(seed)
    other = boxes_of(random, m)
    known, boxes = KnownPairs(Overlaps(other)), boxes_of(random, 0)
    with patch.object(known_pairs, "BLOCK", block):
        for kept, new in calls:
            before = random.permutation(len(boxes))[:kept]
            boxes = concatenated([boxes.take(before), boxes_of(random, new)])
            assert listed(known.pairs(boxes)) == all_pairs(boxes, other)


def test_only_cells_that_were_not_there_before_are_looked_for() -> None:
    random = np.random.default_rng(1)
    other, boxes, new = boxes_of(random, 30), boxes_of(random, 8), boxes_of(random, 2)
    known = KnownPairs(Overlaps(other))
    listed(known.pairs(boxes))
    with patch.object(Overlaps, "pairs", autospec=True, side_effect=Overlaps.pairs) as asked:
        listed(known.pairs(concatenated([new, boxes.take(np.array([5, 0]))])))
    [call] = asked.call_args_list
    assert cell_keys(call.args[1]) == cell_keys(new)


@given(seed=st.integers(0, 10**6))
def test_keys_are_equal_where_cells_and_marks_are(seed: int) -> None:
    random = np.random.default_rng(seed)
    boxes = boxes_of(random, 6)
    twice = concatenated([boxes, boxes])
    keys = cell_keys(twice, twice.present)
    assert keys[:6] == keys[6:]
    columns = [twice.low, twice.high, *twice.member, *twice.present]
    distinct = {tuple(row) for row in np.hstack(columns).tolist()}
    assert len(set(keys)) == len(distinct)
