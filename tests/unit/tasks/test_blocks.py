"""Blocks of bounded size for quadratic methods."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tasks.partitioning.blocks import blocks
from tasks.types import FloatArray


def test_a_small_table_is_one_block() -> None:
    labels, notes = blocks(np.zeros((50, 2)), 2, whole_up_to=50, block_size=10)
    assert not labels.any()
    assert notes == {"blocks": 1, "largest_block": 50}


def test_a_larger_one_is_cut_into_leaves_and_told() -> None:
    points = np.random.default_rng(0).normal(size=(51, 2))
    labels, notes = blocks(points, 2, whole_up_to=50, block_size=30)
    assert sorted(np.bincount(labels).tolist()) == [25, 26]
    assert notes == {"blocks": 2, "largest_block": 26, "blocks_by": "mondrian"}


def test_the_cut_is_in_the_dimension_that_narrows_the_sides_most_or_in_the_widest() -> None:
    # The second and third go together: cutting the second halves both; the first is as wide, and comes first.
    draw = np.random.default_rng(3)
    alone, shared = draw.permutation(100.0 * np.arange(100) / 99), np.arange(100.0)
    points = np.column_stack([alone, shared, shared])
    span, _ = blocks(points, 2, whole_up_to=0, block_size=50)
    assert len({*span[:50]}) == 1
    assert span[0] != span[-1]
    widest, _ = blocks(points * [2, 1, 1], 2, whole_up_to=0, block_size=50, score="widest")
    assert np.ptp(points[widest == widest[0], 0]) < 60


@st.composite
def tables(draw: st.DrawFn) -> FloatArray:
    n = draw(st.integers(1, 70))
    column = st.lists(st.integers(0, draw(st.sampled_from([0, 1, 30]))), min_size=n, max_size=n)
    return np.array([draw(column) for _ in range(draw(st.integers(1, 2)))], dtype=np.float64).T


@given(
    tables(), st.integers(2, 6), st.integers(1, 30), st.integers(0, 40), st.sampled_from(["span", "widest"])
)
def test_every_block_has_k_records_and_none_too_many(
    points: FloatArray, k: int, block_size: int, whole_up_to: int, score: str
) -> None:
    n = len(points)
    labels, notes = blocks(
        points,
        k,
        whole_up_to=whole_up_to,
        block_size=block_size,
        score=score,  # type: ignore[arg-type]
    )
    sizes = np.bincount(labels)
    assert notes["blocks"] == len(sizes) == len(np.unique(labels))
    assert notes["largest_block"] == sizes.max() <= max(whole_up_to, block_size, 2 * k - 1)
    assert sizes.min() >= min(k, n)
    assert ("blocks_by" in notes) == (n > max(whole_up_to, block_size, 2 * k - 1))
