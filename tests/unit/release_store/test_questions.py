"""Questions on a candidate that waits, their answers, and what must not happen in between."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policy.errors import Blocked, ReleaseGateError, UsageError
from release_store.approval.credentials import SignedText, Statement, sign_text
from release_store.approval.questions import question_bound
from release_store.canonical import utc_now
from release_store.records import CandidateRecord, CandidateState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from services.observability.notice_kinds import events_to_tell, notice_of
from tests.support.at_work import agreed, key_of, member, write_people
from tests.support.store.hand_made import awaiting, word


def ask(store: ReleaseStore, record: CandidateRecord, by: str = "bob", text: str = "why k 5?") -> Any:
    return store.ask(record.candidate_id, by=by, text=text, credential=key_of(by))


def answer(store: ReleaseStore, record: CandidateRecord, by: str = "ann", **more: Any) -> Any:
    return store.answer(
        record.candidate_id, by=by, text="the owner agreed to it", credential=key_of(by), **more
    )


def approve(store: ReleaseStore, record: CandidateRecord, by: str = "cid") -> CandidateState:
    return agreed(store, word(record, by), 1)


def refusals(store: ReleaseStore) -> list[str]:
    return [event.reason for event in store.events() if event.action == "decision.refused"]


def test_a_candidate_with_an_open_question_is_not_approved(store: ReleaseStore) -> None:
    record = awaiting(store)
    number = ask(store, record).number
    with pytest.raises(UsageError, match=f"waits for the answer to question {number}"):
        approve(store, record)
    assert refusals(store) == [f"was returned, and waits for the answer to question {number}"]
    answer(store, record)
    assert approve(store, record) is CandidateState.APPROVED
    assert verify(store) == []


def test_it_can_be_rejected_while_a_question_is_open(store: ReleaseStore) -> None:
    record = awaiting(store)
    ask(store, record)
    assert agreed(store, word(record, "cid", "reject"), 1) is CandidateState.REJECTED
    assert verify(store) == []


def test_questions_and_answers_are_read_back(store: ReleaseStore) -> None:
    record = awaiting(store)
    first, second = ask(store, record), ask(store, record, "cid", "and who is left out?")
    answer(store, record, number=second.number)
    found = store.questions(record.candidate_id)
    assert [(one.number, one.by, one.text, one.answer and one.answer.by) for one in found] == [
        (first.number, "bob", "why k 5?", None),
        (second.number, "cid", "and who is left out?", "ann"),
    ]
    with pytest.raises(UsageError, match="waits for the answer to question"):
        approve(store, record)


def test_which_question_is_answered_must_be_said_where_two_are_open(store: ReleaseStore) -> None:
    record = awaiting(store)
    with pytest.raises(UsageError, match="has no open question"):
        answer(store, record)
    first = ask(store, record)
    ask(store, record)
    with pytest.raises(UsageError, match="has 2 open questions"):
        answer(store, record)
    with pytest.raises(UsageError, match="has no question 9999"):
        answer(store, record, number=9999)
    answer(store, record, number=first.number)
    with pytest.raises(UsageError, match=f"question {first.number} is answered already"):
        answer(store, record, number=first.number)


def test_who_asks_and_who_answers(store: ReleaseStore) -> None:
    write_people(
        store.root,
        member("ann", ["operator", "approver"]),
        member("bob", ["approver"]),
        member("dan", ["auditor"]),
    )
    record = awaiting(store)
    with pytest.raises(UsageError, match="ann made it"):
        ask(store, record, "ann")
    with pytest.raises(UsageError, match=r"dan does not have the role for this \(approver\)"):
        ask(store, record, "dan")
    number = ask(store, record).number
    with pytest.raises(UsageError, match=r"bob does not have the role for this \(operator\)"):
        answer(store, record, "bob")
    with pytest.raises(UsageError, match="not by the key of ann"):
        store.answer(record.candidate_id, by="ann", text="yes", credential=key_of("bob"))
    with pytest.raises(UsageError, match="no key or token was given"):
        store.answer(record.candidate_id, by="ann", text="yes")
    answer(store, record, number=number)
    assert len(refusals(store)) == 5
    assert verify(store) == []


def test_nothing_is_asked_once_the_candidate_has_ended(store: ReleaseStore) -> None:
    record = awaiting(store)
    ask(store, record)
    agreed(store, word(record, "cid", "reject"), 1)
    for act in (ask, answer):
        with pytest.raises(UsageError, match="only while a candidate awaits approval"):
            act(store, record)


def signed(store: ReleaseStore, record: CandidateRecord, act: str, by: str, **changed: Any) -> SignedText:
    said = Statement(act, store.store_id, record.candidate_id, question_bound(record), by, "why?", utc_now())
    return SignedText(sign_text(replace(said, **changed), key_of(by).key))


def test_a_signed_question_counts_once_and_for_its_candidate(store: ReleaseStore) -> None:
    record, other = awaiting(store), awaiting(store, period="2025")
    text = signed(store, record, "ask", "bob")

    def put(candidate: CandidateRecord, credential: SignedText) -> None:
        store.ask(candidate.candidate_id, by="bob", text="why?", credential=credential)

    with pytest.raises(UsageError, match="was signed for another object"):
        put(other, text)
    put(record, text)
    with pytest.raises(UsageError, match="was used before"):
        put(record, text)
    with pytest.raises(UsageError, match="was signed for another act"):
        put(record, signed(store, record, "approve", "bob"))
    stale = {**question_bound(record), "candidate_digest": "0" * 64}
    with pytest.raises(Blocked, match="about other files"):
        put(record, signed(store, record, "ask", "bob", bound=stale))


def test_an_answer_that_was_signed_for_another_question_is_none(store: ReleaseStore) -> None:
    record = awaiting(store)
    first, second = ask(store, record), ask(store, record)
    text = signed(store, record, "answer", "ann", bound=question_bound(record, first), reason="so")
    with pytest.raises(Blocked, match="another question"):
        store.answer(record.candidate_id, by="ann", text="so", number=second.number, credential=text)
    store.answer(record.candidate_id, by="ann", text="so", number=first.number, credential=text)


def test_verify_finds_an_approval_while_a_question_was_open(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = awaiting(store)
    ask(store, record)
    monkeypatch.setattr("release_store.approval.decisions.open_question_error", lambda *_: None)
    approve(store, record)
    assert [one.what for one in verify(store)] == [
        f"approves {record.candidate_id} while a question has no answer"
    ]


def test_a_refused_question_is_no_question(store: ReleaseStore) -> None:
    record = awaiting(store)
    with pytest.raises(ReleaseGateError):
        ask(store, record, "ann")
    assert store.questions(record.candidate_id) == []
    assert approve(store, record) is CandidateState.APPROVED


def test_a_question_and_its_answer_are_told_without_their_texts(store: ReleaseStore) -> None:
    record = awaiting(store)
    number = ask(store, record).number
    answer(store, record)
    found = [notice_of(store, event) for event in events_to_tell(store, number - 1)]
    name = record.candidate_id
    assert [(one.kind, one.text, one.candidate) for one in found] == [
        (
            "releasegate.candidate.asked",
            f"bob returned {name} with question {number}; it waits for an answer.",
            name,
        ),
        ("releasegate.candidate.answered", f"ann answered a question on {name}.", name),
    ]
    assert not any(text in str(one.document()) for one in found for text in ("why k 5?", "agreed to it"))
