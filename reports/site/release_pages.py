"""The page of each release and candidate: its report, who decided with what proof, and what became of it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from policy.errors import VerificationFailed
from policy.plain_file import read_bytes
from release_store.approval.decisions import decision_document
from release_store.audit.checkpoints import Due, note_due
from release_store.canonical import iso
from release_store.protocol.names import RESTORED
from release_store.publishing.public_files import (
    MANIFEST,
    candidate_folder,
    checkpoint_file,
    differing_files,
    kept_folder,
)
from release_store.records import CandidateRecord, Decision, Release
from release_store.sealed import sealed_file
from release_store.snapshot import StoreSnapshot
from reports.changes import last_release_in
from reports.compared import n_earlier
from reports.report_model import ReportModel, SheetData, report_model, sample
from reports.site.places import Places
from reports.site.timeline import Event
from reports.withheld import withholding_reason, without_content
from tasks.reporting.figures import FORMAT

Document = Mapping[str, Any]
_SIGNED = {  # when a checkpoint was signed, by the event that it follows
    "release.published": "when it was published",
    "release.taken_down": "when it was withdrawn",
    RESTORED: "when it was restored",
}
_DATA = "data.parquet"
_NO_FILE = f"Rows are not shown because there is no {_DATA} among its files."
_ALTERED = "Rows are not shown because its files are missing, or differ from the assessed ones."
_UNREADABLE = f"Rows are not shown because {_DATA} cannot be read."
_NO_FIGURES = "Its figures have a format that this version cannot draw."


@dataclass(frozen=True)
class Word:
    """One person's decision and what proves it; `mark` is the public key, or the token's fingerprint."""

    decision: str
    by: str
    at: str
    reason: str
    proof: str
    mark: str


@dataclass(frozen=True)
class ReleasePage:
    """What the page of one release or candidate holds; `sheet` is None where what is kept makes no report.

    `problems` is what is not as it was written, `gaps` what is as it was and cannot be shown.
    """

    identifier: str
    series: str
    page: str
    release: Release | None
    sheet: ReportModel | None
    problems: tuple[str, ...]
    gaps: tuple[str, ...]
    words: tuple[Word, ...]
    events: tuple[Event, ...]
    checkpoints: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


@dataclass(frozen=True)
class ReleasePageReader:
    """Where the leaves are read from: the store's folder, what it keeps, and what opens published files."""

    root: Path
    whole: StoreSnapshot
    places: Places
    con: duckdb.DuckDBPyConnection

    def leaves(
        self,
        record: CandidateRecord,
        release: Release | None,
        events: Sequence[Event],
        problems: Sequence[str],
    ) -> Iterator[ReleasePage]:
        """Yield the page of a candidate, or of the release that it became; after it what has less to show.

        Whatever is kept of it, the last can be shown. What a form cannot have may show only when the page is
        made: hence the others.
        """
        found = list(problems)
        if record.policy_digest not in self.whole.policies:
            found.append("Its policy is missing or cannot be read.")
        gates, gaps = shown_gates(self.whole.gate_documents.get(record.candidate_id, ()))
        figures = self.whole.figures.get(record.candidate_id)
        if record.candidate_id in self.whole.unreadable or not _is_known(figures):
            figures = None
            gaps.append(_NO_FIGURES)
        leaf = partial(self._leaf, record, release, events, found)
        error = ""
        for shown in [figures, None] if figures else [None]:
            less = [_NO_FIGURES] if figures and not shown else []
            try:
                yield leaf(self._sheet(record, release, gates, shown), [*gaps, *less])
            except Exception as raised:
                error = type(raised).__name__
        yield leaf(
            None, [*gaps, f"No report can be made from the stored data ({error or 'of no known form'})."]
        )

    def _leaf(
        self,
        record: CandidateRecord,
        release: Release | None,
        events: Sequence[Event],
        problems: Sequence[str],
        sheet: ReportModel | None,
        gaps: Sequence[str],
    ) -> ReleasePage:
        decisions = self.whole.decisions.get(record.candidate_id, ())
        return ReleasePage(
            identifier=release.release_id if release else record.candidate_id,
            series=record.series,
            page=self.places.pages[record.candidate_id],
            release=release,
            sheet=sheet,
            problems=tuple(problems),
            gaps=tuple(gaps),
            words=tuple(map(decision_row, decisions)),
            events=tuple(events),
            checkpoints=tuple(self._checkpoints(release, events)) if release else (),
        )

    def _sheet(
        self,
        record: CandidateRecord,
        release: Release | None,
        gates: list[Document],
        figures: Document | None,
    ) -> ReportModel:
        columns, rows, why_not = self._rows(record, release)
        kept = SheetData(
            self.whole.policies.get(record.policy_digest, {}),
            without_content(figures) if withholding_reason(record, release) else figures,
            columns,
            rows,
            n_earlier(gates),
            last_release_in(self.whole, record.summary),
        )
        state = release.state if release else record.state
        name = release.release_id if release else None
        facts = self._facts(record, release, gates)
        return report_model(facts, kept, release=name, state=str(state), why_not=why_not)

    def _facts(
        self, record: CandidateRecord, release: Release | None, gates: list[Document]
    ) -> dict[str, Any]:
        """Return what a manifest says; the versions are those of the release's own."""
        name = record.candidate_id
        return {
            "series": record.series,
            "period": record.period,
            "candidate_id": name,
            "candidate_digest": record.candidate_digest,
            "made_by": record.made_by,
            "made_at": iso(record.made_at),
            "expires_at": iso(record.expires_at) if record.expires_at else None,
            "files": release.files if release else self.whole.files.get(name, {}),
            "policy_digest": record.policy_digest,
            "input_digest": record.input_digest,
            "history_head": record.history_head,
            "summary": record.summary.document,
            "gates": gates,
            "decisions": [decision_document(one) for one in self.whole.decisions.get(name, ())],
            "software": self._software(release) if release else {},
            "state": str(record.state),
        }

    def _software(self, release: Release) -> dict[str, str]:
        document = _document(kept_folder(self.root, release) / MANIFEST)
        software = document.get("software")
        return {str(k): str(v) for k, v in software.items()} if isinstance(software, dict) else {}

    def _rows(
        self, record: CandidateRecord, release: Release | None
    ) -> tuple[tuple[str, ...], tuple[tuple[str | None, ...], ...], str]:
        """Return ten rows of what is public, or waits for people; and why there are none."""
        if why := withholding_reason(record, release):
            return (), (), why
        files = release.files if release else self.whole.files.get(record.candidate_id, {})
        folder = (
            kept_folder(self.root, release) if release else candidate_folder(self.root, record.candidate_id)
        )
        if _DATA not in files:
            return (), (), _NO_FILE
        # The other files of a release are those that `verify` looked at.
        if release is None and differing_files(folder, files):
            return (), (), _ALTERED
        try:
            with sealed_file(folder / _DATA, files[_DATA]) as file:
                return *sample(file, self.con), ""
        except VerificationFailed:
            return (), (), _ALTERED
        except duckdb.Error:
            return (), (), _UNREADABLE

    def _checkpoints(
        self, release: Release, events: Sequence[Event]
    ) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
        due: dict[str, Due] = {}
        for event in events:
            if event.object == release.release_id:
                note_due(due, event.number, event.action, event.object)
        for of, one in due.items():
            document = _document(checkpoint_file(self.root, release.series, of))
            yield _SIGNED[one.action], tuple((name, str(document[name])) for name in sorted(document))


def shown_gates(documents: Sequence[Document]) -> tuple[list[Document], list[str]]:
    """Return gates without the values that are no finite numbers, and a sentence on each of these."""
    shown: list[Document] = []
    gaps = []
    for one in documents:
        lost = {name: one[name] for name in ("value", "threshold") if not _is_finite(one[name])}
        shown.append({**one, **dict.fromkeys(lost)} if lost else one)
        gaps += [
            f"The {name} of the gate {one['gate']} is {value}: it is not shown."
            for name, value in lost.items()
        ]
    return shown, gaps


def _is_finite(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and math.isfinite(value))


def _is_known(figures: Document | None) -> bool:
    return figures is None or figures.get("format") == FORMAT


def decision_row(decision: Decision) -> Word:
    """Return a decision with what proves it."""
    proof, said, mark = decision.proof, "not required by its version of releasegate", ""
    if proof is not None and proof.method == "signature":
        said, mark = "signed with the key", proof.public_key
    elif proof is not None:
        said, mark = "given with the token", proof.token
    return Word(decision.decision, decision.by, iso(decision.at), decision.reason, said, mark)


def _document(path: Path) -> Mapping[str, Any]:
    """Return the JSON object in a file of the store, empty where there is none."""
    try:
        found = json.loads(read_bytes(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
