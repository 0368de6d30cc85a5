"""Which earlier releases a candidate is laid beside, and in what words: theirs are read as leaves of today's
hierarchies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from policy.hierarchy import ROOT, Hierarchy
from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, SetCells
from tasks.history.intersection import one_apart

Named = tuple[str, EquivalenceClasses]
SAME_PERIOD = (0, 0)


@dataclass(frozen=True)
class SelectedHistory:
    """The earlier releases that are compared, oldest first, with their periods `apart` as in `history_of`.

    `left_out` are those that the policy's population leaves out; `foreign` names for each release the
    quasi-identifiers with a label that the policy's hierarchy does not know.
    """

    earlier: tuple[Named, ...]
    apart: tuple[tuple[int, int], ...]
    left_out: tuple[Named, ...]
    foreign: dict[str, tuple[str, ...]]


def select_history(
    earlier: Sequence[Named], policy: ReleasePolicy, apart: Sequence[tuple[int, int]] | None = None
) -> SelectedHistory:
    """Choose the releases that `policy.population` compares, and read their cells by today's leaves.

    Of an `independent` population nobody is in two periods, so only releases of the candidate's own period,
    such as the one that a revision replaces, are compared.
    """
    apart = one_apart(len(earlier)) if apart is None else apart
    chosen = [policy.population != "independent" or tuple(each) == SAME_PERIOD for each in apart]
    kept = [release for release, is_in in zip(earlier, chosen, strict=True) if is_in]
    return SelectedHistory(
        tuple((name, by_leaves(classes, policy)) for name, classes in kept),
        tuple(each for each, is_in in zip(apart, chosen, strict=True) if is_in),
        tuple(release for release, is_in in zip(earlier, chosen, strict=True) if not is_in),
        {name: found for name, classes in kept if (found := foreign_labels(classes, policy))},
    )


def by_leaves(classes: EquivalenceClasses, policy: ReleasePolicy) -> EquivalenceClasses:
    """Return the classes with every inner node of the policy's hierarchies replaced by its leaves.

    A label that is both a leaf and a node is taken for the leaf.
    """
    sets = dict(classes.sets)
    for name, cells in classes.sets.items():
        hierarchy = _hierarchy(policy, name)
        if hierarchy is not None and set(cells.values) & (set(_nodes(hierarchy)) - set(hierarchy.leaves)):
            sets[name] = _spread(cells, hierarchy)
    return replace(classes, sets=sets)


def foreign_labels(classes: EquivalenceClasses, policy: ReleasePolicy) -> tuple[str, ...]:
    """Return the quasi-identifiers with a label that is neither leaf nor node of the policy's hierarchy, or
    that stands outside the policy's order.
    """
    found = []
    for name, cells in classes.sets.items():
        hierarchy, qi = _hierarchy(policy, name), policy.roles.categorical.get(name)
        if hierarchy is None and (qi is None or qi.order is None):
            continue
        nodes = () if hierarchy is None else (*hierarchy.leaves, *_nodes(hierarchy))
        listed = () if qi is None else qi.allowed or ()
        if not set(cells.values) <= {*nodes, *listed, policy.source.missing_label}:
            found.append(name)
    return tuple(found)


def _hierarchy(policy: ReleasePolicy, name: str) -> Hierarchy | None:
    qi = policy.roles.categorical.get(name)
    return None if qi is None else qi.tree


def _nodes(hierarchy: Hierarchy) -> dict[str, list[str]]:
    """Return the leaves under every node."""
    nodes: dict[str, list[str]] = {}
    for leaf, *above in hierarchy.paths:
        for node in dict.fromkeys(above):
            nodes.setdefault(node, []).append(leaf)
    return nodes


def _spread(cells: SetCells, hierarchy: Hierarchy) -> SetCells:
    nodes, leaves = _nodes(hierarchy), set(hierarchy.leaves)
    covers = [[value] if value in leaves else nodes.get(value, [value]) for value in cells.values]
    values = tuple(dict.fromkeys(leaf for each in covers for leaf in each))
    place = {value: i for i, value in enumerate(values)}
    member = np.zeros((len(cells.member), len(values)), dtype=bool)
    for column, each in enumerate(covers):
        member[:, [place[leaf] for leaf in each]] |= cells.member[:, column, None]
    whole = cells.whole.copy()
    if ROOT in cells.values and ROOT not in leaves:
        whole |= cells.member[:, cells.values.index(ROOT)]
    return SetCells(values, member, whole)
