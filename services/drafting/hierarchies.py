"""Draft a hierarchy of a column's values: values that small classes mix stand under one node.

A set of values is published as the lowest node that covers it, and costs as many values as the node has. So
the tree is the one found at which the sets of small classes cost least (S. Dasgupta, 2016, has pairs in place
of sets): clusters that are mixed most for their size are joined, then branches are moved while that costs
less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import duckdb
import numpy as np

from services.drafting.small_classes import SmallClasses
from services.drafting.yaml_text import listed, scalar
from tasks.sql import identifier
from tasks.types import BoolArray, FloatArray, IntArray

MOST_VALUES = 20  # of a hierarchy; rarer ones are read as others
MOST_LABELS = 29  # cells that small classes have: with `*`, as many as an analyst can group by
FEWEST_ROWS = 8  # of a value that a policy names where a column has more than MOST_VALUES
NAMED = 3  # values of a node, at most, that are all named in its name
MOST_MOVES = 40  # of branches
JOINTS = (", ", "; ", " / ", " + ", " & ")  # of the values in a node's name
OTHERS = "other"

Tree = tuple["str | Tree", ...]
Branch = int | tuple["Branch", ...]
"""A leaf's number, or the children of a node."""


@dataclass(frozen=True)
class Drafted:
    """The tree of a column's values, and the leaf that others are read as, None where it has all."""

    tree: Tree
    others: str | None

    @property
    def values(self) -> list[str]:
        """The values that the tree names."""
        return [leaf for leaf in leaves_of(self.tree) if leaf != self.others]


@dataclass(frozen=True)
class Sets:
    """Different sets of values as bits, whether each is beside the missing value, their rows, and how many
    values there are in all: a set that no node covers costs so many.
    """

    bits: IntArray
    missing: BoolArray
    rows: IntArray
    n_values: int
    _known: dict[int, FloatArray] = field(default_factory=dict, compare=False, repr=False)

    def cost(self, branch: Branch) -> float:
        """Return how many values the closed cells of all rows have."""
        cells = np.full(len(self.bits), float(self.n_values))
        for node in _nodes(branch):
            np.minimum(cells, self._cells_of(node), out=cells)
        return float(cells @ self.rows)

    def _cells_of(self, node: int) -> FloatArray:
        """Return how many values the cell of each set has if there is one node; trees share most nodes."""
        if node not in self._known:
            covered = (self.bits & ~node) == 0
            self._known[node] = np.where(covered, float(node.bit_count()), float(self.n_values))
        return self._known[node]

    def n_cells(self, branch: Branch) -> int:
        """Return how many different cells there are of several values, or of one and the missing one."""
        cells = np.full(len(self.bits), -1)
        for node in sorted(_nodes(branch), key=int.bit_count, reverse=True):
            cells[(self.bits & ~node) == 0] = node
        cells[self.bits == 0] = 0
        several = (cells >= 0) & (self.missing | (self.bits & (self.bits - 1) > 0))
        return len({*zip(cells[several].tolist(), self.missing[several].tolist(), strict=True)})


def drafted_hierarchy(con: duckdb.DuckDBPyConnection, column: str, classes: SmallClasses) -> Drafted | None:
    """Return the hierarchy of a column of the relation `cells`; None where fewer than three values are left.

    O(n) for the values, and O(v^3 s) a move for v values and s different sets of `classes`.
    """
    name = identifier(column)
    found = con.execute(
        f"SELECT {name}, count(*) FROM cells WHERE {name} IS NOT NULL GROUP BY ALL ORDER BY 2 DESC, 1"
    ).fetchall()
    values = [value for value, rows in found if len(found) <= MOST_VALUES or rows >= FEWEST_ROWS]
    values = values[:MOST_VALUES]
    if len(values) < 3:
        return None
    others = unlike(values) if len(values) < len(found) else None
    member, rows = classes.mixtures(column, values)
    leaves = [*values] if others is None else [*values, others]
    missing = member[:, -1]
    sets = _sets(member[:, : len(leaves)], missing, rows, len(leaves) + int(missing.any()))
    branch = _pruned(_improved(_joined(len(leaves), sets), sets), sets, len(leaves))
    tree = _named(branch, leaves)
    return Drafted(tree if not isinstance(tree, str) else (tree,), others)


def unlike(values: Sequence[str]) -> str:
    """Return a name for other values, which is none of `values`."""
    name = OTHERS
    while name in values:
        name += "s"
    return name


def _sets(member: BoolArray, missing: BoolArray, rows: IntArray, n_values: int) -> Sets:
    bits = (member.astype(np.int64) << np.arange(member.shape[1])).sum(axis=1)
    key, place = np.unique(2 * bits + missing, return_inverse=True)
    counted = np.bincount(place.ravel(), weights=rows, minlength=len(key)).astype(np.int64)
    single = np.array([one.bit_count() < 2 for one in (key >> 1).tolist()], dtype=bool)
    counted[single] = 0  # they cost the same in every tree
    return Sets(key >> 1, key % 2 == 1, counted, n_values)


def _bits(branch: Branch) -> int:
    return 1 << branch if isinstance(branch, int) else sum(map(_bits, branch))


def _nodes(branch: Branch) -> list[int]:
    """Return the values of each node under the root, as bits."""
    found: list[int] = []
    _collect(branch, found)
    return found[:-1]


def _collect(branch: Branch, found: list[int]) -> int:
    """Add the bits of a branch and of all nodes in it, itself last; return its own."""
    bits = 1 << branch if isinstance(branch, int) else sum([_collect(child, found) for child in branch])
    found.append(bits)
    return bits


def _branches(branch: Branch) -> Iterator[Branch]:
    yield branch
    for child in () if isinstance(branch, int) else branch:
        yield from _branches(child)


def _joined(n_leaves: int, sets: Sets) -> Branch:
    """Join the two clusters again and again that most rows mix, for the size of both."""
    clusters: list[tuple[Branch, int]] = [(leaf, 1 << leaf) for leaf in range(n_leaves)]
    while len(clusters) > 1:
        has = np.array([(sets.bits & bits) != 0 for _, bits in clusters])
        size = np.array([bits.bit_count() for _, bits in clusters])
        mixed = (has * sets.rows) @ has.T / (size[:, None] + size)
        mixed[np.tril_indices(len(clusters))] = -1.0
        i, j = divmod(int(mixed.argmax()), len(clusters))
        (a, bits_a), (b, bits_b) = clusters[i], clusters[j]
        clusters = [one for place, one in enumerate(clusters) if place not in (i, j)]
        clusters.append(((a, b), bits_a | bits_b))
    return clusters[0][0]


def _improved(branch: Branch, sets: Sets) -> Branch:
    """Move the branch to the place where the tree costs least, while that saves something."""
    cost = sets.cost(branch)
    for _ in range(MOST_MOVES):
        moved = [
            _with(rest, place, one)
            for one in [*_branches(branch)][1:]
            for rest in [_without(branch, one)]
            for place in _branches(rest)
        ]
        costs = [sets.cost(each) for each in moved]
        best = int(np.argmin(costs))
        if costs[best] >= cost - 0.5:  # rows and values are whole numbers
            break
        branch, cost = moved[best], costs[best]
    return branch


def _without(branch: Branch, gone: Branch) -> Branch:
    if isinstance(branch, int):
        return branch
    left = tuple(_without(child, gone) for child in branch if child != gone)
    return left[0] if len(left) == 1 else left


def _with(branch: Branch, place: Branch, one: Branch) -> Branch:
    if branch == place:
        return (branch, one)
    return branch if isinstance(branch, int) else tuple(_with(child, place, one) for child in branch)


def _pruned(branch: Branch, sets: Sets, n_leaves: int) -> Branch:
    """Return a tree of few enough nodes and cells: the node goes first without which the cells cost least."""
    while nodes := [one for one in [*_branches(branch)][1:] if not isinstance(one, int)]:
        if n_leaves + max(len(nodes), sets.n_cells(branch)) <= MOST_LABELS:
            break
        branch = min((_flat(branch, node) for node in nodes), key=sets.cost)
    return branch


def _flat(branch: Branch, node: Branch) -> Branch:
    """Return a tree in which the children of a node stand in its place."""
    if isinstance(branch, int):
        return branch
    children: list[Branch] = []
    for child in branch:
        if child == node and not isinstance(child, int):
            children += child
        else:
            children.append(_flat(child, node))
    return tuple(children)


def _named(branch: Branch, leaves: Sequence[str]) -> Tree | str:
    """Return a tree with the names of its leaves, of which the first are the most frequent."""
    if isinstance(branch, int):
        return leaves[branch]
    return tuple(_named(child, leaves) for child in sorted(branch, key=lambda one: _bits(one) & -_bits(one)))


def leaves_of(tree: Tree) -> list[str]:
    """Return the values of a tree, in their order."""
    return [leaf for child in tree for leaf in ([child] if isinstance(child, str) else leaves_of(child))]


def lines_of(tree: Tree, indent: str) -> Iterator[str]:
    """Write a tree as the nested lists of a policy; what joins the values in a name is in none of them."""
    leaves = leaves_of(tree)
    joint = next((one for one in JOINTS if not any(one.strip() in leaf for leaf in leaves)), JOINTS[0])
    yield from _written(tree, indent, set(leaves), joint)


def _written(tree: Tree, indent: str, taken: set[str], joint: str) -> Iterator[str]:
    alone = [child for child in tree if isinstance(child, str)]
    if len(alone) == len(tree):
        first, *more = listed(alone, f"{indent}  ")
        yield f"{indent}{first}"
        yield from more
        return
    for leaf in alone:
        yield f"{indent}- {scalar(leaf)}"
    for child in tree:
        if isinstance(child, str):
            continue
        name = _name(leaves_of(child), taken, joint)
        lines = [*_written(child, f"{indent}    " if alone else f"{indent}  ", taken, joint)]
        key = f"{indent}- {scalar(name)}:" if alone else f"{indent}{scalar(name)}:"
        if lines[0].lstrip().startswith("["):
            yield f"{key} {lines[0].lstrip()}"
            yield from lines[1:]
        else:
            yield key
            yield from lines


def _name(leaves: Sequence[str], taken: set[str], joint: str) -> str:
    """Name a node by its values; the name is no value's and no other node's."""
    name = joint.join(leaves) if len(leaves) <= NAMED else f"{leaves[0]} and {len(leaves) - 1} more"
    while name in taken:
        name += "'"
    taken.add(name)
    return name
