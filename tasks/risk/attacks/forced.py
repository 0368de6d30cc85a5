"""Which classes each person may be in, for an attacker who places everybody at once.

The attacker knows the quasi-identifiers of all people in a release, and nobody else is in it. An assignment
gives each person a class whose cells contain them, so that each class gets as many people as it has rows. A
class is *possible* for a person if some assignment puts them there. One person at a time, every class that
contains them looks possible; with all people placed at once, some of these classes are full of others.

Two assignments differ by cycles of people who each take the next one's place. So with one assignment at
hand, the true one, the possible classes are told by strongly connected components: class a has an arc to
class b if somebody in a fits b, and a person of a may be in b just where they fit it and an arc's cycle
leads back to a (for matchings: Regin, 1994, "A filtering algorithm for constraints of difference in CSPs").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, maximum_flow

from policy.text import number_of
from tasks.geometry.candidates import ClassMatches, find_containing
from tasks.geometry.cells import Cells
from tasks.geometry.space import distinct_rows
from tasks.types import BoolArray, FloatArray, IntArray

MOST_ARCS = 4_000_000
"""Arcs that are held before the components found so far are merged into one node each."""


MOST_PAIRS = 10_000_000
"""Pairs of distinct people and classes among which an assignment is looked for."""


class NoAssignment(Exception):
    """Why no assignment is known: counts only."""


@dataclass(frozen=True)
class Possible:
    """Of n people (n,): `fitting` classes contain them, `classes` of these are possible, with `rows` rows.

    `certain[attribute]` (n,) tells whether all possible classes of a person have one value, and the same;
    or values that are similar, where the counts are of these.
    `pairs` counts the pairs of distinct quasi-identifiers and possible classes.
    """

    fitting: IntArray
    classes: IntArray
    rows: IntArray
    certain: dict[str, BoolArray]
    pairs: int


def possible_classes(
    numbers: FloatArray,
    codes: NDArray[np.int32],
    own: IntArray,
    cells: Cells,
    counts: Mapping[str, IntArray],
) -> Possible:
    """Find the possible classes of n people `numbers` (n, p), `codes` (n, q) who are in classes `own` (n,).

    `cells` are those of the N classes, each of which contains its people; `counts[attribute]` (N, V) is how
    often each sensitive value stands in them. Equal people are looked up once. Cost: twice that of
    `candidates.find`, and sorting the pairs found; memory O(n + N + arcs). Raises NoAssignment where somebody
    is not in the cells of their own class.
    """
    n_classes = len(cells)
    first, point = distinct_rows([*numbers.T, *codes.T])
    uses = np.unique(point * n_classes + own)  # the classes that equal people are in, by point
    seat = np.zeros(len(first), dtype=np.int64)
    seat[(uses // n_classes)[::-1]] = (uses % n_classes)[::-1]

    def found() -> Iterator[ClassMatches]:
        return find_containing(numbers[first], codes[first], cells)

    component = _components(found(), seat, uses, n_classes)
    if component is None:
        n_outside = int((~cells.contain(own, numbers, codes)).sum())
        outside = number_of(n_outside, "person is", "people are")
        raise NoAssignment(f"{outside} not in the cells of their class")
    size = np.bincount(own, minlength=n_classes)
    single = {name: _single_value(table) for name, table in counts.items()}
    fitting, classes, rows = (np.zeros(len(first), dtype=np.int64) for _ in range(3))
    certain = {name: np.zeros(len(first), dtype=bool) for name in counts}
    for part in found():
        here, n_fitting = part.people, part.n_classes()
        possible = component[part.classes] == np.repeat(component[seat[here]], n_fitting)
        fitting[here] = n_fitting
        classes[here] = np.add.reduceat(possible.astype(np.int64), part.starts)
        rows[here] = np.add.reduceat(size[part.classes] * possible, part.starts)
        for name, value in single.items():
            certain[name][here] = _one_value(value[part.classes], possible, part.starts)
    return Possible(
        fitting[point],
        classes[point],
        rows[point],
        {name: of[point] for name, of in certain.items()},
        int(classes.sum()),
    )


def an_assignment(numbers: FloatArray, codes: NDArray[np.int32], size: IntArray, cells: Cells) -> IntArray:
    """Find some assignment of people `numbers` (n, p), `codes` (n, q) to classes of `size` (N,) people: (n,).

    Which one does not matter to `possible_classes`. It is a maximum flow from distinct people to classes, by
    Dinic's algorithm; memory is O(pairs). Raises NoAssignment where there is none, or too many pairs.
    """
    n_classes = len(cells)
    first, point = distinct_rows([*numbers.T, *codes.T])
    n_points, n_same = len(first), np.bincount(point)
    people, classes, n_pairs = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], 0
    for part in find_containing(numbers[first], codes[first], cells):
        people.append(np.repeat(part.people, part.n_classes()))
        classes.append(part.classes)
        n_pairs += len(part.classes)
        if n_pairs > MOST_PAIRS:
            raise NoAssignment(f"over {MOST_PAIRS:,} pairs of people and classes to look for one")
    person, place = np.concatenate(people), np.concatenate(classes)
    source, target = 0, n_points + n_classes + 1  # people are nodes from 1 on, then classes
    tail = np.concatenate([np.full(n_points, source), person + 1, np.arange(n_points + 1, target)])
    head = np.concatenate([np.arange(1, n_points + 1), place + n_points + 1, np.full(n_classes, target)])
    room = np.concatenate([n_same, n_same[person], size]).astype(np.int32)
    graph = coo_array((room, (tail, head)), shape=(target + 1, target + 1)).tocsr()
    found = maximum_flow(graph, source, target)
    if found.flow_value < len(point) or len(point) != size.sum():
        left = number_of(len(point) - found.flow_value, "person has", "people have")
        raise NoAssignment(f"{left} no room in the classes that fit them")
    flow = found.flow[1 : n_points + 1, n_points + 1 : target].tocoo()
    used = flow.data > 0
    order = np.argsort(flow.row[used], kind="stable")
    own = np.empty(len(point), dtype=np.int64)
    own[np.argsort(point, kind="stable")] = np.repeat(flow.col[used][order], flow.data[used][order])
    return own


def _components(
    parts: Iterator[ClassMatches], seat: IntArray, uses: IntArray, n_classes: int
) -> IntArray | None:
    """Return the strongly connected component of each class, (N,); None if somebody lies outside their own.

    `seat` (m,) is one class of each point, `uses` are all of them as point * N + class. The other classes of
    a point have an arc to the first, and the first one to every class that contains the point.
    """
    label = np.arange(n_classes)
    held = [np.unique((uses % n_classes) * n_classes + seat[uses // n_classes])]
    n_used, n_held, most = 0, len(held[0]), MOST_ARCS
    for part in parts:
        n_fitting = part.n_classes()
        pairs = np.repeat(part.people, n_fitting) * n_classes + part.classes
        n_used += int((uses[np.searchsorted(uses, pairs) % len(uses)] == pairs).sum())
        arcs = np.repeat(label[seat[part.people]], n_fitting) * n_classes + label[part.classes]
        held.append(np.unique(arcs))
        n_held += len(held[-1])
        if n_held > most:
            label, arcs = _merged(label, np.unique(np.concatenate(held)), n_classes)
            held, n_held, most = [arcs], len(arcs), MOST_ARCS + 2 * len(arcs)
    return _merged(label, np.unique(np.concatenate(held)), n_classes)[0] if n_used == len(uses) else None


def _merged(label: IntArray, arcs: IntArray, n_classes: int) -> tuple[IntArray, IntArray]:
    """Merge each strongly connected component: return the new `label` (N,), and the arcs that are left."""
    tail, head = np.divmod(arcs, n_classes)
    graph = coo_array((np.ones(len(arcs), dtype=np.int8), (tail, head)), shape=(n_classes, n_classes))
    _, component = connected_components(graph.tocsr(), directed=True, connection="strong")
    component = component.astype(np.int64)
    tail, head = component[tail], component[head]
    return component[label], np.unique((tail * n_classes + head)[tail != head])


def _single_value(counts: IntArray) -> IntArray:
    """Return the one value of each class, (N,), -1 where it has several."""
    one = (counts > 0).sum(axis=1) == 1
    return np.where(one, counts.argmax(axis=1), -1)


def _one_value(value: IntArray, possible: BoolArray, starts: IntArray) -> BoolArray:
    """Tell of each person whether all their possible classes have one value, and the same."""
    least = np.minimum.reduceat(np.where(possible, value, np.iinfo(np.int64).max), starts)
    most = np.maximum.reduceat(np.where(possible, value, -1), starts)
    return np.asarray((least == most) & (least >= 0))
