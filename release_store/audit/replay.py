"""What the audit log says of each candidate and release, gathered in one pass over a log of any length."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import duckdb

from release_store.audit.checkpoints import Due, note_due
from release_store.audit.log import (
    GENESIS,
    Finding,
    canonical_payload,
    flat_shape,
    hash_of_texts,
    purged_in,
    read_rows,
)
from release_store.protocol.clock import IN_ORDER, correction_error, out_of_order
from release_store.protocol.names import ANSWERED, ASKED, CORRECTED, PURGED, REFUSED, RESTORED
from release_store.protocol.seals import SEAL, SEALED, seal_error
from release_store.protocol.strict_json import read_json
from release_store.publishing.candidate_report import REPORTED, reported_files
from release_store.records import CandidateState, ReleaseState
from release_store.states import follows
from release_store.summary import APPROVAL

_DECISION = ("decision", "by", "reason", "at", "candidate_digest", "policy_digest", "history_head")
_DECIDED = ("decision.approve", "decision.reject", "decision.override")
_WORDS = (  # what a person says, and proves
    *_DECIDED,
    "decision.publish",
    "release.withdrawn",
    RESTORED,
    CORRECTED,
    ASKED,
    ANSWERED,
    PURGED,
)
_TOLD_BY = ("state", "release_state")  # fields of the events that move a candidate or a release
_TOLD_OF = (
    "candidate",
    "clock",
    "decision",
    "log",
    "people",
    "publication",
    "question",
    "release",
)  # what their actions begin with


@dataclass
class LoggedCandidate:
    """The events that moved a candidate, as texts, since there may be very many; and its decisions."""

    actor: str
    first: str
    number: int = 0  # of the first event
    people: int | None = (
        None  # who was in force then: the index in `ReplayedLog.people`, None before the first
    )
    state: Any = None
    assessed: str | None = None
    judged: int = 0  # the number of its last assessment's event, 0 for none
    begun: int = 0  # and of the event that began to publish it

    def staged(self) -> dict[str, Any]:
        """Return the payload of its first event."""
        found: dict[str, Any] = read_json(self.first.encode())
        return found

    def asked(self) -> list[str]:
        """Return the gates that were to be asked; the first stores did not log it."""
        if self.assessed is None or '"asked"' not in self.assessed:
            return []
        return list(read_json(self.assessed.encode()).get("asked") or [])

    def figures(self) -> Any:
        """Return the digest of its figures; None where none were kept."""
        if self.assessed is None or '"figures"' not in self.assessed:
            return None
        return read_json(self.assessed.encode()).get("figures")

    def gates(self) -> Any:
        """Return the gate results of its last assessment."""
        return read_json(self.assessed.encode()).get("gates") if self.assessed is not None else []


@dataclass(frozen=True)
class LoggedReport:
    """A candidate's page as the log has it: the event's number, and the file's name with its SHA-256."""

    number: int = 0
    files: dict[str, str] = field(default_factory=dict)


@dataclass
class LoggedRelease:
    """How often a release was published by the log, with what, and the state that the log left it in."""

    published: list[str] = field(default_factory=list)  # texts
    number: int | None = None  # of the first event that published it
    state: Any = None

    def publications(self) -> list[dict[str, Any]]:
        """Return the payload of every event that published it."""
        return [read_json(text.encode()) for text in self.published]


@dataclass(frozen=True)
class LoggedDecision:
    """What a person said, as the log has it, and the people whom the log knew then (`ReplayedLog.people`)."""

    number: int
    actor: str
    action: str
    object: str
    reason: str
    payload: dict[str, Any]
    people: int | None  # the index in `ReplayedLog.people`, None before the first


@dataclass
class ReplayedLog:
    """What one pass over the log found."""

    hashes: list[str] = field(default_factory=list)  # of all events, in order
    first: tuple[str, dict[str, Any]] | None = None  # action and payload
    candidates: dict[str, LoggedCandidate] = field(default_factory=dict)
    decisions: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    words: list[LoggedDecision] = field(default_factory=list)
    people: list[dict[str, Any]] = field(default_factory=list)  # who was in force, each time it changed
    releases: dict[str, LoggedRelease] = field(default_factory=dict)
    published: set[str] = field(default_factory=set)
    started: set[str] = field(default_factory=set)
    reports: dict[str, LoggedReport] = field(default_factory=dict)  # that was written last, by candidate
    purged: dict[str, Any] = field(default_factory=dict)  # what lost its rows, and in which state it was then
    announced: dict[str, Due] = field(default_factory=dict)  # events that a checkpoint follows, by its `of`
    counted_since: int | None = None  # the first event by which it is said how many people must agree
    sealed: set[int] = field(default_factory=set)  # events that a seal follows
    sealed_since: int | None = None  # the first event after which assessments and publications are sealed
    findings: list[Finding] = field(default_factory=list)
    at: str = ""  # the time of the last event
    shapes: dict[str, re.Pattern[str]] = field(default_factory=dict)  # by action, of events that move nothing

    @property
    def size(self) -> int:
        """How many events there are."""
        return len(self.hashes)

    @property
    def head(self) -> str:
        """The hash of the last event, 64 zeros for none."""
        return self.hashes[-1] if self.hashes else GENESIS

    def lacks_seal(self, number: int) -> bool:
        """Tell whether an event that a seal should follow has none: an assessment, a publication's start."""
        return self.sealed_since is not None and number > self.sealed_since and number not in self.sealed


def read_log(con: duckdb.DuckDBPyConnection, known: ReplayedLog | None = None) -> ReplayedLog:
    """Read the log, and check its numbers, links, hashes, times and changes of state on the way.

    `known` is what was read of it before, and is read on from its last event where that is still there: its
    hash binds all before it. Otherwise the whole log is read.
    """
    log = known if known is not None and _goes_on(con, known) else ReplayedLog()
    number, head, at, shapes = log.size, log.head, log.at, log.shapes
    for rows in read_rows(con, number):
        for row in rows:
            shape = shapes.get(row[3])
            plain = shape is not None and shape.fullmatch(row[6])
            linked = row[0] == number + 1 and row[7] == head and row[1] >= at
            if plain and linked and row[8] == hash_of_texts(*row[:8]):
                number, head, at = row[0], row[8], row[1]
                log.hashes.append(head)
                continue
            payload = canonical_payload(row[6])
            if row[0] != number + 1 or row[7] != head or payload is None or row[8] != hash_of_texts(*row[:8]):
                log.findings += _broken(row, number, head, payload)
            _note(log, row, payload or {})
            log.findings += _untimely(log, row, at, payload or {})
            number, head, at = row[0], row[8], row[1]
            log.hashes.append(head)
            if payload is not None and row[3] not in shapes and _moves_nothing(row[3], payload):
                found = flat_shape(payload)
                if found is not None:
                    shapes[row[3]] = found
    log.at = at
    return log


def _goes_on(con: duckdb.DuckDBPyConnection, known: ReplayedLog) -> bool:
    """Tell whether the log still holds what was read of it; one with findings is read again."""
    found = con.execute("SELECT hash FROM event WHERE number = ?", [known.size]).fetchone()
    return not known.findings and known.size > 0 and found == (known.head,)


def _moves_nothing(action: str, payload: dict[str, Any]) -> bool:
    """Tell whether `_note` passes over every event of this action with the fields of this payload."""
    return action.partition(".")[0] not in _TOLD_OF and not any(name in payload for name in _TOLD_BY)


def _broken(row: tuple[Any, ...], number: int, head: str, payload: dict[str, Any] | None) -> list[Finding]:
    where = f"event {row[0]}"
    findings = []
    if row[0] != number + 1:
        findings.append(Finding(where, f"follows event {number}; the events between are missing"))
    if row[7] != head:
        findings.append(Finding(where, "is not linked to the event before it"))
    if payload is None or row[8] != hash_of_texts(*row[:8]):
        findings.append(Finding(where, "does not match its hash: it was changed"))
    return findings


def _untimely(log: ReplayedLog, row: tuple[Any, ...], before: str, payload: dict[str, Any]) -> list[Finding]:
    """Return what is wrong with an event's time: it goes on from the one before, or the clock was corrected.

    Logs of earlier releasegates do not say that theirs do, and may step back.
    """
    where = f"event {row[0]}"
    if row[3] == CORRECTED:
        event = {"at": row[1], "previous": row[7], "payload": payload}
        try:
            wrong = correction_error(event, before)
        except (KeyError, TypeError, ValueError, AttributeError):
            wrong = "lacks required fields"
    elif before and (log.first or ("", {}))[1].get("times") == IN_ORDER:
        wrong = out_of_order(before, row[1])
    else:
        wrong = None
    return [Finding(where, wrong)] if wrong else []


def _note(log: ReplayedLog, row: tuple[Any, ...], payload: dict[str, Any]) -> None:
    """Keep what an event says of a candidate or a release."""
    number, _, actor, action, subject, reason, _, _, _ = row
    if not log.first:
        log.first = (action, payload)
        log.sealed_since = number if payload.get("assessments") == SEALED else None
    if action == SEAL:
        _note_seal(log, row, payload)
    moves = action != REFUSED  # what was refused moves nothing, whatever its fields
    if moves and "state" in payload and "candidate" in payload:
        _note_candidate(log, row, payload)
    if action in _DECIDED:
        said = {name: payload.get(name) for name in _DECISION}
        if "proof" in payload:
            said["proof"] = payload["proof"]
        log.decisions.setdefault(subject, []).append(said)
    if action == REPORTED:
        log.reports[subject] = LoggedReport(number, reported_files(payload))
    if action in _WORDS:
        people = len(log.people) - 1 if log.people else None
        log.words.append(LoggedDecision(number, actor, action, subject, reason, payload, people))
        log.purged |= {name: _state_of(log, name) for name in purged_in(payload) if action == PURGED}
    if action == "people.changed":
        log.people.append(payload)
    if action == "publication.started":
        log.started.add(str(payload.get("release")))
    note_due(log.announced, number, action, subject)
    _note_release(log, row, payload)


def _note_release(log: ReplayedLog, row: tuple[Any, ...], payload: dict[str, Any]) -> None:
    number, _, _, action, subject, _, text, _, _ = row
    if action == "release.published":
        log.published.add(str(payload.get("release")))
        release = log.releases.setdefault(subject, LoggedRelease())
        release.published.append(text)
        release.number = release.number or number
    if action != REFUSED and "release_state" in payload and "release" in payload:
        release = log.releases.setdefault(str(payload["release"]), LoggedRelease())
        log.findings += _impossible(
            number, str(payload["release"]), ReleaseState, release.state, payload["release_state"]
        )
        release.state = payload["release_state"]


def _note_candidate(log: ReplayedLog, row: tuple[Any, ...], payload: dict[str, Any]) -> None:
    """Keep what an event says that moves a candidate."""
    number, actor, action, text = row[0], row[2], row[3], row[6]
    name, people = str(payload["candidate"]), len(log.people) - 1 if log.people else None
    known = log.candidates.setdefault(name, LoggedCandidate(actor, text, number, people))
    log.findings += _impossible(number, name, CandidateState, known.state, payload["state"])
    known.state = payload["state"]
    if log.counted_since is None and isinstance(said := payload.get("summary"), dict) and APPROVAL in said:
        log.counted_since = number
    if action == "candidate.assessed":
        known.assessed, known.judged = text, number
    if action == "publication.started":
        known.begun = number


def _note_seal(log: ReplayedLog, row: tuple[Any, ...], payload: dict[str, Any]) -> None:
    """Keep which event a seal is of, or what is wrong with it."""
    number = row[0]
    event = {"number": number, "object": row[4], "payload": payload, "previous": row[7]}
    _, created = log.first or ("", {})
    wrong = seal_error(event, str(created.get("store_id")), created.get("public_key"))
    if wrong:
        log.findings.append(Finding(f"event {number}", wrong))
    else:
        log.sealed.add(number - 1)
        log.sealed_since = log.sealed_since or number


def _impossible(
    number: int, name: str, states: type[CandidateState | ReleaseState], before: Any, after: Any
) -> list[Finding]:
    """Return what is wrong with a change of state: no act takes anything from the one to the other."""
    if follows(states, before, after):
        return []
    return [
        Finding(f"event {number}", f"takes {name} from {before or 'nothing'} to {after}, which no act does")
    ]


def _state_of(log: ReplayedLog, name: str) -> Any:
    known = log.candidates.get(name) or log.releases.get(name)
    return known.state if known else None
