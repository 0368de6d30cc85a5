"""Whoever lacks values after exchanges and chains: asked of the solver, many at once and then one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tasks.history.batch import hopeless, world_of_wishes
from tasks.history.neighbourhood import FEW, Near, another_world, impossible, near, widen
from tasks.history.search import Search, add, most_values, open_tuples, short_cohorts
from tasks.types import FloatArray, IntArray

VARIABLES_OF_A_CALL = 1_000  # of the solver; a larger one counts as several
MANY = 16  # questions that are asked at once before each is asked by itself
AT_ONCE = 300  # questions of one linear program, or fewer by the limits
STEPS = (1, 2)  # of classes between the people who are asked about and those who vary, many at once
WORTHWHILE = 0.02  # of the questions: as many must be answered for them to be asked at once again


@dataclass
class _Question:
    """Which further values of an attribute a cohort can have: `candidates` are not ruled out.

    `chosen` are the cohorts that vary, in order; `done` if a larger neighbourhood tells nothing more.
    """

    cohort: int
    place: int
    candidates: IntArray
    chosen: IntArray
    done: bool = False


def solve(search: Search, shared: csr_array, most: IntArray) -> None:
    """Ask the solver about everybody who still lacks values; lowers `most`.

    First about many at once. Then about each: all in their smallest neighbourhoods, which are cheap, then in
    growing ones. Nothing more is asked of those who are pinned by one attribute.
    """
    short = short_cohorts(search)
    if _out_of_calls(search):
        search.spent |= bool(len(short))
        return
    open_ = [
        _Question(cohort, place, shared[[cohort]].indices.astype(np.int64), np.array([cohort]))
        for cohort in short.tolist()
        for place in range(search.n_places)
    ]
    for steps in STEPS:
        open_ = _still_open(search, most, open_)
        _ask_at_once(search, shared, most, open_, steps)
        if _out_of_calls(search):  # of very many each look takes its time, too
            search.spent |= any(_is_open(search, most, one) for one in open_)
            return
    while open_ := _still_open(search, most, open_):
        for question in open_:
            if not _is_open(search, most, question):
                continue
            if _out_of_calls(search):
                search.spent = True
                return
            _widen(search, shared, question)
            cohort, place = question.cohort, question.place
            most[cohort, place] = most_values(search, cohort, place, question.candidates)


def _out_of_calls(search: Search) -> bool:
    return search.calls >= search.limits.calls


def _still_open(search: Search, most: IntArray, questions: Sequence[_Question]) -> list[_Question]:
    return [one for one in questions if _is_open(search, most, one)]


def _is_open(search: Search, most: IntArray, question: _Question) -> bool:
    if question.done or (most[question.cohort] < search.enough).any():
        return False
    return bool(open_tuples(search, question.cohort, question.place, question.candidates).size)


def _ask_at_once(
    search: Search, shared: csr_array, most: IntArray, questions: Sequence[_Question], steps: int
) -> None:
    """Ask about many in the neighbourhood of all, as long as that answers some."""
    if len(questions) < MANY:
        return
    at_once = min(AT_ONCE, search.limits.questions)
    while True:
        ordered = sorted(questions, key=lambda one: (*search.cohorts.place[one.cohort][::-1], one.place))
        n_answered = 0
        for first in range(0, len(ordered), at_once):
            if _out_of_calls(search):
                return
            n_answered += _ask_part(search, shared, most, ordered[first : first + at_once], steps)
        n_before, questions = len(questions), _still_open(search, most, questions)
        if n_answered < max(1, WORTHWHILE * n_before) or len(questions) < MANY:
            break
    if steps == STEPS[0]:
        for first in range(0, len(questions), at_once):
            _rule_out(search, shared, most, questions[first : first + at_once])


def _problem_of(
    search: Search, shared: csr_array, questions: Sequence[_Question], steps: int
) -> tuple[Near, csr_array] | None:
    """Return the neighbourhood of some questions and what is wished, (q, v); None where it is too large."""
    chosen = np.unique([one.cohort for one in questions])
    for _ in range(steps):
        chosen = widen(search.cohorts, chosen)
    n = int(shared[chosen].nnz)
    if n > search.limits.at_once or _out_of_calls(search):
        return None
    search.calls += max(1, n // VARIABLES_OF_A_CALL)
    problem = near(search.cohorts, search.world, search.published, shared, chosen)
    codes = problem.cohort * search.n_values + problem.value
    order = np.argsort(codes, kind="stable")
    wishes = [open_tuples(search, one.cohort, one.place, one.candidates) for one in questions]
    wanted = np.concatenate(
        [one.cohort * search.n_values + each for one, each in zip(questions, wishes, strict=True)]
    )
    row = np.repeat(np.arange(len(questions)), [len(each) for each in wishes])
    column = order[np.searchsorted(codes[order], wanted)]
    return problem, csr_array((np.ones(len(row)), (row, column)), (len(questions), len(codes)))


def _ask_part(
    search: Search, shared: csr_array, most: IntArray, questions: Sequence[_Question], steps: int
) -> int:
    """Look for a world that answers many questions; return how many it answers."""
    questions = _still_open(search, most, questions)
    found = _problem_of(search, shared, questions, steps) if questions else None
    if found is None:
        return 0
    problem, wished = found
    known = np.asarray(search.world[problem.cohort, problem.value]).reshape(-1).astype(np.int64)
    world = world_of_wishes(problem, wished, known, nodes=search.limits.nodes)
    if world is None:
        return 0
    add(search, problem.cohort[world > 0], problem.value[world > 0])
    return int((wished @ world > 0).sum())


def _rule_out(search: Search, shared: csr_array, most: IntArray, questions: Sequence[_Question]) -> None:
    """Take the candidates from the questions that no world fulfils; lowers `most`.

    Those that are left are asked by themselves in the next larger neighbourhood: this one told nothing more.
    """
    found = _problem_of(search, shared, questions, STEPS[0])
    if found is None:
        return
    for one in questions:
        one.chosen = widen(search.cohorts, one.chosen)
    for number in np.flatnonzero(hopeless(*found)).tolist():
        one = questions[number]
        out = open_tuples(search, one.cohort, one.place, one.candidates)
        one.candidates = one.candidates[~np.isin(one.candidates, out)]
        most[one.cohort, one.place] = most_values(search, one.cohort, one.place, one.candidates)


def _widen(search: Search, shared: csr_array, question: _Question) -> None:
    """Ask the solver in a neighbourhood that is larger by the classes of its cohorts."""
    wider = widen(search.cohorts, question.chosen)
    variables = int(shared[wider].nnz)
    if variables > search.limits.variables:
        search.spent = question.done = True
        return
    question.done, question.chosen = len(wider) == len(question.chosen), wider
    problem = near(search.cohorts, search.world, search.published, shared, wider)
    question.candidates = _asked(search, problem, question, max(1, variables // VARIABLES_OF_A_CALL))


def _change(search: Search, problem: Near) -> FloatArray | None:
    """Return what it costs that a variable is over 0 that is not in the known world, (v,): 1, and 0 if it is.

    A world with few changes has few numbers that are not whole in the linear program. Where whole numbers
    are searched at once, any world will do.
    """
    if len(problem.cohort) <= FEW:
        return None
    known = np.asarray(search.world[problem.cohort, problem.value]).reshape(-1)
    return np.asarray(known == 0, dtype=np.float64)


def _asked(search: Search, problem: Near, question: _Question, weight: int) -> IntArray:
    """Look near a cohort for worlds with further values; return the candidates that are not ruled out."""
    here, candidates = problem.cohort == question.cohort, question.candidates
    while (open_ := open_tuples(search, question.cohort, question.place, candidates)).size:
        if _out_of_calls(search):
            search.spent = True
            break
        search.calls += weight
        wished = (here & np.isin(problem.value, open_)).astype(float)
        answer = another_world(problem, wished, nodes=search.limits.nodes, cost=_change(search, problem))
        if answer.world is not None:
            add(search, problem.cohort[answer.world > 0], problem.value[answer.world > 0])
            continue
        ruled_out = answer.impossible
        if not ruled_out and not problem.whole:
            search.calls += weight
            ruled_out = impossible(problem, wished, nodes=search.limits.nodes)
        return candidates[~np.isin(candidates, open_)] if ruled_out else candidates
    return candidates
