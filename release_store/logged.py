"""What the audit log says of each candidate and release, gathered in one pass over a log of any length."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import duckdb

from release_store.audit import GENESIS, Finding, canonical_payload, hash_of_texts, read_rows

_DECISION = ("decision", "by", "reason", "at", "candidate_digest", "policy_digest", "history_head")


@dataclass
class LoggedCandidate:
    """The events that moved a candidate, as texts, since there may be very many; and its decisions."""

    actor: str
    first: str
    state: Any = None
    assessed: str | None = None

    def staged(self) -> dict[str, Any]:
        """Return the payload of its first event."""
        found: dict[str, Any] = json.loads(self.first)
        return found

    def gates(self) -> Any:
        """Return the gate results of its last assessment."""
        return json.loads(self.assessed).get("gates") if self.assessed is not None else []


@dataclass
class LoggedRelease:
    """How often a release was published by the log, with what, and the state that the log left it in."""

    published: list[str] = field(default_factory=list)  # texts
    state: Any = None

    def publications(self) -> list[dict[str, Any]]:
        """Return the payload of every event that published it."""
        return [json.loads(text) for text in self.published]


@dataclass
class Log:
    """What one pass over the log found."""

    hashes: list[str] = field(default_factory=list)  # of all events, in order
    first: tuple[str, dict[str, Any]] | None = None  # action and payload
    candidates: dict[str, LoggedCandidate] = field(default_factory=dict)
    decisions: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    releases: dict[str, LoggedRelease] = field(default_factory=dict)
    published: set[str] = field(default_factory=set)
    started: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)

    @property
    def size(self) -> int:
        """How many events there are."""
        return len(self.hashes)


def read_log(con: duckdb.DuckDBPyConnection) -> Log:
    """Read the whole log, and check its numbers, links and hashes on the way."""
    log = Log()
    number, head = 0, GENESIS
    for rows in read_rows(con):
        for row in rows:
            payload = canonical_payload(row[6])
            if row[0] != number + 1 or row[7] != head or payload is None or row[8] != hash_of_texts(*row[:8]):
                log.findings += _broken(row, number, head, payload)
            number, head = row[0], row[8]
            log.hashes.append(head)
            _note(log, row, payload or {})
    return log


def _broken(row: tuple[Any, ...], number: int, head: str, payload: dict[str, Any] | None) -> list[Finding]:
    where = f"event {row[0]}"
    findings = []
    if row[0] != number + 1:
        findings.append(Finding(where, f"follows event {number}; the numbers between are missing"))
    if row[7] != head:
        findings.append(Finding(where, "is not linked to the event before it"))
    if payload is None or row[8] != hash_of_texts(*row[:8]):
        findings.append(Finding(where, "does not match its own hash: it was changed"))
    return findings


def _note(log: Log, row: tuple[Any, ...], payload: dict[str, Any]) -> None:
    """Keep what an event says of a candidate or a release."""
    _, _, actor, action, subject, _, text, _, _ = row
    if not log.first:
        log.first = (action, payload)
    if "state" in payload and "candidate" in payload:
        known = log.candidates.setdefault(str(payload["candidate"]), LoggedCandidate(actor, text))
        known.state = payload["state"]
        if action == "candidate.assessed":
            known.assessed = text
    if action in ("decision.approve", "decision.reject"):
        said = {name: payload.get(name) for name in _DECISION}
        log.decisions.setdefault(subject, []).append(said)
    if action == "publication.started":
        log.started.add(str(payload.get("release")))
    if action == "release.published":
        log.published.add(str(payload.get("release")))
        log.releases.setdefault(subject, LoggedRelease()).published.append(text)
    if "release_state" in payload and "release" in payload:
        log.releases.setdefault(str(payload["release"]), LoggedRelease()).state = payload["release_state"]
