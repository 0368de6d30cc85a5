"""What the pages show of a store to one person, and which acts they offer: by the same tables of rights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policy.text import number_of
from release_store.approval.questions import Question, question_bound
from release_store.approval.reviewers import Reviewer
from release_store.approval.signing import to_sign
from release_store.canonical import canonical_json
from release_store.permission import Act, Person, refusal
from release_store.protocol.names import RESTORED
from release_store.records import (
    AuditEvent,
    CandidateRecord,
    CandidateState,
    Decision,
    GateResult,
    Release,
    ReleaseState,
    Verdict,
)
from release_store.states import may
from release_store.store import ReleaseStore
from reports.withheld import WAITS
from web.refusals import NoSuchPage

_SHOWN = 100  # rows of the tables that only grow
_ON_CANDIDATES = (Act.APPROVE, Act.PUBLISH, Act.ASK, Act.REJECT)
_VERBS = {
    Act.APPROVE: "Approve",
    Act.PUBLISH: "Publish",
    Act.ASK: "Return with this question",
    Act.REJECT: "Reject",
    Act.WITHDRAW: "Withdraw",
    Act.RESTORE: "Restore",
}
_STATE_MOODS = {
    CandidateState.PUBLISHED: "good",
    CandidateState.BLOCKED: "bad",
    CandidateState.REJECTED: "bad",
    CandidateState.FAILED: "bad",
    ReleaseState.PUBLISHED: "good",
    ReleaseState.WITHDRAWN: "bad",
}


@dataclass(frozen=True)
class WaitingLine:
    """A candidate that waits for a decision or for its publication."""

    record: CandidateRecord
    given: int
    needed: int
    n_open: int  # questions without an answer

    @property
    def says(self) -> str:
        """How far it is, in a few words."""
        if self.record.state is not CandidateState.AWAITING_APPROVAL:
            return "approved, not yet published"
        given = f"{self.given} of {number_of(self.needed, 'approval')} given"
        return f"returned with {number_of(self.n_open, 'question')}; {given}" if self.n_open else given


@dataclass(frozen=True)
class Button:
    """An act that the person may do now: its name in the statement, and what the button says."""

    act: str
    says: str


@dataclass(frozen=True)
class Thread:
    """A question with its answer; `to_sign` is what the person signs to answer it, empty if they may not."""

    question: Question
    to_sign: str

    @property
    def is_open(self) -> bool:
        """Whether it has no answer yet."""
        return self.question.answer is None


@dataclass(frozen=True)
class CandidatePage:
    """One candidate, with what is signed about it, and the acts that the person may do."""

    record: CandidateRecord
    release: Release | None
    gates: Sequence[GateResult]
    decisions: Sequence[Decision]
    threads: Sequence[Thread]
    given: int
    needed: int
    why_so_many: str
    buttons: Sequence[Button]
    why_no_buttons: str
    to_sign: str  # canonical JSON
    altered: Mapping[str, str]  # what is wrong with its files, where people may still decide on it

    @property
    def mood(self) -> str:
        """Whether its state is good, bad or open."""
        return _STATE_MOODS.get(self.record.state, "open")

    @property
    def n_open(self) -> int:
        """How many questions have no answer yet."""
        return sum(one.is_open for one in self.threads)

    @property
    def failing(self) -> list[str]:
        """The gates that did not pass."""
        return [one.gate for one in self.gates if one.verdict is not Verdict.PASS]


@dataclass(frozen=True)
class ReleasePage:
    """One release, with what is signed to withdraw or restore it."""

    release: Release
    act: str  # that may be done to it in its state
    afterwards: Sequence[AuditEvent]
    buttons: Sequence[Button]
    why_no_buttons: str
    to_sign: str

    @property
    def mood(self) -> str:
        """Whether its state is good, bad or open."""
        return _STATE_MOODS.get(self.release.state, "open")


def waiting_lines(store: ReleaseStore) -> list[WaitingLine]:
    """Return what waits, newest first."""
    found = [one for one in store.candidates() if one.state in WAITS]
    return [_waiting(store, one) for one in reversed(found)]


def newest_releases(store: ReleaseStore) -> tuple[list[Release], int]:
    """Return the newest releases, at most `_SHOWN`, and how many there are in all."""
    found = store.releases()
    return list(reversed(found[-_SHOWN:])), len(found)


def candidate_page(store: ReleaseStore, name: str, person: Reviewer) -> CandidatePage:
    """Return the page of a candidate. Raises NoSuchPage if the store has none of that id."""
    record = next((one for one in store.candidates() if one.candidate_id == name), None)
    if record is None:
        raise NoSuchPage
    release = next((one for one in store.releases(record.series) if one.candidate_id == name), None)
    decisions, questions = store.decisions(name), store.questions(name)
    buttons, why = _buttons(record, decisions, questions, person)
    answers = may(Act.ANSWER, record.state) and person.may(Act.ANSWER)
    required = record.summary.required_approvals
    return CandidatePage(
        record=record,
        release=release,
        gates=store.gates(name),
        decisions=decisions,
        threads=[
            Thread(one, _text(_to_answer(store, record, one)) if answers and one.answer is None else "")
            for one in questions
        ],
        given=sum(one.decision == Act.APPROVE for one in decisions),
        needed=max(store.approvers_needed(name), 1),
        why_so_many=required.why if required else "",
        buttons=buttons,
        why_no_buttons=why,
        to_sign=_text(to_sign(store.store_id, record, None)),
        altered=store.altered_files(name) if record.state in (*WAITS, CandidateState.BLOCKED) else {},
    )


def release_page(store: ReleaseStore, name: str, person: Reviewer) -> ReleasePage:
    """Return the page of a release. Raises NoSuchPage if the store has none of that id."""
    release = next((one for one in store.releases() if one.release_id == name), None)
    if release is None:
        raise NoSuchPage
    act = Act.RESTORE if may(Act.RESTORE, release.state) else Act.WITHDRAW
    buttons, why = [Button(act.value, _VERBS[act])], ""
    if not person.may(act):
        buttons, why = [], f"Your roles allow you to read, not to {act} a release."
    events = store.events_about(name)
    return ReleasePage(
        release=release,
        act=act.value,
        afterwards=[
            one for one in events if one.action in ("release.superseded", "release.withdrawn", RESTORED)
        ],
        buttons=buttons,
        why_no_buttons=why,
        to_sign=_text(to_sign(store.store_id, store.candidate(release.candidate_id), release)),
    )


def _waiting(store: ReleaseStore, record: CandidateRecord) -> WaitingLine:
    given = sum(one.decision == Act.APPROVE for one in store.decisions(record.candidate_id))
    n_open = sum(one.answer is None for one in store.questions(record.candidate_id))
    return WaitingLine(record, given, max(store.approvers_needed(record.candidate_id), 1), n_open)


def _to_answer(store: ReleaseStore, record: CandidateRecord, question: Question) -> dict[str, Any]:
    """Return what an answer to a question is bound to."""
    return {**to_sign(store.store_id, record, None), "bound": question_bound(record, question)}


def _buttons(
    record: CandidateRecord,
    decisions: Sequence[Decision],
    questions: Sequence[Question],
    person: Reviewer,
) -> tuple[list[Button], str]:
    """Return the acts that a person may do to a candidate now; where there are none, a sentence why."""
    is_open = any(one.answer is None for one in questions)
    now = [act for act in _ON_CANDIDATES if may(act, record.state) and not (is_open and act is Act.APPROVE)]
    if not now:
        return [], ""
    allowed = [act for act in now if person.may(act)]
    if not allowed:
        return [], "Your roles allow you to read, not to decide on a candidate."
    someone = Person(person.name, "a reason", record.made_by, [one.by for one in decisions])
    errors = {act: refusal(act, someone, record.candidate_id) for act in allowed}
    found = [Button(act.value, _VERBS[act]) for act in allowed if errors[act] is None]
    if found:
        return found, ""
    error = next(error for error in errors.values() if error is not None)
    return [], f"{error.message[:1].upper()}{error.message[1:]}."


def _text(document: dict[str, Any]) -> str:
    return canonical_json(document).decode()
