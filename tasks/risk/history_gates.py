"""Gates on the comparison with every earlier release of the series, withdrawn ones too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from release_store.records import GateResult, Verdict
from tasks.risk.comparison import Comparison, pairwise, whole_history
from tasks.risk.evidence import Evidence
from tasks.risk.likeness import unlike

READER = "holds every earlier release of the series and knows all quasi-identifiers of people in it"


def pairwise_gate(evidence: Evidence) -> GateResult:
    """No class shares under l sensitive values, but some, with a compatible earlier one (Riyana, 2025)."""
    history = evidence.history
    if history is None:
        return _first("pairwise")
    found = pairwise(evidence.boxes, history, evidence.space, evidence.compared, evidence.policy.privacy.l)
    return _result("pairwise", found, "pairs of classes", evidence)


def whole_history_gate(evidence: Evidence) -> GateResult:
    """Nobody's sensitive value is narrowed to under l values by any choice of releases taken together."""
    history = evidence.history
    if history is None:
        return _first("whole_history")
    found = whole_history(
        evidence.boxes,
        evidence.points,
        evidence.allowed(history),
        evidence.space,
        evidence.compared,
        evidence.policy.privacy.l,
    )
    return _result("whole_history", found, "people and classes", evidence)


def _first(gate: str) -> GateResult:
    return GateResult(
        gate,
        Verdict.PASS,
        0.0,
        0.0,
        "<=",
        READER,
        0.0,
        "first release of the series: nothing to compare with",
    )


def _result(gate: str, found: Sequence[Comparison], what: str, evidence: Evidence) -> GateResult:
    failing = np.any([each.failing for each in found], axis=0) if found else np.zeros(0, dtype=bool)
    n_failing = int(failing.sum())
    compared = sum(each.compared for each in found)
    blind = _blind(found, evidence)
    detail = (
        f"classes that fail; {compared} {what} over {len(evidence.earlier)} earlier releases; "
        f"l = {evidence.policy.privacy.l}" + _assumptions([each.attribute for each in found], evidence)
    )
    if blind:
        reasons = "; ".join(f"{name}: {why}" for name, why in blind.items())
        detail += f"; cannot tell what the candidate says beside {reasons}"
    witness: dict[str, Any] = {
        each.attribute: {"failing_classes": int(each.failing.sum()), "failures": each.failed, **each.witness}
        for each in found
        if each.failed
    }
    verdict = Verdict.FAIL if n_failing else Verdict.UNKNOWN if blind else Verdict.PASS
    return GateResult(gate, verdict, float(n_failing), 0.0, "<=", READER, 0.0, detail, witness)


def _blind(found: Sequence[Comparison], evidence: Evidence) -> dict[str, str]:
    """Return the earlier releases beside which the comparison sees nothing, and why."""
    roles = evidence.policy.roles
    attributes = [each.attribute for each in found]
    labelled = [name for name in attributes if roles.sensitive[name].type == "categorical"]
    published = [*roles.quasi_identifiers, *roles.kept]
    untouched = {name for each in found for name in each.untouched}
    blind = {}
    for name, classes in evidence.earlier:
        why = unlike(evidence.classes, classes, attributes, labelled, published)
        if name in untouched and not why:
            why = ["none of its classes is compatible with one of the candidate's"]
        if why:
            blind[name] = ", ".join(why)
    return blind


def _assumptions(attributes: Sequence[str], evidence: Evidence) -> str:
    """Say what a verdict assumes, and what was not compared."""
    roles = evidence.policy.roles
    transient = [name for name in attributes if roles.sensitive[name].stability == "transient"]
    left_out = [name for name in roles.sensitive if name not in attributes]
    said = f"; assumes that {', '.join(transient)} did not change between releases" if transient else ""
    for name in attributes:
        without = [release for release, classes in evidence.earlier if name not in classes.counts]
        if without:
            said += f"; {name} is not in {', '.join(without)}"
    return said + (f"; not compared, as the policy says: {', '.join(left_out)}" if left_out else "")
