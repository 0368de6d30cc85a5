"""Estimates of population uniqueness: by hand, beside the definitions, and on simulated populations."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.risk.population import (
    ClassSizes,
    estimate,
    pitman,
    population_classes,
    snb,
    snb_expectations,
    zayatz,
)
from tasks.types import IntArray

reference = importlib.import_module("tests.reference.population")

SIZES = st.lists(st.integers(1, 6), min_size=2, max_size=12)


def counted(sizes: Any, population: float) -> ClassSizes:
    return ClassSizes.of(np.array(sizes, dtype=np.int64), population)


def test_bayes_rule_by_hand() -> None:
    """Three of six people: one alone and a pair.

    Of a class of one, 1 is sampled with 3/6. Of a pair, just one with 2 C(4,2) / C(6,3) = 12/20. So the one
    alone was alone with (1/2) / (1/2 + 3/5) = 5/11, and U is 5/11 times 6/3.
    """
    assert zayatz(counted([1, 2], 6)) == pytest.approx(10 / 11)


@given(SIZES, st.integers(0, 40))
def test_zayatz_is_bayes_rule_in_whole_fractions(sizes: list[int], more: int) -> None:
    sizes = [1, *sizes]
    population = sum(sizes) + more
    found = zayatz(counted(sizes, population))
    expected = reference.zayatz(sizes, population) if more else sizes.count(1)
    assert found == pytest.approx(float(expected), rel=1e-9)


@given(SIZES, st.integers(1, 200))
def test_the_number_of_classes_is_that_of_the_formula(sizes: list[int], more: int) -> None:
    sample = counted([1, *sizes], sum(sizes) + 1 + more)
    expected = reference.population_classes([1, *sizes], sample.fraction)
    assert population_classes(sample) == pytest.approx(expected, rel=1e-9)


@given(st.floats(0.1, 5), st.floats(0.1, 0.95), st.floats(0.05, 0.95))
def test_the_moments_of_the_negative_binomial_are_sums_over_all_sizes(
    alpha: float, beta: float, fraction: float
) -> None:
    expected = reference.snb_expectations(1000.0, alpha, beta, fraction)
    assert snb_expectations(1000.0, alpha, beta, fraction) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "sizes",
    [[1, 1, 1, 2, 3], [1] * 12 + [2] * 4 + [3, 5, 9], [1, 2, 2, 3, 4, 8], [1] * 9 + [2], [1, 40, 3]],
    ids=str,
)
def test_no_parameters_of_a_fine_grid_are_likelier_than_pitmans(sizes: list[int]) -> None:
    """The estimate is that of the best parameters: the expected number under those of the grid is near it."""
    population = 5 * sum(sizes)
    found = pitman(counted(sizes, population))
    grid = [
        (reference.pitman_likelihood(sizes, theta, alpha), theta, alpha)
        for alpha in np.linspace(0.001, 0.999, 120)
        for theta in np.exp(np.linspace(-6, 7, 120)) - alpha
    ]
    _, theta, alpha = max(grid)
    assert found == pytest.approx(reference.pitman_uniques(theta, alpha, population), rel=0.06, abs=0.2)


def test_if_everybody_was_sampled_or_nobody_is_alone_nothing_is_estimated() -> None:
    for estimator in ("dankar", "pitman", "zayatz", "snb"):
        assert estimate(counted([1, 1, 2], 4), estimator)[1] == 2
        assert estimate(counted([2, 3], 500), estimator)[1] == 0


def test_if_everybody_sampled_is_alone_everybody_may_be() -> None:
    sample = counted([1] * 20, 1000)
    assert zayatz(sample) == pytest.approx(1000)
    assert math.isnan(pitman(sample))  # theta has no end
    assert math.isnan(snb(sample))
    assert estimate(sample, "dankar")[0] == "zayatz"


def test_more_people_than_the_population_has_are_refused() -> None:
    for population in (2.5, math.inf, math.nan):
        with pytest.raises(ValueError, match="more people than the population"):
            counted([1, 2], population)


def test_the_rule_takes_pitman_up_to_a_tenth_and_above_the_smaller_of_two() -> None:
    sizes = [1] * 30 + [2] * 12 + [3] * 4 + [7, 9]
    n = sum(sizes)
    tenth, more = counted(sizes, n * 10), counted(sizes, n * 9)
    assert estimate(tenth, "dankar") == ("pitman", pitman(tenth))
    name, found = estimate(more, "dankar")
    assert found == min(snb(more), zayatz(more))
    assert name == ("snb" if snb(more) < zayatz(more) else "zayatz")
    alone = counted([1] * 30, 60)  # SNB has no solution
    assert estimate(alone, "dankar") == ("zayatz", zayatz(alone))


def sampled(sizes: IntArray, fraction: float, seed: int) -> tuple[ClassSizes, int]:
    """Draw a share of a population's people: their class sizes, and the population's number of uniques."""
    people = np.repeat(np.arange(len(sizes)), sizes)
    chosen = np.random.default_rng(seed).choice(people, round(fraction * len(people)), replace=False)
    found = np.bincount(chosen)
    return ClassSizes.of(found[found > 0], float(len(people))), int((sizes == 1).sum())


def sizes_of(population: str, seed: int) -> IntArray:
    """The class sizes of a simulated population of 4,000 classes."""
    rng = np.random.default_rng([seed, 7])
    drawn = {
        "negative binomial": lambda: 1 + rng.negative_binomial(0.5, 0.1, 4000),
        "lognormal": lambda: np.maximum(np.exp(rng.normal(1, 1.3, 4000)), 1),
        "power law": lambda: np.minimum(rng.zipf(1.6, 4000), 2000),
    }[population]()
    return np.asarray(drawn, dtype=np.int64)


@pytest.mark.parametrize("population", ["negative binomial", "lognormal", "power law"])
@pytest.mark.parametrize(
    ("fraction", "most"), [(0.05, 1.0), (0.1, 0.6), (0.3, 0.35), (0.5, 0.1), (0.9, 0.05)]
)
def test_the_rule_is_near_the_truth_of_simulated_populations(
    population: str, fraction: float, most: float
) -> None:
    errors = []
    for seed in range(3):
        sample, truth = sampled(sizes_of(population, seed), fraction, seed)
        errors.append(estimate(sample, "dankar")[1] / truth - 1)
    assert abs(np.mean(errors)) <= most


def test_snb_finds_the_parameters_of_its_own_population() -> None:
    errors = []
    for seed in range(5):
        sample, truth = sampled(sizes_of("negative binomial", seed), 0.4, seed)
        errors.append(snb(sample) / truth - 1)
    assert np.abs(errors).max() <= 0.1


def test_pitman_finds_the_parameters_of_its_own_population() -> None:
    """Classes that are seated one by one with theta 50 and alpha 0.5; a sample of them is a start of it."""
    rng, theta, alpha, n, population = np.random.default_rng(3), 50.0, 0.5, 2000, 20000
    sizes, sample = [1], []
    seats = [0]
    for m in range(1, population):
        if rng.random() < (theta + alpha * len(sizes)) / (theta + m):
            sizes.append(1)
            seats.append(len(sizes) - 1)
        else:
            # A class is joined with a chance that goes with its size less alpha: try, and try again.
            while True:
                at = seats[rng.integers(m)]
                if rng.random() * sizes[at] < sizes[at] - alpha:
                    break
            sizes[at] += 1
            seats.append(at)
        if m == n - 1:
            sample = list(sizes)
    truth = sizes.count(1)
    assert pitman(counted(sample, population)) == pytest.approx(truth, rel=0.2)
