"""Gates on the risk for a population, of which the source is a sample: k-map and population uniqueness.

Both are estimates. Sums of weights say how many people a class stands for with an error that only the design
of the survey tells; the estimators of uniqueness have errors that nobody bounds (`tasks.risk.population`).
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from policy.recoding import contains_its_people
from policy.text import number_of
from release_store.records import GateResult, Verdict
from tasks.geometry.space import distinct_rows
from tasks.risk.evidence import CannotTell, Evidence, NotAtHand
from tasks.risk.gates.inversion import class_of_records
from tasks.risk.gates.linkage_and_loss import EMPTY
from tasks.risk.gates.models.checks import SHOWN, model_of
from tasks.risk.population import ClassSizes, estimate
from tasks.risk.published import row_classes, row_values
from tasks.risk.record_classes import record_classes
from tasks.risk.suda import dis_suda, suda
from tasks.types import FloatArray, IntArray

KNOWS_A_CLASS = "knows the published cells of a person, but not who of the population is in the table"
KNOWS_THE_POPULATION = "holds a table of the whole population with exact values"
NOT_KNOWN = "only the run that made the rows knows whose weights a class has: run the period again"
NO_SOURCE = "needs the weights of the source, which is missing"
NOT_ADDED = "the weights are too large to be added up"
LARGEST = 3  # values in a combination that SUDA looks at
MOST_WORK = 50_000_000  # rows times combinations: a few seconds
SEVERAL_ROWS = "people may have several rows, but this gate counts rows"


def k_map_gate(evidence: Evidence) -> GateResult:
    """Every class stands for at least k people of the population (k-map, Sweeney, 2002), by its weights.

    Raises NotAtHand where the weights of a class are not known.
    """
    asked = model_of(evidence.policy.gates.k_map)
    people = people_of_classes(evidence)
    failing = np.flatnonzero(~(people >= asked.k * (1 - 1e-12)))
    least = float(np.floor(people.min() * (1 + 1e-12))) if len(people) else 0.0
    by = _source(evidence)
    said = f"each class stands for at least {least:,.0f} people, by {by}: an estimate, not a bound"
    witness = {"failing_classes": len(failing), "first": failing[:SHOWN].tolist()} if len(failing) else {}
    verdict = Verdict.FAIL if len(failing) or not len(people) else Verdict.PASS
    return GateResult("k_map", verdict, least, asked.k, ">=", KNOWS_A_CLASS, 0.0, said, witness)


def people_of_classes(evidence: Evidence) -> FloatArray:
    """Estimate how many people of the population each class stands for, (n_classes,).

    A person with several rows in a class counts once, with the least of their weights there. Raises NotAtHand
    where the weights of a class are not known, and CannotTell where they cannot be added up.
    """
    fraction = evidence.policy.linkage.sampling_fraction
    if fraction is not None:
        return np.asarray(evidence.counted.size / fraction)
    weights, own = _weights(evidence), _own_classes(evidence)
    found = class_weights(own, weights, evidence.source.person, evidence.classes.n_classes)
    if not np.isfinite(found).all():
        raise CannotTell(NOT_ADDED)
    return found


def class_weights(own: IntArray, weights: FloatArray, person: IntArray | None, n_classes: int) -> FloatArray:
    """Add up the weights of each class's people, (n_classes,), infinite where they are too large to be added.

    `own` (n,) is the class of each record, -1 for none, and `person` (n,) whose it is: who has several rows
    in a class counts once, with the least of their weights there. O(n log n), without `person` O(n).
    """
    inside = np.flatnonzero(own >= 0)
    own, weights = own[inside], weights[inside]
    if person is not None:
        order = np.lexsort([weights, person[inside], own])
        person, own, weights = person[inside][order], own[order], weights[order]
        first = np.append(True, (np.diff(own) != 0) | (np.diff(person) != 0))[: len(own)]
        own, weights = own[first], weights[first]
    found: FloatArray = np.zeros(n_classes)
    with np.errstate(over="ignore"):
        np.add.at(found, own, weights)
    return found


def population_uniqueness_gate(evidence: Evidence) -> GateResult:
    """Estimated share of people who are alone in the population with their values.

    Raises CannotTell where rows are not people, the weights add up to fewer people than the source has, or
    the estimator has no solution.
    """
    asked = model_of(evidence.policy.gates.population_uniqueness)
    if evidence.policy.rows == "several":
        raise CannotTell(SEVERAL_ROWS)
    columns = _columns(evidence, asked.values)
    sizes = np.bincount(distinct_rows(columns.values())[1])
    if not len(sizes):
        return _uniqueness(Verdict.UNKNOWN, None, asked.max, EMPTY, {})
    try:
        sample = ClassSizes.of(sizes, _population(evidence))
    except ValueError as reason:
        raise CannotTell(str(reason)) from None
    name, uniques = estimate(sample, asked.estimator)
    if not np.isfinite(uniques):
        raise CannotTell(f"the estimator {name} has no solution for these classes: choose another")
    alone = sample.of_size(1)
    certain = min(uniques * sample.fraction, alone)
    share = certain / sample.n
    of_ones = f", {certain / alone:.1%} of those who are alone in the sample" if alone else ""
    what = {"exact": "exact quasi-identifiers", "published": "cells and kept columns"}[asked.values]
    said = (
        f"by {what}, an estimated {share:.2%} of {number_of(sample.n, 'person', 'people')} are alone in the "
        f"population{of_ones}; estimator {name}, sampling fraction {sample.fraction:.3g}, "
        f"by {_source(evidence)}"
    )
    witness: dict[str, object] = {
        "people": sample.n,
        "classes": len(sizes),
        "classes_of_one": alone,
        "estimator": name,
        "sampling_fraction": sample.fraction,
    }
    if alone and sample.n * _combinations(len(columns)) <= MOST_WORK:
        by_column, likeliest = _singled_out(columns, sample.fraction)
        said += (
            f"; SUDA scores of up to {LARGEST} values: {_listed(by_column)}; the likeliest match is right at "
            f"{likeliest:.1%} (DIS)"
        )
        witness |= {"suda": by_column, "largest_dis": likeliest}
    verdict = Verdict.PASS if share <= asked.max + 1e-12 else Verdict.FAIL
    return _uniqueness(verdict, share, asked.max, said, witness)


def _uniqueness(
    verdict: Verdict, value: float | None, limit: float, detail: str, witness: dict[str, object]
) -> GateResult:
    return GateResult(
        "population_uniqueness", verdict, value, limit, "<=", KNOWS_THE_POPULATION, 0.0, detail, witness
    )


def _columns(evidence: Evidence, values: str) -> dict[str, NDArray[np.generic]]:
    """Return the source's exact quasi-identifiers, or class and kept columns of the published rows."""
    if values == "exact":
        source = evidence.source
        numbers = dict(zip(source.numeric_names, source.numeric.T, strict=True))
        return {**numbers, **dict(zip(source.categorical_names, source.codes.T, strict=True))}
    with evidence.sealed_data() as file:
        _, codes = row_values(file, evidence.policy)
        kept = codes.T[len(evidence.policy.roles.sensitive) :]
        return {
            "cells": row_classes(file, evidence.policy),
            **dict(zip(evidence.policy.roles.kept, kept, strict=True)),
        }


def _combinations(width: int) -> int:
    return sum(comb(width, size) for size in range(1, LARGEST + 1))


def _singled_out(columns: dict[str, NDArray[np.generic]], fraction: float) -> tuple[dict[str, float], float]:
    """Return each column's share of all SUDA scores, largest first, and the largest DIS-SUDA probability."""
    codes = np.column_stack([distinct_rows([column])[1] for column in columns.values()])
    found = suda(codes, min(LARGEST, len(columns)))
    ranked = sorted(zip(columns, found.by_attribute().tolist(), strict=True), key=lambda one: -one[1])
    return dict(ranked), float(dis_suda(codes, found, fraction).max())


def _listed(by_column: dict[str, float]) -> str:
    return ", ".join(f"{name} {share:.0%}" for name, share in [*by_column.items()][:SHOWN])


def _population(evidence: Evidence) -> float:
    """Estimate how many people the population has."""
    fraction = evidence.policy.linkage.sampling_fraction
    if fraction is not None:
        return evidence.n_source / fraction
    with np.errstate(over="ignore"):
        total = float(_weights(evidence).sum())
    if not np.isfinite(total):
        raise CannotTell(NOT_ADDED)
    return total


def _source(evidence: Evidence) -> str:
    """Say what the size of the population comes from."""
    fraction = evidence.policy.linkage.sampling_fraction
    return "the sum of weights" if fraction is None else f"the declared sampling fraction {fraction:g}"


def _weights(evidence: Evidence) -> FloatArray:
    if evidence.table is None:
        raise NotAtHand(NO_SOURCE)
    if evidence.table.weights is None:
        raise ValueError("the source was read without its weights")
    return evidence.table.weights


def _own_classes(evidence: Evidence) -> IntArray:
    """Return the published class of each record of the source, (n,), -1 for those that were left out."""
    if contains_its_people(evidence.policy.method.recoding):
        return class_of_records(evidence)
    found = record_classes(evidence)
    if found is None:
        raise NotAtHand(NOT_KNOWN)
    return found
