"""People ask about a candidate that awaits approval, and are answered; who wants to know of it is told."""

from __future__ import annotations

from release_store.approval.credentials import Credential
from release_store.approval.questions import Question
from release_store.permission import check_typed
from release_store.store import ReleaseStore
from services.observability.logs import log_event
from services.observability.notice_delivery import notify_on_exit


def ask(
    store: ReleaseStore, candidate_id: str, *, by: str, question: str, credential: Credential | None = None
) -> Question:
    """Return a candidate with a question, which must be answered before anybody can approve it.

    Raises UsageError where the person may not ask or gives no proof, or the candidate does not wait; Blocked
    where it has expired or is not what was signed. A refusal is in the log by then.
    """
    check_typed(by, question, candidate_id)
    with notify_on_exit(store.root):
        found = store.ask(candidate_id, by=by, text=question, credential=credential)
    log_event("question.asked", candidate=candidate_id)
    return found


def answer(
    store: ReleaseStore,
    candidate_id: str,
    *,
    by: str,
    answer: str,
    number: int | None = None,
    credential: Credential | None = None,
) -> Question:
    """Answer a question on a candidate: that of the event `number`, or the only open one; raises as `ask`."""
    check_typed(by, answer, candidate_id)
    with notify_on_exit(store.root):
        found = store.answer(candidate_id, by=by, text=answer, number=number, credential=credential)
    log_event("question.answered", candidate=candidate_id)
    return found
