"""The site of a store: everything is read at one moment, and each page is written once."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from policy.errors import ReleaseGateError
from release_store.audit import log as audit
from release_store.audit.log import Finding
from release_store.db.connection import connect
from release_store.evidence.bundle import write_evidence
from release_store.protocol.names import RESTORED
from release_store.publishing.manifest import software_versions
from release_store.records import CandidateRecord, Release
from release_store.snapshot import StoreSnapshot
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from reports.pages import asset, embedded, linked_head, render
from reports.report_model import reader
from reports.series import kind_of
from reports.series_pictures import AssessedRelease, SeriesPictures, series_pictures, short_name
from reports.site.comparison import sides_of_series
from reports.site.findings import by_name, of_series
from reports.site.folder import site_folder
from reports.site.log_data import PAGE, PIECE, LogData
from reports.site.overview import overview_of
from reports.site.periods import periods_of
from reports.site.places import DIFF, INDEX, LOG, VERIFY, Places, places_of, series_place, up
from reports.site.reading import read_history, refusing_alterations
from reports.site.release_pages import ReleasePage, ReleasePageReader, shown_gates
from reports.site.scripts import write_data
from reports.site.timeline import Timeline, TimelineBuilder
from reports.symbols import MOODS
from reports.withheld import withholding_reason
from tasks.risk.registry import GATES

Tell = Callable[[float, str], None]
CHARTS = ("page.js", "vega.js", "charts.js")
VERIFY_SCRIPTS = ("page.js", "verify.js", "verify_page.js")


@dataclass(frozen=True)
class Built:
    """What was written where; `findings` are what is not as it was written, `gaps` what cannot be shown."""

    path: Path
    pages: int
    seconds: float
    findings: tuple[Finding, ...]
    gaps: tuple[Finding, ...]


@dataclass(frozen=True)
class About:
    """What every page says of the site."""

    store_id: str
    series: str  # the one that the site is of, or empty
    events: int
    at: str  # of the last event
    version: str
    findings: tuple[Finding, ...]


def build(
    store: ReleaseStore, out: Path, *, series: str | None = None, evidence: bool = False, tell: Tell
) -> Built:
    """Write the site of a store, or of one series, to `out`. Raises UsageError for an unknown series,
    VerificationFailed where the history has invalid content.

    What is kept and cannot be shown is told on its page, and in what is returned.
    """
    begun = perf_counter()
    with site_folder(out, store.root) as folder:
        tell(0.0, "verifying")
        findings = list(verify(store))
        tell(0.1, "reading")
        with connect(store.root) as con, refusing_alterations():
            whole = read_history(con, series)
            for name in ("assets", "data"):
                (folder / name).mkdir()
            places = places_of(whole)
            log = LogData(folder, places, series)
            teller = _teller(whole, places)
            for rows in audit.read_rows(con):
                log.take(rows)
                teller.tell(rows)
            log.close()
        findings = of_series(findings, series, places)
        site = _Site(store, folder, whole, places, log, teller.stories, findings, series or "", tell)
        gc.freeze()  # millions of values that stay to the end, and would be looked through again and again
        try:
            site.write(evidence=evidence)
        finally:
            gc.unfreeze()
    return Built(out, site.n_pages, perf_counter() - begun, tuple(site.findings), tuple(site.gaps))


def _teller(whole: StoreSnapshot, places: Places) -> TimelineBuilder:
    periods = {one.candidate_id: one.period for one in whole.candidates}
    periods |= {one.release_id: one.period for one in whole.releases}
    candidates = {one.release_id: one.candidate_id for one in whole.releases}
    return TimelineBuilder(places, whole.gates, candidates, periods, whole.refused)


class _Site:
    """One building of a site: what was read, and what was written of it so far."""

    def __init__(
        self,
        store: ReleaseStore,
        folder: Path,
        whole: StoreSnapshot,
        places: Places,
        log: LogData,
        stories: Timeline,
        findings: list[Finding],
        series: str,
        tell: Tell,
    ) -> None:
        self.store, self.folder, self.whole, self.places = store, folder, whole, places
        self.log, self.stories, self.findings, self.tell = log, stories, findings, tell
        self.n_pages = 0
        self.gaps: list[Finding] = []
        self.about = About(
            whole.store_id,
            series,
            log.last_number,
            log.last_at,
            software_versions().get("releasegate", ""),
            tuple(findings),
        )
        self.released = {one.candidate_id: one for one in whole.releases}
        self.records: dict[str, list[CandidateRecord]] = defaultdict(list)
        for record in whole.candidates:
            self.records[record.series].append(record)
        self.releases: dict[str, list[Release]] = defaultdict(list)
        self.numbers: dict[str, int] = {}  # of releases within their series, from 0
        for release in whole.releases:
            self.numbers[release.release_id] = len(self.releases[release.series])
            self.releases[release.series].append(release)
        self.problems = by_name(findings, stories, places)

    def write(self, *, evidence: bool) -> None:
        """Write every page."""
        self._assets()
        done, total = 0, max(len(self.whole.candidates), 1)
        with reader() as con:
            read = ReleasePageReader(self.store.root, self.whole, self.places, con)
            for series in self.whole.known_series:
                (self.folder / "series" / series).mkdir(parents=True)
                self._series(series)
                for place, record in enumerate(self.records[series]):
                    self._leaf(read, record, self._beside(series, place), evidence=evidence)
                    done += 1
                    if done % 20 == 0:
                        self.tell(0.15 + 0.75 * done / total, f"pages: {done} of {total}")
        self.tell(0.92, "comparisons, the log and the overview")
        self._diff()
        # These two say what was found, and so come after all else.
        self.about = replace(self.about, findings=tuple(self.findings))
        self._log()
        overview = overview_of(self.whole, self.places, self.stories)
        self._page(INDEX, "site_index.html", "overview", [], overview=overview)
        self._page(VERIFY, "site_verify.html", "verify", [], scripts=VERIFY_SCRIPTS)

    def _assets(self) -> None:
        for name in ("style.css", *CHARTS, "log.js", "diff.js", *VERIFY_SCRIPTS):
            (self.folder / "assets" / name).write_text(asset(name), encoding="utf-8")

    def _page(self, place: str, *said: Any, **context: Any) -> None:
        self._write(place, self._made(place, *said, **context))

    def _write(self, place: str, text: str) -> None:
        (self.folder / place).write_text(text, encoding="utf-8", newline="\n")
        self.n_pages += 1

    def _made(
        self,
        place: str,
        template: str,
        here: str,
        trail: Sequence[tuple[str, str]],
        *,
        scripts: Sequence[str] = ("page.js",),
        **context: Any,
    ) -> str:
        root = up(place)
        return render(
            template,
            linked_head(root, *scripts),
            root=root,
            here=here,
            trail=trail,
            site=self.about,
            signs=MOODS,
            **context,
        )

    def _series(self, series: str) -> None:
        releases = self.releases[series]
        judged = [self._judged(one, series) for one in releases]
        entries = list(reversed(self.stories.entries.get(series, [])))
        self._page(
            series_place(series),
            "site_series.html",
            "series",
            [(series, "")],
            scripts=CHARTS,
            series=series,
            releases=len(releases),
            title=self._title(series),
            pictures=_drawn(judged),
            entries=entries,
            periods=periods_of(self.records[series], self.released, entries, self.places.pages),
        )

    def _judged(self, release: Release, series: str) -> AssessedRelease:
        name = release.candidate_id
        gates, _ = shown_gates(self.whole.gate_documents.get(name, ()))
        figures = self.whole.figures.get(name)
        return AssessedRelease(short_name(release.release_id, series), gates, figures, kind_of(release))

    def _title(self, series: str) -> str:
        records = self.records[series]
        policy = self.whole.policies.get(records[-1].policy_digest, {}) if records else {}
        publication = policy.get("publication")
        return str(publication.get("title") or "") if isinstance(publication, Mapping) else ""

    def _beside(self, series: str, place: int) -> dict[str, tuple[str, str] | None]:
        """Return the releases before and after one, and for what is none the release it came after."""
        records, releases = self.records[series], self.releases[series]
        release = self.released.get(records[place].candidate_id)
        if release is None:
            names = [one.candidate_id for one in records[:place] if one.candidate_id in self.released]
            return {"before": None, "after": None, "compared": self._link(names[-1]) if names else None}
        own = self.numbers[release.release_id]
        before = releases[own - 1] if own else None
        after = releases[own + 1] if own + 1 < len(releases) else None
        found = {"before": before, "after": after, "compared": before}
        return {word: self._link(one.candidate_id) if one else None for word, one in found.items()}

    def _link(self, identifier: str) -> tuple[str, str]:
        """Return the name of what a page is of, and the page."""
        release = self.released.get(identifier)
        return release.release_id if release else identifier, self.places.pages[identifier]

    def _leaf(
        self, read: ReleasePageReader, record: CandidateRecord, around: Mapping[str, Any], *, evidence: bool
    ) -> None:
        release = self.released.get(record.candidate_id)
        events = self.stories.events.get(record.candidate_id, [])
        names = [record.candidate_id, *([release.release_id] if release else [])]
        problems = [text for name in names for text in self.problems.get(name, ())]
        spread = evidence and not withholding_reason(record, release)
        bundle = self._evidence(release) if release and spread else ""
        leaf, text = self._shown(read.leaves(record, release, events, problems), around, bundle)
        self.findings += [Finding(leaf.identifier, one) for one in leaf.problems if one not in problems]
        self.gaps += [Finding(leaf.identifier, one) for one in leaf.gaps]
        self._write(leaf.page, text)

    def _shown(
        self, leaves: Iterator[ReleasePage], around: Mapping[str, Any], bundle: str
    ) -> tuple[ReleasePage, str]:
        """Return the first of the leaves of which a page can be made, and the page."""
        for leaf in leaves:
            try:
                return leaf, self._made(
                    leaf.page,
                    "site_release.html",
                    "series",
                    [(leaf.series, series_place(leaf.series)), (leaf.identifier, "")],
                    scripts=CHARTS,
                    leaf=leaf,
                    sheet=leaf.sheet,
                    around=around,
                    ended=self._ended(leaf),
                    bundle=bundle,
                )
            except Exception:
                if leaf.sheet is None:  # its page shows nothing but texts
                    raise
        raise AssertionError("the last leaf has no sheet")

    def _ended(self, leaf: ReleasePage) -> list[tuple[str, str, str, str, tuple[str, str] | None]]:
        """Return who ended or restored a release, when and why, and what came in its place."""
        found = []
        for event in leaf.events:
            if event.action in ("release.superseded", "release.withdrawn", RESTORED):
                word = event.action.partition(".")[2]
                successor = self.stories.successors.get(event.object, "") if word == "superseded" else ""
                link = self._link(successor) if successor in self.places.pages else None
                found.append((word, event.actor, event.at, event.reason, link))
        return found

    def _evidence(self, release: Release) -> str:
        """Write the bundle beside the page, and return its name; what does not verify is a finding."""
        name = f"{release.release_id}.evidence.zip"
        try:
            write_evidence(self.store, release.release_id, self.folder / "series" / release.series / name)
        except ReleaseGateError as error:
            self.findings.append(Finding(release.release_id, f"no evidence can be given: {error.message}"))
            return ""
        return name

    def _diff(self) -> None:
        groups = []
        for series in self.whole.known_series:
            compared = sides_of_series(self.whole, series)
            write_data(self.folder, f"sides-{series}", compared)
            groups.append((series, list(reversed(compared["sides"]))))
            names = [self._link(one.candidate_id)[0] for one in self.records[series]]
            lost = [name for name in names if name not in compared["sides"]]
            self.gaps += [Finding(name, "Its stored figures cannot be compared.") for name in lost]
        self._page(
            DIFF,
            "site_diff.html",
            "diff",
            [],
            scripts=("page.js", "diff.js"),
            groups=groups,
            gates=list(GATES),
            releases=[(name, one.release_id) for name, one in self.released.items()],
        )

    def _log(self) -> None:
        write_data(self.folder, "pages", self.places.pages)
        self._page(
            LOG,
            "site_log.html",
            "log",
            [],
            scripts=("page.js", "log.js"),
            events=list(reversed(self.log.newest)),
            actions=sorted(self.log.actions.items()),
            series=sorted((name, n) for name, n in self.log.of_series.items() if name),
            pages=self.places.pages,
            shape={
                "pieces": self.log.n_pieces,
                "piece": PIECE,
                "page": PAGE,
                "events": self.log.n_events,
                "whole": not self.about.series,
            },
        )


def _drawn(judged: Sequence[AssessedRelease]) -> SeriesPictures:
    """Return the pictures of a series, without the figures of which none can be made."""
    if not _can_be_drawn(judged):
        judged = [one if _can_be_drawn([one]) else replace(one, figures=None) for one in judged]
    return series_pictures(judged)


def _can_be_drawn(judged: Sequence[AssessedRelease]) -> bool:
    try:
        embedded([one.rows for one in series_pictures(judged).all()])
    except Exception:  # figures may be any JSON
        return False
    return True
