"""What the gates on models have in common: what they read of the classes, and how they tell what fails.

Nothing passes by accident: a comparison with what is no number fails, and what cannot be read is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, GateResult, Verdict
from tasks.risk.evidence import CannotTell, Evidence
from tasks.types import BoolArray, FloatArray, IntArray

Model = TypeVar("Model")

READER = "anyone who reads the release and can tell a person's class"
SHOWN = 5


def model_of(model: Model | None) -> Model:
    """Return the thresholds of a model that the policy asks for; only those gates are asked."""
    if model is None:
        raise ValueError("the policy does not use this gate")
    return model


def sensitive_counts(evidence: Evidence) -> dict[str, IntArray]:
    """Return the counts (n_classes, n_values) of every sensitive attribute of the policy.

    Raises CannotTell where one is not published, lacks a value in a row, or is numeric and has a value that
    is not a finite number.
    """
    counts = {}
    for name in evidence.policy.roles.sensitive:
        if name not in evidence.classes.counts:
            raise CannotTell(f"the sensitive attribute '{name}' is not in the published rows")
        counts[name] = evidence.counted.counts[name]
        if not np.array_equal(evidence.classes.counts[name].sum(axis=1), evidence.classes.size):
            raise CannotTell(f"the sensitive attribute '{name}' lacks a value in some published rows")
        if evidence.policy.roles.sensitive[name].type == "numeric":
            numbers_of(evidence.counted, name, evidence.policy)
    return counts


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


def check_model(
    gate: str,
    value: float,
    relation: str,
    threshold: float,
    failing: Mapping[str, BoolArray],
    detail: str,
    n_classes: int,
) -> GateResult:
    """Return the result of a model that every class must meet; `failing[what]` (n_classes,) which do not.

    A release without a class meets nothing.
    """
    classes = np.flatnonzero(np.any(list(failing.values()), axis=0)) if failing else np.array([], dtype=int)
    passed = n_classes > 0 and not len(classes)
    witness: dict[str, Any] = {}
    if len(classes):
        witness = {"failing_classes": len(classes), "first": classes[:SHOWN].tolist()}
        named = {what: int(marks.sum()) for what, marks in failing.items() if what and marks.any()}
        witness |= {"by_attribute": named} if named else {}
    verdict = Verdict.PASS if passed else Verdict.FAIL
    return GateResult(gate, verdict, float(value), float(threshold), relation, READER, 0.0, detail, witness)


def at_least(
    gate: str,
    found: Mapping[str, FloatArray | IntArray],
    threshold: float,
    detail: str,
    *,
    tolerance: float = 0.0,
) -> GateResult:
    """Return the result of a model whose measure (n_classes,) of each attribute has a lower limit."""
    failing = {name: ~(measure >= threshold - tolerance) for name, measure in found.items()}
    value = min((float(m.min()) for m in found.values() if len(m)), default=0.0)
    return check_model(gate, value, ">=", threshold, failing, detail, _n_classes(found))


def at_most(
    gate: str,
    found: Mapping[str, FloatArray | IntArray],
    threshold: float,
    detail: str,
    *,
    tolerance: float = 0.0,
) -> GateResult:
    """Return the result of a model whose measure (n_classes,) of each attribute has an upper limit."""
    failing = {name: ~(measure <= threshold + tolerance) for name, measure in found.items()}
    value = max((float(m.max()) for m in found.values() if len(m)), default=1.0)
    return check_model(gate, value, "<=", threshold, failing, detail, _n_classes(found))


def _n_classes(found: Mapping[str, FloatArray | IntArray]) -> int:
    return max((len(measure) for measure in found.values()), default=0)
