"""Draft a hierarchy of a column's values: values near which people are alike stand under one node.

Two values are near if their rows are alike in the other quasi-identifiers. The values are put into an order
in which near ones are neighbours (agglomerative clustering), and the order is cut into two parts of about as
many rows, again and again. Parts of like size let a class have a low node; in a tree of the clusters
themselves, rare values would be together up to the root, and no class could be made of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
from numpy.typing import NDArray

from services.drafting.yaml_text import listed, scalar
from tasks.sql import identifier

MOST_VALUES = 20  # of a hierarchy; rarer ones are read as others
MOST_LABELS = 26  # values and nodes together
FEWEST_ROWS = 8  # of a value that a policy names where a column has more than MOST_VALUES
NAMED = 3  # values of a node, at most, that are all named in its name
BINS = 8  # of the numbers of another column
OTHERS = "other"

Tree = tuple["str | Tree", ...]
Counts = NDArray[np.float64]


@dataclass(frozen=True)
class Drafted:
    """The tree of a column's values, and whether some values are left out of it, to be read as others."""

    tree: Tree
    others: bool

    @property
    def values(self) -> list[str]:
        """The values of the tree, in their order."""
        return leaves_of(self.tree)


def drafted_hierarchy(con: duckdb.DuckDBPyConnection, column: str, beside: Sequence[str]) -> Drafted | None:
    """Return the hierarchy of a column of the relation `cells`; None where fewer than three values are left.

    `beside` are the other quasi-identifiers. O(n) a column beside it, and O(v^3) for v values.
    """
    name = identifier(column)
    found = con.execute(
        f"SELECT {name}, count(*) FROM cells WHERE {name} IS NOT NULL GROUP BY ALL ORDER BY 2 DESC, 1"
    ).fetchall()
    values = [value for value, rows in found if len(found) <= MOST_VALUES or rows >= FEWEST_ROWS]
    values = values[:MOST_VALUES]
    if len(values) < 3:
        return None
    rows = np.array([float(count) for _, count in found[: len(values)]])
    order = _in_order(_profiles(con, column, values, beside), rows)
    tree = _pruned(_halved([values[v] for v in order], rows[order]), MOST_LABELS - len(values))
    return Drafted(tree, len(values) < len(found))


def _profiles(
    con: duckdb.DuckDBPyConnection, column: str, values: Sequence[str], beside: Sequence[str]
) -> Counts:
    """Return how each value's rows are distributed in the other columns, (values, cells): square roots of
    shares, whose distances are those of Hellinger.
    """
    place = {value: v for v, value in enumerate(values)}
    name, blocks = identifier(column), []
    for other in beside:
        cell = identifier(other)
        # Numbers in parts of like size; other columns by their values.
        query = f"""
            SELECT v, CASE WHEN many THEN CAST(part AS VARCHAR) ELSE o END AS one, count(*)
            FROM (
                SELECT {name} AS v, {cell} AS o,
                       ntile({BINS}) OVER (ORDER BY try_cast({cell} AS DOUBLE), {cell}) AS part
                FROM cells
            ), (SELECT count(DISTINCT {cell}) > {5 * BINS} AS many FROM cells)
            GROUP BY ALL
            """
        counted = con.execute(query).fetchall()
        others = {one: i for i, one in enumerate(sorted({str(o) for _, o, _ in counted}))}
        counts = np.zeros((len(values), len(others)))
        for value, one, rows in counted:
            if value in place:
                counts[place[value], others[str(one)]] += rows
        mean = counts.sum(axis=0) / max(counts.sum(), 1.0)
        blocks.append(
            np.sqrt((counts + mean) / (counts.sum(axis=1, keepdims=True) + 1))
        )  # one row of the mean
    return np.concatenate(blocks, axis=1) if blocks else np.zeros((len(values), 1))


def _in_order(profiles: Counts, rows: Counts) -> list[int]:
    """Return the values in an order in which near ones are neighbours (Ward, 1963, by rows)."""
    clusters = [([v], profiles[v], rows[v]) for v in range(len(rows))]
    while len(clusters) > 1:
        gains = [
            (a[2] * b[2] / (a[2] + b[2]) * float(((a[1] - b[1]) ** 2).sum()), i, j)
            for i, a in enumerate(clusters)
            for j, b in enumerate(clusters[:i])
        ]
        _, i, j = min(gains)
        a, b = clusters[i], clusters[j]
        size = a[2] + b[2]
        joined = (b[0] + a[0], (a[2] * a[1] + b[2] * b[1]) / size, size)
        clusters = [one for place, one in enumerate(clusters) if place not in (i, j)] + [joined]
    return clusters[0][0]


def _halved(values: Sequence[str], rows: Counts) -> Tree:
    """Cut values in their order into two parts of about as many rows, and each part likewise."""
    if len(values) == 1:
        return (values[0],)
    passed = np.cumsum(rows)
    cut = 1 + int(np.abs(passed[:-1] - passed[-1] / 2).argmin())
    halves = (_halved(values[:cut], rows[:cut]), _halved(values[cut:], rows[cut:]))
    return tuple(half[0] if len(half) == 1 else half for half in halves)


def _pruned(tree: Tree, nodes: int) -> Tree:
    """Return a tree with at most so many nodes under its root: the lowest go first, those of few values."""
    while len(found := [*_nodes(tree)]) > nodes:
        tree = _without(tree, min(found, key=lambda node: len(leaves_of(node))))
    return tree


def _nodes(tree: Tree) -> Iterator[Tree]:
    for child in tree:
        if not isinstance(child, str):
            yield child
            yield from _nodes(child)


def _without(tree: Tree, node: Tree) -> Tree:
    children: list[str | Tree] = []
    for child in tree:
        if child is node:
            children += child
        else:
            children.append(child if isinstance(child, str) else _without(child, node))
    return tuple(children)


def leaves_of(tree: Tree) -> list[str]:
    """Return the values of a tree, in their order."""
    return [leaf for child in tree for leaf in ([child] if isinstance(child, str) else leaves_of(child))]


def lines_of(tree: Tree, indent: str) -> Iterator[str]:
    """Write a tree as the nested lists of a policy."""
    yield from _written(tree, indent, set(leaves_of(tree)))


def _written(tree: Tree, indent: str, taken: set[str]) -> Iterator[str]:
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
        name = _name(leaves_of(child), taken)
        lines = [*_written(child, f"{indent}    " if alone else f"{indent}  ", taken)]
        key = f"{indent}- {scalar(name)}:" if alone else f"{indent}{scalar(name)}:"
        if lines[0].lstrip().startswith("["):
            yield f"{key} {lines[0].lstrip()}"
            yield from lines[1:]
        else:
            yield key
            yield from lines


def _name(leaves: Sequence[str], taken: set[str]) -> str:
    """Name a node by its values; the name is no value's and no other node's."""
    name = ", ".join(leaves) if len(leaves) <= NAMED else f"{leaves[0]} and {len(leaves) - 1} more"
    while name in taken:
        name += "'"
    taken.add(name)
    return name
