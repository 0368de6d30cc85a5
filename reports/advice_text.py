"""What may let a blocked candidate pass, as a document and in lines that people read."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from policy.errors import ReleaseGateError
from policy.load import policy_from_document
from release_store.records import CandidateState, GateResult, Verdict
from release_store.store import ReleaseStore
from tasks.risk.advice import Advice, advise

Document = dict[str, Any]
POLICY = "POLICY"  # in a command, where the path of the policy is not known
MEASURED = "passes with {settings}, as measured on this candidate"
LOOSER = "passes only with {settings}, this candidate's own value; that is looser, and may need an approval"


def advice_of(store: ReleaseStore, candidate_id: str) -> tuple[Advice, ...]:
    """Return the advice for a blocked candidate; nothing for others, or if its policy cannot be read."""
    record = store.candidate(candidate_id)
    if record.state is not CandidateState.BLOCKED:
        return ()
    return advice_on(store.gates(candidate_id), store.policy(record.policy_digest))


def advice_on(results: Sequence[GateResult], policy: Mapping[str, Any]) -> tuple[Advice, ...]:
    """Return the advice for the results of gates under a stored policy, nothing if it cannot be read."""
    if all(result.verdict is Verdict.PASS for result in results):
        return ()
    try:
        return advise(results, policy_from_document(policy))
    except ReleaseGateError:  # of another version
        return ()


def advice_document(advice: Advice) -> Document:
    """Return one piece of advice as JSON values."""
    return {
        "gate": advice.gate,
        "basis": advice.basis,
        "settings": {setting.field: setting.value for setting in advice.settings},
        "text": advice_sentence(advice),
        "command": search_command(advice.goal),
    }


def search_command(goal: str, policy: str = POLICY) -> str:
    """Return the command that searches for parameters with which all gates pass, "" without a goal."""
    return f"releasegate evaluate {policy} --goal {shlex.quote(goal)}" if goal else ""


def advice_sentence(advice: Advice) -> str:
    """Return what may let the gate pass, without the command of a search."""
    settings = ", ".join(f"{setting.field}: {setting.value}" for setting in advice.settings)
    if not settings:
        return advice.hint
    return (MEASURED if advice.gate == "levels" else LOOSER).format(settings=settings)
