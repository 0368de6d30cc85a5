"""Are the rows of what ended where they belong: in the store until somebody purged them, and then nowhere?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from release_store.audit.log import Finding
from release_store.audit.replay import LoggedDecision, purged_in
from release_store.canonical import digest_of, tree_digest
from release_store.db import queries
from release_store.permission import Act
from release_store.protocol.names import PURGED
from release_store.publishing.public_files import candidate_folder
from release_store.publishing.purge import candidate_rows, release_rows
from release_store.records import CandidateRecord, CandidateState, Release, ReleaseState
from release_store.states import WHEN
from release_store.verification.view import VerificationContext, batches, run_check, same

_PURGEABLE = frozenset(str(state) for state in WHEN[Act.PURGE])
_LEFT = "its rows were purged, and are still there; the next run, or `releasegate doctor`, removes them"


def check_purges(view: VerificationContext, releases: list[Release]) -> list[Finding]:
    """Every purge is of what had ended, and took its rows; no other rows are gone."""
    records = {record.candidate_id: record for record in queries.candidates(view.con)}
    known = {name: (one.series, one.candidate_digest) for name, one in records.items()}
    known |= {one.release_id: (one.series, tree_digest(one.files)) for one in releases}
    findings: list[Finding] = []
    for word in view.log.words:
        if word.action == PURGED:
            findings += run_check(f"event {word.number}", _event, view, word, known)
    return findings + list(_places(view, records, releases))


def _event(
    view: VerificationContext, word: LoggedDecision, known: dict[str, tuple[str, str]]
) -> list[Finding]:
    """What a purge names is what the person signed, and was such as may be purged."""
    where, findings = f"event {word.number}", []
    said: Any = word.payload["purged"]
    if not same(word.payload["bound"], {"purged_digest": digest_of(said)}):
        findings.append(Finding(where, "purges other candidates or releases than the person said"))
    for name, digest in purged_in(word.payload).items():
        if known.get(name) != (word.object, digest):
            findings.append(Finding(where, f"purges {name}, which has other files, or is not in the series"))
        elif view.log.purged.get(name) not in _PURGEABLE:
            findings.append(Finding(where, f"purges {name}, which was {view.log.purged.get(name)}"))
    return findings


def _places(
    view: VerificationContext, records: dict[str, CandidateRecord], releases: list[Release]
) -> Iterator[Finding]:
    purged = view.log.purged
    gone = {one.candidate_id: one for one in releases if one.release_id in purged}
    for release in gone.values():
        if release.state is ReleaseState.WITHDRAWN and release_rows(view.root, release):
            yield Finding(release.release_id, _LEFT)
    withdrawn = {one.candidate_id for one in releases if one.state is ReleaseState.WITHDRAWN}
    kept = []
    for name, record in records.items():
        if name in purged:
            if candidate_rows(view.root, name):
                yield Finding(name, _LEFT)
        elif name not in gone and (record.state is not CandidateState.PUBLISHED or name in withdrawn):
            kept.append(name)
    for names in batches(kept):
        for name, files in queries.files_of(view.con, names).items():
            folder = candidate_folder(view.root, name)
            for file in files:
                if not (folder / file).is_file():
                    yield Finding(f"candidates/{name}/{file}", "is missing, and no purge removed it")
