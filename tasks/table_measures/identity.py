"""How well the people of a table hide among one another, and what an attacker gains who finds their class.

The three attackers are those of El Emam and Dankar (2008). The prosecutor knows that somebody is in the
table, the journalist does not, and the marketer looks for as many people as can be found. Each knows all
quasi-identifiers exactly as the table has them, and takes any row of a class with the same chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from release_store.records import EquivalenceClasses
from tasks.reporting.classes import class_figures
from tasks.risk.gates.population import class_weights
from tasks.risk.population import ClassSizes, estimate
from tasks.table_measures.rows import CodedTable, RowClasses, smallest_of_each
from tasks.types import FloatArray, IntArray

UNDER = (2, 3, 5, 10)
SEVERAL_ROWS = "some people have several rows, and the estimators count rows"
NOT_ADDED = "the weights are too large to be added up"


@dataclass(frozen=True)
class IdentityRisk:
    """What the sizes of classes tell. `classes` are the figures of `class_figures`, in people.

    `k` is the greatest k of k-anonymity, in households where these count. `people_in_classes_under` has the
    people in classes of fewer than 2, 3, 5 and 10; each person counts in the smallest of their classes.
    `highest_risk` is 1 / size of the smallest class, and `average_risk` the mean over people.
    """

    rows: int
    people: int
    households: int | None
    classes: dict[str, Any]
    k: int
    people_in_classes_under: dict[str, int]
    highest_risk: float
    average_risk: float


@dataclass(frozen=True)
class PopulationRisk:
    """What weights tell of the population: estimates, without a bound on their errors.

    `k_map` are the fewest people that a class stands for. `uniques` is the share of the table's people who
    are alone in the population, None where it is not estimated: `not_estimated` says why.
    """

    population: float
    sampling_fraction: float
    k_map: int
    highest_risk: float
    average_risk: float
    uniques: float | None = None
    estimator: str = ""
    not_estimated: str = ""


def identity_risk(table: CodedTable, classes: RowClasses) -> IdentityRisk:
    """Measure the sizes of classes. O(n log n)."""
    smallest = smallest_of_each(classes.own, classes.people, table.person)
    found = class_figures(EquivalenceClasses(classes.people, {}, {}, {}, {}))
    return IdentityRisk(
        rows=table.n_rows,
        people=len(smallest),
        households=None if table.household is None else len(np.unique(table.household)),
        classes={"people" if name == "records" else name: value for name, value in found.items()},
        k=int(classes.units.min()),
        people_in_classes_under={str(least): int((smallest < least).sum()) for least in UNDER},
        highest_risk=1 / float(smallest.min()),
        average_risk=float((1 / smallest).mean()),
    )


def population_risk(table: CodedTable, classes: RowClasses) -> PopulationRisk | None:
    """Estimate the risks of a population by the weights; None without weights.

    A class stands for at least the people that it has, whatever their weights. Raises ValueError where the
    weights cannot be added up.
    """
    if table.weights is None:
        return None
    stands_for = class_weights(classes.own, table.weights, table.person, len(classes.first))
    with np.errstate(over="ignore"):
        population = float(_people_weights(table).sum())
    if not (np.isfinite(stands_for).all() and np.isfinite(population)):
        raise ValueError(NOT_ADDED)
    smallest = smallest_of_each(classes.own, np.maximum(stands_for, classes.people), table.person)
    uniques, estimator, reason = _uniques(classes.people, population, several=table.person is not None)
    return PopulationRisk(
        population=population,
        sampling_fraction=len(smallest) / population,
        k_map=int(np.floor(stands_for.min() * (1 + 1e-12))),
        highest_risk=1 / float(smallest.min()),
        average_risk=float((1 / smallest).mean()),
        uniques=uniques,
        estimator=estimator,
        not_estimated=reason,
    )


def _people_weights(table: CodedTable) -> FloatArray:
    """Return the weight of each person, (n_people,): the least of those of their rows."""
    assert table.weights is not None  # noqa: S101 -- the caller looked
    return smallest_of_each(np.arange(table.n_rows), table.weights, table.person)


def _uniques(size: IntArray, population: float, *, several: bool) -> tuple[float | None, str, str]:
    """Return the share of people who are alone in the population, the estimator, and why there is none."""
    if several:
        return None, "", SEVERAL_ROWS
    try:
        sample = ClassSizes.of(size, population)
    except ValueError:
        return None, "", "the weights add up to fewer people than the table has"
    name, found = estimate(sample, "dankar")
    if not np.isfinite(found):
        return None, "", f"the estimator {name} has no solution for these classes"
    return min(found * sample.fraction, sample.of_size(1)) / sample.n, name, ""
