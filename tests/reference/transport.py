"""The earth mover's distance as the transport problem that defines it, solved by linear programming."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import linprog

Path = Sequence[str]


def earth_movers_distance(
    one: Sequence[int], other: Sequence[int], distance: Callable[[int, int], float]
) -> float:
    """Return the least cost of moving the shares of `one` (m,) to those of `other` (m,).

    A flow f[i, j] >= 0 from value i to value j costs `distance(i, j)` a unit (Rubner et al., 2000).
    """
    m = len(one)
    cost = np.array([[distance(i, j) for j in range(m)] for i in range(m)])
    leaves = np.kron(np.eye(m), np.ones(m))
    arrives = np.kron(np.ones(m), np.eye(m))
    shares = [np.array(counts) / sum(counts) for counts in (one, other)]
    found = linprog(cost.ravel(), A_eq=np.vstack([leaves, arrives]), b_eq=np.concatenate(shares))
    assert found.success, found.message
    return float(found.fun)


def hierarchical_distance(one: Path, other: Path) -> float:
    """Return the level of the lowest node that two paths from leaf to root have in common, over the root's.

    Li et al. (2007), section 4.3. Both paths have one length; a node is known by all that is above it.
    """
    height = len(one) - 1
    level = next(level for level in range(height + 1) if one[level:] == other[level:])
    return level / height
