"""The cheapest feasible node of a lattice: a node is one level a column, and is above all of lower levels.

Predictive tagging along chains: El Emam et al. (2009), OLA, doi:10.1197/jamia.M3144; Kohlmayer et al. (2012),
Flash, doi:10.1109/SocialCom-PASSAT.2012.52. The bounds of the cost are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from tasks.types import BoolArray, FloatArray

Node = tuple[int, ...]
"""The level of each column."""


@dataclass(frozen=True)
class Check:
    """What is known of a node: its `cost`, None where it is not feasible, and whether nothing below it is."""

    cost: float | None
    none_below: bool = False


@dataclass(frozen=True)
class Optimum:
    """The best node that was found, None where no feasible one was; `n_checked` nodes were looked at.

    `proven`: no node costs less.
    """

    node: Node | None
    n_checked: int
    proven: bool


def cheapest(
    bounds: Sequence[FloatArray],
    check: Callable[[Node], Check],
    most_checks: int,
    progress: Callable[[float], None] = lambda _share: None,
) -> Optimum:
    """Return a feasible node of the least cost, after at most `most_checks` calls of `check`.

    `bounds[c]` (levels of c,), ascending, sum up to no more than the cost of any node with these levels.
    Nodes are visited from the least bound on. From each a chain of nodes goes up, always by the level that
    adds least to the bound, and a binary search on it finds a node that is feasible, which bounds the cost
    from above, and nodes below which nothing is. Where the bound of a node is its cost, the first feasible
    one that is visited is the cheapest. O(N log N) for N nodes and 17 bytes each, besides the calls.
    """
    shape = tuple(len(each) for each in bounds)
    bound = np.zeros(shape)
    for column, each in enumerate(bounds):
        bound += each.reshape([-1 if other == column else 1 for other in range(len(shape))])
    search = _Search(bound, np.ones(shape, dtype=bool), check, most_checks)
    order = np.argsort(bound, axis=None, kind="stable")
    for visited, place in enumerate(order.tolist()):
        start = tuple(int(level) for level in np.unravel_index(place, shape))
        if bound[start] >= search.least:
            break
        if search.open[start]:
            progress(visited / len(order))
            search.climb(start)
            if search.n_checked >= most_checks:
                return Optimum(search.best, search.n_checked, proven=False)
    return Optimum(search.best, search.n_checked, proven=True)


@dataclass
class _Search:
    """The state of a search: `open` (shape of the lattice) are the nodes of which nothing is known yet."""

    bound: FloatArray
    open: BoolArray
    check: Callable[[Node], Check]
    most_checks: int
    least: float = inf
    best: Node | None = None
    n_checked: int = 0

    def climb(self, start: Node) -> None:
        """Look at nodes of a chain that begins at `start`, and at `start` unless one above tells of it."""
        chain = self._chain(start)
        low, high = 0, len(chain)
        while low < high:
            middle = (low + high) // 2
            if self._feasible(chain[middle]):
                high = middle
            else:
                low = middle + 1
        self._feasible(start)

    def _chain(self, start: Node) -> list[Node]:
        chain, node = [start], start
        while True:
            above = [
                (*node[:c], level + 1, *node[c + 1 :])
                for c, level in enumerate(node)
                if level + 1 < self.bound.shape[c]
            ]
            node = min(above, key=lambda one: float(self.bound[one]), default=start)
            if node == start or self.bound[node] >= self.least:
                return chain
            chain.append(node)

    def _feasible(self, node: Node) -> bool:
        """Check a node of which nothing is known, and tell whether it is feasible; False for any other."""
        if not self.open[node] or self.n_checked >= self.most_checks:
            return False
        self.n_checked += 1
        found = self.check(node)
        if found.none_below:
            self.open[tuple(slice(level + 1) for level in node)] = False
        self.open[node] = False
        if found.cost is not None and found.cost < self.least:
            self.least, self.best = found.cost, node
        return found.cost is not None
