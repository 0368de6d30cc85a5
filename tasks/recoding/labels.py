"""The names under which nodes of a hierarchy and ranges of an order are published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from policy.categorical import BETWEEN
from policy.hierarchy import Hierarchy
from policy.model import ReleasePolicy
from tasks.recoding.cells import read_set


@dataclass(frozen=True)
class Labels:
    """The labels of one quasi-identifier's sets: its nodes' names, or `first..last` of its order.

    A node has no label if its name is also that of a value or of another node: it is written as its values.
    `missing` is the label of missing values, which stands beside a node or a range.
    """

    tree: Hierarchy | None
    order: tuple[str, ...] | None
    missing: str
    others: frozenset[str]  # all values that the policy lists

    @cached_property
    def nodes(self) -> dict[str, tuple[str, ...]]:
        """The leaves under each node that has a label."""
        found: dict[str, set[tuple[str, ...]]] = {}
        leaves: dict[tuple[str, ...], list[str]] = {}
        for path in self.tree.paths if self.tree is not None else ():
            for depth in range(1, len(path) - 1):
                found.setdefault(path[depth], set()).add(path[depth:])
                leaves.setdefault(path[depth:], []).append(path[0])
        taken = {*self.others, self.missing}
        return {
            name: tuple(leaves[next(iter(places))])
            for name, places in found.items()
            if len(places) == 1 and name not in taken
        }

    @cached_property
    def _by_leaves(self) -> dict[frozenset[str], str]:
        # Of nodes with the same leaves, the lowest gives the name: it was met first.
        names: dict[frozenset[str], str] = {}
        for name, leaves in self.nodes.items():
            names.setdefault(frozenset(leaves), name)
        return names

    @cached_property
    def _rank(self) -> dict[str, int]:
        return {value: rank for rank, value in enumerate(self.order or ())}

    def written(self, values: Sequence[str]) -> list[str]:
        """Return what stands for a set of values in its cell: a label if there is one, else the values."""
        apart = [value for value in values if value == self.missing]
        inside = [value for value in values if value != self.missing]
        if len(inside) < 2:
            return [*inside, *apart]
        if self.order is None:
            name = self._by_leaves.get(frozenset(inside))
            return [*inside, *apart] if name is None else [name, *apart]
        if any(value not in self._rank for value in inside):
            return [*inside, *apart]
        ranks = sorted(self._rank[value] for value in inside)
        runs = [
            [rank for _, rank in run]
            for _, run in groupby(enumerate(ranks), key=lambda each: each[1] - each[0])
        ]
        return [*(self._range(run[0], run[-1]) for run in runs), *apart]

    def _range(self, first: int, last: int) -> str:
        order = self.order or ()
        return order[first] if first == last else f"{order[first]}{BETWEEN}{order[last]}"

    def values(self, part: str) -> tuple[str, ...]:
        """Return the values that a part of a cell stands for: itself, if it is no label."""
        if self.order is None:
            return self.nodes.get(part, (part,))
        first, between, last = part.partition(BETWEEN)
        if part in self._rank or not between or first not in self._rank or last not in self._rank:
            return (part,)
        return self.order[self._rank[first] : self._rank[last] + 1]


def labels_of(policy: ReleasePolicy, name: str) -> Labels | None:
    """Return the labels of a categorical quasi-identifier, None where it has none."""
    qi, kind = policy.roles.categorical[name], policy.closure(name)
    if kind == "none" and policy.method.recoding != "full-domain":
        return None
    order = qi.order if kind == "ranges" else None
    return Labels(qi.tree, order, policy.source.missing_label, frozenset(qi.allowed or ()))


def read_cell(text: str, labels: Labels | None) -> tuple[str, ...] | None:
    """Return the values of a published cell, or None for the whole domain.

    Raises ValueError where no cell is written so.
    """
    parts = read_set(text)
    if parts is None or labels is None:
        return parts
    return tuple(dict.fromkeys(value for part in parts for value in labels.values(part)))
