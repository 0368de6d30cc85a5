"""What the first page says of each series: how it stands, what waits for people, and what stands out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from release_store.approval.approvals import needed_by
from release_store.canonical import iso
from release_store.permission import Act
from release_store.records import CandidateRecord, CandidateState, Release, ReleaseState, Verdict
from release_store.snapshot import StoreSnapshot
from reports.site.places import Places, series_place
from reports.site.timeline import Entry, Timeline
from reports.withheld import WAITS
from tasks.risk.registry import in_short

SHOWN = 100  # rows of the tables that only grow


@dataclass(frozen=True)
class LabelledLink:
    """A release or candidate that the overview names, with its page and what is said of it."""

    identifier: str
    series: str
    page: str
    at: str
    said: str


@dataclass(frozen=True)
class SeriesLine:
    """One series in short; `public` counts the releases that stand."""

    name: str
    title: str
    page: str
    releases: int
    public: int
    last: LabelledLink | None
    last_period: str
    waiting: int
    held_back: int
    refused: int


@dataclass(frozen=True)
class Overview:
    """Every series, and over all of them what waits, was held back, was let out by override or taken back."""

    lines: tuple[SeriesLine, ...]
    waiting: tuple[LabelledLink, ...]
    overridden: tuple[LabelledLink, ...]
    withdrawn: tuple[LabelledLink, ...]
    held_back: tuple[LabelledLink, ...]  # of these and the next the newest `SHOWN`
    refused: tuple[LabelledLink, ...]
    n_held_back: int
    n_refused: int


def overview_of(whole: StoreSnapshot, places: Places, stories: Timeline) -> Overview:
    """Return the overview, newest first."""
    waiting = [_waiting(whole, places, one) for one in whole.candidates if one.state in WAITS]
    held_back = [one for one in whole.candidates if one.state is CandidateState.BLOCKED]
    overridden = [_overridden(whole, places, one) for one in whole.releases if one.overridden]
    withdrawn = [
        _withdrawn(places, one, stories) for one in whole.releases if one.state is ReleaseState.WITHDRAWN
    ]
    refused = sorted(
        (entry for name in whole.known_series for entry in _refused(stories, name)),
        key=lambda entry: entry.number,
    )
    blocked = [_named(places, one, _gates(whole, one)) for one in held_back[-SHOWN:]]
    return Overview(
        lines=tuple(_line(whole, places, stories, name) for name in whole.known_series),
        waiting=tuple(reversed(waiting)),
        overridden=tuple(reversed(overridden)),
        withdrawn=tuple(reversed(withdrawn)),
        held_back=tuple(reversed(blocked)),
        refused=tuple(_input(entry) for entry in reversed(refused[-SHOWN:])),
        n_held_back=len(held_back),
        n_refused=len(refused),
    )


def _line(whole: StoreSnapshot, places: Places, stories: Timeline, series: str) -> SeriesLine:
    releases = [one for one in whole.releases if one.series == series]
    records = [one for one in whole.candidates if one.series == series]
    last = releases[-1] if releases else None
    policy = whole.policies.get(records[-1].policy_digest, {}) if records else {}
    publication = policy.get("publication")
    title = publication.get("title") if isinstance(publication, dict) else None
    return SeriesLine(
        name=series,
        title=str(title or ""),
        page=series_place(series),
        releases=len(releases),
        public=sum(one.state is not ReleaseState.WITHDRAWN for one in releases),
        last=_release(places, last, str(last.state)) if last else None,
        last_period=last.period if last else "",
        waiting=sum(one.state in WAITS for one in records),
        held_back=sum(one.state is CandidateState.BLOCKED for one in records),
        refused=len(_refused(stories, series)),
    )


def _refused(stories: Timeline, series: str) -> list[Entry]:
    """Return what the log tells of inputs that were refused or did not come."""
    return [entry for entry in stories.entries.get(series, ()) if entry.word.startswith("input ")]


def _input(entry: Entry) -> LabelledLink:
    series = entry.subject.partition("/")[0]
    said = f"{entry.word}: {entry.detail or entry.reason}"
    return LabelledLink(entry.subject, series, series_place(series), entry.at, said)


def _withdrawn(places: Places, release: Release, stories: Timeline) -> LabelledLink:
    """Return when a release was withdrawn, by whom and why, as the log has it."""
    events = stories.events.get(release.candidate_id, ())
    for event in reversed(events):
        if event.action == "release.withdrawn":
            named = _release(places, release, f"by {event.actor}: {event.reason}")
            return replace(named, at=event.at)
    return _release(places, release, "the log does not say by whom")


def _waiting(whole: StoreSnapshot, places: Places, record: CandidateRecord) -> LabelledLink:
    words = [one.decision for one in whole.decisions.get(record.candidate_id, ())]
    given = words.count(Act.APPROVE.value)
    try:
        needed = max(needed_by(whole.policies.get(record.policy_digest, {}), record.summary), 1)
        required = record.summary.required_approvals
        because = required.why if required else ""
    except (TypeError, ValueError, KeyError, AttributeError):  # a policy or a summary may be any JSON
        return _named(places, record, "awaits approval; its policy does not say how many")
    if record.state is not CandidateState.AWAITING_APPROVAL:
        said = "approved, not yet published"
    else:
        said = f"{given} of {needed} {'approval' if needed == 1 else 'approvals'} given"
        if record.expires_at is not None:
            said += f"; expires {iso(record.expires_at)[:16].replace('T', ' ')} UTC"
    return _named(places, record, f"{said}; {because}" if because else said)


def _overridden(whole: StoreSnapshot, places: Places, release: Release) -> LabelledLink:
    gates = whole.gates.get(release.candidate_id, ())
    failing = ", ".join(one.gate for one in gates if one.verdict != Verdict.PASS)
    words = whole.decisions.get(release.candidate_id, ())
    people = " and ".join(one.by for one in words if one.decision == Act.OVERRIDE)
    return _release(places, release, f"{failing}, by {people}")


def _gates(whole: StoreSnapshot, record: CandidateRecord) -> str:
    gates = whole.gates.get(record.candidate_id, ())
    return "; ".join(in_short(one) for one in gates if one.verdict != Verdict.PASS)


def _named(places: Places, record: CandidateRecord, said: str) -> LabelledLink:
    name = record.candidate_id
    return LabelledLink(name, record.series, places.pages[name], iso(record.made_at), said)


def _release(places: Places, release: Release, said: str) -> LabelledLink:
    name = release.release_id
    return LabelledLink(name, release.series, places.pages[name], iso(release.published_at), said)
