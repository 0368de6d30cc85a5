"""Gates on the comparison with every earlier release of the series, withdrawn ones too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import GateResult, Verdict
from tasks.risk.comparison import Comparison, pairwise, whole_history
from tasks.risk.evidence import Evidence

READER = "holds every earlier release of the series and knows all quasi-identifiers of people in it"


def pairwise_gate(evidence: Evidence) -> GateResult:
    """No class and compatible earlier class share under l sensitive values, unless none (S4 section 3.1)."""
    history = evidence.history
    if history is None:
        return _first("pairwise")
    found = pairwise(evidence.boxes, history, evidence.space, evidence.compared, evidence.policy.privacy.l)
    return _result("pairwise", found, "pairs of classes", history.n_releases, evidence.policy)


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
    return _result("whole_history", found, "people and classes", history.n_releases, evidence.policy)


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


def _result(
    gate: str, found: Sequence[Comparison], what: str, n_releases: int, policy: ReleasePolicy
) -> GateResult:
    failing = np.zeros(0, dtype=bool)
    for each in found:
        failing = each.failing if not len(failing) else failing | each.failing
    n_failing = int(failing.sum())
    compared = sum(each.compared for each in found)
    names = [each.attribute for each in found]
    left_out = [name for name in policy.roles.sensitive if name not in names]
    transient = [name for name in names if policy.roles.sensitive[name].stability == "transient"]
    detail = (
        f"classes that fail; {compared} {what} over {n_releases} earlier releases; l = {policy.privacy.l}"
    )
    if transient:
        detail += f"; assumes that {', '.join(transient)} did not change between releases"
    if left_out:
        detail += f"; not compared, as the policy says: {', '.join(left_out)}"
    witness: dict[str, Any] = {
        each.attribute: {"failing_classes": int(each.failing.sum()), "failures": each.failed, **each.witness}
        for each in found
        if each.failed
    }
    verdict = Verdict.PASS if n_failing == 0 else Verdict.FAIL
    return GateResult(gate, verdict, float(n_failing), 0.0, "<=", READER, 0.0, detail, witness)
