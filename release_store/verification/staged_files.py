"""Are the files of candidates that may still become public those that the gates judged and people read?"""

from __future__ import annotations

from pathlib import Path

from release_store.audit.log import Finding
from release_store.audit.replay import LoggedReport
from release_store.db import queries
from release_store.own_places import file_error
from release_store.protocol.names import REPORT
from release_store.publishing.candidate_report import shown_errors
from release_store.publishing.public_files import candidate_folder
from release_store.records import CandidateRecord, ReleaseState
from release_store.records import CandidateState as C
from release_store.verification.view import Batch, VerificationContext, batches, run_check

_WAITS = frozenset({C.AWAITING_APPROVAL, C.APPROVED, C.PUBLISHING})
_ENDED = frozenset({C.BLOCKED, C.STALE, C.EXPIRED})  # until somebody overrides, or has it judged again
_OVER = frozenset({C.REJECTED, C.FAILED})  # of which nothing comes: their files are there until a purge
_GONE = "is missing"


def check_staged_files(view: VerificationContext) -> list[Finding]:
    """The staged files of a candidate are those that were judged, and its report the one that was written."""
    findings: list[Finding] = []
    withdrawn = {
        one.candidate_id
        for one in queries.releases(view.con)
        if one.state is ReleaseState.WITHDRAWN and one.release_id not in view.log.purged
    }
    records = {
        one.candidate_id: one
        for one in queries.candidates(view.con)
        if one.candidate_id in withdrawn or one.state in {*_WAITS, *_ENDED, *_OVER}
        if one.candidate_id not in view.log.purged
    }
    for ids in batches(list(records)):
        batch = Batch(view.con, ids)
        for name in ids:
            findings += run_check(name, _files, view, batch, records[name])
    return findings


def _files(view: VerificationContext, batch: Batch, record: CandidateRecord) -> list[Finding]:
    name = record.candidate_id
    folder = candidate_folder(view.root, name)
    logged = view.log.reports.get(name, LoggedReport()).files
    staged = batch.files.get(name, {})
    wrong = shown_errors(folder, staged, logged)
    wanted = staged | logged
    waits = record.state in _WAITS
    if waits and REPORT not in logged and (folder / REPORT).is_file():
        view.note(f"{name}/{REPORT}", "was not compared: the log has no digest of it")
    gone = [file for file, what in wrong.items() if what == _GONE]
    if not waits:
        unpurged = dict.fromkeys(gone, f"{_GONE}, and no purge removed it")
        if record.state not in _ENDED:
            return [Finding(f"{name}/{file}", what) for file, what in unpurged.items() if file != REPORT]
        wrong |= unpurged
    elif wanted and len(gone) == len(wanted):
        return [Finding(name, "its folder of staged files is missing")]
    wrong |= {
        file: what for file in wanted.keys() - wrong.keys() if (what := file_error(folder / file)) is not None
    }
    return [Finding(f"{name}/{file}", what) for file, what in wrong.items()] + [
        Finding(f"{name}/{file}", "is not part of the candidate") for file in _foreign(folder, {*wanted})
    ]


def _foreign(folder: Path, known: set[str]) -> list[str]:
    """Return what else lies there; the report of an earlier releasegate and one half written are known."""
    if not folder.is_dir():
        return []
    return sorted({entry.name for entry in folder.iterdir()} - known - {REPORT, f".{REPORT}.new"})
