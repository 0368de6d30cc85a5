"""Estimates of population uniqueness by definition: sums over every class, whole fractions, a walked grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def zayatz(sizes: Sequence[int], population: int) -> Fraction:
    """Bayes' rule with hypergeometric chances: one of a class of i is sampled, if n of N people are."""
    n = sum(sizes)

    def one_of(size: int) -> Fraction:
        return Fraction(size * math.comb(population - size, n - 1), math.comb(population, n))

    f1 = sum(size == 1 for size in sizes)
    chance = f1 * one_of(1) / sum(one_of(size) for size in sizes)
    return f1 * chance * population / n


def pitman_likelihood(sizes: Sequence[int], theta: float, alpha: float) -> float:
    """The logarithm of Pitman's sampling formula, without what the parameters do not change."""
    found = sum(math.log(theta + i * alpha) for i in range(1, len(sizes)))
    found -= sum(math.log(theta + i) for i in range(1, sum(sizes)))
    return found + sum(math.log(j - alpha) for size in sizes for j in range(1, size))


def pitman_uniques(theta: float, alpha: float, population: int) -> float:
    """The expected number of classes of one, seating people one by one.

    A new person is in a class of their own with probability (theta + alpha K) / (theta + m), and ends a class
    of one with probability (1 - alpha) S / (theta + m), if K classes have m people, S of them one.
    """
    classes, ones = 1.0, 1.0
    for m in range(1, population):
        new = (theta + alpha * classes) / (theta + m)
        ones += new - (1 - alpha) * ones / (theta + m)
        classes += new
    return ones


def snb_expectations(classes: float, alpha: float, beta: float, fraction: float) -> tuple[float, float]:
    """The expected sample classes of one and of two: each size's probability, and binomial sampling."""
    found, probability = [0.0, 0.0], beta**alpha
    for size in range(1, 4000):
        for k in (1, 2):
            drawn = math.comb(size, k) * fraction**k * (1 - fraction) ** (size - k)
            found[k - 1] += classes * probability * drawn
        probability *= (size - 1 + alpha) / size * (1 - beta)
    return found[0], found[1]


def population_classes(sizes: Sequence[int], fraction: float) -> float:
    """Haas and Stokes (1998), the modified Shlosser estimator, class by class."""
    one = sum(size * fraction**2 * (1 - fraction**2) ** (size - 1) for size in sizes)
    two = sum((1 - fraction) ** size * ((1 + fraction) ** size - 1) for size in sizes)
    three = sum((1 - fraction) ** size for size in sizes)
    four = sum(size * fraction * (1 - fraction) ** (size - 1) for size in sizes)
    return len(sizes) + sum(size == 1 for size in sizes) * (one / two) * (three / four) ** 2
