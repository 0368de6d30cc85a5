"""Whoever lacks values after exchanges and chains: asked of the solver, in growing neighbourhoods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from scipy.sparse import csr_array

from tasks.history.batch import hopeless, hopeless_together, worlds_of_wishes
from tasks.history.kept import Changes
from tasks.history.neighbourhood import FEW, Near, another_world, impossible, near, widen
from tasks.history.search import Search, add, most_values, open_tuples, short_cohorts
from tasks.types import BoolArray, FloatArray, IntArray

VARIABLES_OF_A_CALL = 1_000  # of the solver; a larger one counts as several
# Proofs that nobody outside can help cost twice a search for a world, and hardly any comes later than these.
LAST_OF_PROOFS = 3  # of the first steps; from then on in every second
OVERLAP = (
    10  # times as large as all neighbourhoods together are they by themselves, where one program will do
)


@dataclass
class _Question:
    """Which further values of an attribute a cohort can have: `candidates` are not ruled out.

    `done` if a larger neighbourhood tells nothing more.
    """

    cohort: int
    place: int
    candidates: IntArray
    done: bool = False


@dataclass(frozen=True)
class _Asked:
    """Questions in their neighbourhoods, and the variables (v,) that they wish for."""

    questions: Sequence[_Question]
    problem: Near
    wished: BoolArray


def solve(search: Search, shared: csr_array, most: IntArray) -> None:
    """Ask the solver about everybody who still lacks values; lowers `most`.

    All in their smallest neighbourhoods, which are cheap, then in growing ones: each by itself, many in one
    call. Nothing more is asked of those who are pinned by one attribute.
    """
    open_ = [
        _Question(cohort, place, shared[[cohort]].indices.astype(np.int64))
        for cohort in short_cohorts(search).tolist()
        for place in range(search.n_places)
    ]
    for step in count(1):
        open_ = _still_open(search, most, open_)
        if not open_:
            return
        _rule_out_together(search, shared, most, open_, step)
        asked = _still_open(search, most, open_)
        while asked:
            answered = []
            for part in _parts(search, shared, most, asked, step):
                answered += _ask(search, shared, part)
            asked = _still_open(search, most, answered)
        proofs = step <= LAST_OF_PROOFS or step % 2 == 1
        for part in _parts(search, shared, most, open_, step):
            _rule_out(search, shared, most, part, proofs=proofs)
        if _out_of_calls(search):
            search.spent |= bool(_still_open(search, most, open_))
            return


def _out_of_calls(search: Search) -> bool:
    return search.calls >= search.limits.calls


def _still_open(search: Search, most: IntArray, questions: Sequence[_Question]) -> list[_Question]:
    return [one for one in questions if _is_open(search, most, one)]


def _is_open(search: Search, most: IntArray, question: _Question) -> bool:
    if question.done or (most[question.cohort] < search.least).any():
        return False
    return bool(_wished(search, question).size)


def _parts(
    search: Search, shared: csr_array, most: IntArray, questions: Sequence[_Question], step: int
) -> Iterator[_Asked]:
    """Yield the questions that are still open then, in parts that the limits allow; none once calls ran out.

    Whoever alone has too large a neighbourhood is done.
    """
    size = search.limits.questions
    waiting = [questions[first : first + size] for first in range(0, len(questions), size)][::-1]
    while waiting and not _out_of_calls(search):
        part = _still_open(search, most, waiting.pop())
        if not part:
            continue
        cohorts, n = _neighbourhoods(search, shared, part, step)
        if n > search.limits.variables:
            if len(part) == 1:
                part[0].done = search.spent = True
            else:
                half = len(part) // 2
                waiting += [part[half:], part[:half]]
            continue
        yield _asked(search, shared, part, cohorts)


def _neighbourhoods(
    search: Search, shared: csr_array, questions: Sequence[_Question], step: int
) -> tuple[tuple[IntArray, IntArray], int]:
    """Return the question and number of each cohort up to so many classes away, and how many variables.

    Once these are more than the limit, no further ones are looked for.
    """
    n_shared = np.diff(shared.indptr)
    found = np.arange(len(questions)), np.array([one.cohort for one in questions])
    for _ in range(step):
        found = widen(search.cohorts, *found)
        n = int(n_shared[found[1]].sum())
        if n > search.limits.variables:
            break
    return found, n


def _asked(
    search: Search, shared: csr_array, questions: Sequence[_Question], cohorts: tuple[IntArray, IntArray]
) -> _Asked:
    problem = near(search.cohorts, search.world, search.published, shared, *cohorts)
    own = problem.cohort == np.array([one.cohort for one in questions])[problem.question]
    wishes = [_wished(search, one) for one in questions]
    wanted = np.concatenate([number * search.n_values + each for number, each in enumerate(wishes)])
    return _Asked(
        questions, problem, own & np.isin(problem.question * search.n_values + problem.value, wanted)
    )


def _weigh(search: Search, problem: Near) -> None:
    search.calls += max(1, len(problem.value) // VARIABLES_OF_A_CALL)


def _ask(search: Search, shared: csr_array, asked: _Asked) -> list[_Question]:
    """Look for worlds that answer questions; return those that got an answer."""
    problem = asked.problem
    known = np.asarray(search.world[problem.cohort, problem.value]).reshape(-1).astype(np.int64)
    _weigh(search, problem)
    world, answered, open_ = worlds_of_wishes(problem, asked.wished, known)
    _keep(search, problem, world - known)
    for number in np.flatnonzero(open_).tolist():
        answered[number] = _ask_alone(search, shared, asked, number)
    return [asked.questions[number] for number in np.flatnonzero(answered).tolist()]


def _alone(search: Search, shared: csr_array, asked: _Asked, number: int) -> _Asked:
    """Return one of the questions by itself, in the same neighbourhood."""
    cohort = np.unique(asked.problem.cohort[asked.problem.question == number])
    return _asked(search, shared, [asked.questions[number]], (np.zeros_like(cohort), cohort))


def _ask_alone(search: Search, shared: csr_array, asked: _Asked, number: int) -> bool:
    """Look for a world of whole numbers that answers one question; tell whether there is one."""
    alone = _alone(search, shared, asked, number)
    if not alone.wished.any() or _out_of_calls(search):
        return False
    problem = alone.problem
    _weigh(search, problem)
    cost = _change(search, problem)
    world = another_world(problem, alone.wished.astype(float), nodes=search.limits.nodes, cost=cost).world
    if world is None:
        return False
    known = np.asarray(search.world[problem.cohort, problem.value]).reshape(-1).astype(np.int64)
    _keep(search, problem, world - known)
    return True


def _keep(search: Search, problem: Near, more: IntArray) -> None:
    """Add what members of cohorts have in worlds, each a question's, by how many `more` (v,) have a value."""
    entries = np.flatnonzero(more)
    changes = Changes(
        problem.question[entries], problem.cohort[entries], problem.value[entries], more[entries]
    )
    search.changes.append(changes)
    add(search, changes.cohort[changes.more > 0], changes.value[changes.more > 0])


def _rule_out(search: Search, shared: csr_array, most: IntArray, asked: _Asked, *, proofs: bool) -> None:
    """Take the candidates that no world gives from the questions that got no answer; lowers `most`.

    Without `proofs`, only of those whose neighbourhood holds everybody, who are done after this.
    """
    problem = asked.problem
    if not proofs and not problem.whole.any():
        return
    _weigh(search, problem)
    out = hopeless(problem, asked.wished)
    for number, question in enumerate(asked.questions):
        if problem.whole[number]:
            question.done = True
            out[number] = out[number] or _impossible(search, shared, asked, number)
        if out[number]:
            _take_out(search, most, question)


def _rule_out_together(
    search: Search, shared: csr_array, most: IntArray, questions: Sequence[_Question], step: int
) -> None:
    """Take out the same by one program for many questions whose neighbourhoods overlap; lowers `most`.

    In the neighbourhood of all of them, which tells no less than that of each.
    """
    n_shared = np.diff(shared.indptr)
    for first in range(0, len(questions), search.limits.questions):
        part = _still_open(search, most, questions[first : first + search.limits.questions])
        if len(part) < 2 or _out_of_calls(search):
            continue
        nobody, chosen = np.zeros(len(part), dtype=np.int64), np.array([one.cohort for one in part])
        for _ in range(step):
            nobody, chosen = widen(search.cohorts, nobody, chosen)
        n = int(n_shared[chosen].sum())
        if n > search.limits.variables or _neighbourhoods(search, shared, part, step)[1] < OVERLAP * n:
            continue
        problem = near(search.cohorts, search.world, search.published, shared, nobody, chosen)
        _weigh(search, problem)
        codes = problem.cohort * search.n_values + problem.value
        wishes = [one.cohort * search.n_values + _wished(search, one) for one in part]
        question = np.repeat(np.arange(len(part)), [len(each) for each in wishes])
        variable = np.searchsorted(codes, np.concatenate(wishes))
        for number in np.flatnonzero(hopeless_together(problem, question, variable, len(part))).tolist():
            _take_out(search, most, part[number])


def _wished(search: Search, question: _Question) -> IntArray:
    """Return the tuples that would give a question an answer."""
    return open_tuples(search, question.cohort, question.place, question.candidates)


def _take_out(search: Search, most: IntArray, question: _Question) -> None:
    """Take from a question all candidates that would answer it, and count what is left."""
    gone = _wished(search, question)
    question.candidates = question.candidates[~np.isin(question.candidates, gone)]
    cohort, place = question.cohort, question.place
    most[cohort, place] = most_values(search, cohort, place, question.candidates)


def _impossible(search: Search, shared: csr_array, asked: _Asked, number: int) -> bool:
    """Tell whether no world of whole numbers answers one question; False where nodes or calls ran out."""
    if _out_of_calls(search):
        search.spent = True
        return False
    alone = _alone(search, shared, asked, number)
    _weigh(search, alone.problem)
    found = impossible(alone.problem, alone.wished.astype(float), nodes=search.limits.nodes)
    search.stopped |= not found
    return found


def _change(search: Search, problem: Near) -> FloatArray | None:
    """Return what it costs that a variable is over 0 that is not in the known world, (v,): 1, and 0 if it is.

    A world with few changes has few numbers that are not whole in the linear program. Where whole numbers
    are searched at once, any world will do.
    """
    if len(problem.cohort) <= FEW:
        return None
    known = np.asarray(search.world[problem.cohort, problem.value]).reshape(-1)
    return np.asarray(known == 0, dtype=np.float64)
