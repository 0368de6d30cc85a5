"""Geodesics, Isomap and LLE: by hand, against slow references and against scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.manifold import Isomap, LocallyLinearEmbedding
from threadpoolctl import threadpool_limits

from tasks.representation import manifold
from tasks.representation.manifold import bridges, distinct, geodesics, isomap, joined, lle, neighbour_graph
from tasks.types import FloatArray

Embed = Callable[..., FloatArray]
EMBEDDINGS: list[Embed] = [isomap, lle, partial(lle, metric="geodesic")]

# Each point's one nearest: in A 0 and 2 have 1, and 1 has 0; in B 3 and 5 have 4, and 4 has 3; 6 and 7 each
# other. Nearest pairs: A-B 2 and 3 (4), B-C 4 and 6 (17), A-C 2 and 6 (over 18): A and C are not joined.
A = [(0, 0), (1, 0), (1, 2)]
B = [(5, 2), (5, 3), (5, 5)]
C = [(5, 22), (5, 23)]
PARTS = np.array(A + B + C, dtype=np.float64)
BY_HAND = [
    # 0  1  2  3  4   5   6   7
    [0, 1, 3, 7, 8, 10, 27, 28],
    [1, 0, 2, 6, 7, 9, 26, 27],
    [3, 2, 0, 4, 5, 7, 24, 25],
    [7, 6, 4, 0, 1, 3, 20, 21],
    [8, 7, 5, 1, 0, 2, 19, 20],
    [10, 9, 7, 3, 2, 0, 17, 18],
    [27, 26, 24, 20, 19, 17, 0, 1],
    [28, 27, 25, 21, 20, 18, 1, 0],
]


@pytest.mark.parametrize("chunk", [4_000_000, 8])
def test_parts_far_apart_are_joined_by_their_nearest_pairs(
    chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifold, "CHUNK_CELLS", chunk)
    _, graph = neighbour_graph(PARTS, 1)
    pairs = bridges(PARTS, graph)
    assert sorted(tuple(sorted(pair)) for pair in pairs.tolist()) == [(2, 3), (5, 6)]
    assert geodesics(PARTS, neighbours=1).tolist() == BY_HAND


def test_a_connected_graph_has_no_bridges() -> None:
    _, graph = neighbour_graph(PARTS, 7)
    assert bridges(PARTS, graph).shape == (0, 2)
    assert joined(graph, bridges(PARTS, graph), PARTS) is graph


def test_a_horseshoe_is_walked_around() -> None:
    # Down one side, across, and up the other: the tips are 2 apart, and 2 x 4 + 2 along the data.
    tips = np.array([(0, y) for y in range(4, -1, -1)] + [(1, 0)] + [(2, y) for y in range(5)], dtype=float)
    assert geodesics(tips, neighbours=2)[0, -1] == 10


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_points(n: int) -> None:
    points = np.arange(n, dtype=np.float64)[:, None] * 3
    assert geodesics(points).shape == (n, n)
    assert geodesics(points).max(initial=0) == (3 if n == 2 else 0)
    for embed in (isomap, lle):
        found = embed(points, np.zeros(n, dtype=np.int64), dimensions=2)
        assert found.shape == (n, 2)
        assert np.isfinite(found).all()
        assert len(np.unique(found, axis=0)) == n


@st.composite
def places(draw: st.DrawFn) -> FloatArray:
    """Distinct points with whole coordinates."""
    greatest = draw(st.sampled_from([3, 100]))
    place = st.tuples(*[st.integers(0, greatest)] * draw(st.integers(1, 3)))
    return np.array(sorted(draw(st.sets(place, min_size=2, max_size=20))), dtype=np.float64)


@given(places(), st.integers(1, 6))
def test_geodesics_are_the_shortest_paths_of_a_graph_of_nearest_points(
    points: FloatArray, neighbours: int
) -> None:
    m = len(points)
    k = min(neighbours, m - 1)
    away = cdist(points, points)
    near, graph = neighbour_graph(points, neighbours)
    least = np.sort(away + np.where(np.eye(m), np.inf, 0), axis=1)[:, :k]
    assert np.allclose(np.take_along_axis(away, near, axis=1), least)
    edges = {(i, j) for i in range(m) for j in near[i].tolist()}
    assert {(int(i), int(j)) for i, j in zip(*graph.nonzero(), strict=True)} == {
        *edges,
        *((j, i) for i, j in edges),
    }
    for i, j in bridges(points, graph).tolist():
        edges.add((i, j))
    slow = np.full((m, m), np.inf)
    np.fill_diagonal(slow, 0)
    for i, j in edges:
        slow[i, j] = slow[j, i] = away[i, j]
    for middle in range(m):
        slow = np.minimum(slow, slow[:, [middle]] + slow[[middle]])
    found = geodesics(points, neighbours=neighbours)
    assert np.isfinite(found).all()
    assert np.allclose(found, slow)


@given(places())
def test_bridges_are_as_short_as_parts_can_be_joined(points: FloatArray) -> None:
    """Prim's way over the parts, one bridge at a time, has the same summed length."""
    _, graph = neighbour_graph(points, 1)
    pairs = bridges(points, graph)
    away = cdist(points, points)
    edges = list(zip(*graph.nonzero(), strict=True))
    reached = {0}
    total, number = 0.0, 0
    while True:
        while more := {int(j) for i, j in edges if i in reached} - reached:
            reached |= more
        rest = [j for j in range(len(points)) if j not in reached]
        if not rest:
            break
        length, end = min((float(away[i, j]), j) for i in reached for j in rest)
        total += length
        number += 1
        reached.add(end)
    assert len(pairs) == number
    assert sum(away[i, j] for i, j in pairs.tolist()) == pytest.approx(total)


def test_isomap_of_a_line_keeps_its_order_however_it_is_rolled_up() -> None:
    along = np.linspace(1, 4 * np.pi, 80)
    spiral = np.column_stack([along * np.cos(along), along * np.sin(along)])
    shuffled = np.random.default_rng(1).permutation(80)
    found = isomap(spiral[shuffled], np.zeros(80, dtype=np.int64), dimensions=1, neighbours=3)[:, 0]
    order = np.argsort(found)
    ranks = shuffled[order]
    assert ranks.tolist() in ([*range(80)], [*range(79, -1, -1)])
    # Distances are those along the spiral.
    steps = [np.linalg.norm(b - a) for a, b in pairwise(spiral)]
    assert np.ptp(found) == pytest.approx(sum(steps), rel=0.02)


def rolled(n: int) -> FloatArray:
    draw = np.random.default_rng(n)
    along, across = draw.uniform(1, 4, n), draw.uniform(0, 2, n)
    return np.column_stack([along * np.cos(along), across, along * np.sin(along)])


@pytest.mark.parametrize("n", [120, 450], ids=["dense", "sparse"])
def test_embeddings_of_distinct_points_are_scikit_learns(n: int) -> None:
    points, whole = rolled(n), np.zeros(n, dtype=np.int64)
    ours = isomap(points, whole, dimensions=2)
    theirs = Isomap(n_neighbors=10, n_components=2).fit_transform(points)
    assert np.allclose(np.abs(ours), np.abs(theirs), atol=1e-8)
    ours = lle(points, whole, dimensions=2)
    theirs = LocallyLinearEmbedding(
        n_neighbors=10, n_components=2, eigen_solver="dense", neighbors_algorithm="kd_tree"
    ).fit_transform(points)
    assert np.allclose(np.abs(ours), np.abs(theirs), atol=1e-6)


def slow_geodesic_lle(points: FloatArray, dimensions: int, neighbours: int) -> FloatArray:
    """Point by point: place the neighbours by geodesic distances, make the point up of them, embed."""
    m = len(points)
    along = geodesics(points, neighbours=neighbours)
    error = np.eye(m)
    for i in range(m):
        near = np.argsort(along[i], kind="stable")[1 : neighbours + 1]  # the nearest, along the graph too
        products = np.empty((len(near), len(near)))
        for a, one in enumerate(near):
            for b, other in enumerate(near):
                products[a, b] = (along[i, one] ** 2 + along[i, other] ** 2 - along[one, other] ** 2) / 2
        values, vectors = np.linalg.eigh(products)
        place = vectors * np.sqrt(np.maximum(values, 0))
        # The least |sum of weight x place|^2 + penalty |weight|^2 with weights of sum 1, by Lagrange.
        penalty = manifold.REGULARIZATION * (place**2).sum()
        system = np.ones((len(near) + 1, len(near) + 1))
        system[:-1, :-1] = place @ place.T + penalty * np.eye(len(near))
        system[-1, -1] = 0
        weight = np.linalg.solve(system, np.append(np.zeros(len(near)), 1.0))[:-1]
        error[i, near] -= weight
    return np.asarray(np.linalg.eigh(error.T @ error)[1][:, 1 : dimensions + 1])


@pytest.mark.parametrize("n", [60, 130])
def test_geodesic_lle_is_a_loops(n: int) -> None:
    points = rolled(n)
    ours = lle(points, np.zeros(n, dtype=np.int64), dimensions=2, neighbours=6, metric="geodesic")
    assert np.allclose(np.abs(ours), np.abs(slow_geodesic_lle(points, 2, 6)), atol=1e-6)
    plain = lle(points, np.zeros(n, dtype=np.int64), dimensions=2, neighbours=6)
    assert not np.allclose(np.abs(ours), np.abs(plain), atol=1e-3)


def test_geodesic_lle_walks_around_a_corner() -> None:
    # Two arms; each point's two nearest are those beside it. By air the corner is best made up of (-2, 0) and
    # (0, 1) with weights 1/5 and 4/5, along the data with 1/3 and 2/3: then it is as far along as it is.
    arms = np.array([(-4.5, 0), (-3, 0), (-2, 0), (0, 0), (0, 1), (0, 2.5), (0, 4)])
    along = np.array([-4.5, -3, -2, 0, 1, 2.5, 4])
    fit = []
    for metric in ("geodesic", "euclidean"):
        found = lle(arms, np.zeros(7, dtype=np.int64), dimensions=1, neighbours=2, metric=metric)[:, 0]
        fit.append(abs(float(np.corrcoef(found, along)[0, 1])))
    assert fit[0] == pytest.approx(1, abs=1e-5)  # but for the penalty on large weights
    assert fit[1] < 0.999


def test_where_all_points_are_neighbours_geodesic_lle_is_the_plain_one() -> None:
    points, whole = rolled(40), np.zeros(40, dtype=np.int64)
    plain = lle(points, whole, dimensions=2, neighbours=39)
    along = lle(points, whole, dimensions=2, neighbours=39, metric="geodesic")
    assert np.allclose(plain, along, atol=1e-6)


def test_isomap_weighs_a_place_by_its_records() -> None:
    # Many records at one end pull the mean, which is the origin, towards them.
    points = np.array([0.0] * 8 + [1.0, 2.0])[:, None]
    found = isomap(points, np.zeros(10, dtype=np.int64), dimensions=1)[:, 0]
    assert found.mean() == pytest.approx(0, abs=1e-12)
    assert np.abs(found - found[0])[[7, 8, 9]] == pytest.approx([0, 1, 2])


@pytest.mark.parametrize("embed", EMBEDDINGS)
def test_equal_points_have_equal_coordinates_and_blocks_are_embedded_alone(embed: Embed) -> None:
    points = np.repeat(rolled(60), 2, axis=0)
    blocks = np.where(np.arange(120) < 80, 4, 1)
    blocks[[3, 100]] = -1
    found = embed(points, blocks, dimensions=3)
    assert not found[blocks == -1].any()
    assert np.array_equal(found[4:80:2], found[5:80:2])
    alone = embed(points[blocks == 1], np.zeros((blocks == 1).sum(), dtype=np.int64), dimensions=3)
    assert np.array_equal(found[blocks == 1], alone)


@pytest.mark.parametrize("embed", EMBEDDINGS)
def test_far_parts_are_told_apart(embed: Embed) -> None:
    draw = np.random.default_rng(5)
    points = np.concatenate([draw.normal(size=(30, 4)), draw.normal(size=(30, 4)) + 50])
    found = embed(points, np.zeros(60, dtype=np.int64), dimensions=2, neighbours=5)
    assert np.isfinite(found).all()
    first, second = found[:30, 0], found[30:, 0]
    assert first.max() < second.min() or second.max() < first.min()


@given(places(), st.integers(1, 5), st.integers(1, 6))
def test_any_points_have_an_embedding(points: FloatArray, dimensions: int, neighbours: int) -> None:
    whole = np.zeros(len(points), dtype=np.int64)
    for embed in EMBEDDINGS:
        found = embed(points, whole, dimensions=dimensions, neighbours=neighbours)
        assert found.shape == (len(points), dimensions)
        assert np.isfinite(found).all()


@given(places(), st.integers(1, 5))
def test_isomap_of_flat_points_that_all_know_each_other_keeps_every_distance(
    points: FloatArray, extra: int
) -> None:
    assume(len(points) > 1)
    found = isomap(
        points, np.zeros(len(points), dtype=np.int64), dimensions=3, neighbours=len(points) + extra
    )
    assert np.allclose(cdist(found, found), cdist(points, points), atol=1e-6 * (1 + points.max()))


@pytest.mark.parametrize("embed", EMBEDDINGS)
def test_the_number_of_threads_changes_no_bit(embed: Embed) -> None:
    points, whole = rolled(450), np.zeros(450, dtype=np.int64)
    found = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            found.append(embed(points, whole, seed=3).tobytes())
    assert found[0] == found[1] == found[2]


def test_distinct_points_are_counted() -> None:
    found = distinct(np.array([[2.0, 1.0], [0.0, 5.0], [2.0, 1.0], [2.0, 0.0]]))
    assert found.points.tolist() == [[0, 5], [2, 0], [2, 1]]
    assert found.place.tolist() == [2, 0, 2, 1]
    assert found.weight.tolist() == [1, 1, 2]
