"""How many of a population's people are alone in their class, estimated from the class sizes of a sample.

A class is the people with equal values of some attributes. Of n people who were sampled from N, f(i) classes
have i people. The number of population uniques, U, is estimated by

- Pitman's model (Hoshino, 2001): the sizes follow Pitman's sampling formula with theta and alpha of greatest
  likelihood, and U is the expected number of classes of one among N people under it;
- Zayatz (1991): Bayes' rule, with the sample's distribution of sizes in place of the population's;
- the slide negative binomial model, SNB (Chen and Keller-McNulty, 1998): sizes are 1 plus a negative binomial
  number, whose two parameters are those that give f(1) and f(2). The number of classes is estimated as
  Haas and Stokes (1998) do, from Shlosser's estimator.

None is good for every population. Dankar et al. (2012) chose among them by simulation: Pitman for sampling
fractions up to 0.1, and above the smaller of SNB and Zayatz. Each figure is an estimate without a bound on
its error. An estimator that has no solution gives nan. If everybody was sampled, U is f(1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize, root
from scipy.special import digamma, expit, gammaln

from tasks.types import FloatArray, IntArray

SMALL_FRACTION = 0.1  # Dankar et al. (2012)
LARGEST_LOG = 35.0  # of a parameter; far beyond what a table can tell apart
SOLVED = 1e-6


@dataclass(frozen=True)
class ClassSizes:
    """How many classes of a sample have each size: `classes` (d,) of `sizes` (d,), ascending and distinct.

    `population` is N, at least n.
    """

    sizes: IntArray
    classes: IntArray
    population: float

    @classmethod
    def of(cls, sizes: IntArray, population: float) -> ClassSizes:
        """Count classes of `sizes` (u,), each at least 1. Raises ValueError where N is smaller than n."""
        distinct, classes = np.unique(sizes, return_counts=True)
        found = cls(distinct, classes, population)
        if not found.n <= population < np.inf:
            raise ValueError("the sample has more people than the population")
        return found

    @property
    def n(self) -> int:
        """How many people were sampled."""
        return int(self.sizes @ self.classes)

    @property
    def fraction(self) -> float:
        """The sampling fraction, n / N."""
        return self.n / self.population

    def of_size(self, size: int) -> int:
        """How many classes have this size."""
        return int(self.classes[self.sizes == size].sum())


def pitman(sample: ClassSizes) -> float:
    """Estimate U by Pitman's model. O(u) for each of some dozens of steps.

    The likelihood is maximized over logit alpha and log(theta + alpha), from several starts. It has no
    maximum, and the estimate is nan, if everybody sampled is alone.
    """
    if (trivial := _trivial(sample)) is not None:
        return trivial
    if sample.sizes[-1] == 1:
        return np.nan
    starts = [(0.0, 0.0), (-3.0, np.log(sample.n)), (2.0, 3.0)]
    bounds = [(-LARGEST_LOG, LARGEST_LOG)] * 2
    found = [
        minimize(_pitman_loss, x, (sample,), "L-BFGS-B", jac=True, bounds=bounds, tol=1e-14) for x in starts
    ]
    best = min(found, key=lambda one: float(one.fun) if np.isfinite(one.fun) else np.inf)
    slope = np.abs(_pitman_loss(best.x, sample)[1]).max()
    if not slope <= SOLVED:
        return np.nan
    alpha, above = expit(best.x[0]), np.exp(best.x[1])
    theta = above - alpha
    n = sample.population
    log_share = gammaln(above + n - 1) - gammaln(theta + n) + gammaln(theta + 1) - gammaln(above)
    return float(n * np.exp(min(log_share, 0.0)))


def _pitman_loss(x: FloatArray, sample: ClassSizes) -> tuple[float, FloatArray]:
    """Return minus the mean log-likelihood of a person, and its gradient by the two."""
    alpha, above = float(expit(x[0])), float(np.exp(x[1]))
    theta, n = above - alpha, sample.n
    i = np.arange(1, int(sample.classes.sum()))
    at = above + (i - 1) * alpha  # theta + i alpha
    log_likelihood = (
        np.log(at).sum()
        - (gammaln(theta + n) - gammaln(theta + 1))
        + sample.classes @ (gammaln(sample.sizes - alpha) - gammaln(1 - alpha))
    )
    by_theta = (1 / at).sum() - (digamma(theta + n) - digamma(theta + 1))
    by_alpha = (i / at).sum() - sample.classes @ (digamma(sample.sizes - alpha) - digamma(1 - alpha))
    gradient = np.array([alpha * (1 - alpha) * (by_alpha - by_theta), above * by_theta])
    return -float(log_likelihood) / n, -gradient / n


def zayatz(sample: ClassSizes) -> float:
    """Estimate U by Bayes' rule: f(1) N / n times the chance that a sample unique is a population unique.

    O(largest size).
    """
    if (trivial := _trivial(sample)) is not None:
        return trivial
    n, population = sample.n, sample.population
    others = np.arange(sample.sizes[-1] - 1)  # of the class, none of whom is sampled beside the one who is
    with np.errstate(divide="ignore"):
        steps = np.log(np.maximum(population - n - others, 0) / (population - 1 - others))
    log_none = np.concatenate([[0.0], np.cumsum(steps)])[sample.sizes - 1]
    one_of = sample.sizes * sample.fraction * np.exp(log_none)  # hypergeometric
    certain = sample.of_size(1) * sample.fraction / (sample.classes @ one_of)
    return float(sample.of_size(1) * certain / sample.fraction)


def snb(sample: ClassSizes) -> float:
    """Estimate U by the slide negative binomial model; nan where no parameters give f(1) and f(2)."""
    if (trivial := _trivial(sample)) is not None:
        return trivial
    ones, twos = sample.of_size(1), sample.of_size(2)
    n_classes = population_classes(sample)
    if not twos or not np.isfinite(n_classes):
        return np.nan

    def residuals(x: FloatArray) -> FloatArray:
        alpha, beta = np.exp(x[0]), expit(x[1])
        model = snb_expectations(float(n_classes), float(alpha), float(beta), sample.fraction)
        return np.log(np.maximum(model, 1e-300)) - np.log([ones, twos])

    others = max(sample.population / n_classes - 1, 1e-3)  # mean of the negative binomial number
    for log_alpha in np.log([1, 0.1, 10, 100]):
        found = root(residuals, [log_alpha, log_alpha - np.log(others)])
        x = np.clip(found.x, -LARGEST_LOG, LARGEST_LOG)
        if np.abs(residuals(x)).max() <= SOLVED:
            return float(n_classes * expit(x[1]) ** np.exp(x[0]))
    return np.nan


def snb_expectations(n_classes: float, alpha: float, beta: float, fraction: float) -> tuple[float, float]:
    """Return the expected number of sample classes of one and of two under the SNB model.

    By the derivatives, at 1 - fraction, of the generating function z (beta / (1 - (1 - beta) z))^alpha.
    """
    unseen = (1 - fraction) * (1 - beta)
    g = (beta / (1 - unseen)) ** alpha
    ones = n_classes * fraction * g * (1 + alpha * unseen / (1 - unseen))
    twos = n_classes * fraction**2 / 2 * g * alpha * (1 - beta) * (2 - (1 - alpha) * unseen)
    return float(ones), float(twos / (1 - unseen) ** 2)


def population_classes(sample: ClassSizes) -> float:
    """Estimate how many classes the population has, as Haas and Stokes (1998) modify Shlosser's estimator."""
    sizes, classes, share = sample.sizes.astype(np.float64), sample.classes, sample.fraction
    unseen = classes @ (1 - share) ** sizes
    one = classes @ (sizes * share * (1 - share) ** (sizes - 1))
    squares = classes @ (sizes * share**2 * (1 - share**2) ** (sizes - 1))
    both = classes @ ((1 - share**2) ** sizes - (1 - share) ** sizes)
    return float(classes.sum() + sample.of_size(1) * squares / both * (unseen / one) ** 2)


ESTIMATORS: dict[str, Callable[[ClassSizes], float]] = {"pitman": pitman, "zayatz": zayatz, "snb": snb}


def estimate(sample: ClassSizes, estimator: str) -> tuple[str, float]:
    """Return an estimator's name and its U, nan where it has none; for `dankar`, of the one that it chose."""
    if estimator != "dankar":
        return estimator, ESTIMATORS[estimator](sample)
    if sample.fraction <= SMALL_FRACTION:
        found = pitman(sample)
        return ("pitman", found) if np.isfinite(found) else ("zayatz", zayatz(sample))
    by_snb, by_zayatz = snb(sample), zayatz(sample)
    return ("snb", by_snb) if by_snb <= by_zayatz else ("zayatz", by_zayatz)


def _trivial(sample: ClassSizes) -> float | None:
    """Return U where nothing is to be estimated: nobody is alone, or everybody was sampled."""
    if not sample.of_size(1) or sample.n == sample.population:
        return float(sample.of_size(1))
    return None
