"""What the solver finds: worlds that differ from a known one near a cohort, and values that no world has.

HiGHS, through scipy, is asked for numbers y[c, v] >= 0 of the members of cohort c who have the value v:

    sum over v of y[c, v] = size of c;  sum over c in C of y[c, v] = how often class C has v

Where members of c have several rows in C, y[c, v] counts as often in C.

Near a cohort only some cohorts vary. With all others as the known world has them, a solution is another
world; with all others free, values that no solution has are impossible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint
from scipy.sparse import csr_array, vstack

from tasks.history.cohorts import ABSENT, Cohorts
from tasks.history.highs import milp
from tasks.types import FloatArray, IntArray

NO_SOLUTION = 2
FEW = 5_000  # variables of which all whole numbers are searched
MOST_WHOLE = 20_000  # variables near the linear program's solution of which they are
WIDENED = 3  # times that what is near a number which is not whole is asked for anew
FRACTION = 1e-6


@dataclass(frozen=True)
class Near:
    """The cohorts that vary, and what is asked of them; (v) variables, each of a cohort and a value.

    `cohorts` (k,) those that vary; `cohort`, `value` (v,) of each variable; `whole` tells whether the classes
    of all that vary hold nobody else.
    """

    cohorts: IntArray
    cohort: IntArray
    value: IntArray
    inner: LinearConstraint
    outer: LinearConstraint
    whole: bool


@dataclass(frozen=True)
class Answer:
    """What the solver said: a `world` of the variables (v,) that has what was wished, or None; and whether
    it is `impossible`. Neither, where its limit of nodes ended the search.
    """

    world: IntArray | None
    impossible: bool


def widen(cohorts: Cohorts, chosen: IntArray) -> IntArray:
    """Return the cohorts that share a class with any of `chosen`, in order."""
    classes = np.unique(cohorts.place[chosen])
    return np.unique(cohorts.incidence[classes[classes != ABSENT]].indices).astype(np.int64)


def near(
    cohorts: Cohorts, world: csr_array, published: csr_array, shared: csr_array, chosen: IntArray
) -> Near:
    """Return the problem in which the `chosen` cohorts vary, which are in order.

    `world` and `shared` (c, values) are as `world_of` and `values_shared` tell them, `published` (classes,
    values) as `published_of` does. O(members of the classes of the chosen x values in common).
    """
    may = shared[chosen].tocoo()
    cohort, value = chosen[may.row], may.col.astype(np.int64)
    n = len(value)
    members = csr_array((np.ones(n), (may.row, np.arange(n))), (len(chosen), n))
    # One row for each class and value that a variable counts in.
    place = cohorts.place[cohort]
    variable, release = np.nonzero(place != ABSENT)
    key = place[variable, release] * world.shape[1] + value[variable]
    keys, row = np.unique(key, return_inverse=True)
    rows_of_member = cohorts.rows_at(cohort[variable], release).astype(float)
    counts = csr_array((rows_of_member, (row.reshape(-1), variable)), (len(keys), n))
    number, each = keys // world.shape[1], keys % world.shape[1]
    classes, at = np.unique(number, return_inverse=True)
    inside = cohorts.incidence[classes].tocoo()
    spot = np.minimum(np.searchsorted(chosen, inside.col), len(chosen) - 1)
    varies = chosen[spot] == inside.col
    at_class = (inside.row[varies], spot[varies])
    mine = csr_array((inside.data[varies], at_class), (len(classes), len(chosen)))
    own = (mine @ world[chosen]).tocsr()
    others = np.where(varies, 0, inside.data * cohorts.size[inside.col])
    outsiders = np.bincount(inside.row, others, len(classes)).astype(np.int64)[at]
    total = np.asarray(published[classes][at, each]).reshape(-1).astype(float)
    kept = np.asarray(own[at, each]).reshape(-1).astype(float)
    rows = vstack([members, counts]).tocsr()
    size = cohorts.size[chosen].astype(float)
    inner = LinearConstraint(rows, np.concatenate([size, kept]), np.concatenate([size, kept]))
    least = np.maximum(total - outsiders, 0)
    outer = LinearConstraint(rows, np.concatenate([size, least]), np.concatenate([size, total]))
    return Near(chosen, cohort, value, inner, outer, not outsiders.any())


def another_world(problem: Near, wished: FloatArray, *, nodes: int, cost: FloatArray | None = None) -> Answer:
    """Look for a world in which the `wished` variables (v,), 1 or 0, sum to 1 at least, all else as it is.

    Where the variables have a `cost` (v,), the one of least cost that the nodes allow. A world is taken for
    one only if its whole numbers fulfil every equation.
    """
    found = _solved(problem.inner, wished, nodes, cost)
    if isinstance(found, bool):
        return Answer(None, impossible=found and problem.whole)
    return Answer(found, impossible=False)


def impossible(problem: Near, wished: FloatArray, *, nodes: int) -> bool:
    """Tell whether no world has any of the `wished` variables (v,) over 0; False where nodes ran out."""
    return _solved(problem.outer, wished, nodes) is True


def _solved(
    rule: LinearConstraint, wished: FloatArray, nodes: int, cost: FloatArray | None = None
) -> IntArray | bool:
    """Return a solution, True if there is none, or False where the search ended before.

    Of more than `FEW` variables the linear program is solved. It tells what is impossible; where a few of its
    numbers are not whole, these are asked for anew with all that share an equation with them, and with what
    shares one with those. A search of all whole numbers of so many takes minutes, whatever `nodes` are.
    """
    n = len(wished)
    asked = [rule, LinearConstraint(csr_array(wished[None, :]), 1, np.inf)]
    aim = np.zeros(n) if cost is None else cost
    if n > FEW:
        found = milp(aim, bounds=Bounds(0, np.inf), constraints=asked)
        if found.status == NO_SOLUTION:
            return True
        if found.x is None:
            return False
        whole = whole_near(rule, asked, aim, found.x, nodes)
        return whole if whole is not None and wished @ whole >= 1 else False
    found = milp(
        aim,
        integrality=np.ones(n),
        bounds=Bounds(0, np.inf),
        constraints=asked,
        options={"node_limit": nodes},
    )
    if found.status == NO_SOLUTION:
        return True
    whole = None if found.x is None else whole_numbers(rule, found.x)
    return whole if whole is not None and wished @ whole >= 1 else False


def whole_near(
    rule: LinearConstraint, asked: list[LinearConstraint], aim: FloatArray, found: FloatArray, nodes: int
) -> IntArray | None:
    """Return whole numbers near a solution of the linear program that fulfil the rule, or None.

    Those that are not whole are `asked` for anew with all that share an equation with them, and with what
    shares one with those, at the least `aim`.
    """
    n, uses = len(found), rule.A != 0
    free = np.abs(found - np.rint(found)) > FRACTION
    if not free.any():
        return whole_numbers(rule, found)
    fixed = np.rint(found)
    for _ in range(WIDENED):
        equations = uses @ free.astype(np.int64) > 0
        free = (uses.T @ equations.astype(np.int64)) > 0
        if free.sum() > MOST_WHOLE:
            return None
        near = milp(
            aim,
            integrality=np.ones(n),
            bounds=Bounds(np.where(free, 0, fixed), np.where(free, np.inf, fixed)),
            constraints=asked,
            options={"node_limit": nodes},
        )
        whole = None if near.x is None else whole_numbers(rule, near.x)
        if whole is not None:
            return whole
    return None


def whole_numbers(rule: LinearConstraint, found: FloatArray) -> IntArray | None:
    """Return the numbers rounded if so they fulfil every equation."""
    whole = np.rint(found).astype(np.int64)
    reached = rule.A @ whole
    return whole if (whole >= 0).all() and ((reached >= rule.lb) & (reached <= rule.ub)).all() else None
