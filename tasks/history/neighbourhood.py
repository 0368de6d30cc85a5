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

from tasks.counting import numbers_from
from tasks.history.cohorts import ABSENT, Cohorts
from tasks.history.highs import milp
from tasks.history.numbering import distinct_codes
from tasks.types import BoolArray, FloatArray, IntArray

NO_SOLUTION = 2
FEW = 1_000  # variables of which all whole numbers are searched
MOST_WHOLE = 20_000  # variables near the linear program's solution of which they are
WIDENED = 3  # times that what is near a number which is not whole is asked for anew
FRACTION = 1e-6


@dataclass(frozen=True)
class Near:
    """Neighbourhoods of q questions, each by itself: in each some cohorts vary, whatever those of others do.

    `question`, `cohort`, `value` (v,) of each variable, in order; `of_equation` (e,) is the question of each
    equation; `whole` (q,) tells whether the classes of all that vary for it hold nobody else.
    """

    question: IntArray
    cohort: IntArray
    value: IntArray
    inner: LinearConstraint
    outer: LinearConstraint
    of_equation: IntArray
    whole: BoolArray


@dataclass(frozen=True)
class Answer:
    """What the solver said: a `world` of the variables (v,) that has what was wished, or None; and whether
    it is `impossible`. Neither, where its limit of nodes ended the search.
    """

    world: IntArray | None
    impossible: bool


def widen(cohorts: Cohorts, question: IntArray, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Return the cohorts that share a class with any of those `chosen` (k,) for a `question` (k,), in order.

    As (question, cohort), those of each question by themselves.
    """
    place = cohorts.place[chosen]
    row, release = np.nonzero(place != ABSENT)
    codes = distinct_codes(
        question[row] * cohorts.n_classes + place[row, release],
        (int(question.max(initial=0)) + 1) * cohorts.n_classes,
    )
    asked, at = codes // cohorts.n_classes, codes % cohorts.n_classes
    incidence, n = cohorts.incidence, len(cohorts.size)
    many = np.diff(incidence.indptr)[at]
    members = incidence.indices[numbers_from(incidence.indptr[at], many)].astype(np.int64)
    found = distinct_codes(np.repeat(asked, many) * n + members, (int(question.max(initial=0)) + 1) * n)
    return found // n, found % n


def near(
    cohorts: Cohorts,
    world: csr_array,
    published: csr_array,
    shared: csr_array,
    question: IntArray,
    chosen: IntArray,
) -> Near:
    """Return the problem in which the cohorts `chosen` (k,) for each `question` (k,) vary, as `widen` orders.

    `world` and `shared` (c, values) are as `world_of` and `values_shared` tell them, `published` (classes,
    values) as `published_of` does. O(members of the classes of the chosen x values in common).
    """
    n_values, n_classes = world.shape[1], cohorts.n_classes
    may = shared[chosen].tocoo()
    cohort, value = chosen[may.row], may.col.astype(np.int64)
    n = len(value)
    members = csr_array((np.ones(n), (may.row, np.arange(n))), (len(chosen), n))
    # One row for each question, class and value that a variable counts in.
    place = cohorts.place[cohort]
    variable, release = np.nonzero(place != ABSENT)
    there = question[may.row[variable]] * n_classes + place[variable, release]
    keys, row = np.unique(there * n_values + value[variable], return_inverse=True)
    rows_of_member = cohorts.rows_at(cohort[variable], release).astype(float)
    counts = csr_array((rows_of_member, (row.reshape(-1), variable)), (len(keys), n))
    number, each = keys // n_values, keys % n_values
    classes, at = np.unique(number, return_inverse=True)
    inside = cohorts.incidence[classes % n_classes].tocoo()
    pairs = question * len(cohorts.size) + chosen
    pair = classes[inside.row] // n_classes * len(cohorts.size) + inside.col
    spot = np.minimum(np.searchsorted(pairs, pair), len(pairs) - 1)
    varies = pairs[spot] == pair
    at_class = (inside.row[varies], spot[varies])
    mine = csr_array((inside.data[varies], at_class), (len(classes), len(chosen)))
    own = (mine @ world[chosen]).tocsr()
    others = np.where(varies, 0, inside.data * cohorts.size[inside.col])
    outsiders = np.bincount(inside.row, others, len(classes)).astype(np.int64)
    whole = np.ones(int(question.max(initial=-1)) + 1, dtype=bool)
    whole[classes[outsiders > 0] // n_classes] = False
    total = np.asarray(published[classes % n_classes][at, each]).reshape(-1).astype(float)
    kept = np.asarray(own[at, each]).reshape(-1).astype(float)
    rows = vstack([members, counts]).tocsr()
    size = cohorts.size[chosen].astype(float)
    inner = LinearConstraint(rows, np.concatenate([size, kept]), np.concatenate([size, kept]))
    least = np.maximum(total - outsiders[at], 0)
    outer = LinearConstraint(rows, np.concatenate([size, least]), np.concatenate([size, total]))
    of_equation = np.concatenate([question, number // n_classes])
    return Near(question[may.row], cohort, value, inner, outer, of_equation, whole)


def another_world(problem: Near, wished: FloatArray, *, nodes: int, cost: FloatArray | None = None) -> Answer:
    """Look for a world in which the `wished` variables (v,), 1 or 0, sum to 1 at least, all else as it is.

    Where the variables have a `cost` (v,), the one of least cost that the nodes allow. A world is taken for
    one only if its whole numbers fulfil every equation.
    """
    found = _solved(problem.inner, wished, nodes, cost)
    if isinstance(found, bool):
        return Answer(None, impossible=found and bool(problem.whole.all()))
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
