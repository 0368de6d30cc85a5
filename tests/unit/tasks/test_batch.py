"""Many questions in one linear program: each answer is that of the question by itself."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.history.attribute import Attribute
from tasks.history.batch import hopeless, hopeless_together, worlds_of_wishes
from tasks.history.cohorts import ABSENT, cohorts_of, published_of, values_shared, world_of
from tasks.history.neighbourhood import another_world, impossible, near, widen
from tasks.history.search import Limits
from tasks.history.worlds import possible_values
from tasks.types import IntArray

NODES = 1_000


def drawn(seed: int) -> tuple[IntArray, IntArray]:
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 20, (80, 3))
    classes[rng.random(classes.shape) < 0.3] = ABSENT
    return classes, rng.integers(0, 3, 80)


@pytest.mark.parametrize("steps", [2, 3])
def test_many_at_once_are_answered_as_each_by_itself(steps: int) -> None:
    n_answered = n_hopeless = n_asked = 0
    for seed in range(6):
        classes, value = drawn(seed)
        cohorts = cohorts_of(classes)
        world = world_of(cohorts, value, 3)
        published = published_of(cohorts, world)
        shared = values_shared(cohorts, published)
        # Whom a value is asked about that nobody of the cohort has, though all its classes do.
        open_ = (shared - shared.multiply(world.astype(bool))).tocoo()
        asked = np.flatnonzero(open_.data > 0)[:12]
        cohort, wish = open_.row[asked].astype(np.int64), open_.col[asked].astype(np.int64)
        found = np.arange(len(asked)), cohort
        for _ in range(steps):
            found = widen(cohorts, *found)
        problem = near(cohorts, world, published, shared, *found)
        wished = (problem.cohort == cohort[problem.question]) & (problem.value == wish[problem.question])
        known = np.asarray(world[problem.cohort, problem.value]).reshape(-1)
        numbers, answered, open_at_once = worlds_of_wishes(problem, wished, known)
        sums = problem.inner.A @ numbers
        assert ((sums >= problem.inner.lb) & (sums <= problem.inner.ub)).all()
        out = hopeless(problem, wished)
        for number in range(len(asked)):
            own = found[1][found[0] == number]
            alone = near(cohorts, world, published, shared, np.zeros_like(own), own)
            wanted = wished[problem.question == number].astype(float)
            assert alone.whole.tolist() == [problem.whole[number]]
            assert alone.value.tolist() == problem.value[problem.question == number].tolist()
            assert wanted @ numbers[problem.question == number] >= answered[number]
            there = another_world(alone, wanted, nodes=NODES).world is not None
            assert answered[number] == there or open_at_once[number], (seed, number)
            assert not out[number] or impossible(alone, wanted, nodes=NODES), (seed, number)
        n_answered, n_hopeless = n_answered + int(answered.sum()), n_hopeless + int(out.sum())
        n_asked += len(asked)
    assert n_answered > 5
    assert n_hopeless > 5
    assert n_answered + n_hopeless < n_asked


def test_many_in_one_neighbourhood_are_hopeless_as_each_by_itself() -> None:
    n_hopeless = n_asked = 0
    for seed in range(6):
        classes, value = drawn(seed)
        cohorts = cohorts_of(classes)
        world = world_of(cohorts, value, 3)
        published = published_of(cohorts, world)
        shared = values_shared(cohorts, published)
        everybody = np.arange(len(cohorts.size))
        problem = near(cohorts, world, published, shared, np.zeros_like(everybody), everybody)
        known = np.asarray(world[problem.cohort, problem.value]).reshape(-1)
        variable = np.flatnonzero(known == 0)
        question = np.arange(len(variable))
        together = hopeless_together(problem, question, variable, len(variable))
        for number in question.tolist():
            wished = np.arange(len(problem.value)) == variable[number]
            assert together[number] == hopeless(problem, wished)[0]
        n_hopeless, n_asked = n_hopeless + int(together.sum()), n_asked + len(variable)
    assert 5 < n_hopeless < n_asked


def test_many_questions_about_the_same_people_take_few_calls() -> None:
    # Three releases cut anew, in small classes: next to all neighbourhoods are the whole table.
    rng = np.random.default_rng(1)
    classes = np.stack([rng.permutation(200) // 10 for _ in range(4)], axis=1)
    value = rng.integers(0, 5, 200)
    found = possible_values(classes, value, (Attribute(np.arange(5)),), 2, Limits(visits=0))
    assert found.pinned(2).sum() > 100
    assert not found.undecided(2).any()
    assert found.calls < 20


def test_a_question_is_asked_within_its_own_classes_alone() -> None:
    cohorts = cohorts_of(np.array([[0, 0], [0, 1], [1, 1], [2, ABSENT]]))
    question, chosen = widen(cohorts, np.array([0, 1]), np.array([0, 3]))
    assert question.tolist() == [0, 0, 1]
    place = cohorts.place[chosen]
    assert place[:, 0].tolist() == [0, 0, 2]
