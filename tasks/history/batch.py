"""Many questions asked of the solver at once: a world in which many wishes come true, and hopeless wishes.

Most of what a world needs for one person does not stand in the way of another, so that one linear program
tells of hundreds of people what hundreds of programs would. To the numbers of `neighbourhood` a further one
is added for each wish, z <= 1 and z <= the sum of the wished variables, and the sum of all z is maximized.
Changes of the known world cost a little: the fewer there are, the fewer numbers are not whole.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult
from scipy.sparse import block_array, csr_array, eye_array, hstack, vstack
from scipy.sparse.csgraph import connected_components

from tasks.history.highs import milp
from tasks.history.neighbourhood import FRACTION, Near, whole_near, whole_numbers
from tasks.types import BoolArray, FloatArray, IntArray

MOST_WHOLE = 1_000  # variables of which whole numbers are searched
CHANGE = 1e-4  # of a wish: what it costs that a variable is over 0 that is not in the known world


def world_of_wishes(problem: Near, wished: csr_array, known: IntArray, *, nodes: int) -> IntArray | None:
    """Return a world of the variables (v,) in which many wishes come true, all else as it is.

    `wished` (q, v) marks the variables of q wishes: one comes true where any of its variables is over 0.
    Of few variables whole numbers are searched near the linear program's solution. Of many that can take
    minutes: where the solution differs from the world that is `known`, (v,), and is not whole, all that
    depends on it stays as known. None where nothing differs. The world fulfils every equation.
    """
    found = _solved(problem.inner, wished, CHANGE * (known == 0))
    if found.x is None:
        return None
    numbers = found.x[: wished.shape[1]]
    if len(numbers) <= MOST_WHOLE:
        return whole_near(problem.inner, [problem.inner], np.zeros(len(numbers)), numbers, nodes)
    differs = np.flatnonzero(np.abs(numbers - known) > FRACTION)
    # What differs in one equation depends on one another; the others are as known in every equation.
    equations = problem.inner.A.tocsc()[:, differs]
    label = connected_components(
        block_array([[None, equations], [equations.T, None]], format="csr"), directed=False
    )[1][equations.shape[0] :]
    broken = np.abs(numbers[differs] - np.rint(numbers[differs])) > FRACTION
    taken = differs[~np.isin(label, label[broken])]
    if not len(taken):
        return None
    world = known.astype(float)
    world[taken] = numbers[taken]
    return whole_numbers(problem.inner, world)


def hopeless(problem: Near, wished: csr_array) -> BoolArray:
    """Tell which wishes (q,) no world fulfils, whatever everybody outside has; others may be hopeless, too.

    Those that come true, be it in part, are taken out until none of the others does.
    """
    left = np.arange(wished.shape[0])
    while len(left):
        found = _solved(problem.outer, wished[left])
        if found.x is None:
            return np.zeros(wished.shape[0], dtype=bool)
        hard = found.x[wished.shape[1] :] < FRACTION
        if hard.all():
            break
        left = left[hard]
    return np.isin(np.arange(wished.shape[0]), left)


def _solved(rule: LinearConstraint, wished: csr_array, cost: FloatArray | float = 0.0) -> OptimizeResult:
    """Solve the linear program with a number for each wish after the variables, which cost something."""
    q, n = wished.shape
    numbers = vstack(
        [
            hstack([rule.A, csr_array((rule.A.shape[0], q))]),
            hstack([-wished, eye_array(q)]),
        ]
    ).tocsr()
    low, high = np.concatenate([rule.lb, np.full(q, -np.inf)]), np.concatenate([rule.ub, np.zeros(q)])
    aim = np.concatenate([np.full(n, 1.0) * cost, -np.ones(q)])
    most = np.concatenate([np.full(n, np.inf), np.ones(q)])
    return milp(aim, bounds=Bounds(0, most), constraints=LinearConstraint(numbers, low, high))
