"""The strip of a series: each period, its state, and whether a candidate was blocked or rejected before."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from release_store.records import CandidateRecord, CandidateState, Release, ReleaseState
from reports.site.timeline import Entry
from reports.withheld import WAITS

_BEFORE = {CandidateState.BLOCKED: "blocked", CandidateState.REJECTED: "rejected"}


@dataclass(frozen=True)
class Period:
    """One period of a series: how it ended last, and in words what did not come through before that."""

    name: str
    mood: str
    sign: str
    word: str
    page: str
    before: str = ""


def periods_of(
    records: Sequence[CandidateRecord],
    releases: Mapping[str, Release],
    entries: Sequence[Entry],
    pages: Mapping[str, str],
) -> list[Period]:
    """Return every period by name, with how it stands by its last release, or candidate where there is none.

    `records` are oldest first, `releases` by candidate, `entries` newest first.
    """
    found: dict[str, Period] = {}
    failed: dict[str, Counter[str]] = {}  # by period, so far
    released = set()
    for entry in entries:  # of a period that has only an input
        if entry.period and entry.word.startswith("input "):
            found.setdefault(entry.period, Period(entry.period, "bad", "!", entry.word, ""))
    for record in records:
        period, release = record.period, releases.get(record.candidate_id)
        before = failed.setdefault(period, Counter())
        if release is not None or period not in released:  # a release stands, whatever was tried after it
            said = ", ".join(f"{n} {word}" for word, n in before.items())
            page = pages[record.candidate_id]
            found[period] = Period(
                period, *_standing(record, release), page, f"{said} before" if said else ""
            )
        if release is not None:
            released.add(period)
        elif record.state in _BEFORE:
            before[_BEFORE[record.state]] += 1
    return [found[name] for name in sorted(found, key=_in_order)]


def _in_order(period: str) -> list[tuple[int, str]]:
    """Return what a period stands by: numbers in it count as numbers, so that 2026W2 is before 2026W10."""
    parts = filter(None, re.split(r"(\d+)", period))
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _standing(record: CandidateRecord, release: Release | None) -> tuple[str, str, str]:
    """Return mood, sign and word of a period by its last release, or the candidate where there is none."""
    if release is not None:
        by_state = {ReleaseState.PUBLISHED: ("good", "✓"), ReleaseState.SUPERSEDED: ("open", "↻")}
        mood, sign = by_state.get(release.state, ("bad", "⊘"))
        if release.state is ReleaseState.PUBLISHED and release.overridden:
            return "bad", "‼", "published by override"
        return mood, sign, str(release.state)
    if record.state in WAITS:
        return "open", "…", "awaits approval"
    if word := _BEFORE.get(record.state):
        return "bad", "✗", word
    return "open", "-", str(record.state).replace("_", " ")
