"""Are the rows of what was purged gone, and was it such as may be purged?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from release_store.audit.log import Finding, purged_in
from release_store.audit.replay import LoggedDecision
from release_store.canonical import digest_of, tree_digest
from release_store.db import queries
from release_store.permission import Act
from release_store.protocol.names import PURGED
from release_store.publishing.purge import candidate_rows, release_rows
from release_store.records import CandidateRecord, Release, ReleaseState
from release_store.states import WHEN
from release_store.verification.view import VerificationContext, run_check, same

_PURGEABLE = frozenset(str(state) for state in WHEN[Act.PURGE])
_LEFT = "its rows were purged, and are still there; the next run, or `releasegate doctor`, removes them"


def check_purges(view: VerificationContext, releases: list[Release]) -> list[Finding]:
    """Every purge is of what had ended, and took its rows."""
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
    for release in releases:
        if (
            release.release_id in purged
            and release.state is ReleaseState.WITHDRAWN
            and release_rows(view.root, release)
        ):
            yield Finding(release.release_id, _LEFT)
    for name in records.keys() & purged.keys():
        if candidate_rows(view.root, name):
            yield Finding(name, _LEFT)
