"""What the gates on models have in common: what they read of the classes, and how they tell what fails.

Nothing passes by accident: a comparison with what is no number fails, and what cannot be read is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, GateResult, Verdict
from tasks.risk.evidence import CannotTell, Evidence
from tasks.types import BoolArray, FloatArray, IntArray

Model = TypeVar("Model")

READER = "anyone who reads the release and can tell a person's class"
SHOWN = 5

Measures = Mapping[str, FloatArray | IntArray]  # (n_classes,) by sensitive attribute


def model_of(model: Model | None) -> Model:
    """Return the thresholds of a model that the policy asks for; only those gates are asked."""
    if model is None:
        raise ValueError("the policy does not use this gate")
    return model


def models_of(evidence: Evidence, model: str) -> dict[str, Any]:
    """Return the thresholds of a model by sensitive attribute, of those alone that are held to it."""
    models = evidence.policy.gates.models
    asked = {name: getattr(models.of(name), model) for name in evidence.policy.roles.sensitive}
    found = {name: thresholds for name, thresholds in asked.items() if thresholds is not None}
    return found or model_of(None)


def of_some(evidence: Evidence, asked: Mapping[str, Any]) -> bool:
    """Tell whether the policy has sensitive attributes that are not asked."""
    return len(asked) < len(evidence.policy.roles.sensitive)


def sensitive_counts(evidence: Evidence) -> dict[str, IntArray]:
    """Return the counts (n_classes, n_values) of every sensitive attribute of the policy.

    Raises CannotTell where one is not published, lacks a value in a row, or is numeric and has a value that
    is not a finite number.
    """
    counts = {}
    for name in evidence.policy.roles.sensitive:
        if name not in evidence.classes.counts:
            raise CannotTell(f"the sensitive attribute '{name}' is not in the published rows")
        counts[name] = evidence.units.counts[name]
        if not np.array_equal(evidence.classes.counts[name].sum(axis=1), evidence.classes.size):
            raise CannotTell(f"the sensitive attribute '{name}' lacks a value in some published rows")
        if evidence.policy.roles.sensitive[name].type == "numeric":
            numbers_of(evidence.units, name, evidence.policy)
    return counts


def counts_alike(evidence: Evidence) -> dict[str, IntArray]:
    """Return the same counts, (n_classes, n_groups), with similar values as one; raises as the former."""
    return {name: evidence.units_alike.counts[name] for name in sensitive_counts(evidence)}


def numbers_of(classes: EquivalenceClasses, attribute: str, policy: ReleasePolicy) -> FloatArray:
    """Return the numbers that a numeric sensitive attribute's values stand for, nan for the missing one.

    Raises CannotTell where any other is no finite number.
    """
    label = policy.source.missing_label
    known = [value for value in classes.sensitive_values[attribute] if value != label]
    try:
        finite = bool(np.isfinite([float(value) for value in known]).all())
    except ValueError:
        finite = False
    if not finite:
        raise CannotTell(f"the numeric attribute '{attribute}' has a value that is not a finite number")
    return np.array([np.nan if v == label else float(v) for v in classes.sensitive_values[attribute]])


def decimals_of(classes: EquivalenceClasses, attribute: str, policy: ReleasePolicy) -> list[Decimal | None]:
    """Return the same numbers with all their digits, None for the missing one; raises as the former."""
    numbers = numbers_of(classes, attribute, policy)
    texts = classes.sensitive_values[attribute]
    return [None if np.isnan(n) else Decimal(text) for n, text in zip(numbers, texts, strict=True)]


def check_model(
    gate: str,
    value: float,
    relation: str,
    threshold: float,
    failing: Mapping[str, BoolArray],
    detail: str,
    n_classes: int,
    measured: Mapping[str, float] | None = None,
) -> GateResult:
    """Return the result of a model that every class must meet; `failing[what]` (n_classes,) which do not.

    `measured` is the worst of each attribute, as in `Worst`. A release without a class meets nothing.
    """
    classes = np.flatnonzero(np.any(list(failing.values()), axis=0)) if failing else np.array([], dtype=int)
    passed = n_classes > 0 and not len(classes)
    witness: dict[str, Any] = {}
    if len(classes):
        witness = {"failing_classes": len(classes), "first": classes[:SHOWN].tolist()}
        named = {what: int(marks.sum()) for what, marks in failing.items() if what and marks.any()}
        witness |= {"by_attribute": named} if named else {}
    witness |= {"measured": dict(measured)} if measured else {}
    verdict = Verdict.PASS if passed else Verdict.FAIL
    return GateResult(gate, verdict, float(value), float(threshold), relation, READER, 0.0, detail, witness)


@dataclass(frozen=True)
class Worst:
    """The attribute that is nearest to its threshold, or furthest beyond it, and what was measured of it.

    `measured` is the worst of each attribute where their thresholds differ, or some attributes are not asked,
    else None; `named` says then which attribute it is.
    """

    attribute: str
    value: float
    threshold: float
    measured: dict[str, float] | None = None
    named: str = ""


def least_of(
    found: Measures, thresholds: Mapping[str, float], *, some: bool = False, nothing: float = 0.0
) -> Worst:
    """Return the worst of measures that have lower limits; `nothing` is the value without a class."""
    lowest = {name: float(np.min(it)) for name, it in found.items() if len(it)}
    return _worst(lowest, thresholds, 1, some=some, nothing=nothing)


def most_of(
    found: Measures, thresholds: Mapping[str, float], *, some: bool = False, nothing: float = 1.0
) -> Worst:
    """Return the worst of measures that have upper limits; `nothing` is the value without a class."""
    highest = {name: float(np.max(it)) for name, it in found.items() if len(it)}
    return _worst(highest, thresholds, -1, some=some, nothing=nothing)


def _worst(
    values: dict[str, float], thresholds: Mapping[str, float], sign: int, *, some: bool, nothing: float
) -> Worst:
    if not values:
        name, threshold = next(iter(thresholds.items()), ("", 0.0))
        return Worst(name, nothing, threshold)

    def room(name: str) -> float:
        room = sign * (values[name] - thresholds[name]) / (abs(thresholds[name]) or 1.0)
        return -np.inf if np.isnan(room) else room

    name = min(values, key=room)
    if len(set(thresholds.values())) == 1 and not some:
        return Worst(name, values[name], thresholds[name])
    return Worst(name, values[name], thresholds[name], values, f", of '{name}'")


def at_least(
    gate: str,
    found: Measures,
    thresholds: float | Mapping[str, float],
    detail: str,
    *,
    tolerance: float = 0.0,
    some: bool = False,
) -> GateResult:
    """Return the result of a model whose measure of each attribute has a lower limit, or one for each.

    `some`: the policy has sensitive attributes that are not measured.
    """
    limits = _limits(found, thresholds)
    failing = {name: ~(measure >= limits[name] - tolerance) for name, measure in found.items()}
    return _result(gate, least_of(found, limits, some=some), ">=", failing, detail, found)


def at_most(
    gate: str,
    found: Measures,
    thresholds: float | Mapping[str, float],
    detail: str,
    *,
    tolerance: float = 0.0,
    some: bool = False,
) -> GateResult:
    """Return the result of a model whose measure of each attribute has an upper limit, or one for each.

    `some`: the policy has sensitive attributes that are not measured.
    """
    limits = _limits(found, thresholds)
    failing = {name: ~(measure <= limits[name] + tolerance) for name, measure in found.items()}
    return _result(gate, most_of(found, limits, some=some), "<=", failing, detail, found)


def _limits(found: Measures, thresholds: float | Mapping[str, float]) -> Mapping[str, float]:
    return thresholds if isinstance(thresholds, Mapping) else dict.fromkeys(found, thresholds)


def _result(
    gate: str, worst: Worst, relation: str, failing: Mapping[str, BoolArray], detail: str, found: Measures
) -> GateResult:
    n_classes = max((len(measure) for measure in found.values()), default=0)
    told = detail + worst.named
    return check_model(gate, worst.value, relation, worst.threshold, failing, told, n_classes, worst.measured)
