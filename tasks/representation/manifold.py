"""Distances along the data, and embeddings that keep them: geodesics, Isomap and LLE.

Points are taken block by block (`blocks` (n,), one label a record; -1 is left out and gets zeros). Inside
a block of m distinct points a method needs O(m^2) memory (8 m^2 bytes for the distances, about three
times that while Isomap runs) and O(m^2 log m) time: bound the blocks. Coordinates of different blocks
have nothing in common. Everything runs in one thread, so that the last bit depends on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from tasks.types import FloatArray, IntArray, Progress, no_progress

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Metric = Literal["euclidean", "geodesic"]
Gram = Callable[[IntArray, IntArray], FloatArray]
"""`gram(records, near)` returns the products (r, k, k) of the ways from records (r,) to neighbours (r, k)."""

CHUNK_CELLS = 4_000_000
DENSE_UP_TO = 400
GRID_BITS = 38
LEAST = float(np.finfo(np.float64).tiny)
REGULARIZATION = 1e-3


@dataclass(frozen=True)
class Distinct:
    """The distinct points (m, d) of n records, which one each record lies at (n,), and how many do (m,)."""

    points: FloatArray
    place: IntArray
    weight: IntArray


def distinct(points: FloatArray) -> Distinct:
    """Return the distinct rows of `points` (n, d), in the order of their coordinates."""
    rows, place, weight = np.unique(points, axis=0, return_inverse=True, return_counts=True)
    return Distinct(rows, place.ravel(), weight)


def geodesics(points: FloatArray, *, neighbours: int = 10) -> FloatArray:
    """Return the geodesic distances (m, m) among distinct `points` (m, d), all finite.

    The shortest paths over the graph that joins each point with its `neighbours` nearest (Tenenbaum, de
    Silva and Langford, 2000), both ways. Where that is not connected, the parts are joined by edges between
    their nearest pairs, shortest first, until it is. They are multiples of a power of two, about 1e-11 of the
    greatest, so that sums of up to 30,000 of them are exact and equal ones do not differ by rounding.
    """
    from scipy.sparse.csgraph import dijkstra

    if len(points) < 2:
        return np.zeros((len(points), len(points)))
    _, graph = neighbour_graph(points, neighbours)
    found = np.asarray(dijkstra(joined(graph, bridges(points, graph), points), directed=True))
    unit = np.exp2(np.ceil(np.log2(found.max())) - GRID_BITS)
    found /= unit
    np.rint(found, out=found)
    found *= unit
    return found


def isomap(
    points: FloatArray,
    blocks: IntArray,
    *,
    dimensions: int = 3,
    neighbours: int = 10,
    seed: int = 0,
    progress: Progress = no_progress,
) -> FloatArray:
    """Return coordinates (n, dimensions) whose distances are near the geodesic ones, each block's its own.

    Classical scaling of the geodesic distances (Tenenbaum, de Silva and Langford, 2000), each
    distinct point weighted by its records. Dimensions that the block does not have are zero.
    scikit-learn's Isomap would join a disconnected graph in its own way and count no weights.
    """

    def embed(found: Distinct) -> FloatArray:
        distance = geodesics(found.points, neighbours=neighbours)
        return _classical_scaling(distance, found.weight, dimensions, seed)

    return _block_by_block(points, blocks, dimensions, embed, progress)


def lle(
    points: FloatArray,
    blocks: IntArray,
    *,
    dimensions: int = 3,
    neighbours: int = 10,
    metric: Metric = "euclidean",
    seed: int = 0,
    progress: Progress = no_progress,
) -> FloatArray:
    """Return coordinates (n, dimensions) that keep each distinct point's place among its neighbours.

    Locally linear embedding (Roweis and Saul, 2000). The ends of the edges that join a disconnected
    graph (see `geodesics`) are neighbours too, which scikit-learn's LLE has no means to say.

    With the `metric` geodesic, a point and its neighbours are placed by the geodesic distances among them
    (classical scaling) before the point is made up of them, so that a bend of the data between neighbours is
    straight. The neighbours are the same: along the graph of the nearest points, no other point is nearer.
    """

    def embed(found: Distinct) -> FloatArray:
        gram = _euclidean_gram(found.points)
        if metric == "geodesic":
            gram = _geodesic_gram(geodesics(found.points, neighbours=neighbours))
        return _locally_linear(found.points, gram, dimensions, neighbours, seed)

    return _block_by_block(points, blocks, dimensions, embed, progress)


def neighbour_graph(points: FloatArray, neighbours: int) -> tuple[IntArray, csr_array]:
    """Return the `neighbours` nearest of each of m >= 2 distinct points (m, k), and the graph of distances.

    The graph (m, m) has an edge where either of two points is among the nearest of the other.
    """
    from scipy.sparse import coo_array
    from sklearn.neighbors import NearestNeighbors

    m = len(points)
    k = min(neighbours, m - 1)
    with threadpool_limits(1):
        # A k-d tree takes sums of squared differences: no matrix product, whose last bit may turn a tie.
        distance, near = NearestNeighbors(n_neighbors=k, algorithm="kd_tree").fit(points).kneighbors()
    start = np.repeat(np.arange(m), k)
    weight = np.maximum(distance.ravel(), LEAST)
    graph = coo_array((weight, (start, near.ravel())), shape=(m, m)).tocsr()
    return near, graph.maximum(graph.T).tocsr()


def bridges(points: FloatArray, graph: csr_array) -> IntArray:
    """Return the pairs of points (c - 1, 2) that join the c parts of the graph.

    A minimum spanning tree of the parts, the distance of two parts being that of their nearest
    points. O(m^2 d), a chunk of the distances at a time.
    """
    from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
    from scipy.spatial.distance import cdist

    n_parts, part = connected_components(graph, directed=False)
    if n_parts == 1:
        return np.empty((0, 2), dtype=np.int64)
    order = np.argsort(part, kind="stable")
    sizes = np.bincount(part)
    starts = np.cumsum(sizes) - sizes
    members = np.split(order, starts[1:])
    nearest = np.full((n_parts, n_parts), np.inf)
    step = max(1, CHUNK_CELLS // len(points))
    for own, records in enumerate(members):
        for first in range(0, len(records), step):
            away = cdist(points[records[first : first + step]], points[order]).min(axis=0)
            nearest[own] = np.minimum(nearest[own], np.minimum.reduceat(away, starts))
    nearest = np.maximum(nearest, LEAST)
    np.fill_diagonal(nearest, 0.0)
    tree = minimum_spanning_tree(nearest).tocoo()
    return np.array(
        [_nearest_pair(points, members[a], members[b]) for a, b in zip(tree.row, tree.col, strict=True)]
    )


def joined(graph: csr_array, pairs: IntArray, points: FloatArray) -> csr_array:
    """Return the graph with an edge, both ways, between the points of each of `pairs` (b, 2)."""
    from scipy.sparse import coo_array

    if not len(pairs):
        return graph
    length = np.maximum(np.sqrt(((points[pairs[:, 0]] - points[pairs[:, 1]]) ** 2).sum(axis=1)), LEAST)
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    added = coo_array((np.concatenate([length, length]), (ends[:, 0], ends[:, 1])), shape=graph.shape)
    return graph.maximum(added.tocsr()).tocsr()


def _nearest_pair(points: FloatArray, one: IntArray, other: IntArray) -> tuple[int, int]:
    from scipy.spatial.distance import cdist

    step = max(1, CHUNK_CELLS // len(other))
    best = (np.inf, 0, 0)
    for first in range(0, len(one), step):
        away = cdist(points[one[first : first + step]], points[other])
        row, column = np.unravel_index(int(away.argmin()), away.shape)
        if away[row, column] < best[0]:
            best = (float(away[row, column]), int(one[first + row]), int(other[column]))
    return best[1], best[2]


def _block_by_block(
    points: FloatArray,
    blocks: IntArray,
    dimensions: int,
    embed: Callable[[Distinct], FloatArray],
    progress: Progress,
) -> FloatArray:
    found = np.zeros((len(points), dimensions))
    labels = np.unique(blocks[blocks >= 0])
    for number, label in enumerate(labels):
        progress(number / len(labels), f"block {number + 1} of {len(labels)}")
        records = np.flatnonzero(blocks == label)
        block = distinct(points[records])
        with threadpool_limits(1):
            coordinates = embed(block)
        found[records, : coordinates.shape[1]] = coordinates[block.place]
    return found


def _classical_scaling(distance: FloatArray, weight: IntArray, dimensions: int, seed: int) -> FloatArray:
    """Return coordinates (m, at most dimensions) of distances (m, m), which are overwritten."""
    share = weight / weight.sum()
    squared = np.square(distance, out=distance)
    mean = np.einsum("ij,j->i", squared, share)
    squared -= mean[:, None]
    squared -= mean
    squared += (mean * share).sum()
    root = np.sqrt(share)
    squared *= -0.5 * root[:, None]
    squared *= root
    values, vectors = _largest(squared, min(dimensions, len(weight)), seed)
    return np.asarray(_signed(vectors) * np.sqrt(np.maximum(values, 0.0)) / root[:, None])


def _largest(matrix: FloatArray, count: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return the `count` greatest eigenvalues of a symmetric matrix, greatest first, and their vectors."""
    from scipy.linalg import eigh
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    m = len(matrix)
    if m > max(DENSE_UP_TO, 2 * count):
        start = np.random.default_rng(seed).uniform(-1, 1, m)
        try:
            values, vectors = eigsh(matrix, k=count, which="LA", v0=start)
        except ArpackNoConvergence:
            values, vectors = eigh(matrix, subset_by_index=(m - count, m - 1))
    else:
        values, vectors = eigh(matrix, subset_by_index=(m - count, m - 1))
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]


def _locally_linear(
    points: FloatArray, gram: Gram, dimensions: int, neighbours: int, seed: int
) -> FloatArray:
    from scipy.sparse import coo_array, eye_array

    m = len(points)
    if m < 3:
        return np.arange(m, dtype=np.float64)[:, None]
    near, graph = neighbour_graph(points, neighbours)
    rows = [np.repeat(np.arange(m), near.shape[1])]
    columns = [near.ravel()]
    weights = [_barycentric(gram, np.arange(m), near).ravel()]
    ends = bridges(points, graph)
    both = np.concatenate([ends, ends[:, ::-1]])
    for record in np.unique(both[:, 0]):
        more = np.concatenate([near[record], both[both[:, 0] == record, 1]])
        weights[0].reshape(m, -1)[record] = 0.0
        rows.append(np.full(len(more), record))
        columns.append(more)
        weights.append(_barycentric(gram, np.array([record]), more[None, :]).ravel())
    place = np.concatenate(rows), np.concatenate(columns)
    reconstruct = coo_array((np.concatenate(weights), place), shape=(m, m)).tocsr()
    error = eye_array(m, format="csr") - reconstruct
    return _smallest((error.T @ error).tocsc(), min(dimensions, m - 1), seed)


def _euclidean_gram(points: FloatArray) -> Gram:
    def gram(records: IntArray, near: IntArray) -> FloatArray:
        step = max(1, CHUNK_CELLS // (near.shape[1] * points.shape[1]))
        found = np.empty((*near.shape, near.shape[1]))
        for first in range(0, len(records), step):
            part = slice(first, first + step)
            away = points[near[part]] - points[records[part], None]
            found[part] = away @ away.transpose(0, 2, 1)
        return found

    return gram


def _geodesic_gram(distance: FloatArray) -> Gram:
    """Return the products by the law of cosines, of distances (m, m), without negative eigenvalues."""

    def gram(records: IntArray, near: IntArray) -> FloatArray:
        squared = distance[records[:, None], near] ** 2
        between = distance[near[:, :, None], near[:, None, :]] ** 2
        values, vectors = np.linalg.eigh((squared[:, :, None] + squared[:, None, :] - between) / 2)
        return np.asarray((vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1))

    return gram


def _barycentric(gram: Gram, records: IntArray, near: IntArray) -> FloatArray:
    """Return weights (r, k), of sum 1, with which the neighbours of each record make it up."""
    step = max(1, CHUNK_CELLS // near.shape[1] ** 2)
    found = np.empty(near.shape)
    diagonal = np.arange(near.shape[1])
    for first in range(0, len(records), step):
        part = slice(first, first + step)
        products = gram(records[part], near[part])
        trace = np.trace(products, axis1=1, axis2=2)
        products[:, diagonal, diagonal] += REGULARIZATION * np.where(trace > 0, trace, 1.0)[:, None]
        weight = np.linalg.solve(products, np.ones((*products.shape[:2], 1)))[..., 0]
        found[part] = weight / weight.sum(axis=1, keepdims=True)
    return found


def _smallest(matrix: csr_array, count: int, seed: int) -> FloatArray:
    """Return the eigenvectors (m, count) of the smallest eigenvalues but that of the constant vector."""
    from scipy.linalg import eigh
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    m = matrix.shape[0]
    if m > max(DENSE_UP_TO, 2 * count + 2):
        start = np.random.default_rng(seed).uniform(-1, 1, m)
        # The matrix is singular: the constant vector. A shift just under 0 makes it definite.
        shift = -1e-10 * float(matrix.trace()) / m
        try:
            _, vectors = eigsh(matrix, k=count + 1, sigma=shift, which="LM", v0=start)
        except ArpackNoConvergence:
            _, vectors = eigh(matrix.toarray(), subset_by_index=(0, count))
    else:
        _, vectors = eigh(matrix.toarray(), subset_by_index=(0, count))
    constant = int(np.abs(vectors.sum(axis=0)).argmax())
    return _signed(np.delete(vectors, constant, axis=1))


def _signed(vectors: FloatArray) -> FloatArray:
    """Turn each column (m, r) so that its greatest entry, the first of equals, is positive."""
    greatest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[greatest, np.arange(vectors.shape[1])])
    return np.asarray(vectors * np.where(signs == 0, 1.0, signs))
