"""The gates of the privacy models that other packages add: no verdict without a result of theirs."""

from __future__ import annotations

from policy.errors import PolicyError
from release_store.records import GateResult, Verdict
from tasks.privacy.added import bound_models
from tasks.risk.evidence import Evidence, NotAtHand
from tasks.risk.gates.models.checks import sensitive_counts


def added_gate(name: str, evidence: Evidence) -> GateResult:
    """Let the package measure the published classes; a release without a class never passes.

    Raises NotAtHand where the model is not offered here, CannotTell as `sensitive_counts`, and TypeError
    where what the package returns is no result of this gate.
    """
    models = evidence.policy.gates.models
    try:
        bound = bound_models(models.model_copy(update={"added": {name: models.added[name]}}))[name]
    except PolicyError as error:
        raise NotAtHand(f"the privacy model '{name}': {error.message}") from None
    sensitive_counts(evidence)
    result = bound.model.gate(bound.parameters, evidence.units, evidence.policy)
    if not isinstance(result, GateResult) or result.gate != name:
        raise TypeError("what the package returned is no result of this gate")
    if not evidence.units.n_classes and result.verdict is Verdict.PASS:
        raise TypeError("the package passed a release without a class")
    return result
