"""Values that are impossible: no world of two releases alone, with one value against all others, has them.

Where a value is told from all others together, worlds of two releases are flows: a cohort with it leads
from its class in the one to its class in the other, a cohort with another value the other way, and a
cycle through both gives another world. What no cycle gives is impossible, for that value, for these two
releases, and so for all: more releases and more values told apart leave fewer worlds.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from tasks.history.cohorts import ABSENT, Cohorts
from tasks.history.numbering import number_codes
from tasks.types import BoolArray, IntArray

ENTRIES_AT_ONCE = 2_000_000


def possible_by_two(cohorts: Cohorts, world: csr_array, shared: csr_array, values: IntArray) -> csr_array:
    """Return `shared` (c, values) without those of the `values`, in order, that two releases rule out.

    `world` and `shared` are as `world_of` and `values_shared` tell them. Linear in the entries of `shared`
    for each pair of releases.
    """
    entries = shared.tocoo()
    asked = np.isin(entries.col, values)
    if not asked.any():
        return shared
    cohort, value = entries.row[asked].astype(np.int64), entries.col[asked].astype(np.int64)
    order = np.argsort(value, kind="stable")
    cohort, value = cohort[order], value[order]
    n_with = np.asarray(world[cohort, value]).reshape(-1)
    has, lacks = n_with > 0, n_with < cohorts.size[cohort]
    keep = np.ones(len(cohort), dtype=bool)
    for one, other in combinations(range(cohorts.place.shape[1]), 2):
        ends = cohorts.place[:, [one, other]]
        for part in _parts(value, np.flatnonzero(keep)):
            keep[part] = has[part] | _on_cycle(ends[cohort[part]], value[part], has[part], lacks[part])
    left = (
        np.concatenate([entries.row[~asked], cohort[keep]]),
        np.concatenate([entries.col[~asked], value[keep]]),
    )
    return csr_array((np.ones(len(left[0]), dtype=np.int64), left), shared.shape)


def _parts(value: IntArray, chosen: IntArray) -> list[IntArray]:
    """Cut the chosen places into runs of some millions, no value in two of them."""
    ends = np.flatnonzero(np.diff(value[chosen])) + 1
    sizes = np.diff(ends, prepend=0)
    cut = ends[np.flatnonzero(np.diff(np.cumsum(sizes) // ENTRIES_AT_ONCE)) + 1] if len(ends) else ends
    return [part for part in np.split(chosen, cut) if len(part)]


def _on_cycle(ends: IntArray, value: IntArray, has: BoolArray, lacks: BoolArray) -> BoolArray:
    """Tell for each entry whether both `ends` (n, 2) are on a cycle of the graph of its value.

    A class is one node for each value; all that is absent is one more. Who is in neither is bound by nothing.
    """
    absent = ends == ABSENT
    n_values = int(value.max(initial=0)) + 1
    node = np.where(absent, value[:, None], value[:, None] + (ends + 1) * n_values)
    n_nodes, place = number_codes(node.reshape(-1), (int(ends.max(initial=0)) + 2) * n_values)
    left, right = place.reshape(node.shape).T
    tail, head = np.concatenate([left[has], right[lacks]]), np.concatenate([right[has], left[lacks]])
    graph = coo_array((np.ones(len(tail), dtype=np.int8), (tail, head)), (n_nodes, n_nodes))
    label = connected_components(graph.tocsr(), directed=True, connection="strong")[1]
    return np.asarray((label[left] == label[right]) | absent.all(axis=1))
