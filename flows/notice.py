"""What is told of an event of the audit log: plain words, names and counts, and no value of the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flows.layout import minute, shown
from policy.errors import ReleaseGateError
from release_store.decisions import BEFORE_CORRECTION
from release_store.public_files import candidate_folder, kept_folder
from release_store.records import AuditEvent, CandidateRecord, GateResult, Release, Verdict
from release_store.store import ReleaseStore

PREFIX = "releasegate.candidate."


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
    record: CandidateRecord | None
    release: Release | None
    gates: list[GateResult]
    approvers: int

    @property
    def rows(self) -> str:
        """How many rows of how many are or would be public, as words."""
        summary = self.record.summary if self.record else {}
        if "n_published" not in summary:
            return ""
        return f"{int(summary['n_published']):,} of {int(summary.get('n_source', 0)):,} rows"


def _awaiting(of: _Subject) -> str:
    until = of.record.expires_at if of.record else None
    end = f" until {minute(until.isoformat())} UTC" if until else ""
    people = f"{of.approvers} approval{'s' if of.approvers != 1 else ''}" if of.approvers else "approval"
    rows = f", {of.rows} would be published" if of.rows else ""
    return f"{of.name} waits for {people}{end}: every gate passes{rows}."


def _blocked(of: _Subject) -> str:
    by = f" by the gates {', '.join(_failing(of.gates))}" if of.gates else ""
    return f"{of.name} is blocked{by}: nothing was published."


def _published(of: _Subject) -> str:
    return f"{of.name} is published{f': {of.rows}' if of.rows else ''}."


def _stale(of: _Subject) -> str:
    another = "its series has another release since the gates judged it"
    why = BEFORE_CORRECTION if of.event.reason == BEFORE_CORRECTION else another
    return f"{of.name} is stale: {why}. Judge it again."


def _expired(of: _Subject) -> str:
    return f"{of.name} has expired: nobody decided in time. Judge it again, or run its period anew."


def _failed(of: _Subject) -> str:
    return f"{of.name} has failed before it was judged or published: nothing became public."


def _withdrawn(of: _Subject) -> str:
    return f"{of.name} was withdrawn by {shown(of.event.actor)}; a tombstone stands in its place."


def _overridden(of: _Subject) -> str:
    held = f" ({', '.join(_failing(of.gates))})" if of.gates else ""
    return f"{shown(of.event.actor)} overrides the gates that hold back {of.name}{held}."


def _missing(of: _Subject) -> str:
    return f"The input of {of.name.replace('/', ' ')} did not come, and is not waited for any longer."


def _refused(of: _Subject) -> str:
    wrong = "is not there, or cannot be read" if of.event.reason else "does not meet its expectations"
    return f"The input of {of.name.replace('/', ' ')} {wrong}: nothing was published."


KINDS: dict[str, tuple[str, Callable[[_Subject], str]]] = {
    "candidate.awaiting_approval": ("awaiting", _awaiting),
    "candidate.blocked": ("blocked", _blocked),
    "candidate.stale": ("stale", _stale),
    "candidate.expired": ("expired", _expired),
    "candidate.failed": ("failed", _failed),
    "release.published": ("published", _published),
    "release.withdrawn": ("withdrawn", _withdrawn),
    "decision.override": ("overridden", _overridden),
    "input.missing": ("input-missing", _missing),
    "input.refused": ("input-refused", _refused),
}


def notice_of(store: ReleaseStore, event: AuditEvent) -> Notice:
    """Return the notice of an event in `KINDS`, with what the store says of its candidate or release now."""
    kind, words = KINDS[event.action]
    of = _subject(store, event)
    series, _, period = of.name.partition("/") if of.record is None else ("", "", "")
    failing = _failing(of.gates)
    facts: dict[str, Any] = {"by": shown(event.actor)}
    if of.record is not None:
        summary = of.record.summary
        facts |= {"rows": summary.get("n_source"), "published_rows": summary.get("n_published")}
        facts |= {"gates": len(of.gates), "failing": failing, "approvers": of.approvers}
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
    release, record, gates, approvers = None, None, [], 0
    try:
        if event.action.startswith("release."):
            release = store.release(event.object)
        if release is not None or not event.action.startswith("input."):
            record = store.candidate(release.candidate_id if release else event.object)
            gates = store.gates(record.candidate_id)
            policy = store.policy(record.policy_digest)
            approvers = int((policy.get("approval") or {}).get("approvers", 0))
    except ReleaseGateError:
        pass
    return _Subject(event, event.object, record, release, gates, approvers)


def _failing(gates: list[GateResult]) -> list[str]:
    return [result.gate for result in gates if result.verdict is not Verdict.PASS]


def _links(store: ReleaseStore, of: _Subject) -> dict[str, str]:
    if of.release is not None:
        return {"folder": str(kept_folder(store.root, of.release).resolve())}
    if of.record is not None:
        return {"folder": str(candidate_folder(store.root, of.record.candidate_id).resolve())}
    return {}
