"""The index over boxes finds the pairs that looking at all pairs finds, by a tree and by bits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tasks.geometry import box_tree, overlaps
from tasks.geometry.box_tree import BoxTree, pack_boxes, spatial_order
from tasks.geometry.overlaps import Overlaps
from tasks.geometry.space import Boxes, Points, point_boxes
from tasks.types import BoolArray, IntArray

VALUES = (2, 70)  # one set is of one word, one of two


def boxes_of(random: np.random.Generator, n: int, endless: float = 0.1) -> Boxes:
    low = random.integers(0, 30, (n, 2)).astype(float)
    high = low + random.integers(0, 4, (n, 2))
    low[random.random((n, 2)) < endless] = -np.inf
    high[random.random((n, 2)) < endless] = np.inf
    member = tuple(random.random((n, values)) < min(0.6, 3 / values) for values in VALUES)
    return Boxes(low, high, member, np.zeros((n, 2), bool), (np.zeros((n, 1), bool),), np.ones((n, 1), bool))


def all_pairs(one: Boxes, other: Boxes) -> list[tuple[int, int]]:
    return [
        (i, j)
        for i in range(len(one))
        for j in range(len(other))
        if (one.low[i] <= other.high[j]).all()
        and (other.low[j] <= one.high[i]).all()
        and all((mine[i] & theirs[j]).any() for mine, theirs in zip(one.member, other.member, strict=True))
    ]


def listed(parts: Iterator[tuple[IntArray, IntArray]]) -> list[tuple[int, int]]:
    return [pair for line, place in parts for pair in zip(line.tolist(), place.tolist(), strict=True)]


@pytest.mark.parametrize("lines", [4096, 3])
@pytest.mark.parametrize("pairs", [2_000_000, 20])
@given(seed=st.integers(0, 10**6), n=st.integers(0, 20), m=st.integers(0, 60))
def test_the_tree_finds_the_pairs_that_overlap_in_order(
    lines: int, pairs: int, seed: int, n: int, m: int
) -> None:
    random = np.random.default_rng(seed)
    one, other = boxes_of(random, n), boxes_of(random, m)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(box_tree, "LINES", lines)
        patch.setattr(box_tree, "PAIRS", pairs)
        assert listed(BoxTree(pack_boxes(other)).pairs(pack_boxes(one))) == all_pairs(one, other)


@pytest.mark.parametrize(("few", "bits"), [(4096, 128), (0, 0), (0, 10**9)])
@given(seed=st.integers(0, 10**6), n=st.integers(0, 20), m=st.integers(0, 60))
def test_bits_and_the_tree_find_the_same(few: int, bits: int, seed: int, n: int, m: int) -> None:
    random = np.random.default_rng(seed)
    one, other = boxes_of(random, n), boxes_of(random, m)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlaps, "FEW", few)
        patch.setattr(overlaps, "BITS", bits)
        patch.setattr(overlaps, "ROWS", 7)
        assert listed(Overlaps(other).pairs(one)) == all_pairs(one, other)


@given(
    numbers=arrays(np.float64, (9, 2), elements=st.sampled_from([np.nan, 1.0, 5.0, 20.0])),
    codes=arrays(np.int32, (9, 2), elements=st.integers(-1, 1)),
    seed=st.integers(0, 10**6),
)
def test_what_is_unknown_of_a_point_is_in_every_cell(
    numbers: np.ndarray, codes: np.ndarray, seed: int
) -> None:
    boxes = boxes_of(np.random.default_rng(seed), 12)
    found = listed(Overlaps(boxes).pairs(point_boxes(Points(numbers, codes, np.arange(9)), boxes)))
    inside = [
        (i, j)
        for i in range(9)
        for j in range(12)
        if all(
            np.isnan(x) or low <= x <= high
            for x, low, high in zip(numbers[i], boxes.low[j], boxes.high[j], strict=True)
        )
        and all(
            (code < 0 and member[j].any()) or (code >= 0 and member[j, code])
            for code, member in zip(codes[i], boxes.member, strict=True)
        )
    ]
    assert found == inside


def test_the_order_is_one_of_all_boxes_and_far_attributes_are_parted_first() -> None:
    boxes = pack_boxes(boxes_of(np.random.default_rng(3), 200))
    assert sorted(spatial_order(boxes).tolist()) == list(range(200))
    order = spatial_order(boxes, [0.0, 0.0, 1.0, 0.0])
    assert sorted(order.tolist()) == list(range(200))
    first = boxes.bits[order, 0]
    assert set(first[:64].tolist()).isdisjoint(set(first[-8:].tolist()))


def test_pairs_that_are_not_wanted_do_not_count_as_met() -> None:
    random = np.random.default_rng(5)
    one, other = boxes_of(random, 40), boxes_of(random, 300)

    def nothing(height: int, line: IntArray, node: IntArray) -> BoolArray:
        return np.zeros(len(line), dtype=bool)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlaps, "FEW", 0)
        tree = Overlaps(other).tree
        every, none = tree.visits(pack_boxes(one)), tree.visits(pack_boxes(one), nothing)
        patch.setattr(overlaps, "BITS", len(one) * len(other) / ((every + none) / 2))
        found = Overlaps(other)
        assert [found.meets_few(one), found.meets_few(one, nothing), found.meets_few(one)] == [
            False,
            True,
            False,
        ]
