"""Questions on a candidate, and their answers: both are signed, and both stand in the log alone.

A reviewer returns a candidate that awaits approval with a question. It cannot be approved until each
question is answered; it can be rejected. An answer names its question by the hash of the question's event,
so it answers no other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import duckdb

from policy.errors import Blocked, ReleaseGateError, UsageError
from release_store.approval.authentication import authenticate, maker_of, refuse
from release_store.approval.credentials import Credential, Statement, as_said, check_moment
from release_store.approval.reviewers import Reviewers
from release_store.audit import log as audit
from release_store.canonical import iso, utc_now
from release_store.db import queries
from release_store.permission import Act, Person, refusal
from release_store.protocol.names import ANSWERED, ASKED
from release_store.protocol.proofs import is_by
from release_store.records import AuditEvent, CandidateRecord
from release_store.states import may

Connection = duckdb.DuckDBPyConnection
_ACTIONS = {Act.ASK: ASKED, Act.ANSWER: ANSWERED}
_HINT_AGAIN = "Look at the candidate again, and sign again."


@dataclass(frozen=True)
class Answer:
    """What somebody answered, and when."""

    by: str
    text: str
    at: str


@dataclass(frozen=True)
class Question:
    """What somebody asked about a candidate; `number` and `hash` are those of its event."""

    number: int
    hash: str
    by: str
    text: str
    at: str
    answer: Answer | None = None

    def document(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        answer = None if self.answer is None else vars(self.answer)
        return {"number": self.number, "by": self.by, "question": self.text, "at": self.at, "answer": answer}


def questions_in(events: Iterable[AuditEvent]) -> list[Question]:
    """Return the questions in the events about one candidate, oldest first, with their answers."""
    found: dict[str, Question] = {}
    for event in events:
        if event.action == ASKED:
            found[event.hash] = Question(event.number, event.hash, event.actor, event.reason, event.at)
        elif event.action == ANSWERED and (asked := found.get(_question_of(event))) is not None:
            found[asked.hash] = replace(asked, answer=Answer(event.actor, event.reason, event.at))
    return list(found.values())


def read_questions(con: Connection, candidate_id: str) -> list[Question]:
    """Return the questions on a candidate, oldest first, with their answers."""
    return questions_in(audit.read_events_about(con, [], [candidate_id], []))


def open_question_error(con: Connection, candidate_id: str) -> UsageError | None:
    """Return why a candidate cannot be approved while a question is open, or None if none is."""
    waiting = [one for one in read_questions(con, candidate_id) if one.answer is None]
    if not waiting:
        return None
    named = ", ".join(f"question {one.number}" for one in waiting)
    return UsageError(
        f"was returned, and waits for the answer to {named}",
        where=candidate_id,
        hint="Wait for the answer (`releasegate answer`), or reject the candidate.",
    )


def question_bound(record: CandidateRecord, question: Question | None = None) -> dict[str, str]:
    """Return what a question on a candidate, or the answer to `question`, is bound to."""
    bound = {
        "candidate_digest": record.candidate_digest,
        "policy_digest": record.policy_digest,
        "history_head": record.history_head,
    }
    return bound if question is None else {**bound, "question": question.hash}


def ask(
    con: Connection,
    store_id: str,
    candidate_id: str,
    staff: Reviewers,
    credential: Credential | None,
    *,
    by: str,
    text: str,
) -> Question | ReleaseGateError:
    """Return a candidate with a question.

    A refusal is logged in the same transaction and returned as the error to raise once it is kept: Blocked if
    the person saw other files, UsageError otherwise.
    """
    record = queries.candidate(con, candidate_id)
    said = _statement(Act.ASK, store_id, record, None, by, text, credential)
    event = _keep(con, record, None, said, staff, credential)
    if isinstance(event, ReleaseGateError):
        return event
    return Question(event.number, event.hash, event.actor, event.reason, event.at)


def answer(
    con: Connection,
    store_id: str,
    candidate_id: str,
    staff: Reviewers,
    credential: Credential | None,
    *,
    by: str,
    text: str,
    number: int | None = None,
) -> Question | ReleaseGateError:
    """Answer a question on a candidate: that of the event `number`, or the only one that is open.

    Raises UsageError where there is no such question; other refusals are as those of `ask`.
    """
    record = queries.candidate(con, candidate_id)
    question = _asked(read_questions(con, candidate_id), number, candidate_id)
    said = _statement(Act.ANSWER, store_id, record, question, by, text, credential)
    event = _keep(con, record, question, said, staff, credential)
    if isinstance(event, ReleaseGateError):
        return event
    return replace(question, answer=Answer(event.actor, event.reason, event.at))


def _asked(questions: list[Question], number: int | None, where: str) -> Question:
    waiting = [one for one in questions if one.answer is None]
    if number is not None:
        found = next((one for one in questions if one.number == number), None)
    else:
        found = waiting[0] if len(waiting) == 1 else None
    if found is not None:
        return found
    numbers = ", ".join(str(one.number) for one in waiting)
    if number is None and waiting:
        raise UsageError(
            f"has {len(waiting)} open questions", where=where, hint=f"Give --question with one of {numbers}."
        )
    named = "question" if number is None else f"question {number}"
    hint = (
        f"Open questions: {numbers}." if waiting else "Nothing is open; run `releasegate show` to read them."
    )
    raise UsageError(f"has no open {named}" if number is None else f"has no {named}", where=where, hint=hint)


def _statement(
    act: Act,
    store_id: str,
    record: CandidateRecord,
    question: Question | None,
    by: str,
    text: str,
    credential: Credential | None,
) -> Statement:
    said = Statement(
        act.value, store_id, record.candidate_id, question_bound(record, question), by, text, utc_now()
    )
    return as_said(said, credential)


def _keep(
    con: Connection,
    record: CandidateRecord,
    question: Question | None,
    said: Statement,
    staff: Reviewers,
    credential: Credential | None,
) -> AuditEvent | ReleaseGateError:
    act = Act(said.act)
    proof = authenticate(con, staff, act, said, credential)
    if isinstance(proof, ReleaseGateError):
        refused: ReleaseGateError | None = proof
    else:
        marks = {"public_key": proof.public_key, "token": proof.token}
        is_maker = is_by(marks, maker_of(con, record.candidate_id))
        refused = _not_now(con, act, record, question, said, is_maker=is_maker)
    if refused is not None or isinstance(proof, ReleaseGateError):
        error = refused or UsageError("nobody says it", where=record.candidate_id)
        refuse(con, said.act, said, error)
        return error
    payload = {"at": iso(said.at), "bound": dict(said.bound), "proof": proof.document()}
    return audit.append(con, said.by, _ACTIONS[act], record.candidate_id, said.reason, payload)


def _not_now(
    con: Connection,
    act: Act,
    record: CandidateRecord,
    question: Question | None,
    said: Statement,
    *,
    is_maker: bool,
) -> ReleaseGateError | None:
    """Return why a person whose word this is may not ask or answer now, or None if they may."""
    where = record.candidate_id
    since: datetime = audit.corrected_since(con, "candidate.staged", where) or record.made_at
    try:
        check_moment(said, utc_now(), since)
    except UsageError as error:
        return error
    if not may(act, record.state):
        only = "questions are asked and answered only while a candidate awaits approval"
        return UsageError(f"is {record.state}, and {only}", where=where, hint="Look at its successor.")
    if record.expires_at is not None and utc_now() >= record.expires_at:
        return Blocked("has expired", where=where, hint=f"Run `releasegate rejudge {where}`.")
    if question is not None and question.answer is not None:
        return UsageError(f"question {question.number} is answered already", where=where, hint=_HINT_AGAIN)
    if dict(said.bound) != question_bound(record, question):
        return Blocked(
            "what was signed is about other files or another question", where=where, hint=_HINT_AGAIN
        )
    made_by = said.by if is_maker else record.made_by
    return refusal(act, Person(said.by, said.reason, made_by), where)


def _question_of(event: AuditEvent) -> str:
    bound = event.payload.get("bound")
    return str(bound.get("question")) if isinstance(bound, dict) else ""
