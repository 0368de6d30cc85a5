"""What is told of an event of the audit log: plain words, names and counts, and no value of the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from policy.errors import ReleaseGateError
from policy.text import number_of
from release_store.approval.approvals import needed_by
from release_store.approval.decisions import BEFORE_CORRECTION, RESTORED_SINCE
from release_store.approval.reviewers import AT_LEAST
from release_store.protocol.names import ANSWERED, ASKED, CORRECTED, RESTORED
from release_store.publishing.public_files import candidate_folder, kept_folder
from release_store.records import AuditEvent, CandidateRecord, GateResult, Release, Verdict
from release_store.store import ReleaseStore
from release_store.summary import Summary
from reports.text import minute, sanitize_text

PREFIX = "releasegate."
_PEOPLE, _REVIEWED = "people.changed", "series.audited"
_OF_THE_STORE = (_PEOPLE, CORRECTED)  # about no series


@dataclass(frozen=True)
class Notice:
    """One thing that people want to know of, by the event that says so."""

    kind: str  # such as `releasegate.candidate.awaiting`
    id: str  # the event's hash: the same notice delivered twice has the same
    number: int  # of the event in the log
    at: str
    text: str
    series: str = ""
    period: str = ""
    candidate: str = ""
    release: str = ""
    facts: dict[str, Any] = field(default_factory=dict)  # counts, names of gates
    links: dict[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return what is delivered, as JSON values."""
        return {
            "notice": self.kind,
            "id": self.id,
            "number": self.number,
            "at": self.at,
            "text": self.text,
            "series": self.series,
            "period": self.period,
            "candidate": self.candidate,
            "release": self.release,
            **self.facts,
            "links": self.links,
        }


@dataclass(frozen=True)
class _Subject:
    """What the store knows of the candidate or release of an event; parts that it lacks are None or empty."""

    event: AuditEvent
    name: str
    changes: dict[str, list[str]]  # names of people by what became of them
    record: CandidateRecord | None
    release: Release | None
    gates: list[GateResult]
    approvers: int

    @property
    def rows(self) -> str:
        """How many rows of how many are or would be public, as words."""
        summary = self.record.summary if self.record else Summary()
        if summary.n_published is None:
            return ""
        return f"{summary.n_published:,} of {summary.n_source or 0:,} rows"


def _awaiting(of: _Subject) -> str:
    until = of.record.expires_at if of.record else None
    end = f" until {minute(until.isoformat())} UTC" if until else ""
    people = number_of(of.approvers, "approval") if of.approvers else "approval"
    rows = f", {of.rows} would be published" if of.rows else ""
    required = of.record.summary.required_approvals if of.record else None
    because = required.why if required else ""
    told = f" It is {because}." if because.startswith(("looser", "in doubt")) else ""
    return f"{of.name} awaits {people}{end}: every gate passes{rows}.{told}"


def _asked(of: _Subject) -> str:
    by = sanitize_text(of.event.actor)
    return f"{by} returned {of.name} with question {of.event.number}; it waits for an answer."


def _answered(of: _Subject) -> str:
    return f"{sanitize_text(of.event.actor)} answered a question on {of.name}."


def _blocked(of: _Subject) -> str:
    by = f" by the gates {', '.join(_failing(of.gates))}" if of.gates else ""
    return f"{of.name} is blocked{by}: nothing was published."


def _published(of: _Subject) -> str:
    return f"{of.name} is published{f': {of.rows}' if of.rows else ''}."


def _stale(of: _Subject) -> str:
    if of.event.reason.endswith(RESTORED_SINCE):
        return f"{of.name} is stale: the release that it revises {RESTORED_SINCE}."
    another = "its series has a new release since its gates ran"
    cause = BEFORE_CORRECTION if of.event.reason == BEFORE_CORRECTION else another
    return f"{of.name} is stale: {cause}. Run `rejudge`."


def _expired(of: _Subject) -> str:
    return f"{of.name} has expired without a decision. Run `rejudge`, or run its period again."


def _failed(of: _Subject) -> str:
    return f"{of.name} failed before it was assessed or published: nothing became public."


def _withdrawn(of: _Subject) -> str:
    return f"{of.name} was withdrawn by {sanitize_text(of.event.actor)}; a tombstone takes its place."


def _restored(of: _Subject) -> str:
    return f"{of.name} was restored by {sanitize_text(of.event.actor)}: it is public again."


def _overridden(of: _Subject) -> str:
    held = f" ({', '.join(_failing(of.gates))})" if of.gates else ""
    return f"{sanitize_text(of.event.actor)} overrides the gates that blocked {of.name}{held}."


def _missing(of: _Subject) -> str:
    return f"The input of {of.name.replace('/', ' ')} did not arrive in time."


def _refused(of: _Subject) -> str:
    wrong = "is missing, or cannot be read" if of.event.reason else "does not meet its expectations"
    return f"The input of {of.name.replace('/', ' ')} {wrong}: nothing was published."


def _gates_failed(of: _Subject) -> str:
    told = "; ".join(f"{name}: {', '.join(gates)}" for name, gates in _not_passed(of.event).items())
    return f"The review of {of.name} found releases that would not pass now ({told})."


def _people_changed(of: _Subject) -> str:
    told = [f"{', '.join(names)} {how}" for how, names in of.changes.items() if names]
    least = number_of(int(of.event.payload.get(AT_LEAST, 0)), "approval")
    every = f"every candidate now needs at least {least}"
    return f"The people who work with the store changed: {'; '.join(told) or every}."


def _corrected(of: _Subject) -> str:
    by = sanitize_text(of.event.actor)
    return f"{by} corrected the clock: the log's last event was in the future. Waiting candidates are stale."


KINDS: dict[str, tuple[str, Callable[[_Subject], str]]] = {
    "candidate.awaiting_approval": ("candidate.awaiting", _awaiting),
    ASKED: ("candidate.asked", _asked),
    ANSWERED: ("candidate.answered", _answered),
    "candidate.blocked": ("candidate.blocked", _blocked),
    "candidate.stale": ("candidate.stale", _stale),
    "candidate.expired": ("candidate.expired", _expired),
    "candidate.failed": ("candidate.failed", _failed),
    "release.published": ("candidate.published", _published),
    "release.withdrawn": ("candidate.withdrawn", _withdrawn),
    RESTORED: ("candidate.restored", _restored),
    "decision.override": ("candidate.overridden", _overridden),
    "input.missing": ("candidate.input-missing", _missing),
    "input.refused": ("candidate.input-refused", _refused),
    _REVIEWED: ("release.gates-failed", _gates_failed),
    _PEOPLE: ("people.changed", _people_changed),
    CORRECTED: ("clock.corrected", _corrected),
}


def events_to_tell(store: ReleaseStore, after: int) -> list[AuditEvent]:
    """Return the events of which people are told, whose number is greater than `after`, in order.

    Of the reviews those that found something, by the policies that the releases were made by.
    """
    events = store.events_of(KINDS, after)
    return [event for event in events if event.action != _REVIEWED or _not_passed(event)]


def _not_passed(event: AuditEvent) -> dict[str, list[str]]:
    """Return by release the gates that did not pass in a review; nothing where another policy was tried."""
    if event.payload.get("policy_digest") is not None:
        return {}
    found = {str(one["release"]): list(one["not_passed"]) for one in event.payload.get("releases", ())}
    return {name: gates for name, gates in found.items() if gates}


def notice_of(store: ReleaseStore, event: AuditEvent) -> Notice:
    """Return the notice of an event in `KINDS`, with what the store says of its candidate or release now."""
    kind, words = KINDS[event.action]
    of = _subject(store, event)
    about_series = of.record is None and event.action not in _OF_THE_STORE
    series, _, period = of.name.partition("/") if about_series else ("", "", "")
    failing = _failing(of.gates)
    facts: dict[str, Any] = {"by": sanitize_text(event.actor)}
    if of.record is not None:
        summary = of.record.summary
        facts |= {"rows": summary.n_source, "published_rows": summary.n_published}
        facts |= {"gates": len(of.gates), "failing": failing, "approvers": of.approvers}
    if event.action == _REVIEWED:
        facts["not_passed"] = _not_passed(event)
    if event.action == _PEOPLE:
        facts |= of.changes
    return Notice(
        kind=f"{PREFIX}{kind}",
        id=event.hash,
        number=event.number,
        at=event.at,
        text=words(of),
        series=of.record.series if of.record else series,
        period=of.record.period if of.record else period,
        candidate=of.record.candidate_id if of.record else "",
        release=of.release.release_id if of.release else "",
        facts=facts,
        links=_links(store, of),
    )


def _subject(store: ReleaseStore, event: AuditEvent) -> _Subject:
    """Look up the candidate and the release; what is no longer there is left out, and the event told."""
    release, record, approvers = None, None, 0
    gates: list[GateResult] = []
    if event.action in (_REVIEWED, *_OF_THE_STORE):
        changes = _changes(store, event) if event.action == _PEOPLE else {}
        return _Subject(event, sanitize_text(event.object), changes, record, release, gates, approvers)
    try:
        if event.action.startswith("release."):
            release = store.release(event.object)
        if release is not None or not event.action.startswith("input."):
            record = store.candidate(release.candidate_id if release else event.object)
            gates = store.gates(record.candidate_id)
            approvers = needed_by(store.policy(record.policy_digest), record.summary)
    except ReleaseGateError:
        pass
    return _Subject(event, event.object, {}, record, release, gates, approvers)


def _changes(store: ReleaseStore, event: AuditEvent) -> dict[str, list[str]]:
    """Return who was added, removed, or has another role, key or token since people were last logged."""
    before = [one for one in store.events_of([_PEOPLE]) if one.number < event.number]
    old, new = (_members(one) for one in (before[-1] if before else None, event))
    return {
        "added": [sanitize_text(name) for name in new if name not in old],
        "removed": [sanitize_text(name) for name in old if name not in new],
        "changed": [sanitize_text(name) for name in new if name in old and old[name] != new[name]],
    }


def _members(event: AuditEvent | None) -> dict[str, Any]:
    members = event.payload.get("members", ()) if event is not None else ()
    return {str(one.get("name")): one for one in members}


def _failing(gates: list[GateResult]) -> list[str]:
    return [result.gate for result in gates if result.verdict is not Verdict.PASS]


def _links(store: ReleaseStore, of: _Subject) -> dict[str, str]:
    if of.release is not None:
        return {"folder": str(kept_folder(store.root, of.release).resolve())}
    if of.record is not None:
        return {"folder": str(candidate_folder(store.root, of.record.candidate_id).resolve())}
    return {}
