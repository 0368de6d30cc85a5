"""Many questions asked of the solver at once, each in its own neighbourhood, and wishes that are hopeless.

A linear program of many small ones that share no variable costs little more than the solving itself; asked
one by one, each costs several times that in setting it up. To the numbers of `neighbourhood` a further one is
added for each question, z <= 1 and z <= the sum of its wished variables, and the sum of all z is maximized.
Changes of the known world cost a little: the fewer there are, the fewer numbers are not whole.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult
from scipy.sparse import csr_array, eye_array, hstack, vstack

from tasks.history.highs import milp
from tasks.history.neighbourhood import FRACTION, Near
from tasks.types import BoolArray, FloatArray, IntArray

CHANGE = 1e-4  # of a wish: what it costs that a variable is over 0 that is not in the known world


def worlds_of_wishes(
    problem: Near, wished: BoolArray, known: IntArray
) -> tuple[IntArray, BoolArray, BoolArray]:
    """Return a world of each question in which its wish comes true, where the linear program has one.

    `wished` (v,) marks the variables of which one is to be over 0, `known` (v,) is the known world. As the
    numbers of all (v,), which are as known where a question has no such world; which questions (q,) have one;
    and of which the program cannot tell, as its numbers are not whole. Each world fulfils every equation.
    """
    n, variable = len(problem.whole), np.flatnonzero(wished)
    found = _solved(problem.inner, problem.question[variable], variable, n, cost=CHANGE * (known == 0))
    if found.x is None:
        return known, np.zeros(n, dtype=bool), np.ones(n, dtype=bool)
    numbers, reached = found.x[: len(wished)], found.x[len(wished) :] > FRACTION
    whole = np.rint(numbers).astype(np.int64)
    broken = np.zeros(n, dtype=bool)
    broken[problem.question[(np.abs(numbers - whole) > FRACTION) | (whole < 0)]] = True
    sums, rule = problem.inner.A @ whole, problem.inner
    broken[problem.of_equation[(sums < rule.lb) | (sums > rule.ub)]] = True
    fulfilled = np.bincount(problem.question[wished], whole[wished], n) > 0
    answered = reached & fulfilled & ~broken
    return np.where(answered[problem.question], whole, known), answered, reached & ~answered


def hopeless(problem: Near, wished: BoolArray) -> BoolArray:
    """Tell whose wishes (q,) no world fulfils, whatever everybody outside has; others may be hopeless too."""
    variable = np.flatnonzero(wished)
    return _hopeless(problem, problem.question[variable], variable, len(problem.whole), 1)


def hopeless_together(problem: Near, question: IntArray, variable: IntArray, n: int) -> BoolArray:
    """Tell the same of n questions in one neighbourhood, of which `question` (w,) wishes for `variable` (w,).

    Each asks for an n-th of its wish. So none stands in another's way: the mean of a world of each has all
    of these.
    """
    return _hopeless(problem, question, variable, n, n)


def _hopeless(problem: Near, question: IntArray, variable: IntArray, n: int, weight: int) -> BoolArray:
    found = _solved(problem.outer, question, variable, n, weight=weight)
    if found.x is None:
        return np.zeros(n, dtype=bool)
    return np.asarray(found.x[len(problem.value) :] < FRACTION)


def _solved(
    rule: LinearConstraint,
    question: IntArray,
    variable: IntArray,
    q: int,
    *,
    cost: FloatArray | float = 0.0,
    weight: int = 1,
) -> OptimizeResult:
    """Solve the linear program with a number for each of q wishes after the variables, which cost something.

    `question` (w,) wishes for `variable` (w,), each of which counts for it `weight` times.
    """
    n = rule.A.shape[1]
    wishes = csr_array((np.full(len(variable), float(weight)), (question, variable)), (q, n))
    numbers = vstack(
        [hstack([rule.A, csr_array((rule.A.shape[0], q))]), hstack([-wishes, eye_array(q)])]
    ).tocsr()
    low, high = np.concatenate([rule.lb, np.full(q, -np.inf)]), np.concatenate([rule.ub, np.zeros(q)])
    aim = np.concatenate([np.full(n, 1.0) * cost, -np.ones(q)])
    most = np.concatenate([np.full(n, np.inf), np.ones(q)])
    return milp(aim, bounds=Bounds(0, most), constraints=LinearConstraint(numbers, low, high))
