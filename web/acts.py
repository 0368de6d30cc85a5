"""What a signed form does: it goes to the service that the commands call, with the signature as the proof."""

from __future__ import annotations

from release_store.approval.credentials import SignedText
from release_store.permission import Act
from release_store.store import ReleaseStore
from services.decisions import decide
from services.questions import answer, ask
from services.withdrawal import ACTS, withdraw_or_restore
from web.refusals import BadForm

_DECISIONS = {Act.APPROVE: "approve", Act.PUBLISH: "approve", Act.REJECT: "reject"}


def act_on_candidate(
    store: ReleaseStore, name: str, by: str, act: str, signed: str, question: int | None = None
) -> str:
    """Do what a person signed to a candidate, and return what came of it in a sentence.

    `question` is the number of the one that is answered, if `act` is an answer.
    Raises as the service does; a refusal is in the audit log by then.
    """
    text = SignedText(signed)
    said = text.said()
    if act == Act.ASK:
        asked = ask(store, name, by=by, question=said.reason, credential=text)
        return f"{name} is returned with question {asked.number}."
    if act == Act.ANSWER and question is not None:
        answer(store, name, by=by, answer=said.reason, number=question, credential=text)
        return f"Question {question} is answered."
    if act not in _DECISIONS:
        raise BadForm
    outcome = decide(store, name, _DECISIONS[Act(act)], by=by, reason=said.reason, credential=text)
    return f"{outcome.message}."


def act_on_release(store: ReleaseStore, name: str, by: str, act: str, signed: str) -> str:
    """Withdraw or restore a release as a person signed, and return what came of it in a sentence."""
    text = SignedText(signed)
    said = text.said()
    if act not in ACTS:
        raise BadForm
    found = withdraw_or_restore(store, Act(act), name, by=by, reason=said.reason, credential=text)
    if act == Act.RESTORE:
        return f"{found.release_id} is restored: it is public again."
    return f"{found.release_id} is withdrawn; a tombstone stands in its place."
