"""k-means clusters of bounded size, and APMCA's: by hand and on random points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from tasks.partitioning.kmeans import apmca, sized
from tasks.types import FloatArray
from tests.support.small import groups_of


def line(*places: float) -> FloatArray:
    return np.array(places, dtype=np.float64)[:, None]


def test_two_clusters_of_unequal_size_are_found() -> None:
    # The median would cut at 4 | 5 records; the centres of those sides, 2 and 64, are halfway at 33.
    points = line(0, 1, 2, 3, 4, 5, 100, 101, 102)
    assert groups_of(sized(points, 3))[-1] == [6, 7, 8]
    # The six at 0 to 5 are 2k again.
    assert groups_of(sized(points, 3)) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_a_side_has_at_least_k_records() -> None:
    # 100 alone is a cluster of k-means; with k = 2 it takes the nearest one.
    assert groups_of(sized(line(0, 1, 2, 100), 2)) == [[0, 1], [2, 3]]
    assert groups_of(sized(line(0, 1, 2, 3, 100), 2)) == [[0, 1, 2], [3, 4]]
    assert groups_of(sized(line(0, 100, 1, 2, 100), 2)) == [[0, 2, 3], [1, 4]]


def test_a_side_has_at_least_a_quarter() -> None:
    points = line(*range(21), 100, 101, 102)
    # A quarter of 24 is six: 18, 19 and 20 are cut off with the three at 100, and then apart.
    assert {(18, 19, 20), (21, 22, 23)} <= {tuple(group) for group in groups_of(sized(points, 3))}


def test_equal_records_are_cut_by_their_number() -> None:
    assert groups_of(sized(np.zeros((7, 2)), 2)) == [[0, 1, 2], [3, 4], [5, 6]]


def test_apmca_keeps_clusters_of_up_to_2k_and_merges_small_ones() -> None:
    # One cluster of five, one of two: with k = 3 the two join the five's nearest part.
    points = line(0, 1, 2, 3, 4, 50, 51)
    assert groups_of(apmca(points, 3, coarse=2)) == [[*range(7)]]
    # k = 2: five are over 2k and are cut; a side may be one record, and then joins the nearest other.
    assert groups_of(apmca(points, 2, coarse=2)) == [[0, 1], [2, 3, 4], [5, 6]]
    far = line(0, 1, 2, 50, 51, 52, 90, 91)
    assert groups_of(apmca(far, 3, coarse=3)) == [[0, 1, 2], [3, 4, 5, 6, 7]]


@st.composite
def tables(draw: st.DrawFn) -> FloatArray:
    n = draw(st.integers(1, 80))
    greatest = draw(st.sampled_from([0, 2, 50]))
    column = st.lists(st.integers(0, greatest) | st.just(10_000), min_size=n, max_size=n)
    return np.array([draw(column) for _ in range(draw(st.integers(1, 3)))], dtype=np.float64).T


@given(tables(), st.integers(1, 9))
def test_sizes_are_from_k_to_2k_minus_1(points: FloatArray, k: int) -> None:
    labels = sized(points, k)
    sizes = np.bincount(labels)
    if len(points) < 2 * k:
        assert sizes.tolist() == [len(points)]
    else:
        assert k <= sizes.min() <= sizes.max() < 2 * k


@given(tables(), st.integers(1, 9), st.sampled_from([1, 3, 16]))
def test_clusters_of_apmca_have_k_records(points: FloatArray, k: int, coarse: int) -> None:
    labels = apmca(points, k, coarse=coarse)
    sizes = np.bincount(labels)
    assert sorted(np.unique(labels)) == list(range(len(sizes)))
    assert sizes.min() >= min(k, len(points))
    assert np.array_equal(labels, apmca(points, k, coarse=coarse))


def test_clusters_are_nearer_than_runs_of_records_by_number() -> None:
    points = np.random.default_rng(4).normal(size=(2000, 2))
    for labels in (sized(points, 5), apmca(points, 5)):
        spread = sum(
            ((points[labels == g] - points[labels == g].mean(axis=0)) ** 2).sum() for g in set(labels)
        )
        assert spread < 0.03 * ((points - points.mean(axis=0)) ** 2).sum()


def test_the_number_of_threads_changes_no_label() -> None:
    points = np.random.default_rng(4).normal(size=(3000, 5))
    found = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            found.append(apmca(points, 5, seed=7).tobytes())
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("k", [2, 3])
def test_far_records_do_not_make_the_cuts_deeper_than_logarithmic(k: int) -> None:
    # Powers of two: 2-means alone would take one record off at a time.
    points = line(*(2.0**i for i in range(200)))
    told: list[str] = []
    sized(points, k, progress=lambda _share, words: told.append(words))
    assert len(told) <= 1 + np.log(200 / k) / np.log(4 / 3)
