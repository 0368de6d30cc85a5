"""What happened to a series, one entry an event of the log that tells people something."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from policy.text import number_of
from release_store.audit.log import purged_in
from release_store.protocol.names import PURGED, RESTORED
from release_store.records import GateResult, Validation, Verdict
from release_store.summary import Summary
from reports.pages import number
from reports.site.places import Places
from tasks.risk.registry import in_short

Row = Sequence[Any]  # number, at, actor, action, object, reason, payload, previous, hash, as they are kept
# What the log tells twice, or what is no step of a candidate or release.
_LEFT_OUT = frozenset(
    {
        "candidate.assessed",
        "candidate.publishing",
        "candidate.reported",
        "input.validated",
        "publication.started",
        "release.taken_down",
    }
)
_WORDS: dict[str, tuple[str, str]] = {
    "candidate.staged": ("candidate made", "open"),
    "candidate.blocked": ("blocked by gates", "bad"),
    "candidate.awaiting_approval": ("awaits approval", "open"),
    "candidate.approved": ("approved", "good"),
    "candidate.rejected": ("rejected", "bad"),
    "candidate.expired": ("expired", "open"),
    "candidate.stale": ("stale", "open"),
    "candidate.failed": ("failed", "bad"),
    "decision.approve": ("approval given", "good"),
    "decision.reject": ("rejected", "bad"),
    "decision.override": ("override of the gates", "bad"),
    "decision.publish": ("publication requested", "open"),
    "decision.refused": ("a decision was refused", "bad"),
    "question.asked": ("returned with a question", "open"),
    "question.answered": ("question answered", "open"),
    "publication.refused": ("publication refused", "bad"),
    "publication.undone": ("publication undone", "open"),
    "release.published": ("published", "good"),
    "release.superseded": ("superseded", "open"),
    "release.withdrawn": ("withdrawn", "bad"),
    RESTORED: ("restored", "good"),
    "input.refused": ("input refused", "bad"),
    "input.missing": ("input missing", "bad"),
    "series.audited": ("review", "open"),
    "series.purged": ("rows removed", "open"),
}


@dataclass(frozen=True)
class Entry:
    """One step: `detail` is what the store knows of it, `reason` what somebody typed."""

    number: int
    at: str
    actor: str
    word: str
    mood: str
    subject: str
    page: str  # from the site's root, empty where there is none
    period: str
    detail: str
    reason: str


_OF_THE_STORE = ("store.", "people.", "clock.")


@dataclass(frozen=True)
class Event:
    """An event as the page of a release lists it."""

    number: int
    at: str
    actor: str
    action: str
    object: str
    reason: str
    hash: str


@dataclass
class Timeline:
    """What one pass over the log gathers: the entries of each series, the events about each candidate."""

    entries: dict[str, list[Entry]] = field(default_factory=dict)
    events: dict[str, list[Event]] = field(default_factory=dict)  # by candidate
    successors: dict[str, str] = field(default_factory=dict)  # of superseded releases


def series_of(row: Row, places: Places) -> str | None:
    """Return the series that an event is about, "" where it is of the store as a whole, None if unknown."""
    action, subject = str(row[3]), str(row[4])
    if subject in places.everywhere:
        return places.everywhere[subject]
    if action.startswith(("input.", "series.")):
        return subject.partition("/")[0]
    return "" if action.startswith(_OF_THE_STORE) else None


def payload_of(row: Row) -> dict[str, Any]:
    """Return an event's payload; an altered one that is not a JSON object is empty."""
    try:
        found = json.loads(row[6])
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


class TimelineBuilder:
    """Tells the events of the log as they come."""

    def __init__(
        self,
        places: Places,
        gates: Mapping[str, Sequence[GateResult]],
        candidates: Mapping[str, str],
        periods: Mapping[str, str],
        refused: Sequence[Validation],
    ) -> None:
        """Take the gates by candidate, the candidates by release, the periods by both, refused inputs."""
        self.places, self.gates, self.candidates, self.periods = places, gates, candidates, periods
        self.refused = {str(one.number): one for one in refused}
        self.stories = Timeline()

    def tell(self, rows: Iterable[Row]) -> None:
        """Take the next events."""
        for row in rows:
            number_, at, actor, action, subject, reason, _, _, own = row
            candidate = self.candidates.get(subject, subject)
            if candidate in self.places.pages:
                event = Event(number_, at, actor, action, subject, reason, own)
                self.stories.events.setdefault(candidate, []).append(event)
            if action in _LEFT_OUT:
                continue
            series = series_of(row, self.places)
            if series:
                self.stories.entries.setdefault(series, []).append(self._entry(row, candidate))

    def _entry(self, row: Row, candidate: str) -> Entry:
        word, mood = _WORDS.get(row[3], (str(row[3]).replace(".", " ").replace("_", " "), "open"))
        subject, reason = str(row[4]), str(row[5])
        period = self.periods.get(subject, subject.partition("/")[2] if row[3].startswith("input.") else "")
        detail = ""
        if row[3] == "candidate.blocked":
            detail, reason = self._held_back(candidate) or reason, ""
        elif row[3] == "release.superseded":
            if successor := payload_of(row).get("successor"):
                self.stories.successors[subject] = str(successor)
                detail = f"by {successor}"
        elif row[3] == "input.refused":
            validation = self.refused.get(str(payload_of(row).get("validation")))
            detail = _unmet(validation) if validation else ""
        elif row[3] == "series.audited":
            detail = _reviewed(payload_of(row))
        elif row[3] == PURGED:
            detail = ", ".join(purged_in(payload_of(row)))
        elif row[3] == "candidate.staged":
            detail = _made(payload_of(row))
        return Entry(
            row[0],
            row[1],
            row[2],
            word,
            mood,
            subject,
            self.places.pages.get(subject, ""),
            period,
            detail,
            reason,
        )

    def _held_back(self, candidate: str) -> str:
        return "; ".join(
            in_short(one) for one in self.gates.get(candidate, ()) if one.verdict != Verdict.PASS
        )


def _unmet(validation: Validation) -> str:
    """Return which expectations an input did not meet."""
    return ", ".join(
        f"{one.get('column') or 'table'}: {one.get('expectation')}"
        for one in validation.results
        if isinstance(one, dict) and not one.get("passed")
    )


def _made(payload: Mapping[str, Any]) -> str:
    document = payload.get("summary")
    summary = Summary(document if isinstance(document, Mapping) else {})
    told: list[str] = []
    with suppress(KeyError, TypeError):  # an altered log may say anything
        told += [summary.method] if summary.method else []
        if summary.n_published is not None and summary.n_source is not None:
            told.append(f"{number(summary.n_published)} of {number(summary.n_source)} rows")
        told += [f"assessed again, from {again.of}"] if (again := summary.reassessment) else []
        told += [f"revises {revision.of}"] if (revision := summary.revision) else []
    return ", ".join(told)


def _reviewed(payload: Mapping[str, Any]) -> str:
    releases = payload.get("releases")
    if not isinstance(releases, list):
        return ""
    failing = [str(one.get("release")) for one in releases if isinstance(one, dict) and one.get("not_passed")]
    said = f"{number_of(len(releases), 'release')} reviewed"
    return f"{said}; not passed by {', '.join(failing)}" if failing else f"{said}; all pass"
