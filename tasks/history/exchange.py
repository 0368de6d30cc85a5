"""Certificates that a value is possible: exchanges of two values along a cycle, which give another world.

For two values a and b and one release, a subject with a leads from its class there to its classes in all
other releases, a subject with b the other way. Along a directed cycle everybody with a takes b, everybody
with b takes a, and each class keeps its values. Where a subject is absent nothing has to be kept: all such
ends are one node. A cycle through an edge exists just where its ends are in one strongly connected component.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.sparse.csgraph import connected_components

from tasks.counting import numbers_from
from tasks.history.cohorts import ABSENT, Cohorts
from tasks.history.numbering import distinct_codes, number_codes, number_rows
from tasks.types import BoolArray, IntArray

EDGES_AT_ONCE = 2_000_000


def exchanged(
    by_value: csc_array, pairs: IntArray, division: tuple[IntArray, IntArray]
) -> tuple[IntArray, IntArray]:
    """Return cohorts and values: by an exchange of one of the `pairs` (p, 2) of values a member can have it.

    `by_value` is the world (c, values), `division` one of `divisions`. All that is told is true of some
    world; not all that is true is told. Linear in the cohorts that have either value of a pair, but for
    sorting them.
    """
    found = [_at_ends(by_value, chunk, *division) for chunk in _chunks(by_value, pairs)]
    if not found:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    cohort, value = np.concatenate(found).T
    n_values = by_value.shape[1]
    codes = distinct_codes(cohort * n_values + value, by_value.shape[0] * n_values)
    return codes // n_values, codes % n_values


def divisions(cohorts: Cohorts) -> list[tuple[IntArray, IntArray]]:
    """Return the two ends of each cohort, by its classes on either side; node 0 keeps nothing.

    Each release is laid against the others, and all before it against it and all after: where classes stay,
    whoever leaves or joins at that time differs from those who do not in all later or earlier releases.
    """
    n_releases = cohorts.place.shape[1]
    sides = {frozenset([release]) for release in range(n_releases)}
    sides |= {frozenset(range(release)) for release in range(1, n_releases)}
    everything = frozenset(range(n_releases))
    # A side and the rest are the same division, but for one release alone, which has nothing beside it.
    chosen = {min(side, everything - side, key=sorted) for side in sides if n_releases > 1} or sides
    found = []
    # The newest releases first: whoever left or came last is short most often.
    for side in sorted(chosen, key=lambda side: (-max(side), len(side))):
        ends = [_nodes(cohorts.place[:, sorted(part)]) for part in (side, everything - side)]
        found.append((ends[0], np.where(ends[1] > 0, ends[1] + ends[0].max(initial=0), 0)))
    return found


def divisions_of_classes(cohorts: Cohorts) -> list[tuple[IntArray, IntArray]]:
    """Return the two ends of each cohort where members may have several rows, one division a binary digit.

    On one side are the classes whose number has the digit 1: any two classes are apart in some division. An
    end is what rows a member has in the classes of a side. O(c r log c) for each digit of the classes.
    """
    rows = np.zeros_like(cohorts.place) if cohorts.rows is None else cohorts.rows
    found = []
    for digit in range(max(cohorts.n_classes - 1, 1).bit_length()):
        one = (cohorts.place >> digit & 1).astype(bool)
        ends = [
            _nodes(np.where(side, cohorts.place, ABSENT), np.where(side, rows, 0))
            for side in ((cohorts.place != ABSENT) & one, (cohorts.place != ABSENT) & ~one)
        ]
        found.append((ends[0], np.where(ends[1] > 0, ends[1] + ends[0].max(initial=0), 0)))
    return found


def arcs_on_cycles(tail: IntArray, head: IntArray, n_nodes: int) -> BoolArray:
    """Tell which arcs (m,) lie on a directed cycle: those in one strongly connected component.

    O(m log m + n_nodes).
    """
    # Each arc once: SciPy's search does not end where one comes twice.
    width = n_nodes.bit_length()
    both = distinct_codes(tail << width | head, 1 << 2 * width)
    first = np.zeros(n_nodes + 1, dtype=np.int32)
    np.cumsum(np.bincount(both >> width, minlength=n_nodes), out=first[1:])
    target = (both & (1 << width) - 1).astype(np.int32)
    graph = csr_array((np.ones(len(target)), target, first), (n_nodes, n_nodes))
    label = connected_components(graph, directed=True, connection="strong")[1]
    return np.asarray(label[tail] == label[head])


def _nodes(place: IntArray, rows: IntArray | None = None) -> IntArray:
    """Number equal vectors of `place`, and `rows` if given, from 1 on; 0 where there is no class."""
    vectors = place + 1
    if rows is not None:  # gaps lie where other classes are
        order = np.argsort(place, axis=1, kind="stable")
        vectors = np.concatenate(
            [np.take_along_axis(each, order, axis=1) for each in (vectors, rows)], axis=1
        )
    number = number_rows(vectors, int(vectors.max(initial=0)) + 1)[0] + 1
    return np.where((place == ABSENT).all(axis=1), 0, number)


def _chunks(by_value: csc_array, pairs: IntArray) -> list[IntArray]:
    """Cut the pairs into runs of some millions of edges."""
    n_with = np.diff(by_value.indptr)
    edges = np.cumsum(n_with[pairs].sum(axis=1))
    cut = np.flatnonzero(np.diff(edges // EDGES_AT_ONCE)) + 1
    return [chunk for chunk in np.split(pairs, cut) if len(chunk)]


def _at_ends(by_value: csc_array, pairs: IntArray, left: IntArray, right: IntArray) -> IntArray:
    """Return (cohort, value) for all edges of the pairs' graphs that lie on a cycle."""
    n_with = np.diff(by_value.indptr)
    tails, heads, cohorts, gains = [], [], [], []
    span = int(max(left.max(initial=0), right.max(initial=0))) + 1
    for column, ends in ((0, (left, right)), (1, (right, left))):
        number = np.repeat(np.arange(len(pairs)), n_with[pairs[:, column]])
        spots = numbers_from(by_value.indptr[pairs[:, column]], n_with[pairs[:, column]])
        cohort = by_value.indices[spots]
        tails.append(number * span + ends[0][cohort])
        heads.append(number * span + ends[1][cohort])
        cohorts.append(cohort)
        gains.append(pairs[number, 1 - column])
    n_nodes, place = number_codes(np.concatenate([*tails, *heads]), len(pairs) * span)
    tail, head = np.split(place, 2)
    on_cycle = arcs_on_cycles(tail, head, n_nodes)
    return np.stack([np.concatenate(cohorts)[on_cycle], np.concatenate(gains)[on_cycle]], axis=1).astype(
        np.int64
    )
